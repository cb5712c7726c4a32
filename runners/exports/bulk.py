"""Documents for other search engines: files of their bulk interfaces, and the settings of an index for them."""

import json
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping
from datetime import datetime
from typing import Any, NamedTuple

import pyarrow as pa

from ...transforms.indexing.write_segment import ERRORS, without_passages
from ...transforms.urls.index_scope import IndexScope
from .output import Drafts
from .rows import plain
from .selection import INPUT, OTHER, REASONS, SEARCH, Rights, query, unless

FILE_BYTES = 10_000_000
"""The size of a file: what engines recommend for one request, far below what they accept (100 MB)."""

FIELDS = (
    *("url", "host", "domain", "title", "description", "headings", "text", "language", "media_type"),
    *("published_at", "fetched_at", "facts"),
)
"""What a document has besides its `id`, the URL key in hexadecimal."""

TEXTS = ("title", "headings", "description", "text")
"""The fields that are searched, the weightiest first."""

FILTERS = ("host", "domain", "language", "media_type")
"""The fields that results are narrowed by."""

BULK_REASONS = {name: text for name, text in REASONS.items() if name != INPUT.reason} | {
    "nosnippet": "max_snippet IS NOT NULL",
    SEARCH.reason: "COALESCE(NOT search, false)",
}
"""Why a page is left out, by the first condition that holds."""

BULK_OVERRIDES = ("duplicate", "noindex", "noarchive", "nosnippet", SEARCH.reason)
"""Reasons that an operator may set aside by name."""

OUT_OF_SCOPE = "index_scope"
"""Why a page is left out that `[index]` keeps out of the crawl's own index."""

_COLUMNS = ("url_key", "round", "search", "nosnippet", *FIELDS)

Row = Mapping[str, Any]


class Format(NamedTuple):
    """The files of an engine; lines end with a line break."""

    settings_name: str
    settings: Callable[[str], dict[str, Any]]  # of the name of the index
    document: Callable[[str, Row, str], str]  # the lines of an id, its fields and the name of the index
    deletion: Callable[[str, str], str] | None  # the line of an id; None: DELETIONS has the ids
    suffix: str


DELETIONS = "deletions.json"
"""The file with the list of ids to delete, for engines whose bulk files have none."""


def bulk_query(where: str, include: Collection[str], since: int | None) -> str:
    """All documents with their `reason`, or those that may differ from an export as of a round.

    With `since`, these are the ones with a newer version, and those that existed then and are left out now.
    """
    if since is None:
        return query(_COLUMNS, where, include, BULK_REASONS)
    reasons = unless(where, BULK_REASONS)
    return (
        f"SELECT now.*, first <= {since} AS existed FROM ({query(_COLUMNS, 'true', include, reasons)}) now"
        " JOIN (SELECT url, min(round) AS first FROM documents GROUP BY url) USING (url) ORDER BY url"
    )


class Bulk:
    """Writes documents and deletions to numbered files, and counts them."""

    def __init__(self, out: Drafts, format_: Format, index: str) -> None:
        self._out, self._format, self._index = out, format_, index
        self._lines: list[bytes] = []
        self._bytes = self._files = 0
        self._deleted: list[str] = []
        self.left_out: Counter[str] = Counter()
        self.documents = self.deletions = 0

    def write(
        self,
        batches: Iterable[pa.RecordBatch],
        rights: Rights,
        scope: IndexScope,
        include: Collection[str],
        since: int | None,
    ) -> None:
        """Write all rows of `bulk_query`, and the settings of the engine."""
        for batch in batches:
            for row in batch.to_pylist(maps_as_pydicts="lossy"):
                self._add(row, _reason(row, rights, scope, include), since)
        self._end_file()
        if self._format.deletion is None and since is not None:
            self._create(DELETIONS, json.dumps(self._deleted).encode())
        settings = json.dumps(self._format.settings(self._index), indent=2) + "\n"
        self._create(self._format.settings_name, settings.encode())

    def _add(self, row: Row, reason: str | None, since: int | None) -> None:
        id_ = row["url_key"].hex()
        if reason is None:
            if since is None or row["round"] > since:
                self.documents += 1
                self._line(self._format.document(id_, _fields(row), self._index))
            return
        if reason != OTHER:
            self.left_out[reason] += 1
        if since is not None and row["existed"]:
            self.deletions += 1
            if self._format.deletion:
                self._line(self._format.deletion(id_, self._index))
            else:
                self._deleted.append(id_)

    def _line(self, text: str) -> None:
        data = text.encode("utf-8", "replace")
        if self._lines and self._bytes + len(data) > FILE_BYTES:
            self._end_file()
        self._lines.append(data)
        self._bytes += len(data)

    def _end_file(self) -> None:
        if self._lines:
            self._create(f"documents-{self._files:05d}{self._format.suffix}", b"".join(self._lines))
            self._files += 1
        self._lines, self._bytes = [], 0

    def _create(self, name: str, data: bytes) -> None:
        with self._out.create(name) as sink:
            sink.write(data)


