"""A database in memory with the tables of a crawl as views (docs/tables.md)."""

import contextlib
import re
from collections.abc import Collection, Iterable, Iterator, Sequence

import duckdb
import pyarrow as pa

from ..directory.crawl_dir import CrawlDir, Manifest, current_files, files_of
from ..directory.datasets import open_dataset
from ..directory.verify import file_faults
from ..directory.waiting import Waiting, read_waiting
from ..files import filesystem
from ..outcomes import CrawlDirError
from ..tables.damage import require_whole_once
from ..tables.schemas import TABLES
from ..tables.table_files import TableFile, way_out

SNAPSHOTS = {
    "frontier": "url_key",
    "urls": "url_key",
    "hosts": "host",
    "robots": "origin",
    "digests": "digest, site",
    "near": "url_key",
    "aliases": "origin, kind, detail, template",
    "alias_counts": "origin, kind, detail, template",
    "traps": "host, template, kind",
    "change_rates": "rate, weight",
    "host_changes": "host",
    "ranks": "url_key",
    "host_ranks": "host",
}
"""Snapshot tables with their keys: the newest row of a key counts; `NAME_history` has all rows that were not merged.

Of the frontier, the rows that have not left count.
"""

_TYPES = {
    pa.string(): "VARCHAR",
    pa.binary(): "BLOB",
    pa.large_binary(): "BLOB",
    pa.bool_(): "BOOLEAN",
    pa.int8(): "TINYINT",
    pa.int32(): "INTEGER",
    pa.int64(): "BIGINT",
    pa.float32(): "FLOAT",
    pa.float64(): "DOUBLE",
    pa.timestamp("us", "UTC"): "TIMESTAMP WITH TIME ZONE",
}
"""The types of DuckDB, but for those with others inside."""

_OF_FILES = (duckdb.IOException, duckdb.InvalidInputException, duckdb.SerializationException, duckdb.InternalException)
"""Errors of DuckDB that a damaged file may cause."""


def connect(
    crawl: CrawlDir,
    manifests: Sequence[Manifest],
    tables: Iterable[str] = tuple(TABLES),
    named: Collection[str] = TABLES.keys(),
    without: pa.Array | None = None,
) -> duckdb.DuckDBPyConnection:
    """A connection to a database in memory with a view for each table, and one for the history of each snapshot.

    Only the views of `named` tables have rows; the files of the others are not opened. URLs `without` rows have none,
    as pages and as sources of links. CrawlDirError if a file is damaged: DuckDB ignores the checksums of pages, so
    those of whole files are compared (`require_whole_once`).
    """
    connection = duckdb.connect()
    connection.execute("SET TimeZone = 'UTC'")
    # `python -c` and notebooks are interactive to DuckDB: it would draw the progress of a slow query on their output.
    with contextlib.suppress(duckdb.InvalidInputException):  # raised in notebooks without ipywidgets
        connection.execute("SET enable_progress_bar = false")
    with contextlib.suppress(duckdb.CatalogException):  # older versions of DuckDB have no such setting
        connection.execute("SET parquet_metadata_cache = true")
    for name in tables:
        if name in named:
            require_whole_once(crawl.root, current_files(manifests, name))
    with naming_damage(crawl, manifests, [name for name in tables if name in named]):
        _create_views(connection, crawl, manifests, tables, named, without)
    return connection


def _create_views(
    connection: duckdb.DuckDBPyConnection,
    crawl: CrawlDir,
    manifests: Sequence[Manifest],
    tables: Iterable[str],
    named: Collection[str],
    without: pa.Array | None = None,
) -> None:
    if without is not None:
        connection.register("rows", pa.table({"url": without}))
        connection.execute("CREATE SCHEMA empty; CREATE TABLE empty.without AS FROM rows")
        connection.unregister("rows")
    statements = ["CREATE SCHEMA IF NOT EXISTS empty"]  # not in SHOW TABLES
    for name in tables:
        statements.append(f"CREATE TABLE empty.{name} ({columns_of(TABLES[name])})")
        rows = _rows(connection, crawl, current_files(manifests, name) if name in named else [], name)
        for column in ("url", "source_url") if without is not None else ():
            if column in TABLES[name].names:
                rows = (
                    f"SELECT * FROM ({rows}) WHERE {column} IS NULL OR {column} NOT IN (SELECT url FROM empty.without)"
                )
        statements.append(f"CREATE VIEW {name}{'_history' if name in SNAPSHOTS else ''} AS {rows}")
        if name == "frontier":
            statements.append(_waiting(connection, crawl, Waiting.of(manifests if name in named else [])))
        elif name in SNAPSHOTS:
            statements.append(newest(name))
    connection.execute("; ".join(statements))


