"""The tables of a crawl in SQL, with DuckDB inside this process (SPEC J6)."""

import re
from collections.abc import Iterable
from typing import Any

import duckdb

from ...transforms.storage.crawl_dir import CrawlDir, Manifest, files_of
from ...transforms.storage.schemas import TABLES

SNAPSHOTS = {
    "urls": "url_key",
    "hosts": "host",
    "robots": "origin",
    "digests": "digest",
    "near": "url_key",
    "aliases": "origin, kind, detail",
    "ranks": "url_key",
    "host_ranks": "host",
}
"""Tables of which the newest row of a key counts: `urls` is what holds now, `urls_history` every row."""


class QueryError(Exception):
    """A query that DuckDB refuses; the message is one line."""


def query(crawl: CrawlDir, text: str) -> tuple[list[str], list[tuple[Any, ...]]]:
    """(column names, rows) of a query over the committed files of a crawl, each table a view."""
    manifests = crawl.require_manifests()
    with duckdb.connect() as connection:
        connection.execute("SET TimeZone = 'UTC'")
        for name, schema in TABLES.items():
            connection.register(f"empty_{name}", schema.empty_table())
            connection.execute(view(crawl, manifests, name))
            if name in SNAPSHOTS:
                connection.execute(newest(name))
        try:
            cursor = connection.execute(text)
            if cursor is None or cursor.description is None:
                raise QueryError("the query is empty; ask for example: SELECT host, count(*) FROM documents GROUP BY 1")
            return [column[0] for column in cursor.description], cursor.fetchall()
        except duckdb.Error as error:
            raise QueryError(f"the query failed: {' '.join(str(error).split())[:500]}") from error


def view(crawl: CrawlDir, manifests: Iterable[Manifest], name: str) -> str:
    """SQL that makes a table's files a view, snapshots under `NAME_history`."""
    paths = [_literal(crawl.path(file.path)) for file in files_of(manifests, name)]
    if paths:
        files = ", ".join("'" + path.replace("'", "''") + "'" for path in paths)
        source = f"SELECT * FROM read_parquet([{files}], union_by_name = true, hive_partitioning = false)"
    else:
        source = f"SELECT * FROM empty_{name}"
    return f"CREATE VIEW {name}{'_history' if name in SNAPSHOTS else ''} AS {source}"


def _literal(path: str) -> str:
    """A pattern of DuckDB that matches this path alone."""
    return re.sub(r"([\[*?])", r"[\1]", path)


def newest(name: str) -> str:
    """SQL that makes the newest row of each key of a snapshot a view."""
    key = SNAPSHOTS[name]
    order = "round DESC" + (", fetched_at DESC" if name == "robots" else "")
    return (
        f"CREATE VIEW {name} AS SELECT * FROM {name}_history"
        f" QUALIFY row_number() OVER (PARTITION BY {key} ORDER BY {order}) = 1"
    )
