"""An open crawl, of which records are read: of its tables, the rows that some URLs or hosts need.

A row group that cannot hold them is skipped by its statistics. What is read is in a database in memory, with the views
of `transforms.sql`; that of links reads their files.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq

from ...transforms.directory.crawl_dir import CrawlDir, Manifest, paths_of
from ...transforms.directory.waiting import Waiting, matching_waiting
from ...transforms.http.request_headers import Identity
from ...transforms.parsing.crawl_scope import CrawlScope
from ...transforms.settings import Settings
from ...transforms.sql.views import connect, naming_damage
from ...transforms.tables.key_scan import Wanted, matching_rows
from ...transforms.tables.schemas import KEY, SEEDS, TABLES, Row
from ...transforms.tables.table_files import read_hosts
from ...transforms.urls import canonical as urls

_UNREAD = {"visits": ("headers", "body"), "documents": ("text", "headings"), "hosts": ("latency",)}
"""Columns that no record has."""

_READ_BY_VIEW = ("links",)
"""Tables that DuckDB reads itself, in a third of the time if each row group has a few of many rows."""


class Sources(NamedTuple):
    """Where records are read: an open crawl."""

    crawl: CrawlDir
    manifests: Sequence[Manifest]
    tables: duckdb.DuckDBPyConnection
    seed_hosts: frozenset[str]
    scope: CrawlScope
    settings: Settings
    footers: dict[str, dict[str, pq.FileMetaData]]  # of the files of tables that are read again

    @property
    def robot(self) -> str:
        """The product token of the robot."""
        return Identity.of(self.settings.robot).token

    def read(self, table: str, wanted: Wanted, columns: Sequence[str] = ()) -> Iterator[pa.Table]:
        """The rows of a table that may be wanted, with some columns, or all that records have."""
        schema, root = TABLES[table], self.crawl.root
        names = columns or [name for name in schema.names if name not in _UNREAD.get(table, ())]
        if table == "frontier":
            waiting = Waiting.of(self.manifests)
            yield from (rows.select(names) for rows in matching_waiting(root, waiting, wanted))
        else:
            for path in paths_of(self.manifests, table):
                yield from matching_rows(root, path, schema, wanted, names, self.footers.get(table))

    def load(self, table: str, wanted: Wanted, columns: Sequence[str] = ()) -> None:
        """Let the views of a table show what `read` yields, and nothing else."""
        self.tables.execute(f"DELETE FROM empty.{table}")
        if found := list(self.read(table, wanted, columns)):
            self.tables.register("given", pa.concat_tables(found))
            self.tables.execute(f"INSERT INTO empty.{table} BY NAME FROM given")
            self.tables.unregister("given")

    def rows(self, query: str, *values: Any) -> list[Row]:
        with naming_damage(self.crawl, self.manifests, _READ_BY_VIEW):
            cursor = self.tables.execute(query, values)
            names = [column[0] for column in cursor.description or ()]
            return [dict(zip(names, map(_plain, row), strict=True)) for row in cursor.fetchall()]

    def row(self, query: str, *values: Any) -> Row | None:
        return next(iter(self.rows(query, *values)), None)


def open_sources(crawl: CrawlDir, settings: Settings) -> Sources:
    """Open the tables; CrawlDirError if there is no crawl."""
    manifests = crawl.require_manifests()
    return Sources(
        crawl=crawl,
        manifests=manifests,
        tables=connect(crawl, manifests, named=_READ_BY_VIEW),
        seed_hosts=read_hosts(crawl.root, paths_of(manifests, "seeds"), SEEDS),
        scope=CrawlScope.of(crawl.root, settings.scope, settings.documents, paths_of(manifests, "seeds")),
        settings=settings,
        footers={"urls": {}, "visits": {}},  # for each link on the way from a seed; for redirects
    )


def of_urls(given: Iterable[str]) -> Wanted:
    """The rows of URLs."""
    hosts = {urls.url_key(url): urls.host(url) for url in given}
    return Wanted("host", sorted({*hosts.values()}), "url_key", pa.array(hosts, KEY))


def _plain(value: Any) -> Any:
    """Keys in hexadecimal; other values as they are."""
    if isinstance(value, bytes) and len(value) == 16:
        return value.hex()
    return dict(value) if isinstance(value, Mapping) else value
