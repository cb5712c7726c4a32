"""Chooses the captures that become visits: at most one for each URL, and none that the crawl knows already.

A capture is identified by its URL and its time: the newest one counts, if it is newer than the last answer that the
crawl knows. So the same file gives nothing a second time, and an older archive replaces nothing. Record ids do not
matter: archives repeat them. Temporary failures count only for a URL of which nothing else is known.
"""

from collections.abc import Collection, Iterable, Iterator
from itertools import groupby
from operator import itemgetter
from typing import Literal, NamedTuple

import duckdb
import pyarrow as pa
import pyarrow.compute as pc

from ..tables.schemas import KEY, TIME
from .captures import SCAN

KNOWN = pa.schema(
    [
        ("url_key", KEY),
        ("fetched_at", TIME),  # of the last answer; null: none
        ("round", pa.int32()),  # of the row: the newest one of a URL counts
        ("is_page", pa.bool_()),  # it is a page, which a revisit may confirm
        ("depth", pa.int32()),
        ("referrer", pa.string()),
        ("discovered_round", pa.int32()),
        ("digest_before", KEY),
    ]
)
"""What the crawl knows of the URLs of an import, and of its robots.txt files."""

STORED = pa.schema(
    [
        ("url_key", KEY),
        ("fetched_at", TIME),
        ("is_page", pa.bool_()),
        SCAN.field("digest"),  # that was compared with the payload; null: none was
        ("number", pa.int64()),  # of the row in its file
    ]
)
"""Visits of earlier imports with payloads, to which revisits may refer."""

PLAN = pa.schema(
    [
        ("file", pa.int32()),
        ("number", pa.int64()),  # of the record, or visit, with the payload; null: there is none, it has not changed
        *(SCAN.field(name) for name in ("url_key", "url", "host", "fetched_at", "is_robots", "depth", "referrer")),
        SCAN.field("elapsed_ms"),
        SCAN.field("digest"),
        SCAN.field("head"),
        *(KNOWN.field(name) for name in ("discovered_round", "digest_before")),
    ]
)
"""The visits of an import, by the file that has their payload."""

_BATCH = 20_000


class Chosen(NamedTuple):
    """The choice among the captures of some files."""

    visits: int
    robots: int
    known: int  # captures that are not newer than what the crawl knows of their URL
    older: int  # captures of a URL that has a newer one in the import
    revisit: int  # revisits of a URL of which nothing is in the import or among earlier ones
    revisit_differs: int  # revisits of a URL of which other payloads are there


Added = Literal["captures", "known", "elsewhere", "stored"]
"""What a choice is made of: rows of SCAN, and of KNOWN; rows of SCAN of another part of the import, for their payloads
only; and rows of STORED of a file of visits."""


