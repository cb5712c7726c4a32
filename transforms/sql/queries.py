"""Runs queries over the tables of a crawl, with DuckDB inside this process (docs/tables.md)."""

import contextlib
import json
import re
import tempfile
import threading
from collections.abc import Collection, Iterator, Sequence
from typing import Any

import duckdb
import pyarrow as pa

from ..directory.crawl_dir import CrawlDir, Manifest
from ..files import filesystem
from ..outcomes import BeamtrawlError, QueryTimeout, meant
from ..tables.schemas import TABLES
from .views import connect, literal, naming_damage

MEMORY = "1GB"
"""The memory of queries with a temporary folder for what needs more."""

_INTERRUPT_S = 0.05
"""Seconds between two interrupts when the time is over: one that comes before a query begins has no effect on it."""


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
    crawl: CrawlDir, text: str, most: int, timeout_s: float, without: pa.Array
) -> tuple[list[str], list[tuple[Any, ...]]]:
    """The same as of `query`, with the first `most` rows, and of rows of URLs `without` those of some.

    QueryTimeout if it takes longer than `timeout_s`.
    """
    with (
        tempfile.TemporaryDirectory() as scratch,
        _asked(crawl, text, False, scratch, without) as connection,
        _limited(connection, timeout_s),
    ):
        found = _relation(connection, text)
        return list(found.columns), found.limit(most).fetchall()


@contextlib.contextmanager
def query_batches(crawl: CrawlDir, text: str, rows: int) -> Iterator[pa.RecordBatchReader]:
    """The rows of a query, read while they are used, in batches; what needs more memory goes to a temporary folder."""
    with tempfile.TemporaryDirectory() as scratch, _asked(crawl, text, False, scratch) as connection:
        yield _relation(connection, text).to_arrow_reader(rows)


def _confine(connection: duckdb.DuckDBPyConnection, crawl: CrawlDir, text: str) -> None:
    """Refuse a query that does anything but read the tables; DuckDB is kept from all other files.

    The folders of the tables alone are allowed: crawl.toml beside them may hold passwords.
    """
    _refuse_writes(connection, text)
    if filesystem.store_of(crawl.root).has_local_paths:
        paths = [crawl.path(f"{name}/") for name in TABLES]
        folders = {*paths, *map(literal, paths)}  # DuckDB compares names of files with these, and patterns too
        listed = ", ".join("'" + folder.replace("'", "''") + "'" for folder in sorted(folders))
        connection.execute(f"SET allowed_directories = [{listed}]")
    connection.execute("SET python_enable_replacements = false")
    connection.execute("SET enable_external_access = false; SET lock_configuration = true")


def _refuse_writes(connection: duckdb.DuckDBPyConnection, text: str) -> None:
    statements = connection.extract_statements(text)
    for statement in statements:
        kind = statement.type.name
        if kind not in ("SELECT", "EXPLAIN", "PRAGMA"):
            raise QueryError(f"{kind} is refused, because the tables can only be read; --unsafe allows it")
        if kind == "EXPLAIN":  # EXPLAIN ANALYZE runs what it explains
            _refuse_writes(connection, _EXPLAIN.sub("", statement.query, count=1))
    if len(statements) > 1:
        raise QueryError(
            f"it has {len(statements)} statements, of which the last only would be shown; give one at a time"
        )


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
    crawl: CrawlDir, text: str, unsafe: bool, scratch: str | None = None, without: pa.Array | None = None
) -> Iterator[duckdb.DuckDBPyConnection]:
    """A connection for one query, which opens only the files of tables that the query names.

    `scratch` is a folder for what needs more than MEMORY, which is unbounded without one; `without` are URLs without
    rows. QueryError if the query fails or is refused, CrawlDirError if it fails due to a damaged file.
    """
    manifests = crawl.require_manifests()
    words = set(re.findall(r"\w+", text.lower()))
    with _opened(
        crawl, manifests, {name for name in TABLES if words & {name, f"{name}_history"}}, without
    ) as connection:
        if scratch:
            _bound_memory(connection, scratch, MEMORY)
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
    memory: str = MEMORY,
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
    """Interrupts the query that runs after so many seconds, and those that follow it: QueryTimeout."""
    if timeout_s is None:
        yield
        return
    is_over, has_ended = threading.Event(), threading.Event()

    def interrupt() -> None:
        is_ended = has_ended.wait(timeout_s)
        while not is_ended:
            is_over.set()
            connection.interrupt()
            is_ended = has_ended.wait(_INTERRUPT_S)

    thread = threading.Thread(target=interrupt, name="time of a query", daemon=True)
    thread.start()
    failed: Exception | None = None
    try:
        yield
    except Exception as error:
        if not is_over.is_set():
            raise
        failed = error
    finally:
        has_ended.set()
        thread.join()
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
            naming_damage(crawl, manifests, named),
        ):
            yield connection
    except duckdb.Error as error:
        raise QueryError(_why(str(error))) from error


def _why(message: str) -> str:
    """One line on a query that DuckDB refuses; for a table that is none, which one is probably meant, or all."""
    if missing := _NO_TABLE.search(message):
        return f"there is no table {missing[1]}{meant(missing[1], sorted(TABLES), 'the tables are')}"
    return f"the query failed: {' '.join(message.split())[:500]}"


_NO_TABLE = re.compile(r"Table with name (\S+) does not exist")


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