def columns_of(schema: pa.Schema) -> str:
    """The columns of a table as `CREATE TABLE` lists them, with the types that DuckDB reads the Arrow types as.

    >>> columns_of(pa.schema([("url", pa.string()), ("ids", pa.list_(pa.int64()))]))
    '"url" VARCHAR, "ids" BIGINT[]'
    """
    return ", ".join(f'"{field.name}" {_type_of(field.type)}' for field in schema)


def _type_of(kind: pa.DataType) -> str:
    if pa.types.is_list(kind):
        return f"{_type_of(kind.value_type)}[]"
    if pa.types.is_map(kind):
        return f"MAP({_type_of(kind.key_type)}, {_type_of(kind.item_type)})"
    if pa.types.is_struct(kind):
        return f"STRUCT({columns_of(pa.schema(list(kind)))})"
    return "BLOB" if pa.types.is_fixed_size_binary(kind) else _TYPES[kind]


def _rows(connection: duckdb.DuckDBPyConnection, crawl: CrawlDir, files: Sequence[TableFile], name: str) -> str:
    """SQL that selects the rows of a table's files; columns missing in files are null."""
    if not files:
        return f"SELECT * FROM empty.{name}"
    if not filesystem.store_of(crawl.root).has_local_paths:  # DuckDB would require an extension and its own credentials
        connection.register(f"files_{name}", open_dataset(crawl, files, TABLES[name]))
        return f"SELECT * FROM files_{name}"
    paths = ", ".join("'" + literal(crawl.path(file.path)).replace("'", "''") + "'" for file in files)
    read = f"read_parquet([{paths}], union_by_name = true, hive_partitioning = false)"
    return f"SELECT * FROM empty.{name} UNION ALL BY NAME SELECT * FROM {read}"


def newest(name: str) -> str:
    """SQL that creates a view of the newest row of each key of a snapshot."""
    key = SNAPSHOTS[name]
    order = "round DESC" + (", fetched_at DESC" if name == "robots" else "")
    return (
        f"CREATE VIEW {name} AS SELECT * FROM {name}_history"
        f" QUALIFY row_number() OVER (PARTITION BY {key} ORDER BY {order}) = 1"
    )


def _waiting(connection: duckdb.DuckDBPyConnection, crawl: CrawlDir, waiting: Waiting) -> str:
    """SQL that creates the view `frontier` of the waiting URLs, each once, with the reason of now."""
    columns = ", ".join(f'"{name}"' for name in TABLES["frontier"].names)
    source = "SELECT * FROM empty.frontier"
    if not filesystem.store_of(crawl.root).has_local_paths:
        rows = [TABLES["frontier"].empty_table(), *read_waiting(crawl.root, waiting)]
        connection.register("waiting", pa.concat_tables(rows))
        source = "SELECT * FROM waiting"
    elif waiting.frontier:
        is_late = f"regexp_extract(filename, '/round=([0-9]+)/[^/]*$', 1)::int <= {waiting.last_updated}"
        reason = f"CASE WHEN reason IN ('new', 'seed') AND {is_late} THEN 'deferred' ELSE reason END AS reason"
        source = (
            f"SELECT {columns} FROM (SELECT * REPLACE ({reason}) FROM (SELECT *, NULL AS filename, NULL AS"
            f" file_row_number FROM empty.frontier UNION ALL BY NAME SELECT * FROM {_read(crawl, waiting.frontier)}))"
        )
        if waiting.left:
            folder = crawl.path("").replace("'", "''")
            source += (
                f" WHERE (filename, file_row_number) NOT IN (SELECT ('{folder}' || path, number)"
                f" FROM {_read(crawl, waiting.left)})"
            )
    return f"CREATE VIEW frontier AS {source} QUALIFY row_number() OVER (PARTITION BY url_key ORDER BY depth, url) = 1"


def _read(crawl: CrawlDir, paths: Iterable[str]) -> str:
    """SQL that reads files with their names and row numbers; columns missing in files are null."""
    listed = ", ".join("'" + literal(crawl.path(path)).replace("'", "''") + "'" for path in paths)
    options = "union_by_name = true, hive_partitioning = false, filename = true, file_row_number = true"
    return f"read_parquet([{listed}], {options})"


def literal(path: str) -> str:
    """A DuckDB pattern that matches only this path."""
    return re.sub(r"([\[*?])", r"[\1]", path)


@contextlib.contextmanager
def naming_damage(crawl: CrawlDir, manifests: Sequence[Manifest], named: Collection[str]) -> Iterator[None]:
    """Converts an error of DuckDB to a CrawlDirError if a file of the named tables is damaged."""
    try:
        yield
    except _OF_FILES as error:
        files = [file for name in sorted(named) for file in files_of(manifests, name)]
        if fault := next(file_faults(crawl, files), None):
            raise CrawlDirError(f"{fault}; {way_out(crawl.root, fault.path)}") from error
        raise
