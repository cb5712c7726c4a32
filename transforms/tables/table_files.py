"""Writes and reads the Parquet files of tables, on any file system."""

import contextlib
import inspect
import json
import uuid
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from ..files import filesystem
from ..outcomes import CrawlDirError, DiskError, reason
from .schemas import TABLES

_REPEATED_NAMES = (
    "host site origin state reason kind verdict template referrer discovered_from discovered_round depth round"
    " last_status fetches failures body"
)
REPEATED = frozenset(_REPEATED_NAMES.split())
"""Columns whose values repeat within a row group.

A dictionary for another column is a second page to read, and takes longer to make than the values to write.
"""


class TableFile(NamedTuple):
    """A file that a step has written, as its manifest names it."""

    table: str
    path: str  # below the crawl directory, with forward slashes
    rows: int
    bytes: int
    counts: dict[str, int]  # by name: outcomes of visits, reasons of frontier rows
    checksum: str = ""  # of its bytes (`filesystem.Sink`); empty: written by a version without checksums


def render_report(files: Iterable[TableFile]) -> str:
    """The files written by a step as JSON, for the driver that commits them."""
    return json.dumps([file._asdict() for file in sorted(files)])


def parse_report(text: str) -> list[TableFile]:
    """The files in the output of `render_report`."""
    return [TableFile(**fields) for fields in json.loads(text)]


def new_path(table: str, round_: int, stem: str = "part", suffix: str = ".parquet") -> str:
    """A unique path relative to the crawl directory, which no other attempt uses."""
    return f"{table}/round={round_:06d}/{stem}-{uuid.uuid4().hex[:16]}{suffix}"


def round_of(path: str) -> int:
    """The round in the path of a file.

    >>> round_of("visits/round=000012/part-1.parquet")
    12
    """
    return int(path.split("/round=")[1].split("/", maxsplit=1)[0])


_PLAIN = 1 << 12
"""Bytes up to which all rows of a file are neither compressed nor encoded with dictionaries.

Such a file is no larger than with both, since most of it is its footer, and takes two thirds of the time to write and
to read: a column has one page instead of two.
"""


class TableWriter:
    """Writes one new Parquet file of a table, batch by batch. A small first batch waits for the next or for `close`.

    Rows are dicts or Arrow tables with the columns of the schema. `close` returns the file, or None if
    nothing was written. Each batch becomes a row group and should have its size. `statistics` names the columns that
    have them; None: all.
    """

    def __init__(
        self,
        root: str,
        table: str,
        round_: int,
        stem: str = "part",
        order: Sequence[tuple[str, str]] = (),
        statistics: Sequence[str] | None = None,
    ) -> None:
        """`order`: the sort keys of the rows, as for `pyarrow.Table.sort_by`; the file's metadata holds them."""
        self.table = table
        self._order = order
        self._statistics = True if statistics is None else list(statistics)
        self.schema = TABLES[table]
        self.path = new_path(table, round_, stem)
        self._root = root
        self._sink: filesystem.Sink | None = None
        self._writer: pq.ParquetWriter | None = None
        self._first: pa.Table | None = None  # a small batch, until there are others or the file ends
        self._rows = 0
        self._counts = Counter[str]()

    def write(self, batch: pa.Table, counts: Mapping[str, int] | None = None) -> None:
        if not batch.num_rows:
            return
        if not self._rows and batch.nbytes <= _PLAIN:
            self._first = batch
        else:
            self._write_first(is_plain=False)
            self._write(batch, is_plain=False)
        self._rows += batch.num_rows
        self._counts.update(counts or {})

    def _write_first(self, *, is_plain: bool) -> None:
        if self._first is not None:
            self._write(self._first, is_plain=is_plain)
            self._first = None

    def _write(self, batch: pa.Table, *, is_plain: bool) -> None:
        if self._writer is None:
            path = filesystem.join(self._root, self.path)
            self._sink = filesystem.create(path, durable=False)  # what names it syncs it: `CrawlDir.sync`
            sorting = pq.SortingColumn.from_ordering(self.schema, self._order) if self._order else None
            self._writer = pq.ParquetWriter(
                self._sink,
                self.schema,
                compression="none" if is_plain else "zstd",
                sorting_columns=sorting,
                write_statistics=self._statistics,
                **_bloom_filters(self.table, batch.num_rows),
                use_dictionary=False if is_plain else [name for name in self.schema.names if name in REPEATED],
                data_page_version="2.0",  # keeps what zstd does not shorten, such as keys, uncompressed
                write_page_checksum=True,
            )
        self._writer.write_table(batch, row_group_size=max(1, batch.num_rows))

    def write_rows(self, rows: Sequence[Mapping[str, Any]], counts: Mapping[str, int] | None = None) -> None:
        self.write(pa.Table.from_pylist(list(rows), schema=self.schema), counts)

    def close(self) -> TableFile | None:
        self._write_first(is_plain=True)
        if self._writer is None or self._sink is None:
            return None
        self._writer.close()
        self._sink.close()
        self._writer = None
        return TableFile(self.table, self.path, self._rows, self._sink.size, dict(self._counts), self._sink.checksum)


_LOOKED_UP = {"documents": "url_key", "links": "target_key", "visits": "url_key"}
"""Columns in no order in which readers look for few values, by table."""

_WRITES_BLOOM_FILTERS = "bloom_filter_options" in inspect.signature(pq.write_table).parameters