class Choice:
    """A choice, in a temporary database that uses little memory; close it at the end."""

    def __init__(self, folder: str) -> None:
        """`folder` is a local one, for what does not fit into memory."""
        self._waiting: dict[str, list[pa.Table]] = {}
        self._database = duckdb.connect(f"{folder}/choice.db")
        self._database.execute(f"SET temp_directory = '{folder}'; SET memory_limit = '1GB'; SET threads = 1")
        self._database.execute("SET preserve_insertion_order = false; SET TimeZone = 'UTC'")
        for name, schema in _TABLES.items():
            self._database.register("empty", schema.empty_table())
            self._database.execute(f"CREATE TABLE {name} AS SELECT * FROM empty")

    def add(self, name: Added, rows: pa.Table, file: int | None = None) -> None:
        """Add rows; `file` is the place of their file among all, archives first."""
        if file is not None:
            rows = rows.add_column(0, _FILE, pa.repeat(pa.scalar(file, _FILE.type), rows.num_rows))
        waiting = self._waiting.setdefault(name, [])
        waiting.append(rows)
        if sum(table.num_rows for table in waiting) >= _BATCH:
            self._flush()

    def _flush(self) -> None:
        """Insert what was added: many files have few captures."""
        for name, tables in self._waiting.items():
            self._database.register("rows", pa.concat_tables(tables))
            self._database.execute(f"INSERT INTO {name} SELECT * FROM rows")
        self._waiting.clear()

    def hosts(self) -> list[str]:
        """The hosts of all captures, sorted."""
        self._flush()
        return [host for (host,) in self._database.sql("SELECT DISTINCT host FROM captures ORDER BY 1").fetchall()]

    def url_keys(self) -> Iterator[pa.Table]:
        """The keys of all captures."""
        self._flush()
        for batch in self._database.sql("SELECT DISTINCT url_key FROM captures").to_arrow_reader(_BATCH):
            yield pa.Table.from_batches([batch]).cast(pa.schema([("url_key", KEY)]))

    def revisited(self) -> pa.Table:
        """(url_key, host) of the URLs to which revisits refer."""
        self._flush()
        return self._database.sql(_REVISITED).to_arrow_table().cast(pa.schema([("url_key", KEY), SCAN.field("host")]))

    def choose(self) -> Chosen:
        self._flush()
        self._database.execute(_CHOOSE)
        return Chosen(*self._database.sql(_COUNT).fetchall()[0])

    def plans(self, before: Collection[bytes] = ()) -> Iterator[tuple[int, Iterator[pa.Table]]]:
        """The visits to make of each file, as batches of PLAN, after `choose`; none of those read `before`.

        The batches of a file are read before the next file is taken: all come from one sorted query.
        """
        self._database.register("keys", pa.table({"url_key": pa.array(list(before), KEY)}))
        for file, pieces in groupby(self._planned(), key=itemgetter(0)):
            yield file, (rows for _, rows in pieces)

    def _planned(self) -> Iterator[tuple[int, pa.Table]]:
        for batch in self._database.sql(_PLAN).to_arrow_reader(_BATCH):
            rows = pa.Table.from_batches([batch]).cast(PLAN)
            start = 0
            for run in pc.run_end_encode(rows["file"].combine_chunks()).run_ends.to_pylist():
                yield rows["file"][start].as_py(), rows.slice(start, run - start)
                start = run

    def close(self) -> None:
        self._database.close()


def first_pages(captures: Iterable[pa.Table]) -> list[tuple[str, str]]:
    """(host, URL) of the page of each host that is nearest to a seed, sorted; `captures` are tables of SCAN."""
    nearest: dict[str, tuple[int, int, str]] = {}
    for table in captures:
        pages = table.filter(pc.invert(table["is_robots"])).select(["host", "depth", "url"])
        for host, depth, url in zip(*(column.to_pylist() for column in pages.columns), strict=True):
            page = (depth or 0, len(url), url)
            nearest[host] = min(nearest.get(host, page), page)
    return sorted((host, url) for host, (_, _, url) in nearest.items())


_FILE = pa.field("file", pa.int32())
_TABLES = {
    "captures": pa.schema([_FILE, *SCAN]),
    "elsewhere": pa.schema([_FILE, *SCAN]),
    "stored": pa.schema([_FILE, *STORED]),
    "known": KNOWN,
}

_REVISITED = "SELECT DISTINCT original_key AS url_key, original_host AS host FROM captures WHERE is_revisit"

