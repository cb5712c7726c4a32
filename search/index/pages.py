"""Decodes pages of long lists of numbers without Arrow's reader, byte by byte of the numbers.

BYTE_STREAM_SPLIT stores the lowest bytes of all numbers of a page, then the next ones, and so on. All but the lowest
are zero in most pages of gaps and frequencies, so numbers need not be put together. Arrow's reader does that, and
decodes for each number whether a row begins with it: in a row group of one row, only the first does.
"""

import re
import zlib
from collections.abc import Collection

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.parquet as pq

Bytes = npt.NDArray[np.uint8]

FEWEST = 4_096
"""The fewest numbers of a list for which this pays off."""

_ZSTD = pa.Codec("zstd")
_FRAME = b"\x28\xb5\x2f\xfd"  # begins what zstd has compressed
_MAX_HEADER = 64  # bytes of the header of a page without statistics, and more
_ENCODINGS = {"RLE", "BYTE_STREAM_SPLIT"}  # RLE: of levels
_WIDTHS = {"INT32": 4, "INT64": 8}

_NUMBER = rb"([\x80-\xff]*[\x00-\x7f])"
_CHECKED = re.compile(rb"\x15\x00\x15%b\x15%b\x15%b\x1c" % (_NUMBER, _NUMBER, _NUMBER))
"""The beginning of the header of a page with a checksum, its third number."""


def long_lists(group: pq.RowGroupMetaData, columns: Collection[str]) -> dict[str, pq.ColumnChunkMetaData] | None:
    """By name, some columns of a row group that is one row with long lists of numbers in all of these.

    None for any other row group, or if they are encoded in another way than `write_sorted` does.
    """
    if group.num_rows != 1:
        return None
    chunks = (group.column(number) for number in range(group.num_columns))
    found = {name: chunk for chunk in chunks if (name := chunk.path_in_schema.partition(".")[0]) in columns}
    return found if all(map(_is_long_list, found.values())) else None


def _is_long_list(chunk: pq.ColumnChunkMetaData) -> bool:
    return (
        chunk.num_values >= FEWEST
        and chunk.compression == "ZSTD"
        and chunk.physical_type in _WIDTHS
        and set(chunk.encodings) == _ENCODINGS
    )


def split_numbers(chunk: pq.ColumnChunkMetaData, data: bytes) -> Bytes | None:
    """The bytes of the numbers of one of `long_lists`: a row of the lowest byte of each, a row of the next, and so on.

    None if `data`, all bytes of the column in the row group, is not one page, as Arrow writes it for a row, or is
    damaged.
    """
    start = data.find(_FRAME, 0, _MAX_HEADER)
    checked = _CHECKED.match(data)
    if checked and zlib.crc32(memoryview(data)[start:]) != _unsigned(checked[3]):
        return None
    size = _WIDTHS[chunk.physical_type] * chunk.num_values
    unpacked = chunk.total_uncompressed_size - start  # levels, if they are compressed too, and then the numbers
    if start < 0 or unpacked < size:
        return None
    try:
        page = _ZSTD.decompress(memoryview(data)[start:], unpacked)
    except OSError:
        return None
    return np.frombuffer(page, np.uint8)[unpacked - size :].reshape(-1, chunk.num_values)


def _unsigned(varint: bytes) -> int:
    """A signed number of 32 bits, zigzag in bytes of seven bits with the lowest first, as an unsigned one: a checksum.

    >>> [_unsigned(number) for number in (b"\0", b"\1", b"\2")]
    [0, 4294967295, 1]
    """
    zigzag = sum((byte & 127) << 7 * place for place, byte in enumerate(varint))
    return (zigzag >> 1 ^ -(zigzag & 1)) & 0xFFFFFFFF


def together(parts: Bytes) -> npt.NDArray:
    """The numbers of which `parts` has the bytes, the lowest first, in the smallest type of 8, 16 or 32 bits."""
    used = [place for place in range(len(parts)) if parts[place].max(initial=0)]
    numbers = parts[0].astype(np.min_scalar_type((1 << 8 * (max(used, default=0) + 1)) - 1))
    for place in used:
        if place:
            numbers |= parts[place].astype(numbers.dtype) << numbers.dtype.type(8 * place)
    return numbers
