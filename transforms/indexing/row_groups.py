"""The row groups of a file of the index: which keys they have, and where their bytes are.

Arrow parses a footer as a whole, a microsecond for each column of a row group, and a search needs a few of thousands.
`RowGroups` has in arrays what searches need of a footer, and makes a footer of some row groups.
"""

import json
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.parquet as pq

from .packing import varint

SIZE, UNPACKED, VALUES, START = range(4)
"""Numbers of a chunk, which is a column of a row group: its bytes, uncompressed, its values, and where it begins."""

# Enumerations of Parquet's Thrift definition, by number.
_TYPES = ("BOOLEAN", "INT32", "INT64", "INT96", "FLOAT", "DOUBLE", "BYTE_ARRAY", "FIXED_LEN_BYTE_ARRAY")
_CODECS = ("UNCOMPRESSED", "SNAPPY", "GZIP", "LZO", "BROTLI", "LZ4", "ZSTD")
_ENCODINGS = (
    *("PLAIN", "", "PLAIN_DICTIONARY", "RLE", "BIT_PACKED", "DELTA_BINARY_PACKED", "DELTA_LENGTH_BYTE_ARRAY"),
    *("DELTA_BYTE_ARRAY", "RLE_DICTIONARY", "BYTE_STREAM_SPLIT"),
)

_MAGIC = b"PAR1"
_NO_GROUPS = b"\x16\x00\x19\x0c"  # fields 3 and 4 of a footer: no row, and an empty list of structs


class RowGroups(NamedTuple):
    """The row groups of a file that `segment_files` writes: without dictionaries, the chunks of a column alike."""

    columns: dict[str, int]  # their numbers; a list has the name without that of its elements
    parts: Sequence[bytes]  # of a footer: what is before the number of rows, after the row groups; for each column, in
    # a chunk, what all of them have in common
    firsts: Sequence[str]  # of each row group, the least value of the first column; none without statistics
    lasts: Sequence[str]  # the largest
    rows: npt.NDArray[np.int64]  # of each row group
    chunks: npt.NDArray[np.int64]  # by row group and column, the numbers of a chunk

    @classmethod
    def of(cls, footer: pq.FileMetaData) -> "RowGroups":
        """Those of a file with a footer."""
        paths = [footer.schema.column(number).path for number in range(footer.num_columns)]
        rows, numbers, heads, keys = list[int](), list[tuple[int, ...]](), list[bytes](), list[tuple[str, str]]()
        for group in map(footer.row_group, range(footer.num_row_groups)):
            chunks = [group.column(number) for number in range(len(paths))]
            rows.append(group.num_rows)
            numbers += [(c.total_compressed_size, c.total_uncompressed_size, c.num_values) for c in chunks]
            heads = heads or [_head(chunk) for chunk in chunks]
            if chunks[0].is_stats_set:
                keys.append((chunks[0].statistics.min, chunks[0].statistics.max))
        sink = pa.BufferOutputStream()
        pq.ParquetWriter(sink, footer.schema.to_arrow_schema()).close()
        around = sink.getvalue().to_pybytes()[len(_MAGIC) : -4 - len(_MAGIC)].split(_NO_GROUPS, 1)
        return cls(
            {path.partition(".")[0]: number for number, path in enumerate(paths)},
            [*around, *heads],
            [first for first, _ in keys],
            [last for _, last in keys],
            np.array(rows, np.int64),
            _placed(np.array(numbers, np.int64).reshape(-1, START), len(paths)),
        )

    @classmethod
    def parse(cls, data: bytes) -> "RowGroups":
        """Those that `render` has made bytes of."""
        text, _, numbers = data.partition(b"\n")
        columns, parts, firsts, lasts = json.loads(text)
        rows, chunks = np.split(np.frombuffer(numbers, "<i8"), [len(numbers) // 8 // (1 + START * len(columns))])
        parts = [part.encode("latin-1") for part in parts]
        return cls(columns, parts, firsts, lasts, rows, _placed(chunks.reshape(START, -1).T, len(columns)))

    def render(self) -> bytes:
        """The same as bytes: a line of JSON, then numbers of eight bytes, little-endian; START is that of the SIZEs."""
        fields = [self.columns, [part.decode("latin-1") for part in self.parts], self.firsts, self.lasts]
        numbers = [self.rows, *(self.chunks[:, :, kind].ravel() for kind in range(START))]
        return json.dumps(fields).encode() + b"\n" + np.concatenate(numbers).astype("<i8").tobytes()

    def footer(self, groups: Sequence[int], moved: npt.NDArray[np.int64]) -> bytes:
        """The end of a file that has these row groups alone, in this order, each moved by so many bytes."""
        before, after, *heads = self.parts
        rows, some, found = self.rows[list(groups)].tolist(), list[bytes](), self.chunks[list(groups)]
        found[:, :, START] = np.maximum(0, found[:, :, START] + moved[:, None])  # 0: of columns that are not there
        for count, numbers in zip(rows, found.tolist(), strict=True):
            chunks = [head + _chunk(*each) for head, each in zip(heads, numbers, strict=True)]
            size = sum(each[UNPACKED] for each in numbers)
            some.append(b"\x19" + _list(12, chunks) + b"\x16" + _number(size) + b"\x16" + _number(count) + b"\0")
        data = before + b"\x16" + _number(sum(rows)) + b"\x19" + _list(12, some) + after
        return data + len(data).to_bytes(4, "little") + _MAGIC


def _placed(numbers: npt.NDArray[np.int64], columns: int) -> npt.NDArray[np.int64]:
    """Chunks, which follow one another, with their START."""
    starts = len(_MAGIC) + np.cumsum(numbers[:, SIZE]) - numbers[:, SIZE]
    return np.column_stack([numbers, starts]).reshape(-1, columns, START + 1)


# What follows is Thrift's compact protocol: a field is its distance to the field before and its type in a byte.


def _head(chunk: pq.ColumnChunkMetaData) -> bytes:
    """The beginning of a chunk: type, encodings, path and compression."""
    encodings = [_number(_ENCODINGS.index(name)) for name in chunk.encodings]
    path = [varint(len(name)) + name for name in chunk.path_in_schema.encode().split(b".")]
    type_, codec = _number(_TYPES.index(chunk.physical_type)), _number(_CODECS.index(chunk.compression))
    return b"\x26\0\x1c\x15" + type_ + b"\x19" + _list(5, encodings) + b"\x19" + _list(8, path) + b"\x15" + codec


def _chunk(size: int, unpacked: int, values: int, start: int) -> bytes:
    numbers = [b"\x16", _number(values), b"\x16", _number(unpacked), b"\x16", _number(size), b"\x26", _number(start)]
    return b"".join([*numbers, b"\0\0"])


def _list(type_: int, items: Sequence[bytes]) -> bytes:
    count = len(items)
    return (bytes([count << 4 | type_]) if count < 15 else bytes([0xF0 | type_]) + varint(count)) + b"".join(items)


def _number(number: int) -> bytes:
    return varint(2 * number)  # zigzag, of a number that is not negative
