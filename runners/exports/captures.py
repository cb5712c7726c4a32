"""Streams the answers that a crawl received, with what it found in them."""

import dataclasses
import tempfile
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple

import duckdb
import pyarrow as pa

from ...transforms.directory.crawl_dir import CrawlDir, Manifest, files_of
from ...transforms.http.reply import stored_headers
from ...transforms.indexing.write_segment import without_passages
from ...transforms.outcomes import Outcome
from ...transforms.parsing import robots_meta
from ...transforms.sql.views import connect
from ...transforms.tables.schemas import ROBOTS, VISITS
from ...transforms.tables.sitemap_terms import EXTERNAL, PROBE
from ...transforms.tables.table_files import TableFile, conform, open_parquet, present, read_table, round_of

_BATCH = 64  # visits in memory, with their bodies
_GROUP = 500_000  # visits whose documents are looked up together, by key


class Entry(NamedTuple):
    """A page in a list that readers search."""

    title: str
    text: str  # what may be quoted of its main text


@dataclasses.dataclass(frozen=True)
class Capture:
    """An answer of a server: a visit with a status, or a robots.txt as a visit."""

    visit: dict[str, Any]  # row of visits
    noarchive: bool  # whether its page asks not to be shown from a copy
    text: str | None  # main text; None if it gave no new document
    outlinks: tuple[tuple[str, str], ...]  # URL and kind
    entry: Entry | None = None  # None if it gave no new document, or one that must not be found by searches


def captures(crawl: CrawlDir, manifests: Sequence[Manifest], robot: str) -> Iterator[Capture]:
    """All answers, oldest round first; in memory are a few bodies, and the keys of a group of visits.

    Probes are left out: no page links their URLs, and a reader of the archive could not tell what a host answers to
    them from its pages. So are external targets, of which nothing but a status was asked for.
    The robots.txt files of a few rounds come before the visits of these.
    """
    robots_files = deque(sorted(files_of(manifests, "robots"), key=lambda file: round_of(file.path)))
    with tempfile.TemporaryDirectory() as scratch, connect(crawl, manifests, ("documents", "links")) as tables:
        tables.execute(f"SET temp_directory = '{scratch}'; SET memory_limit = '1GB'")
        files_by_age = sorted(files_of(manifests, "visits"), key=lambda file: round_of(file.path))
        for files in groups(files_by_age):
            last = round_of(files[-1].path)
            while robots_files and round_of(robots_files[0].path) <= last:
                yield from _robots(crawl, robots_files.popleft())
            pages = _lookup(tables, keys(crawl, files))
            for row in visit_rows(crawl, files, VISITS):
                noarchive, page, links = next(pages)
                if row["status"] is not None and row["kind"] not in (EXTERNAL, PROBE):
                    noarchive = bool(noarchive) or robots_meta.from_headers(stored_headers(row), robot).noarchive
                    text = page["text"] if page else None
                    outlinks = tuple((link["url"], link["kind"]) for link in links or ())
                    yield Capture(row, noarchive, text, outlinks, _entry(page) if page else None)


def _entry(page: dict[str, Any]) -> Entry | None:
    if page["noindex"] or page["search"] is False:
        return None
    is_quoted = page["max_snippet"] is None
    return Entry(
        page["title"] or "", without_passages(page["text"] or "", page["nosnippet"] or ()) if is_quoted else ""
    )


def _robots(crawl: CrawlDir, file: TableFile) -> Iterator[Capture]:
    """The answers to requests of robots.txt in a file of table robots, which has no headers."""
    unknown = dict.fromkeys(VISITS.names) | {"outcome": Outcome.FETCHED, "truncated": False}
    for row in read_table(crawl.root, [file.path], ROBOTS).to_pylist():
        if row["status"] is not None:
            stored = {name: row[name] for name in ("host", "round", "fetched_at", "status", "body", "depth")}
            yield Capture(unknown | stored | {"url": f"{row['origin']}/robots.txt"}, False, None, ())


def groups(files: Iterable[TableFile]) -> Iterator[list[TableFile]]:
    group: list[TableFile] = []
    for file in files:
        if group and sum(member.rows for member in group) + file.rows > _GROUP:
            yield group
            group = []
        group.append(file)
    if group:
        yield group


def keys(crawl: CrawlDir, files: Iterable[TableFile]) -> pa.Table:
    """URL, round and number of the visits of files, in order."""
    columns = ["url", "round"]
    tables = []
    for visits_file in files:
        with open_parquet(crawl.root, visits_file.path) as file:
            tables.append(conform(file.read(columns), pa.schema([VISITS.field(name) for name in columns])))
    visits = pa.concat_tables(tables)
    return visits.append_column("number", pa.array(range(visits.num_rows), pa.int64()))


def visit_rows(crawl: CrawlDir, files: Iterable[TableFile], schema: pa.Schema) -> Iterator[dict[str, Any]]:
    """The rows of files of visits, with the columns of a schema; a few bodies are in memory."""
    for visits_file in files:
        with open_parquet(crawl.root, visits_file.path) as file:
            for batch in file.iter_batches(_BATCH, columns=present(file, schema.names)):
                yield from conform(pa.Table.from_batches([batch]), schema).to_pylist()


def _lookup(tables: duckdb.DuckDBPyConnection, keys: pa.Table) -> Iterator[tuple[bool | None, Any, Any]]:
    """For each key in order: `noarchive` of its page at that time, its new document, its links."""
    tables.register("keys", keys)
    for batch in tables.sql(_LOOKUP).to_arrow_reader(_BATCH):
        yield from zip(*(column.to_pylist() for column in batch.columns), strict=True)


_LOOKUP = """
WITH state AS (
    SELECT number, d.noarchive
    FROM keys ASOF LEFT JOIN (SELECT url, round, noarchive FROM documents) d
    ON keys.url = d.url AND keys.round >= d.round
), found AS (
    SELECT number, first({
        'title': title, 'text': text, 'noindex': noindex, 'search': search,
        'max_snippet': max_snippet, 'nosnippet': nosnippet
    }) AS page
    FROM keys JOIN documents USING (url, round) GROUP BY number
), outlinks AS (
    SELECT number, list({'url': target_url, 'kind': kind} ORDER BY target_url, kind) AS links
    FROM keys JOIN links ON source_url = url AND links.round = keys.round GROUP BY number
)
SELECT state.noarchive, found.page, outlinks.links
FROM keys LEFT JOIN state USING (number) LEFT JOIN found USING (number) LEFT JOIN outlinks USING (number)
ORDER BY number
"""