def _reason(row: Row, rights: Rights, scope: IndexScope, include: Collection[str]) -> str | None:
    reason = rights.reason(SEARCH, row, include)
    if reason is None and scope.keeps_out(row["url"]):
        return OUT_OF_SCOPE
    return reason


def _fields(row: Row) -> Row:
    """The fields that a document has: facts as lists of values, the text without what no snippet may show."""
    facts = {name: text.split("\n") for name, text in (row["facts"] or {}).items() if name not in ERRORS}
    text = without_passages(row["text"] or "", row["nosnippet"] or ())
    named = {name: plain(row[name]) for name in FIELDS} | {"facts": facts, "text": text}
    return {name: value for name, value in named.items() if value not in (None, "", [], {})}


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def _action(name: str) -> Callable[[str, str], str]:
    return lambda id_, index: _json({name: {"_index": index, "_id": id_}}) + "\n"


def _bulk_document(id_: str, fields: Row, index: str) -> str:
    return f"{_action('index')(id_, index)}{_json(fields)}\n"


def _mapping(objects: str) -> dict[str, Any]:
    """The mapping of an index (Elasticsearch and OpenSearch); `objects` is the type of an object without a schema."""
    keyword, date = {"type": "keyword", "ignore_above": 8191}, {"type": "date"}
    properties: dict[str, Any] = {name: {"type": "text"} for name in TEXTS}
    properties |= dict.fromkeys(("url", *FILTERS), keyword) | dict.fromkeys(("published_at", "fetched_at"), date)
    return {"mappings": {"dynamic": False, "properties": properties | {"facts": {"type": objects}}}}


def _json_document(id_: str, fields: Row, _: str) -> str:
    return _json({"id": id_} | dict(fields)) + "\n"


def _typesense_document(id_: str, fields: Row, index: str) -> str:
    """Dates as seconds since 1970: Typesense sorts by numbers only."""
    dates = {name: _seconds(fields[name]) for name in ("published_at", "fetched_at") if name in fields}
    return _json_document(id_, dict(fields) | dates, index)


def _seconds(iso: str) -> int:
    return int(datetime.fromisoformat(iso).timestamp())


def _typesense_schema(index: str) -> dict[str, Any]:
    def field(name: str, type_: str, **more: bool) -> dict[str, Any]:
        return {"name": name, "type": type_, "optional": True} | more

    texts = [field(name, "string[]" if name == "headings" else "string") for name in TEXTS]
    filters = [field(name, "string", facet=True) for name in FILTERS]
    dates = [field(name, "int64") for name in ("published_at", "fetched_at")]
    return {"name": index, "fields": [*texts, field("url", "string", index=False), *filters, *dates]}


def _meilisearch_settings(_: str) -> dict[str, Any]:
    return {
        "searchableAttributes": list(TEXTS),
        "filterableAttributes": list(FILTERS),
        "sortableAttributes": ["published_at", "fetched_at"],
    }


FORMATS: Mapping[str, Format] = {
    "elasticsearch": Format(
        "mapping.json", lambda _: _mapping("flattened"), _bulk_document, _action("delete"), ".ndjson"
    ),
    "opensearch": Format(
        "mapping.json", lambda _: _mapping("flat_object"), _bulk_document, _action("delete"), ".ndjson"
    ),
    "typesense": Format("collection.json", _typesense_schema, _typesense_document, None, ".jsonl"),
    "meilisearch": Format("settings.json", _meilisearch_settings, _json_document, None, ".ndjson"),
}
"""The engines by name."""
