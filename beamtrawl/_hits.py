"""The answer to a search."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, overload

import pyarrow as pa

from beamtrawl._convert import Rows, html_table
from beamtrawl.search.answers.results.hits import Hit, Results, as_json


class Hits(Rows, Sequence[Hit]):
    """The documents that match a query, best first: a sequence of `Hit`."""

    def __init__(self, results: Results) -> None:
        self._results = results

    @property
    def query(self) -> str:
        return self._results.query

    @property
    def total(self) -> int:
        """How many documents match; `limit` bounds the hits alone."""
        return self._results.total

    @property
    def weaker(self) -> int:
        """How many further documents match much worse than the best one; they follow the others, with `is_weaker`."""
        return self._results.weaker

    @property
    def suggestion(self) -> str | None:
        """The query in another spelling, when no document has one of its words."""
        return self._results.suggestion

    @property
    def unknown_words(self) -> tuple[str, ...]:
        """The words of the query that no document has, nor one like them; none where nothing is found."""
        return self._results.unknown_words

    @property
    def next(self) -> str | None:
        """What `search(…, after=)` needs for the hits after these; None if there are none, or with `per_host`."""
        return self._results.next

    @property
    def is_partial(self) -> bool:
        """Whether the time ran out: some pages were not compared."""
        return self._results.is_partial

    def to_dict(self) -> dict[str, Any]:
        """JSON values, as `beamtrawl search --json` prints them."""
        return as_json(self._results)

    def to_arrow(self) -> pa.Table:
        """The hits as an Arrow table, snippets as text, without explanations."""
        rows = [{name: getattr(hit, name) for name in _SCHEMA.names} | {"snippet": str(hit.snippet)} for hit in self]
        return pa.Table.from_pylist(rows, schema=_SCHEMA)

    @overload
    def __getitem__(self, index: int) -> Hit: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[Hit]: ...
    def __getitem__(self, index: int | slice) -> Hit | Sequence[Hit]:
        return self._results.hits[index]

    def __len__(self) -> int:
        return len(self._results.hits)

    def __repr__(self) -> str:
        return f"<Hits for {self.query!r}: {len(self)} of {self.total}>"

    def _repr_html_(self) -> str:
        shown = self.to_arrow().select(["score", "title", "url", "snippet"])
        return html_table(shown, f"{self.query}: {len(self)} of {self.total} documents")


_TIME = pa.timestamp("us", "UTC")
_SCHEMA = pa.schema(
    {
        "url": pa.string(),
        "title": pa.string(),
        "snippet": pa.string(),
        "score": pa.float64(),
        "host": pa.string(),
        "language": pa.string(),
        "media_type": pa.string(),
        "noarchive": pa.bool_(),
        "round": pa.int64(),
        "fetched_at": _TIME,
        "published_at": _TIME,
        "crawl": pa.string(),
        "section_url": pa.string(),
        "path": pa.list_(pa.string()),
    }
)
