"""The tables of a crawl in SQL, with DuckDB inside this process (docs/tables.md)."""

import contextlib
import json
import re
import tempfile
import threading
from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import Any

import duckdb
import pyarrow as pa

from .directory.crawl_dir import CrawlDir, Manifest, current_files, files_of
from .directory.datasets import open_dataset
from .directory.verify import file_faults
from .directory.waiting import Waiting, read_waiting
from .errors import BeamtrawlError, CrawlDirError, QueryTimeout
from .files import filesystem
from .tables.damage import require_whole_once
from .tables.schemas import TABLES
from .tables.table_files import TableFile, way_out

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


_OF_FILES = (duckdb.IOException, duckdb.InvalidInputException, duckdb.SerializationException, duckdb.InternalException)
"""Errors of DuckDB that a damaged file may cause."""


class QueryError(BeamtrawlError):
    """A query that DuckDB rejects; the message is one line."""


def query(crawl: CrawlDir, text: str, unsafe: bool = False) -> tuple[list[str], list[tuple[Any, ...]]]:
    """(column names, rows) of a query over the committed files of a crawl, each table a view.

    Unless `unsafe`, it reads no file but those of the tables, and writes none: QueryError. This holds for all functions
    that take a query.
    """
    with _asked(crawl, text, unsafe) as connection:
        found = _relation(connection, text)
        return list(found.columns), found.fetchall()


def query_arrow(crawl: CrawlDir, text: str, parameters: Sequence[Any] | None = None, unsafe: bool = False) -> pa.Table:
    """The same as an Arrow table; `parameters` are the values of the ? in the query."""
    with _asked(crawl, text, unsafe) as connection:
        return _relation(connection, text, parameters).to_arrow_table()


def query_first(
    crawl: CrawlDir, text: str, most: int, timeout_s: float, without: pa.Array, memory: str = "1GB"
) -> tuple[list[str], list[tuple[Any, ...]]]:
    """The same as of `query`, with the first `most` rows, and of rows of URLs `without` those of some.

    QueryTimeout if it takes longer than `timeout_s`.
    """
    with (
        tempfile.TemporaryDirectory() as scratch,
        _asked(crawl, text, False, (scratch, memory), without) as connection,
        _limited(connection, timeout_s),
    ):
        found = _relation(connection, text)
        return list(found.columns), found.limit(most).fetchall()


@contextlib.contextmanager
def query_batches(crawl: CrawlDir, text: str, rows: int, memory: str = "1GB") -> Iterator[pa.RecordBatchReader]:
    """The rows of a query, read while they are used, in batches; what needs more memory goes to a temporary folder."""
    with tempfile.TemporaryDirectory() as scratch, _asked(crawl, text, False, (scratch, memory)) as connection:
        yield _relation(connection, text).to_arrow_reader(rows)


def _confine(connection: duckdb.DuckDBPyConnection, crawl: CrawlDir, text: str) -> None:
    """Refuse a query that does anything but read the tables; DuckDB is kept from all other files.

    The folders of the tables alone are allowed: crawl.toml beside them may hold passwords.
    """
    _refuse_writes(connection, text)
    if filesystem.store_of(crawl.root).has_local_paths:
        paths = [crawl.path(f"{name}/") for name in TABLES]
        folders = {*paths, *map(_literal, paths)}  # DuckDB compares names of files with these, and patterns too
        listed = ", ".join("'" + folder.replace("'", "''") + "'" for folder in sorted(folders))
        connection.execute(f"SET allowed_directories = [{listed}]")
    connection.execute("SET python_enable_replacements = false")
    connection.execute("SET enable_external_access = false; SET lock_configuration = true")


def _refuse_writes(connection: duckdb.DuckDBPyConnection, text: str) -> None:
    for statement in connection.extract_statements(text):
        kind = statement.type.name
        if kind not in ("SELECT", "EXPLAIN", "PRAGMA"):
            raise QueryError(f"{kind} is refused, because the tables can only be read; --unsafe allows it")
        if kind == "EXPLAIN":  # EXPLAIN ANALYZE runs what it explains
            _refuse_writes(connection, _EXPLAIN.sub("", statement.query, count=1))


