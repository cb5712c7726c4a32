"""Reads the Parquet files of an index folder with few requests, in parallel.

Opening a folder reads its whole `docs` file, which holds the row groups of the other files (`segment_files`). So the
byte ranges of later reads are known: one request for each row group, and all requests of a call run in parallel.
"""

import bisect
import contextlib
import functools
import itertools
import os
import threading
import zlib
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from ...transforms.files import filesystem
from ...transforms.indexing.row_groups import SIZE, START, RowGroups
from ...transforms.indexing.segment_files import packed_groups, require_version, row_groups
from ...transforms.indexing.write_segment import DOCS
from ...transforms.tables.table_files import naming_damage
from . import pages

_REQUESTS = ThreadPoolExecutor(64, "read")
"""For parallel requests to an object store. A task in it never waits for another task in it."""


Values = Callable[[str, Sequence[int]], Sequence[str | None]]
"""The values of a column in some rows."""

_BATCH = 1 << 19
"""Bytes of row groups that are decoded at once: the memory of one batch is used again for the next."""


class Files:
    """The files of an index folder. Thread-safe.

    CrawlDirError if a file cannot be read or has another format version.
    """

    def __init__(self, root: str, folder: str, repeated: Sequence[str] = (), checksum: str = "") -> None:
        """Columns of `docs` in `repeated` are dictionaries: they have few distinct values, which are in memory once.

        `checksum` is that of `docs` in the manifest, which is compared; "" for none.
        """
        self._root, self._folder = root, folder
        self._reads_by_request = filesystem.store_of(root).reads_by_request
        self._opened: dict[str, list[Any]] = {}
        self._lock = threading.Lock()
        with naming_damage(root, f"{folder}/{DOCS}"):
            with self._open(DOCS) as source:
                data = _bytes(source, 0, source.seek(0, os.SEEK_END))
            with pq.ParquetFile(pa.BufferReader(data), read_dictionary=repeated) as file:
                require_version(root, f"{folder}/{DOCS}", file.metadata)
                if checksum and (found := filesystem.render_checksum(zlib.crc32(data))) != checksum:
                    raise OSError(f"its checksum is {found}, {checksum} was written")
                docs = file.read().replace_schema_metadata()
                self._packed = packed_groups(file.metadata)
        self._docs: pa.Table | None = docs.unify_dictionaries()
        self._row_groups = functools.cache(self._unpacked)

    def take_docs(self) -> pa.Table:
        """The table `docs`, once: its columns need memory only as long as the caller keeps them."""
        docs, self._docs = self._docs, None
        return docs

    def rows(self, name: str) -> list[int]:
        """The number of rows of each row group of a file."""
        return self._row_groups(name).rows.tolist()

    def read(self, name: str, groups: Sequence[int], columns: Sequence[str]) -> pa.Table:
        """Adjacent columns of some row groups, in the order of the groups."""
        with self._reader(name, self._fetched(name, groups, columns)) as file:
            return file.read(columns, use_threads=False)

    def has(self, name: str) -> bool:
        """Whether the folder has a file."""
        return any(key.endswith(f".{name}") for key in self._packed)

    def has_column(self, name: str, column: str) -> bool:
        """Whether a file has a column of its own."""
        return column in self._row_groups(name).columns

    def strings(self, name: str, groups: Sequence[int], columns: Sequence[str]) -> Iterator[Values]:
        """For each of some ascending row groups, a function that decodes values of its columns of strings.

        It takes the name of one of some adjacent columns, and the numbers of rows in the row group. All bytes are read
        beforehand.
        """
        parts = self._fetched(name, groups, columns)
        for place in range(len(groups)):
            yield functools.partial(self._strings, name, parts, place)

    def _strings(
        self, name: str, parts: "_Parts", place: int, column: str, rows: Sequence[int]
    ) -> Sequence[str | None]:
        number = self._row_groups(name).columns[column]
        if pages.are_strings(parts.footer.schema.column(number)):
            chunk = parts.footer.row_group(place).column(number)
            data = parts.bytes(chunk.data_page_offset, chunk.total_compressed_size)
            if (found := pages.strings(chunk.compression, data, rows)) is not None:
                return found
        with self._reader(name, parts) as file:
            values = file.read_row_group(place, [column], use_threads=False).column(0)
            values.validate(full=True)  # bytes that are no UTF-8 are damage, too
            return values.take(pa.array(rows)).to_pylist()

    def _fetched(self, name: str, groups: Sequence[int], columns: Sequence[str]) -> "_Parts":
        """The bytes of adjacent columns of some row groups."""
        of_file = self._row_groups(name)
        numbers = [number for column, number in of_file.columns.items() if column in columns]
        chunks = of_file.chunks[sorted(groups)][:, numbers]
        starts, ends = chunks[:, 0, START], chunks[:, -1, START] + chunks[:, -1, SIZE]
        spans = list(_joined(map(_Span, starts.tolist(), ends.tolist())))
        footer = of_file.footer(groups)
        with naming_damage(self._root, f"{self._folder}/{name}"):
            if self._reads_by_request and len(spans) > 1:  # all requests take the latency of one
                return _Parts(list(_REQUESTS.map(lambda span: self._part(name, span), spans)), footer)
            with self._open(name) as source:
                return _Parts([_part(source, span) for span in spans], footer)

    @contextlib.contextmanager
    def _reader(self, name: str, parts: "_Parts") -> Iterator[pq.ParquetFile]:
        """A reader of what was fetched of a file."""
        with (
            naming_damage(self._root, f"{self._folder}/{name}"),
            # With a buffer, the reader would also request the bytes between the parts.
            pq.ParquetFile(parts, metadata=parts.footer, pre_buffer=False, page_checksum_verification=True) as file,
        ):
            yield file

    def long_rows(self, name: str, column: str) -> Iterator[tuple[str, int]]:
        """The first column of each row that is a row group of its own, and the length of its list in another one.

        Reads no row.
        """
        of_file = self._row_groups(name)
        groups = np.flatnonzero(of_file.rows == 1).tolist()
        footer = of_file.footer(groups)
        for place, group in enumerate(groups):
            if lists := pages.long_lists(footer.row_group(place), [column]):
                yield of_file.firsts[group], lists[column].num_values

    def find(self, name: str, keys: Collection[str], columns: Sequence[str]) -> Iterator[tuple[str, pa.Table]]:
        """The rows whose first column, by which the file is sorted, is one of the keys; each as a table."""
        for _, rows in self.find_lists(name, keys, columns, ()):
            if isinstance(rows, pa.Table):
                yield from ((key, rows.slice(row, 1)) for row, key in enumerate(rows.column(0).to_pylist()))

    def find_lists(
        self, name: str, keys: Collection[str], columns: Sequence[str], lists: Collection[str]
    ) -> Iterator[tuple[str, pa.Table | dict[str, pages.Bytes]]]:
        """Tables of the rows that `find` returns; of a row of long `lists`, these alone (`pages.split_numbers`).

        With each, the first column of its first row.
        """
        groups, firsts = self._groups_with(name, keys), self._row_groups(name).firsts
        wanted, parts = pa.array(list(keys), pa.string()), self._fetched(name, groups, columns)
        long_lists = [pages.long_lists(parts.footer.row_group(place), lists) for place in range(len(groups))]
        with self._reader(name, parts) as file:
            for are_long, some in itertools.groupby(range(len(groups)), lambda place: bool(long_lists[place])):
                for batch in ([place] for place in some) if are_long else _batches(parts.footer, some):
                    if split := _split(long_lists[batch[0]] or {}, parts):
                        yield firsts[groups[batch[0]]], split
                    elif rows := _with(wanted, file.read_row_groups(batch, columns, use_threads=False)):
                        yield rows.column(0)[0].as_py(), rows

    def _groups_with(self, name: str, keys: Collection[str]) -> list[int]:
        """The row groups that may have rows whose first column is one of the keys, ascending."""
        return sorted({group for key in keys for group in self._between(name, key, key)})

    def _between(self, name: str, first: str, last: str) -> range:
        """The row groups that may have rows whose first column is from `first` to `last`."""
        of_file = self._row_groups(name)
        return range(bisect.bisect_left(of_file.lasts, first), bisect.bisect_right(of_file.firsts, last))

    def between(self, name: str, first: str, last: str, columns: Sequence[str]) -> pa.Table:
        """The rows whose first column, by which the file is sorted, is from `first` to `last`."""
        rows = self.read(name, self._between(name, first, last), columns)
        keys = rows.column(0)
        return rows.filter(pc.and_(pc.greater_equal(keys, first), pc.less_equal(keys, last)))

    def _unpacked(self, name: str) -> RowGroups:
        with naming_damage(self._root, f"{self._folder}/{DOCS}"):
            return row_groups(self._packed, name)

    def _part(self, name: str, span: "_Span") -> "_Part":
        with self._open(name) as source:
            return _part(source, span)

    @contextlib.contextmanager
    def _open(self, name: str) -> Iterator[Any]:
        """A file to read from, for one thread at a time. Files of a store stay open, since opening one is slow."""
        with self._lock:
            idle = self._opened.setdefault(name, [])
            file = idle.pop() if idle else None
        file = file or filesystem.open_file(filesystem.join(self._root, f"{self._folder}/{name}"))
        try:
            # Bypasses the buffer, which would fetch 16 MB from S3 for some kilobytes.
            yield getattr(file, "raw", file)
        except BaseException:
            file.close()
            raise
        if self._reads_by_request:
            with self._lock:
                idle.append(file)
        else:
            file.close()


