"""Gathers what the rules of a check read, as tables in memory: last answers, redirects, pages, references, sitemaps.

In memory are a few bodies, a batch of rows and eight bytes for each URL; DuckDB moves what exceeds its memory to a
temporary folder.
"""

import bisect
import itertools
from array import array
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.compute as pc

from ...transforms.directory.crawl_dir import CrawlDir, Manifest, files_of
from ...transforms.http.reply import stored_headers
from ...transforms.sitemaps.parse import INDEX, parse_sitemap
from ...transforms.tables.schemas import VISITS
from ...transforms.tables.table_files import conform, open_parquet
from ...transforms.urls.canonical import host, url_key
from ...transforms.urls.filters import UrlFilter
from .made_tables import ANSWERS, LINKS, TARGETS
from .page_facts import SUBRESOURCES, PageFacts, Reference, is_html, page_facts

TABLES = ("visits", "urls", "links", "documents", "seeds", "external")
"""The tables of the crawl that a check reads."""

_BATCH = 64  # visits in memory, with their bodies
_PAGES = 16  # that are read together
_ROWS = 5_000  # of a table, before they are written
_COLUMNS = ("url_key", "url", "fetched_at", "media_type", "headers", "body")
_TYPED = frozenset({"img", "srcset", "icon", "poster", "stylesheet", "script"})

_KEY = pa.binary(16)
_TARGET = pa.struct([("url", pa.string()), ("url_key", _KEY)])
_SCHEMAS = {
    "pages": pa.schema(
        [
            ("url_key", _KEY),
            ("title", pa.string()),
            ("has_description", pa.bool_()),
            ("h1_count", pa.int32()),
            ("without_alt", pa.list_(pa.string())),
            ("malformed", pa.list_(pa.string())),
            ("canonical_url", pa.string()),
            ("canonical_key", _KEY),
            ("languages", pa.list_(_TARGET)),
            ("noindex", pa.bool_()),
            ("is_whole", pa.bool_()),
            ("ids", pa.list_(pa.string())),
        ]
    ),
    "refs": pa.schema(
        [
            ("url_key", _KEY),  # of the page
            ("number", pa.int32()),  # among its references
            *((name, pa.string()) for name in Reference._fields),
            ("target_key", _KEY),
            ("secure_key", _KEY),  # of the same URL with https; null if it is none with http
            ("is_mixed", pa.bool_()),  # a page of https loads it by http
        ]
    ),
    "entries": pa.schema([("sitemap", pa.string()), ("url", pa.string()), ("url_key", _KEY)]),
    "hops": pa.schema([("url_key", _KEY), ("next_key", _KEY), ("next_url", pa.string())]),
}


def gather(
    connection: duckdb.DuckDBPyConnection,
    crawl: CrawlDir,
    manifests: Sequence[Manifest],
    robot_name: str,
    slow_s: float,
    last: int,
    map_: Callable[..., Iterator[Any]] = map,
) -> None:
    """Create the tables that the rules read, of the crawl as it was after the round `last`; `map_` reads pages."""
    connection.execute(ANSWERS.format(last=last))
    rows = {name: _Rows(connection, name, schema) for name, schema in _SCHEMAS.items()}
    redirects = _fetched(connection, "SELECT url_key, redirect_to FROM answers WHERE redirect_to IS NOT NULL")
    hops = ({"url_key": key, "next_key": url_key(url), "next_url": url} for key, url in redirects)
    for some in _together(hops, _ROWS):
        rows["hops"].add(_table("hops", some))
    rows["hops"].write()
    connection.execute(TARGETS.format(last=last, slow_ms=1000 * slow_s))
    wanted = _Wanted(connection)
    visits = _bodies(connection, crawl, manifests, "current")
    for read in map_(partial(_read_pages, robot_name, wanted), _together(visits, _PAGES)):
        for name, table in read.items():
            rows[name].add(table)
    for visit in _bodies(connection, crawl, manifests, "current_sitemaps"):
        rows["entries"].add(_table("entries", list(_entry_rows(visit["url"], visit["body"]))))
    for table in rows.values():
        table.write()
    connection.execute(LINKS.format(last=last))


def drop_files(connection: duckdb.DuckDBPyConnection, url_filter: UrlFilter) -> None:
    """Remove from table `gaps` the URLs that lead to no page: by their extension, they are files of other kinds."""
    reader = connection.sql("SELECT url FROM gaps WHERE reason = 'unvisited'").to_arrow_reader(_ROWS)
    files = [url for batch in reader for url in batch["url"].to_pylist() if url_filter.reject_url(url) == "extension"]
    connection.register("files", pa.table({"url": pa.array(files, pa.string())}))
    connection.execute("DELETE FROM gaps WHERE url IN (SELECT url FROM files)")
    connection.unregister("files")


def _together(items: Iterator[Any], count: int) -> Iterator[list[Any]]:
    return iter(lambda: list(itertools.islice(items, count)), [])


def _table(name: str, rows: list[dict[str, Any]]) -> pa.Table:
    return pa.Table.from_pylist(rows, schema=_SCHEMAS[name])


class _Rows:
    """Rows on their way to a table."""

    def __init__(self, connection: duckdb.DuckDBPyConnection, name: str, schema: pa.Schema) -> None:
        self._connection, self._name, self._waiting, self._count = connection, name, [schema.empty_table()], 0
        self._send(f"CREATE OR REPLACE TABLE {name} AS FROM batch")

    def add(self, rows: pa.Table) -> None:
        self._waiting.append(rows)
        self._count += rows.num_rows
        if self._count >= _ROWS:
            self.write()

    def write(self) -> None:
        if self._count:
            self._send(f"INSERT INTO {self._name} FROM batch")

    def _send(self, statement: str) -> None:
        self._connection.register("batch", pa.concat_tables(self._waiting))
        self._connection.execute(statement)
        self._connection.unregister("batch")
        self._count = 0
        del self._waiting[1:]


