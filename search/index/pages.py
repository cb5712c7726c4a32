"""Decodes pages without Arrow's reader: long lists of numbers, byte by byte of the numbers, and single strings.

BYTE_STREAM_SPLIT stores the lowest bytes of all numbers of a page, then the next ones, and so on. All but the lowest
are zero in most pages of gaps and frequencies, so numbers need not be put together. Arrow's reader does that, and
decodes for each number whether a row begins with it: in a row group of one row, only the first does.

Of a column of strings, only the pages with the rows wanted are decompressed, and only the strings wanted are made.
"""

import re
import zlib
from collections.abc import Collection, Sequence

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

_CODECS = {"ZSTD": _ZSTD, "SNAPPY": pa.Codec("snappy")}
_NUMBER = rb"([\x80-\xff]*[\x00-\x7f])"
_VARINT = re.compile(_NUMBER)
_STRINGS = re.compile(
    # In Thrift's compact protocol: a data page, its sizes unpacked and packed, its checksum, its values, PLAIN, levels
    # RLE.
    rb"\x15\x00\x15%b\x15%b(?:\x15%b\x1c|\x2c)\x15%b\x15\x00\x15\x06\x15\x06(?:\x1c\x00)?\x00\x00"
    % (_NUMBER, _NUMBER, _NUMBER, _NUMBER)
)
"""The header of a page of strings that are compressed plainly, without statistics."""

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
    if checked and zlib.crc32(memoryview(data)[start:]) != _unsigned(_varint(checked[3])):
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


def are_strings(column: pq.ColumnSchema) -> bool:
    """Whether a column is of strings that may be null, not in a list."""
    levels = column.max_definition_level, column.max_repetition_level
    return column.physical_type == "BYTE_ARRAY" and levels == (1, 0)


def strings(compression: str, data: bytes, rows: Sequence[int]) -> list[str | None] | None:
    """The strings in some distinct, ascending rows of a column that `are_strings`.

    `data` are all bytes of the column in the row group.
    None if these are not pages of plain strings, as Arrow writes them without statistics, or are damaged.
    """
    codec = _CODECS.get(compression)
    found: list[str | None] = []
    start, first = 0, 0  # of the next page
    while len(found) < len(rows):
        header = _STRINGS.match(data, start)
        if header is None or codec is None:
            return None
        unpacked, packed, count = (_varint(number) >> 1 for number in header.group(1, 2, 4))
        wanted = [row - first for row in rows[len(found) :] if row - first < count]
        start, first = header.end() + packed, first + count
        if wanted:
            content = memoryview(data)[header.end() : start]
            if header[3] and zlib.crc32(content) != _unsigned(_varint(header[3])):
                return None
            try:
                page = codec.decompress(content, unpacked)
                found += _plain(memoryview(page), count, wanted)
            except (OSError, pa.ArrowException, IndexError, UnicodeDecodeError):
                return None
    return found


def _plain(page: memoryview, count: int, rows: Collection[int]) -> list[str | None]:
    """The strings in some rows of a page that has so many; IndexError if it ends before.

    It begins with the length of the levels and these, then each string has its length before it.
    """
    place = 4 + int.from_bytes(page[:4], "little")
    are_there = _levels(bytes(page[4:place]), count)
    found: list[str | None] = []
    for row in range(max(rows) + 1):
        start = place + 4 if are_there[row] else place
        place = start + int.from_bytes(page[place:start], "little")
        if row in rows:
            found.append(str(page[start:place], "utf-8") if are_there[row] else None)
    if place > len(page):
        raise IndexError(place)
    return found


def _levels(data: bytes, count: int) -> list[int]:
    """The first levels of those that are encoded in runs and in bits, each 0 or 1; IndexError if there are fewer."""
    if count < 64 and data == bytes([2 * count, 1]):  # one run of ones
        return [1] * count
    levels, place = list[int](), 0
    while len(levels) < count:
        header = _VARINT.match(data, place)
        if header is None:
            raise IndexError(place)
        number, place = _varint(header[0]), header.end()
        if number & 1:
            bits, place = data[place : place + (number >> 1)], place + (number >> 1)
            levels += [byte >> bit & 1 for byte in bits for bit in range(8)]
        else:
            levels += [data[place]] * (number >> 1)
            place += 1
    return levels


def _varint(data: bytes) -> int:
    """The number that bytes of seven bits each have, the lowest first."""
    return sum((byte & 127) << 7 * place for place, byte in enumerate(data))


def _unsigned(zigzag: int) -> int:
    """A signed number of 32 bits in zigzag encoding, as an unsigned one: a checksum.

    >>> [_unsigned(number) for number in (0, 1, 2)]
    [0, 4294967295, 1]
    """
    return (zigzag >> 1 ^ -(zigzag & 1)) & 0xFFFFFFFF


def together(parts: Bytes) -> npt.NDArray:
    """The numbers of which `parts` has the bytes, the lowest first, in the smallest type of 8, 16 or 32 bits."""
    used = [place for place in range(len(parts)) if parts[place].max(initial=0)]
    numbers = parts[0].astype(np.min_scalar_type((1 << 8 * (max(used, default=0) + 1)) - 1))
    for place in used:
        if place:
            numbers |= parts[place].astype(numbers.dtype) << numbers.dtype.type(8 * place)
    return numbers