class _Span(NamedTuple):
    start: int
    end: int


class _Part(NamedTuple):
    start: int
    data: bytes


def _part(source: Any, span: _Span) -> _Part:
    return _Part(span.start, _bytes(source, span.start, span.end - span.start))


class _Parts:
    """A file object over parts of a file, for a reader that reads only these, by the footer of their row groups."""

    closed = False

    def __init__(self, parts: Sequence[_Part], footer: pq.FileMetaData) -> None:
        self._parts, self._place, self.footer = [_Part(0, b""), *parts], 0, footer  # parts may be empty

    def seek(self, offset: int, whence: int = os.SEEK_SET) -> int:
        end = self._parts[-1].start + len(self._parts[-1].data)
        self._place = offset + (0, self._place, end)[whence]
        return self._place

    def tell(self) -> int:
        return self._place

    def read(self, size: int) -> bytes:
        data = self.bytes(self._place, size)
        self._place += len(data)
        return data

    def bytes(self, start: int, size: int) -> bytes:
        """At most `size` bytes from a place in the file on, which must be in one of the parts."""
        part = self._parts[bisect.bisect_right(self._parts, start, key=lambda part: part.start) - 1]
        return part.data[start - part.start : start - part.start + size]

    def readable(self) -> bool:
        return True

    def close(self) -> None:
        """Does nothing: there is no file to close."""