def _refuse_files(connection: duckdb.DuckDBPyConnection, text: str) -> None:
    """Refuse a query that names more than views: the files below them have the rows that the views are without."""
    for statement in connection.extract_statements(text):
        if statement.type.name != "SELECT":
            raise QueryError(f"{statement.type.name} is refused; only SELECT, SHOW, DESCRIBE and SUMMARIZE can be used")
        row = connection.execute("SELECT json_serialize_sql(?)", [statement.query]).fetchone()
        nodes: list[Any] = [json.loads(row[0] if row else "{}")]
        if nodes[0].get("error", True):
            raise QueryError(f"the query failed: {nodes[0].get('error_message')}")
        while nodes:
            node = nodes.pop()
            if isinstance(node, list):
                nodes += node
            elif isinstance(node, dict):
                nodes += node.values()
                function, table = node.get("function"), node.get("table_name")
                name = function.get("function_name", "").lower() if isinstance(function, dict) else ""
                if node.get("type") == "TABLE_FUNCTION" and name not in _FUNCTIONS:
                    raise QueryError(f"{name} is refused; tables and views can be read")
                if node.get("type") in ("BASE_TABLE", "SHOW_REF") and (
                    (node.get("schema_name") or "").lower() == "empty"
                    or (table and not _TABLE.fullmatch(table.strip('"')))
                ):
                    raise QueryError(f"{table} is refused; tables and views can be read")


_FUNCTIONS = frozenset({"unnest", "range", "generate_series"})
_TABLE = re.compile(r"(?!files_|waiting$)\w+", re.IGNORECASE)  # not what is registered for views

_EXPLAIN = re.compile(r"^\s*explain\s*(\([^)]*\)|analyze\b)?", re.IGNORECASE)


@contextlib.contextmanager
def _asked(
    crawl: CrawlDir,
    text: str,
    unsafe: bool,
    memory: tuple[str, str] | None = None,
    without: pa.Array | None = None,
) -> Iterator[duckdb.DuckDBPyConnection]:
    """A connection for one query, which opens only the files of tables that the query names.

    `memory` is a scratch folder and a limit, `without` are URLs without rows. QueryError if the query fails or is
    refused, CrawlDirError if it fails due to a damaged file.
    """
    manifests = crawl.require_manifests()
    words = set(re.findall(r"\w+", text.lower()))
    with _opened(
        crawl, manifests, {name for name in TABLES if words & {name, f"{name}_history"}}, without
    ) as connection:
        if memory:
            _bound_memory(connection, *memory)
        if without is not None:
            _refuse_files(connection, text)
        if not unsafe:
            _confine(connection, crawl, text)
        yield connection


@contextlib.contextmanager
def open_tables(
    crawl: CrawlDir,
    manifests: Sequence[Manifest],
    named: Collection[str],
    memory: str = "1GB",
    timeout_s: float | None = None,
) -> Iterator[duckdb.DuckDBPyConnection]:
    """A connection for several queries over the named tables of a crawl as of some manifests.

    What needs more memory goes to a temporary folder. QueryError if a query fails, QueryTimeout if all that is done
    with the connection takes longer than `timeout_s`, CrawlDirError if a file is damaged.
    """
    with tempfile.TemporaryDirectory() as scratch, _opened(crawl, manifests, named) as connection:
        _bound_memory(connection, scratch, memory)
        with _limited(connection, timeout_s):
            yield connection


@contextlib.contextmanager
def _limited(connection: duckdb.DuckDBPyConnection, timeout_s: float | None) -> Iterator[None]:
    """Interrupts the query that runs after so many seconds: QueryTimeout."""
    if timeout_s is None:
        yield
        return
    is_over = threading.Event()

    def interrupt() -> None:
        is_over.set()
        connection.interrupt()

    timer = threading.Timer(timeout_s, interrupt)
    timer.daemon = True
    timer.start()
    failed: Exception | None = None
    try:
        yield
    except Exception as error:
        if not is_over.is_set():
            raise
        failed = error
    finally:
        timer.cancel()
    if is_over.is_set():
        raise QueryTimeout(f"the query took longer than {timeout_s:g} seconds") from failed


def _bound_memory(connection: duckdb.DuckDBPyConnection, scratch: str, memory: str) -> None:
    connection.execute(f"SET temp_directory = '{scratch}'; SET memory_limit = '{memory}'")


@contextlib.contextmanager
def _opened(
    crawl: CrawlDir, manifests: Sequence[Manifest], named: Collection[str], without: pa.Array | None = None
) -> Iterator[duckdb.DuckDBPyConnection]:
    named = {*named, "frontier_left"} if "frontier" in named else named
    try:
        with (
            connect(crawl, manifests, named=named, without=without) as connection,
            _naming_damage(crawl, manifests, named),
        ):
            yield connection
    except duckdb.Error as error:
        raise QueryError(f"the query failed: {' '.join(str(error).split())[:500]}") from error