_CHOOSE = """
CREATE TABLE newest AS
SELECT * FROM known QUALIFY row_number() OVER (PARTITION BY url_key ORDER BY round DESC, fetched_at DESC) = 1;

CREATE TABLE originals AS
SELECT url_key, is_robots, digest, fetched_at, date_trunc('second', fetched_at) AS second, file, number,
  false AS is_stored
FROM (FROM captures UNION ALL FROM elsewhere) WHERE NOT is_revisit AND NOT is_failure
UNION ALL
SELECT url_key, false, digest, fetched_at, NULL, file, number, true FROM stored WHERE digest IS NOT NULL;

CREATE TABLE present AS SELECT url_key FROM originals UNION SELECT url_key FROM stored;

CREATE TABLE last_pages AS
SELECT url_key, digest FROM stored WHERE is_page
QUALIFY row_number() OVER (PARTITION BY url_key ORDER BY fetched_at DESC, file DESC, number DESC) = 1;

CREATE TABLE by_digest AS
SELECT * FROM originals WHERE digest IS NOT NULL
QUALIFY row_number() OVER (PARTITION BY url_key, is_robots, digest, fetched_at ORDER BY file, number) = 1;

CREATE TABLE by_second AS
SELECT * FROM originals WHERE second IS NOT NULL  -- of a stored one, only the digest counts
QUALIFY row_number() OVER (
  PARTITION BY url_key, is_robots, second, digest IS NULL ORDER BY fetched_at, file, number
) = 1;

CREATE TABLE revisits AS
SELECT file, number, original_key AS url_key, is_robots, digest, coalesce(original_at, fetched_at) AS named_at,
  date_trunc('second', original_at) AS second
FROM captures WHERE is_revisit;

CREATE TABLE resolved AS
WITH found AS (
  SELECT r.file, r.number, r.named_at, o.file AS payload_file, o.number AS payload_number, o.fetched_at, o.is_stored
  FROM revisits r ASOF JOIN by_digest o
    ON r.url_key = o.url_key AND r.is_robots = o.is_robots AND r.digest = o.digest AND r.named_at >= o.fetched_at
  UNION ALL
  SELECT r.file, r.number, r.named_at, o.file, o.number, o.fetched_at, o.is_stored
  FROM revisits r ASOF JOIN by_digest o
    ON r.url_key = o.url_key AND r.is_robots = o.is_robots AND r.digest = o.digest AND r.named_at <= o.fetched_at
  UNION ALL
  SELECT r.file, r.number, r.named_at, o.file, o.number, o.fetched_at, false
  FROM revisits r JOIN by_second o USING (url_key, is_robots, second)
  WHERE r.digest IS NULL OR o.digest IS NULL
)
SELECT file, number, payload_file, payload_number, is_stored FROM found
QUALIFY row_number() OVER (
  PARTITION BY file, number ORDER BY abs(epoch_us(named_at) - epoch_us(fetched_at)), payload_file, payload_number
) = 1;

CREATE TABLE unchanged AS
SELECT c.file, c.number, coalesce(c.digest = l.digest, false) AS is_last
FROM captures c JOIN newest k USING (url_key) LEFT JOIN last_pages l USING (url_key)
WHERE c.is_revisit AND k.is_page AND c.original_key = c.url_key AND coalesce(c.digest = l.digest, true);

CREATE TABLE judged AS
SELECT c.*, k.discovered_round, k.digest_before,
  coalesce(k.depth, c.depth, 0) AS new_depth, coalesce(k.referrer, c.referrer) AS new_referrer,
  coalesce(r.payload_file, c.file) AS payload_file,
  CASE WHEN c.is_revisit THEN r.payload_number ELSE c.number END AS payload_number,
  k.fetched_at IS NOT NULL AND (c.is_failure OR k.fetched_at >= c.fetched_at) AS is_known,
  c.is_revisit AND r.payload_number IS NULL AND u.number IS NULL AS is_unresolved,
  p.url_key IS NOT NULL AS has_others
FROM captures c LEFT JOIN newest k USING (url_key)
LEFT JOIN unchanged u ON c.file = u.file AND c.number = u.number
LEFT JOIN resolved r ON c.file = r.file AND c.number = r.number AND NOT (r.is_stored AND coalesce(u.is_last, false))
LEFT JOIN present p ON c.original_key = p.url_key;

CREATE TABLE chosen AS
SELECT * FROM judged WHERE NOT is_known AND NOT is_unresolved
QUALIFY row_number() OVER (
  PARTITION BY url_key, is_robots ORDER BY is_failure, fetched_at DESC, is_revisit, file, number
) = 1;
"""

_COUNT = """
SELECT
  (SELECT count(*) FILTER (NOT is_robots) FROM chosen), (SELECT count(*) FILTER (is_robots) FROM chosen),
  count(*) FILTER (is_known),
  count(*) FILTER (NOT is_known AND NOT is_unresolved) - (SELECT count(*) FROM chosen),
  count(*) FILTER (NOT is_known AND is_unresolved AND NOT has_others),
  count(*) FILTER (NOT is_known AND is_unresolved AND has_others)
FROM judged
"""

_PLAN = """
SELECT payload_file AS file, payload_number AS number, url_key, url, host, fetched_at, is_robots,
  new_depth AS depth, new_referrer AS referrer, elapsed_ms, digest, head, discovered_round, digest_before
FROM chosen ANTI JOIN keys USING (url_key) ORDER BY payload_file, payload_number NULLS FIRST, url_key
"""
