"""The physical layout of index files: row groups, encodings, format version, and what `docs` has of the others.

Each folder of an index has a file `docs`, which is written last and read as a whole. Its metadata holds the `RowGroups`
of the other files, so opening a folder is one request, and every later lookup knows which bytes to read.

Row groups are small: their statistics say which one holds a term, and only that one is decoded. BYTE_STREAM_SPLIT
stores the high bytes of small numbers, which are zero, side by side, where they compress well.
docs/decisions/index_format.md lists the alternatives that were measured.
"""

import base64
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

import pyarrow as pa
import pyarrow.parquet as pq

from ..directory.crawl_dir import CrawlDirError
from ..files import filesystem
from ..tables.table_files import TableFile, open_parquet
from .row_groups import RowGroups

INDEX_VERSION = 4
"""The version of this format."""

READABLE_VERSIONS = (2, 3, 4)
"""The versions that this program reads; any other is refused. In version 2, each term has one row."""

VERSION_KEY = "beamtrawl.index_version"
"""The key of the format version, in digits, in the metadata of each file."""

GROUPS_KEY, _FOOTER_KEY = "beamtrawl.groups.", "beamtrawl.footer."
"""Followed by a file's name: the key of its `RowGroups` in the metadata of `docs`; before version 4, of its footer.

The value is compressed by zstd, after its length, in base64. A footer is a Parquet file of metadata alone.
"""

INDEX_FILE = "index_file"
"""The table of a TableFile that names a file of an index folder."""

_CODEC = pa.Codec("zstd")
_STORED_LEVEL = 3  # of zstd: makes up for small row groups
_BROTLI_LEVELS = {"positions.list.element": 4}


class Written(NamedTuple):
    """A file of the index that was written."""

    file: TableFile
    footer: pq.FileMetaData


def numbers(type_: pa.DataType) -> pa.ListType:
    """The type of a list of numbers without nulls; non-nullable elements decode faster."""
    return pa.list_(pa.field("element", type_, nullable=False))


def slices(rows: int, most: int) -> Iterator[int]:
    """The number of rows of each row group, when all but the last have `most`."""
    for start in range(0, rows, most):
        yield min(most, rows - start)


def groups(table: pa.Table, rows: Iterable[int]) -> Iterator[pa.Table]:
    """A table in consecutive parts; `rows` has the number of rows of each."""
    start = 0
    for count in rows:
        yield table.slice(start, count)
        start += count


def write_sorted(root: str, path: str, schema: pa.Schema, row_groups: Iterable[pa.Table]) -> Written:
    """Write rows that are sorted by the first column, of strings.

    The file is for lookups by that column: only it has statistics.
    """
    encodings = {}
    for field in schema:
        is_list = pa.types.is_list(field.type)
        column = f"{field.name}.list.element" if is_list else field.name
        is_text = pa.types.is_string(field.type.value_type if is_list else field.type)
        encodings[column] = "DELTA_BYTE_ARRAY" if is_text else "BYTE_STREAM_SPLIT"
    return _write(
        root,
        path,
        schema,
        row_groups,
        {},
        use_dictionary=False,
        column_encoding=encodings,
        # The low bytes of positions are nearly random; brotli compresses them better than zstd.
        compression={column: "brotli" if column in _BROTLI_LEVELS else "zstd" for column in encodings},
        compression_level=_BROTLI_LEVELS,
        write_statistics=schema.names[:1],
        sorting_columns=[pq.SortingColumn(0)],
        write_page_index=True,  # for engines that use it; pyarrow does not
    )


def write_stored(
    root: str, path: str, schema: pa.Schema, row_groups: Iterable[pa.Table], long: Collection[str]
) -> Written:
    """Write rows of strings that are fetched by number; columns in `long` have long ones."""
    return _write(
        root,
        path,
        schema,
        row_groups,
        {},
        # To begin a page of zstd takes ten times as long as all of a page of titles in snappy.
        compression={name: "zstd" if name in long else "snappy" for name in schema.names},
        compression_level=dict.fromkeys(long, _STORED_LEVEL),
        use_dictionary=False,
        write_statistics=False,
    )


def write_opening(root: str, path: str, table: pa.Table, others: Mapping[str, Written]) -> list[TableFile]:
    """Write the table that is read when a folder is opened, with the footers of the folder's other files, by name.

    Returns all files of the folder.
    """
    embedded = {f"{GROUPS_KEY}{name}": _packed(RowGroups.of(w.footer).render()) for name, w in others.items()}
    parts = groups(table, slices(table.num_rows, 65_536))
    opening = _write(root, path, table.schema, parts, embedded, compression="zstd")
    return [written.file for written in (*others.values(), opening)]


def packed_groups(opening: pq.FileMetaData) -> dict[str, bytes]:
    """What `docs` has of the footers of the other files, from its own."""
    found = ((key.decode(), value) for key, value in (opening.metadata or {}).items())
    return {key: value for key, value in found if key.startswith((GROUPS_KEY, _FOOTER_KEY))}


def row_groups(packed: Mapping[str, bytes], name: str) -> RowGroups:
    """The row groups of one file, from `packed_groups`."""
    if data := packed.get(f"{GROUPS_KEY}{name}"):
        return RowGroups.parse(_unpacked(data))
    return RowGroups.of(pq.read_metadata(pa.BufferReader(_unpacked(packed[f"{_FOOTER_KEY}{name}"]))))


def read_file(root: str, path: str, columns: Sequence[str] | None = None) -> pa.Table:
    """A file of the index; CrawlDirError if it cannot be read or has another format version."""
    with open_parquet(root, path) as file:
        require_version(root, path, file.metadata)
        return file.read(columns).combine_chunks().replace_schema_metadata()


def require_version(root: str, path: str, footer: pq.FileMetaData) -> None:
    """CrawlDirError unless a file has the index version that this program reads."""
    found = (footer.metadata or {}).get(VERSION_KEY.encode(), b"").decode(errors="replace")
    if found in map(str, READABLE_VERSIONS):
        return
    is_newer = found.isdecimal() and int(found) > INDEX_VERSION
    way_out = "update Beamtrawl" if is_newer else f"rebuild it with: beamtrawl compact {root} --rebuild-index"
    version = f"index version {found}" if found else "no index version"
    raise CrawlDirError(f"{path} cannot be used: it has {version}, this program reads {INDEX_VERSION}; {way_out}")


def _packed(data: bytes) -> bytes:
    return base64.b64encode(len(data).to_bytes(4) + _CODEC.compress(data, asbytes=True))


def _unpacked(value: bytes) -> bytes:
    data = base64.b64decode(value)
    return _CODEC.decompress(data[4:], int.from_bytes(data[:4]), asbytes=True)


def _write(
    root: str,
    path: str,
    schema: pa.Schema,
    row_groups: Iterable[pa.Table],
    metadata: Mapping[str, bytes],
    **options: object,
) -> Written:
    # Metadata of the schema would be in the file twice.
    schema = schema.with_metadata((schema.metadata or {}) | {VERSION_KEY: str(INDEX_VERSION)})
    options |= {"write_page_checksum": True}
    sink = filesystem.create(filesystem.join(root, path), durable=False)  # `CrawlDir.commit` syncs it
    with sink, pq.ParquetWriter(sink, schema, **options) as writer:
        for rows in row_groups:
            writer.write_table(rows.replace_schema_metadata(schema.metadata), row_group_size=rows.num_rows)
        writer.add_key_value_metadata(metadata)
    footer = writer.writer.metadata
    return Written(TableFile(INDEX_FILE, path, footer.num_rows, sink.size, {}, sink.checksum), footer)