class _Wanted:
    """Which references a rule may find fault with: nearly all others lead to pages that are there.

    Keys are compared by their first eight bytes; a rule compares the whole.
    """

    def __init__(self, connection: duckdb.DuckDBPyConnection) -> None:
        notable = "verdict IS NOT NULL OR is_redirect OR elapsed_ms > (SELECT ms FROM slow)"
        self._notable = _prefixes(connection, f"SELECT url_key FROM targets WHERE {notable}")
        self._answered = _prefixes(connection, "SELECT url_key FROM targets WHERE is_answered")

    def holds(self, reference: Reference, key: bytes, secure_key: bytes | None) -> bool:
        """Whether a reference to a key is kept; `secure_key` is that of its URL with https, if it has http."""
        return bool(
            reference.fragment
            or _has(self._notable, key)
            or (secure_key and _has(self._answered, secure_key))
            or (reference.kind in _TYPED and _has(self._answered, key))
        )


def _prefixes(connection: duckdb.DuckDBPyConnection, query: str) -> "array[int]":
    return array("Q", sorted(_prefix(key) for (key,) in _fetched(connection, query)))


def _prefix(key: bytes) -> int:
    return int.from_bytes(key[:8], "big")


def _has(prefixes: "array[int]", key: bytes) -> bool:
    prefix = _prefix(key)
    place = bisect.bisect_left(prefixes, prefix)
    return place < len(prefixes) and prefixes[place] == prefix


def _fetched(connection: duckdb.DuckDBPyConnection, query: str) -> Iterator[tuple[Any, ...]]:
    """The rows of a query, read in batches, by a cursor of its own, so that others can be asked meanwhile."""
    for batch in connection.cursor().sql(query).to_arrow_reader(_ROWS):
        yield from zip(*(column.to_pylist() for column in batch.columns), strict=True)


def _bodies(
    connection: duckdb.DuckDBPyConnection, crawl: CrawlDir, manifests: Sequence[Manifest], wanted: str
) -> Iterator[dict[str, Any]]:
    """The visits with a body that are in the table `wanted`, by key and time."""
    schema = pa.schema([VISITS.field(name) for name in _COLUMNS])
    for visits_file in files_of(manifests, "visits"):
        with open_parquet(crawl.root, visits_file.path) as file:
            keys = conform(file.read(["url_key", "fetched_at"]), pa.schema([schema.field(0), schema.field(2)]))
            connection.register("keys", keys.append_column("number", pa.array(range(keys.num_rows), pa.int64())))
            matches = connection.sql(f"SELECT number FROM keys SEMI JOIN {wanted} USING (url_key, fetched_at)")
            numbers = pa.array(matches.to_arrow_table()["number"].to_pylist(), pa.int64())
            connection.unregister("keys")
            if not len(numbers):
                continue
            start = 0
            for batch in file.iter_batches(_BATCH, columns=list(_COLUMNS)):
                places = pa.array(range(start, start + batch.num_rows), pa.int64())
                start += batch.num_rows
                kept = pa.Table.from_batches([batch]).filter(pc.is_in(places, numbers))
                if kept.num_rows:
                    rows = conform(kept, schema).to_pylist()
                    yield from (row for row in rows if row["body"] is not None)


def _read_pages(robot_name: str, wanted: _Wanted, visits: Sequence[dict[str, Any]]) -> dict[str, pa.Table]:
    """The rows of the HTML pages among some visits, and of their references; as columns, for who puts them together."""
    pages, references = list[dict[str, Any]](), list[dict[str, Any]]()
    for visit in visits:
        if is_html(visit["body"], visit["media_type"]):
            facts = page_facts(visit["body"], visit["url"], visit["media_type"], stored_headers(visit), robot_name)
            pages.append(_page_row(visit["url_key"], facts))
            references += _reference_rows(visit["url_key"], visit["url"], facts.references, wanted)
    return {"pages": _table("pages", pages), "refs": _table("refs", references)}


def _page_row(key: bytes, facts: PageFacts) -> dict[str, Any]:
    return facts._asdict() | {
        "url_key": key,
        "references": None,  # in a table of their own
        "canonical_key": url_key(facts.canonical_url) if facts.canonical_url else None,
        "languages": [{"url": url, "url_key": url_key(url)} for url in facts.languages],
        "ids": sorted(facts.ids),
    }


def _reference_rows(
    key: bytes, page: str, references: Sequence[Reference], wanted: _Wanted
) -> Iterator[dict[str, Any]]:
    is_secure = page.startswith("https:")
    for number, reference in enumerate(references):
        target_key = url_key(reference.url)
        secure_key = None
        if (is_plain := reference.url.startswith("http:")) and ":" not in host(reference.url):
            secure_key = url_key(f"https{reference.url[4:]}")
        is_mixed = is_secure and is_plain and reference.kind in SUBRESOURCES
        if is_mixed or wanted.holds(reference, target_key, secure_key):
            keys = {"url_key": key, "number": number, "target_key": target_key, "secure_key": secure_key}
            yield reference._asdict() | keys | {"is_mixed": is_mixed}


def _entry_rows(url: str, body: bytes) -> Iterator[dict[str, Any]]:
    sitemap = parse_sitemap(body, url)
    if sitemap is not None and sitemap.form != INDEX:
        for entry in sitemap.entries:
            yield {"sitemap": url, "url": entry.url, "url_key": url_key(entry.url)}
