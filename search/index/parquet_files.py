"""Reads the Parquet files of an index folder with few requests, in parallel.

Opening a folder reads its whole `docs` file, which holds the footers of the other files (`segment_files`). So the
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

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from ...transforms.files import filesystem
from ...transforms.indexing.segment_files import FOOTER_KEY, embedded_footer, packed_footers, require_version
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
                docs = file.read().replace_schema_metadata()  # without the footers
                self._packed_footers = packed_footers(file.metadata)
        self._docs: pa.Table | None = docs.unify_dictionaries()
        # A footer is unpacked when it is needed: that of a large docstore takes more memory than all else.
        self._footer = functools.cache(self._unpacked_footer)
        self._ranges = functools.cache(lambda name: _key_ranges(self._footer(name)))
        self._columns = functools.cache(lambda name: _column_numbers(self._footer(name)))

    def take_docs(self) -> pa.Table:
        """The table `docs`, once: its columns need memory only as long as the caller keeps them."""
        docs, self._docs = self._docs, None
        return docs

    def rows(self, name: str) -> list[int]:
        """The number of rows of each row group of a file."""
        footer = self._footer(name)
        return [footer.row_group(number).num_rows for number in range(footer.num_row_groups)]

    def read(self, name: str, groups: Sequence[int], columns: Sequence[str]) -> pa.Table:
        """Adjacent columns of some row groups, in the order of the groups."""
        return pa.concat_tables(self._decoded(name, [groups], columns))

    def has(self, name: str) -> bool:
        """Whether the folder has a file."""
        return f"{FOOTER_KEY}{name}".encode() in self._packed_footers

    def has_column(self, name: str, column: str) -> bool:
        """Whether a file has a column of its own."""
        return column in self._columns(name)

    def strings(self, name: str, groups: Sequence[int], columns: Sequence[str]) -> Iterator[Values]:
        """For each of some ascending row groups, a function that decodes values of its columns of strings.

        It takes the name of one of some adjacent columns, and the numbers of rows in the row group. All bytes are read
        beforehand.
        """
        parts = self._fetched(name, groups, columns)
        for group in groups:
            yield functools.partial(self._strings, name, parts, group)

    def _strings(
        self, name: str, parts: "_Parts", group: int, column: str, rows: Sequence[int]
    ) -> Sequence[str | None]:
        footer = self._footer(name)
        number = self._columns(name)[column]
        if pages.are_strings(footer.schema.column(number)):
            chunk = footer.row_group(group).column(number)
            data = parts.bytes(chunk.data_page_offset, chunk.total_compressed_size)
            if (found := pages.strings(chunk.compression, data, rows)) is not None:
                return found
        with self._reader(name, parts) as file:
            values = file.read_row_group(group, [column], use_threads=False).column(0)
            values.validate(full=True)  # bytes that are no UTF-8 are damage, too
            return values.take(pa.array(rows)).to_pylist()

    def _decoded(self, name: str, batches: Sequence[Sequence[int]], columns: Sequence[str]) -> Iterator[pa.Table]:
        """Adjacent columns of some row groups; those of a batch are decoded at once. All are read beforehand."""
        parts = self._fetched(name, [group for batch in batches for group in batch], columns)
        with self._reader(name, parts) as file:
            for batch in batches:
                yield file.read_row_groups(batch, columns, use_threads=False)

    def _fetched(self, name: str, groups: Sequence[int], columns: Sequence[str]) -> "_Parts":
        """The bytes of adjacent columns of some row groups."""
        footer = self._footer(name)
        numbers = [number for column, number in self._columns(name).items() if column in columns]
        spans = list(_joined(_span(footer.row_group(group), numbers) for group in sorted(groups)))
        with naming_damage(self._root, f"{self._folder}/{name}"):
            if self._reads_by_request and len(spans) > 1:  # all requests take the latency of one
                return _Parts(list(_REQUESTS.map(lambda span: self._part(name, span), spans)))
            with self._open(name) as source:
                return _Parts([_part(source, span) for span in spans])

    @contextlib.contextmanager
    def _reader(self, name: str, parts: "_Parts") -> Iterator[pq.ParquetFile]:
        """A reader of what was fetched of a file."""
        with (
            naming_damage(self._root, f"{self._folder}/{name}"),
            # With a buffer, the reader would also request the bytes between the parts.
            pq.ParquetFile(
                parts, metadata=self._footer(name), pre_buffer=False, page_checksum_verification=True
            ) as file,
        ):
            yield file

    def long_rows(self, name: str, column: str) -> Iterator[tuple[str, int]]:
        """The first column of each row that is a row group of its own, and the length of its list in another one.

        Reads no row.
        """
        footer, (firsts, _) = self._footer(name), self._ranges(name)
        for number, first in enumerate(firsts):
            if lists := pages.long_lists(footer.row_group(number), [column]):
                yield first, lists[column].num_values

    def find(self, name: str, keys: Collection[str], columns: Sequence[str]) -> Iterator[tuple[str, pa.Table]]:
        """The rows whose first column, by which the file is sorted, is one of the keys; each as a table."""
        wanted = pa.array(list(keys), pa.string())
        for rows in self._decoded(name, self._batches(name, self._groups_with(name, keys)), columns):
            found = _with(wanted, rows)
            yield from ((key, found.slice(row, 1)) for row, key in enumerate(found.column(0).to_pylist()))

    def find_lists(
        self, name: str, keys: Collection[str], columns: Sequence[str], lists: Collection[str]
    ) -> Iterator[tuple[str, pa.Table | dict[str, pages.Bytes]]]:
        """Tables of the rows that `find` returns; of a row of long `lists`, these alone (`pages.split_numbers`).

        With each, the first column of its first row.
        """
        groups, footer, (firsts, _) = self._groups_with(name, keys), self._footer(name), self._ranges(name)
        long_lists = {group: pages.long_lists(footer.row_group(group), lists) for group in groups}
        wanted = pa.array(list(keys), pa.string())
        parts = self._fetched(name, groups, columns)
        with self._reader(name, parts) as file:
            for are_long, some in itertools.groupby(groups, key=lambda group: long_lists[group] is not None):
                for batch in ([group] for group in some) if are_long else self._batches(name, list(some)):
                    split = _split(long_lists[batch[0]] or {}, parts)
                    if split:
                        yield firsts[batch[0]], split
                    elif rows := _with(wanted, file.read_row_groups(batch, columns, use_threads=False)):
                        yield rows.column(0)[0].as_py(), rows

    def _groups_with(self, name: str, keys: Collection[str]) -> list[int]:
        """The row groups that may have rows whose first column is one of the keys, ascending."""
        firsts, lasts = self._ranges(name)
        return sorted(
            {group for key in keys for group in range(bisect.bisect_left(lasts, key), bisect.bisect_right(firsts, key))}
        )

    def _batches(self, name: str, groups: Sequence[int]) -> list[list[int]]:
        """The groups in parts of at least _BATCH bytes each, except the last."""
        footer = self._footer(name)
        batches: list[list[int]] = []
        size = _BATCH
        for group in groups:
            if size >= _BATCH:
                batches.append([])
                size = 0
            batches[-1].append(group)
            size += footer.row_group(group).total_byte_size
        return batches

    def between(self, name: str, first: str, last: str, columns: Sequence[str]) -> pa.Table:
        """The rows whose first column, by which the file is sorted, is from `first` to `last`."""
        firsts, lasts = self._ranges(name)
        rows = self.read(name, range(bisect.bisect_left(lasts, first), bisect.bisect_right(firsts, last)), columns)
        keys = rows.column(0)
        return rows.filter(pc.and_(pc.greater_equal(keys, first), pc.less_equal(keys, last)))

    def _unpacked_footer(self, name: str) -> pq.FileMetaData:
        with naming_damage(self._root, f"{self._folder}/{DOCS}"):
            return embedded_footer(self._packed_footers, name)

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
    """A file object over parts of a file, for a reader that reads only these."""

    closed = False

    def __init__(self, parts: Sequence[_Part]) -> None:
        self._parts, self._place = [_Part(0, b""), *parts], 0  # parts may be empty

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


def _column_numbers(footer: pq.FileMetaData) -> dict[str, int]:
    """The number of each column, which is the same in all row groups."""
    paths = (footer.schema.column(number).path for number in range(footer.num_columns))
    return {path.partition(".")[0]: number for number, path in enumerate(paths)}


def _span(group: pq.RowGroupMetaData, columns: Iterable[int]) -> _Span:
    """The byte range of columns of a row group."""
    chunks = [group.column(number) for number in columns]
    starts = [chunk.dictionary_page_offset or chunk.data_page_offset for chunk in chunks]
    ends = [start + chunk.total_compressed_size for start, chunk in zip(starts, chunks, strict=True)]
    return _Span(min(starts), max(ends))


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


def _key_ranges(footer: pq.FileMetaData) -> tuple[list[str], list[str]]:
    """The minimum and the maximum of the first column in each row group that has statistics."""
    columns = (footer.row_group(number).column(0) for number in range(footer.num_row_groups))
    statistics = [column.statistics for column in columns if column.is_stats_set]
    return [found.min for found in statistics], [found.max for found in statistics]