def _bloom_filters(table: str, rows: int) -> dict[str, Any]:
    """Options of ParquetWriter for Bloom filters, by which a reader skips row groups; older versions write none."""
    if table not in _LOOKED_UP or not _WRITES_BLOOM_FILTERS:
        return {}
    return {"bloom_filter_options": {_LOOKED_UP[table]: {"ndv": rows, "fpp": 0.01}}}


def read_hosts(root: str, paths: Sequence[str], schema: pa.Schema) -> frozenset[str]:
    """The distinct values of column host in files of a table."""
    return frozenset(pc.unique(read_table(root, list(paths), schema, ["host"])["host"]).to_pylist())


@contextlib.contextmanager
def open_parquet(root: str, path: str, footers: dict[str, pq.FileMetaData] | None = None) -> Iterator[pq.ParquetFile]:
    """A Parquet file of the crawl directory; CrawlDirError if it is missing or damaged.

    Of a store, neighbouring columns are read with one request, and what lies between them with them. `footers` keeps
    the footers of files that are opened again and again, by path: to parse one takes most of the time of a small read.
    """
    with (
        naming_damage(root, path),
        filesystem.open_file(filesystem.join(root, path)) as source,
        pq.ParquetFile(
            source,
            metadata=(footers or {}).get(path),
            pre_buffer=filesystem.store_of(root).reads_by_request,
            page_checksum_verification=True,
        ) as file,
    ):
        if footers is not None:
            footers[path] = file.metadata
        yield file


@contextlib.contextmanager
def naming_damage(root: str, path: str) -> Iterator[None]:
    """Converts errors while a file is read to a CrawlDirError of one line with the file's name."""
    try:
        yield
    except DiskError:
        raise
    except (OSError, pa.ArrowException, UnicodeDecodeError) as error:
        raise CrawlDirError(f"{path} cannot be read: {reason(error)}; {way_out(root, path)}") from error


def way_out(root: str, path: str) -> str:
    """How to see what else is damaged, and how to mend a file of a table or of the index."""
    return f"see what else is damaged with: beamtrawl check crawl {root}, and {mending(root, path)}"


def mending(root: str, path: str) -> str:
    """How to mend a damaged file.

    >>> mending("c", "links/round=000002/part-1.parquet")
    'restore the file from a copy'
    >>> mending("c", "index/round=000002/shard-0/docs.parquet")
    'make the index anew with: beamtrawl compact c --rebuild-index (with --drop-history, the damaged file goes)'
    """
    table, copied = path.partition("/")[0], "restore the file from a copy"
    if table == "index":
        return (
            f"make the index anew with: beamtrawl compact {root} --rebuild-index (with --drop-history, the damaged file"
            " goes)"
        )
    if table == "visits" and "/round=" in path:
        manifest = f"manifests/{round_of(path):06d}-fetch.json"
        return (
            f"{copied} (if there is none, and this round was not updated yet, remove {manifest}: it is fetched again)"
        )
    return copied


def read_groups(root: str, file: TableFile) -> Iterator[pa.Table]:
    """The rows of a file by row group, with the columns of its table."""
    schema = TABLES[file.table]
    with open_parquet(root, file.path) as opened:
        names = present(opened, schema.names)
        for group in range(opened.num_row_groups):
            yield conform(opened.read_row_group(group, names, use_threads=False), schema)


def statistics(file: pq.ParquetFile, group: int, column: str) -> pq.Statistics | None:
    """The statistics of a column in a row group; None if the file has none, or lacks the column."""
    number = column_number(file, column)
    return None if number is None else file.metadata.row_group(group).column(number).statistics


def column_number(file: pq.ParquetFile, column: str) -> int | None:
    """The number of a column in the row groups of a file; None if the file lacks it, or has no row groups.

    `file.schema` is not used: its reference cycle keeps the footer, some 30 MB of a large file, until a collection.
    """
    if not file.num_row_groups:
        return None
    group = file.metadata.row_group(0)
    return next((i for i in range(group.num_columns) if group.column(i).path_in_schema == column), None)


def present(file: pq.ParquetFile, columns: Iterable[str]) -> list[str]:
    """Those of the columns that a file has, in order; files of earlier versions lack some."""
    names = {*file.schema_arrow.names}  # once: each access converts the whole schema
    return [name for name in columns if name in names]


def read_table(root: str, paths: Iterable[str], schema: pa.Schema, columns: list[str] | None = None) -> pa.Table:
    """All rows of the files, in order; columns missing in older files are null."""
    wanted = schema if columns is None else pa.schema([schema.field(name) for name in columns])
    tables = [wanted.empty_table()]
    for path in paths:
        with open_parquet(root, path) as file:
            tables.append(conform(file.read(present(file, wanted.names), use_threads=False), wanted))
    return pa.concat_tables(tables)


def conform(table: pa.Table, schema: pa.Schema) -> pa.Table:
    """The table with exactly the schema's columns: missing columns are null, others are dropped."""
    if table.schema.equals(schema):
        return pa.Table.from_arrays(table.columns, schema=schema)  # without the metadata of a file
    names = {*table.column_names}  # once: each access makes the list anew
    columns = [
        table[field.name].cast(field.type) if field.name in names else pa.nulls(table.num_rows, field.type)
        for field in schema
    ]
    return pa.Table.from_arrays(columns, schema=schema)


def with_columns(table: pa.Table, **columns: pa.Array | pa.ChunkedArray) -> pa.Table:
    """The table with other values in some of its columns, which keep their places and types."""
    for name, column in columns.items():
        place = table.schema.get_field_index(name)
        table = table.set_column(place, table.schema.field(place), column)
    return table