@contextlib.contextmanager
def _naming_damage(crawl: CrawlDir, manifests: Sequence[Manifest], named: Collection[str]) -> Iterator[None]:
    """Converts an error of DuckDB to a CrawlDirError if a file of the named tables is damaged."""
    try:
        yield
    except _OF_FILES as error:
        files = [file for name in sorted(named) for file in files_of(manifests, name)]
        if fault := next(file_faults(crawl, files), None):
            raise CrawlDirError(f"{fault}; {way_out(crawl.root, fault.path)}") from error
        raise


def connect(
    crawl: CrawlDir,
    manifests: Sequence[Manifest],
    tables: Iterable[str] = tuple(TABLES),
    named: Collection[str] = TABLES.keys(),
    without: pa.Array | None = None,
) -> duckdb.DuckDBPyConnection:
    """A connection to a database in memory with a view for each table, and one for the history of each snapshot.

    Only the views of `named` tables have rows; the files of the others are not opened. URLs `without` rows have none,
    as pages and as sources of links. CrawlDirError if a file is
    damaged: DuckDB ignores the checksums of pages, so those of whole files are compared (`require_whole_once`).
    """
    connection = duckdb.connect()
    connection.execute("SET TimeZone = 'UTC'")
    with contextlib.suppress(duckdb.CatalogException):  # older versions of DuckDB have no such setting
        connection.execute("SET parquet_metadata_cache = true")
    for name in tables:
        if name in named:
            require_whole_once(crawl.root, current_files(manifests, name))
    with _naming_damage(crawl, manifests, [name for name in tables if name in named]):
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
    connection.execute("CREATE SCHEMA empty")  # not in SHOW TABLES
    if without is not None:
        connection.register("rows", pa.table({"url": without}))
        connection.execute("CREATE TABLE empty.without AS FROM rows")
        connection.unregister("rows")
    for name in tables:
        connection.register("rows", TABLES[name].empty_table())
        connection.execute(f"CREATE TABLE empty.{name} AS FROM rows")
        connection.unregister("rows")
        rows = _rows(connection, crawl, current_files(manifests, name) if name in named else [], name)
        for column in ("url", "source_url") if without is not None else ():
            if column in TABLES[name].names:
                rows = (
                    f"SELECT * FROM ({rows}) WHERE {column} IS NULL OR {column} NOT IN (SELECT url FROM empty.without)"
                )
        connection.execute(f"CREATE VIEW {name}{'_history' if name in SNAPSHOTS else ''} AS {rows}")
        if name == "frontier":
            connection.execute(_waiting(connection, crawl, Waiting.of(manifests if name in named else [])))
        elif name in SNAPSHOTS:
            connection.execute(newest(name))


def _rows(connection: duckdb.DuckDBPyConnection, crawl: CrawlDir, files: Sequence[TableFile], name: str) -> str:
    """SQL that selects the rows of a table's files; columns missing in files are null."""
    if not files:
        return f"SELECT * FROM empty.{name}"
    if not filesystem.store_of(crawl.root).has_local_paths:  # DuckDB would require an extension and its own credentials
        connection.register(f"files_{name}", open_dataset(crawl, files, TABLES[name]))
        return f"SELECT * FROM files_{name}"
    paths = ", ".join("'" + _literal(crawl.path(file.path)).replace("'", "''") + "'" for file in files)
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
    listed = ", ".join("'" + _literal(crawl.path(path)).replace("'", "''") + "'" for path in paths)
    options = "union_by_name = true, hive_partitioning = false, filename = true, file_row_number = true"
    return f"read_parquet([{listed}], {options})"


def _literal(path: str) -> str:
    """A DuckDB pattern that matches only this path."""
    return re.sub(r"([\[*?])", r"[\1]", path)


def _relation(
    connection: duckdb.DuckDBPyConnection, text: str, parameters: Sequence[Any] | None = None
) -> duckdb.DuckDBPyRelation:
    """The bound query, not yet executed. Names refer to tables only, never to Python variables."""
    if connection.execute("SELECT current_setting('python_enable_replacements')").fetchall() == [(True,)]:
        connection.execute("SET python_enable_replacements = false")
    found = connection.sql(text, params=parameters)
    if found is None:
        raise QueryError("the query is empty; ask for example: SELECT host, count(*) FROM documents GROUP BY 1")
    return found