def _batches(footer: pq.FileMetaData, groups: Iterable[int]) -> list[list[int]]:
    """The groups in parts of at least _BATCH bytes each, except the last."""
    batches: list[list[int]] = []
    size = _BATCH
    for group in groups:
        if size >= _BATCH:
            batches.append([])
            size = 0
        batches[-1].append(group)
        size += footer.row_group(group).total_byte_size
    return batches


def _with(wanted: pa.Array, rows: pa.Table) -> pa.Table:
    """The rows whose first column is one of those wanted."""
    is_wanted = pc.is_in(rows.column(0), value_set=wanted)
    return rows if pc.all(is_wanted).as_py() else rows.filter(is_wanted)


def _split(chunks: Mapping[str, pq.ColumnChunkMetaData], parts: _Parts) -> dict[str, pages.Bytes] | None:
    """The lists of a row, by column; None if one is compressed in an unknown way."""
    found = {}
    for column, chunk in chunks.items():
        data = parts.bytes(chunk.data_page_offset, chunk.total_compressed_size)
        if (split := pages.split_numbers(chunk, data)) is None:
            return None
        found[column] = split
    return found


def _joined(spans: Iterable[_Span]) -> Iterator[_Span]:
    """Ascending spans with adjacent ones joined."""
    last = None
    for span in spans:
        if last and last.end == span.start:
            last = _Span(last.start, span.end)
            continue
        if last:
            yield last
        last = span
    if last:
        yield last


def _bytes(source: Any, start: int, length: int) -> bytes:
    """`length` bytes of a file from `start` on, in several reads if a read returns fewer."""
    source.seek(start)
    data = source.read(length)
    while len(data) < length and (more := source.read(length - len(data))):
        data += more
    return data
