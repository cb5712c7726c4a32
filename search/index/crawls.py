"""The documents of several crawls in one search: of which crawl each is, and which versions of a URL they have."""

from collections.abc import Iterable, Iterator, Sequence

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from .page_facts import is_like
from .segment import Segment

CRAWL = "crawl"
"""The name of the filter for documents of a crawl, if there are several crawls."""

Mask = npt.NDArray[np.bool_]


class Crawls:
    """The crawl of each document, and the documents of one URL that several crawls have. Without names: one crawl."""

    def __init__(self, segments: Sequence[Segment], alive: Sequence[Mask], names: Sequence[str]) -> None:
        """`names` has the name of the crawl of each segment, or is empty; `alive` are the documents to be found."""
        self.of_segments = names
        self.names = tuple(dict.fromkeys(names))
        self._sizes = [segment.documents for segment in segments]
        self._docs = np.empty(0, np.int64)  # of URLs of several crawls, by URL and then the newest first
        self._urls = np.empty(0, np.int64)  # parallel: equal for equal URLs
        if len(self.names) > 1:
            facts = [segment.facts.select(["url_key", "fetched_at"]) for segment in segments]
            self._docs, self._urls = _of_several(facts, alive)
        self._older = self._not_first(np.ones(len(self._docs), bool))

    def of(self, segment: int) -> str | None:
        """The name of the crawl of a segment; None if there is one crawl."""
        return self.of_segments[segment] if self.names else None

    def having(self, value: str) -> Mask:
        """Whether each document is of a crawl with this name, in small letters; * in it is any characters."""
        wanted = [is_like(name, value.split("*")) for name in self.of_segments]
        return np.repeat(np.array(wanted, bool), self._sizes)

    def unknown(self, values: Iterable[str]) -> Iterator[str]:
        """A sentence on each value of the filter that no crawl has."""
        for value in values if self.names else ():
            if not any(is_like(name, value.split("*")) for name in self.names):
                yield f"{CRAWL}:{value} finds nothing: the crawls are {', '.join(self.names)}"

    def counts(self, matches: Mask) -> dict[str, int]:
        """How many of the documents found each crawl has."""
        counts = dict.fromkeys(self.names, 0)
        ends = np.cumsum([0, *self._sizes])
        for name, start, end in zip(self.of_segments, ends, ends[1:], strict=False):
            counts[name] += int(np.count_nonzero(matches[start:end]))
        return {name: count for name, count in counts.items() if count}

    def older(self, matches: Mask, among_matches: bool) -> npt.NDArray[np.int64]:
        """The documents whose URL another crawl has fetched later: in any case, or only if that document matches."""
        return self._not_first(matches[self._docs]) if among_matches else self._older

    def _not_first(self, are_wanted: Mask) -> npt.NDArray[np.int64]:
        docs, urls = self._docs[are_wanted], self._urls[are_wanted]
        return docs[np.diff(urls, prepend=-1) == 0]


def _of_several(facts: Sequence[pa.Table], alive: Sequence[Mask]) -> tuple[npt.NDArray, npt.NDArray]:
    """The documents that share their URL with others; a crawl has one at most that is alive."""
    table = pa.concat_tables(facts)
    table = table.append_column("doc", pa.array(np.arange(table.num_rows))).filter(pa.array(np.concatenate(alive)))
    counts = table.group_by("url_key").aggregate([([], "count_all")])
    several = counts.filter(pc.greater(counts["count_all"], 1))["url_key"].combine_chunks()
    if not len(several):
        return np.empty(0, np.int64), np.empty(0, np.int64)
    table = table.filter(pc.is_in(table["url_key"], value_set=several))
    table = table.sort_by([("url_key", "ascending"), ("fetched_at", "descending"), ("doc", "ascending")])
    urls = table["url_key"].combine_chunks().dictionary_encode().indices
    return table["doc"].to_numpy(), urls.to_numpy().astype(np.int64)
