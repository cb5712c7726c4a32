"""Chunks of documents for a vector store, and what keeps it in step with the crawl."""

import hashlib
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import Any

import pyarrow as pa

from ...transforms.sections.section import Section, url_of
from .passages import LIMITS, Limits, estimated_tokens, passages, sections_by_headings
from .selection import ANSWERS, BLOCKED, INPUT, NEWEST, OTHER, REASONS, Rights, query, unless

CHUNKS = pa.schema(
    [
        ("id", pa.string()),  # hexadecimal; the same for the same content in the same place
        ("deleted", pa.bool_()),  # true: the chunk is no more; only `id`, `document` and `page` are set
        ("document", pa.string()),  # url_key, in hexadecimal
        ("page", pa.string()),  # URL of the page
        ("url", pa.string()),  # URL of the section
        ("title", pa.string()),
        ("headings", pa.list_(pa.string())),  # of the sections around it, outermost first
        ("text", pa.string()),
        ("tokens", pa.int32()),  # estimated
        ("language", pa.string()),
        ("license", pa.string()),  # of the page, as in table documents
        ("license_source", pa.string()),
    ]
)

CHUNK_REASONS = REASONS | {"nosnippet": "max_snippet IS NOT NULL"}
"""Why a page has no chunks. A chunk is a snippet, which a page may forbid or shorten (`max-snippet`)."""

_OF_NOW = frozenset({"gone", "unavailable"})  # reasons that do not follow from a version of a page
_UNDATED = frozenset({BLOCKED, INPUT.reason, "unavailable", OTHER})  # it is not known since when they hold
_COLUMNS = (
    *("url_key", "title", "text", "headings", "language", "nosnippet", "round", "sections"),
    *("license", "license_source"),
)

Row = Mapping[str, Any]


def chunks_query(where: str, include: Collection[str], since: int | None) -> str:
    """The documents of an export; with `since`, all, each with its version after that round (`version`)."""
    if since is None:
        return query(_COLUMNS, where, include, CHUNK_REASONS)
    reasons = unless(where, CHUNK_REASONS)
    of_version = {name: text for name, text in CHUNK_REASONS.items() if name not in {*include, *_OF_NOW}}
    cases = " ".join(f"WHEN {condition} THEN '{name}'" for name, condition in of_version.items())
    version = ", ".join(f"'{name}': {name}" for name in _COLUMNS)
    then = NEWEST.replace("FROM documents", f"FROM documents WHERE round <= {since}")
    return f"""
SELECT now.*, version, COALESCE(outcome IN ('fetched', 'not_modified'), false) AS was_there
FROM ({query(_COLUMNS, "true", include, reasons)}) now
LEFT JOIN (SELECT url, {{{version}, 'reason': CASE {cases} END}} AS version FROM ({then})) USING (url)
LEFT JOIN (
    SELECT url, arg_max(outcome, fetched_at) AS outcome FROM visits
    WHERE kind IS NULL AND round <= {since} AND outcome IN ({ANSWERS}) GROUP BY url
) USING (url)
ORDER BY url
"""


class Chunks:
    """The rows of an export, and what it left out."""

    def __init__(
        self,
        batches: Iterable[pa.RecordBatch],
        rights: Rights,
        include: Collection[str],
        since: int | None = None,
        limits: Limits = LIMITS,
    ) -> None:
        self._batches, self._rights, self._include = batches, rights, include
        self._since, self._limits = since, limits
        self.left_out: Counter[str] = Counter()
        self.pages = self.chunks = self.deleted = 0

    def __iter__(self) -> Iterator[Row]:
        for batch in self._batches:
            for row in batch.to_pylist():
                yield from self._of_page(row)

    def _of_page(self, row: Row) -> Iterator[Row]:
        reason = self._rights.reason(INPUT, row, self._include)
        if reason and reason != OTHER:
            self.left_out[reason] += 1
        before = _version(row)
        if self._since is not None and not reason and before is not None and row["round"] <= self._since:
            return
        old = {} if before is None else self._chunks(row, before)
        if reason in _UNDATED and row.get("version"):
            old = self._chunks(row, row["version"])
        new = {} if reason else self._chunks(row, row)
        added = [chunk for key, chunk in new.items() if old.get(key) != chunk]
        gone = [chunk for key, chunk in old.items() if key not in new]
        self.pages += bool(added or gone)
        self.chunks += len(added)
        self.deleted += len(gone)
        unset = dict.fromkeys(CHUNKS.names)
        yield from (
            unset | {name: chunk[name] for name in ("id", "document", "page")} | {"deleted": True} for chunk in gone
        )
        yield from added

    def _chunks(self, page: Row, version: Row) -> dict[str, Row]:
        """The chunks of a version of a page by id."""
        chunks: dict[str, Row] = {}
        key, text = page["url_key"], version["text"] or ""
        for passage in passages(text, _sections(version), self._limits, version["nosnippet"] or ()):
            url = url_of(page["url"], passage.id)
            id_ = _id(chunks, key, url, "\0".join(passage.headings), passage.text)
            chunks[id_] = {
                "id": id_,
                "deleted": False,
                "document": key.hex(),
                "page": page["url"],
                "url": url,
                "title": version["title"],
                "headings": list(passage.headings),
                "text": passage.text,
                "tokens": estimated_tokens(passage.text),
                **{name: version[name] for name in ("language", "license", "license_source")},
            }
        return chunks


def _version(row: Row) -> Row | None:
    """The version of a page that an earlier export had; None if it had none."""
    version: Row | None = row.get("version")
    return version if version and not version["reason"] and row["was_there"] else None


def _sections(version: Row) -> list[Section]:
    stored = version["sections"]
    if stored is None:
        return sections_by_headings(version["text"] or "", version["headings"] or ())
    return [Section(**section) for section in stored]


def _id(taken: Collection[str], key: bytes, *parts: str) -> str:
    """An identifier of content in a place that no earlier chunk of the page has."""
    text = "\0".join(parts).encode("utf-8", "replace")
    number = 0
    while (digest := hashlib.blake2b(b"%d\0%b\0%b" % (number, key, text), digest_size=16).hexdigest()) in taken:
        number += 1
    return digest
