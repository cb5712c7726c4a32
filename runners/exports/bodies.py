"""Streams the newest documents of a crawl with the bodies that they were read of."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import duckdb
import pyarrow as pa

from ...transforms.directory.crawl_dir import CrawlDir, Manifest, files_of
from ...transforms.sql.queries import open_tables
from ...transforms.tables.schemas import VISITS
from ...transforms.tables.table_files import round_of
from .captures import groups, keys, visit_rows
from .selection import NEWEST

_BATCH = 64  # documents in memory
_VISITS = pa.schema([VISITS.field(name) for name in ("url", "round", "media_type", "body")])


class Stored(NamedTuple):
    """A document and its body."""

    document: Mapping[str, Any]  # row of documents
    content_type: str | None  # as the server declared it
    body: bytes | None  # None: it was removed


def stored_pages(crawl: CrawlDir, manifests: Sequence[Manifest]) -> Iterator[Stored]:
    """The newest version of each page, oldest round first."""
    files_by_age = sorted(files_of(manifests, "visits"), key=lambda file: round_of(file.path))
    with open_tables(crawl, manifests, ("documents",)) as tables:
        for files in groups(files_by_age):
            documents = _documents(tables, keys(crawl, files))
            document = next(documents, None)
            for number, visit in enumerate(visit_rows(crawl, files, _VISITS)):
                if document is not None and document["number"] == number:
                    yield Stored(document, visit["media_type"], visit["body"])
                    document = next(documents, None)


def _documents(tables: duckdb.DuckDBPyConnection, visits: pa.Table) -> Iterator[dict[str, Any]]:
    """The newest documents of some visits, each with the number of the visit."""
    tables.register("keys", visits)
    visited = "SELECT url, round, min(number) AS number FROM keys GROUP BY url, round"
    query = f"SELECT v.number, d.* FROM ({visited}) v JOIN ({NEWEST}) d USING (url, round) ORDER BY v.number"
    for batch in tables.sql(query).to_arrow_reader(_BATCH):
        yield from batch.to_pylist()
