"""Gathers what the rules of a check read, as tables in memory: last answers, redirects, pages, references, sitemaps.

In memory are a few bodies, the references of a row group of visits and eight bytes for each URL; DuckDB moves what
exceeds its memory to a temporary folder.
"""

import bisect
import itertools
from array import array
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any

import duckdb
import numpy as np
import numpy.typing as npt
import pyarrow as pa

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
_ROWS = 5_000  # of a table, before they are written
_COLUMNS = ("url_key", "url", "fetched_at", "media_type", "headers", "body")
_TYPED = frozenset({"img", "srcset", "icon", "poster", "stylesheet", "script"})

_Visits = tuple[str, int, npt.NDArray[np.int64]]
"""The path of a file of visits, the number of a row group, and numbers of its rows."""

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
    for name, schema in _SCHEMAS.items():
        _send(connection, f"CREATE OR REPLACE TABLE {name} AS FROM batch", schema.empty_table())
    redirects = _fetched(connection, "SELECT url_key, redirect_to FROM answers WHERE redirect_to IS NOT NULL")
    hops = ({"url_key": key, "next_key": url_key(url), "next_url": url} for key, url in redirects)
    for some in _together(hops, _ROWS):
        _add(connection, "hops", _table("hops", some))
    connection.execute(TARGETS.format(last=last, slow_ms=1000 * slow_s))
    read = partial(_read_pages, crawl.root, robot_name, _Wanted(connection))
    for found in map_(read, _visits(connection, crawl, manifests, "current")):
        for name, table in found.items():
            _add(connection, name, table)
    for visits in _visits(connection, crawl, manifests, "current_sitemaps"):
        for visit in itertools.chain.from_iterable(_bodies(crawl.root, visits)):
            _add(connection, "entries", _table("entries", list(_entry_rows(visit["url"], visit["body"]))))
    connection.execute(LINKS.format(last=last))


def drop_files(connection: duckdb.DuckDBPyConnection, url_filter: UrlFilter) -> None:
    """Remove from table `gaps` the URLs that lead to no page: by their extension, they are files of other kinds."""
    reader = connection.sql("SELECT url FROM gaps WHERE reason = 'unvisited'").to_arrow_reader(_ROWS)
    files = [url for batch in reader for url in batch["url"].to_pylist() if url_filter.reject_url(url) == "extension"]
    rows = pa.table({"url": pa.array(files, pa.string())})
    _send(connection, "DELETE FROM gaps WHERE url IN (SELECT url FROM batch)", rows)


def _together(items: Iterator[Any], count: int) -> Iterator[list[Any]]:
    return iter(lambda: list(itertools.islice(items, count)), [])


def _table(name: str, rows: list[dict[str, Any]]) -> pa.Table:
    return pa.Table.from_pylist(rows, schema=_SCHEMAS[name])


def _add(connection: duckdb.DuckDBPyConnection, name: str, rows: pa.Table) -> None:
    _send(connection, f"INSERT INTO {name} FROM batch", rows)


def _send(connection: duckdb.DuckDBPyConnection, statement: str, rows: pa.Table) -> None:
    """Execute a statement that reads rows from `batch`."""
    connection.register("batch", rows)
    connection.execute(statement)
    connection.unregister("batch")


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


def _visits(
    connection: duckdb.DuckDBPyConnection, crawl: CrawlDir, manifests: Sequence[Manifest], wanted: str
) -> Iterator[_Visits]:
    """The visits that are in the table `wanted`, by key and time."""
    schema = pa.schema([VISITS.field("url_key"), VISITS.field("fetched_at")])
    for visits_file in files_of(manifests, "visits"):
        with open_parquet(crawl.root, visits_file.path) as file:
            keys = conform(file.read(schema.names), schema)
            sizes = [file.metadata.row_group(group).num_rows for group in range(file.num_row_groups)]
        connection.register("keys", keys.append_column("number", pa.array(range(keys.num_rows), pa.int64())))
        matches = connection.sql(f"SELECT number FROM keys SEMI JOIN {wanted} USING (url_key, fetched_at)")
        numbers = np.sort(matches.to_arrow_table()["number"].to_numpy())
        connection.unregister("keys")
        starts = np.cumsum([0, *sizes])
        for group, rows in enumerate(np.split(numbers, np.searchsorted(numbers, starts[1:-1]))):
            if len(rows):
                yield visits_file.path, group, rows - starts[group]


def _bodies(root: str, visits: _Visits) -> Iterator[list[dict[str, Any]]]:
    """Those of the visits with a body, some at a time."""
    (path, group, rows), start = visits, 0
    schema = pa.schema([VISITS.field(name) for name in _COLUMNS])
    with open_parquet(root, path) as file:
        for batch in file.iter_batches(_BATCH, row_groups=[group], columns=schema.names):
            places = rows[(rows >= start) & (rows < start + len(batch))] - start
            start += len(batch)
            kept = conform(pa.Table.from_batches([batch]).take(places), schema)
            yield [row for row in kept.to_pylist() if row["body"] is not None]


def _read_pages(root: str, robot_name: str, wanted: _Wanted, visits: _Visits) -> dict[str, pa.Table]:
    """The rows of the HTML pages among some visits, and of their references; as columns, for who puts them together."""
    tables: dict[str, list[pa.Table]] = {"pages": [], "refs": []}
    for some in _bodies(root, visits):
        pages, references = list[dict[str, Any]](), list[dict[str, Any]]()
        for visit in some:
            if is_html(visit["body"], visit["media_type"]):
                facts = page_facts(visit["body"], visit["url"], visit["media_type"], stored_headers(visit), robot_name)
                pages.append(_page_row(visit["url_key"], facts))
                references += _reference_rows(visit["url_key"], visit["url"], facts.references, wanted)
        tables["pages"].append(_table("pages", pages))
        tables["refs"].append(_table("refs", references))
    return {name: pa.concat_tables(found) for name, found in tables.items()}


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
