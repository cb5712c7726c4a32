"""An open crawl, of which records are read, and rows of its tables by lists of keys."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import duckdb
import pyarrow as pa

from ...transforms.directory.crawl_dir import CrawlDir, Manifest, paths_of
from ...transforms.http.request_headers import Identity
from ...transforms.parsing.crawl_scope import CrawlScope
from ...transforms.settings import Settings
from ...transforms.sql.views import connect
from ...transforms.tables.schemas import Row

_USED = (
    *("urls", "frontier", "visits", "documents", "links", "robots", "hosts", "traps", "ranks", "seeds"),
    *("tombstones", "host_changes"),
)


class Sources(NamedTuple):
    """Where records are read: an open crawl."""

    crawl: CrawlDir
    manifests: Sequence[Manifest]
    tables: duckdb.DuckDBPyConnection
    seed_hosts: frozenset[str]
    scope: CrawlScope
    settings: Settings

    @property
    def robot(self) -> str:
        """The product token of the robot."""
        return Identity.of(self.settings.robot).token

    def rows(self, query: str, *values: Any) -> list[Row]:
        cursor = self.tables.execute(query, values)
        names = [column[0] for column in cursor.description or ()]
        return [dict(zip(names, map(_plain, row), strict=True)) for row in cursor.fetchall()]

    def row(self, query: str, *values: Any) -> Row | None:
        return next(iter(self.rows(query, *values)), None)

    def rows_of(self, query: str, wanted: Mapping[str, pa.Array]) -> list[Row]:
        """The rows of a query that joins the table `wanted`; none, without reading a table, if that is empty."""
        rows = pa.table(dict(wanted))
        if not rows.num_rows:
            return []
        self.tables.register("given", rows)
        self.tables.execute("CREATE OR REPLACE TEMP TABLE wanted AS FROM given")
        self.tables.unregister("given")
        return self.rows(query)


def open_sources(crawl: CrawlDir, settings: Settings) -> Sources:
    """Open the tables; CrawlDirError if there is no crawl."""
    manifests = crawl.require_manifests()
    tables = connect(crawl, manifests, _USED)
    hosts = frozenset(host for (host,) in tables.execute("SELECT DISTINCT host FROM seeds").fetchall())
    return Sources(
        crawl=crawl,
        manifests=manifests,
        tables=tables,
        seed_hosts=hosts,
        scope=CrawlScope.of(crawl.root, settings.scope, settings.documents, paths_of(manifests, "seeds")),
        settings=settings,
    )


def keys(values: Iterable[bytes]) -> pa.Array:
    """Keys of URLs as a column."""
    return pa.array(list(values), pa.binary(16)).cast(pa.binary())


def _plain(value: Any) -> Any:
    """Keys in hexadecimal; other values as they are."""
    if isinstance(value, bytes) and len(value) == 16:
        return value.hex()
    return dict(value) if isinstance(value, Mapping) else value
