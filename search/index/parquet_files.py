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
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from ...transforms.files import filesystem
from ...transforms.indexing.row_groups import SIZE, START, VALUES, RowGroups
from ...transforms.indexing.segment_files import packed_groups, require_version, row_groups
from ...transforms.indexing.write_segment import DOCS
from ...transforms.tables.table_files import naming_damage
from . import pages

_REQUESTS = ThreadPoolExecutor(64, "read")
"""For parallel requests to an object store. A task in it never waits for another task in it."""


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

    def rows(self, name: str, numbers: Sequence[int], columns: Sequence[str]) -> list[dict[str, Any]]:
        """Some rows of a file, by ascending numbers, with those of some adjacent columns that the file has."""
        of_file, wanted = self._row_groups(name), np.array(numbers, np.int64)
        ends = np.cumsum(of_file.rows)
        groups, places = np.unique(ends.searchsorted(wanted, "right"), return_inverse=True)
        before = ends[groups] - np.cumsum(of_file.rows[groups])  # rows of groups that are not read, before each group
        with self._naming_damage(name):  # also of bytes that are no UTF-8
            found = self.read(name, [column for column in columns if column in of_file.columns], groups.tolist())
            return found.take(pa.array(wanted - before[places])).to_pylist()

    def read(self, name: str, columns: Sequence[str], groups: Sequence[int] | None = None) -> pa.Table:
        """Adjacent columns of some row groups; None: all."""
        chosen = range(len(self._row_groups(name).rows)) if groups is None else groups
        with self._naming_damage(name):
            return self._fetched(name, chosen, columns).file.read(columns, use_threads=False)

    def has(self, name: str) -> bool:
        """Whether the folder has a file."""
        return any(key.endswith(f".{name}") for key in self._packed)

    def _naming_damage(self, name: str) -> AbstractContextManager[None]:
        return naming_damage(self._root, f"{self._folder}/{name}")

    def _fetched(self, name: str, groups: Sequence[int], columns: Sequence[str]) -> "_Fetched":
        """Adjacent columns of some ascending row groups, as a file in memory."""
        of_file = self._row_groups(name)
        numbers = [number for column, number in of_file.columns.items() if column in columns]
        chunks = of_file.chunks[list(groups)][:, numbers]
        starts, ends = chunks[:, 0, START], chunks[:, -1, START] + chunks[:, -1, SIZE]
        footer = of_file.footer(groups, np.cumsum(ends - starts) - ends)
        are_apart = starts[1:] != ends[:-1]
        firsts, lasts = np.append(starts[:1], starts[1:][are_apart]), np.append(ends[:-1][are_apart], ends[-1:])
        # All requests take the latency of one.
        read = _REQUESTS.map if self._reads_by_request and len(firsts) > 1 else map
        with self._naming_damage(name):
            data = b"".join([*read(functools.partial(self._part, name), firsts.tolist(), lasts.tolist()), footer])
            return _Fetched(data, pq.ParquetFile(pa.BufferReader(data), page_checksum_verification=True))

    def long_rows(self, name: str, column: str) -> Counter[str]:
        """By their first column, the lengths of the lists of rows that are row groups of their own. Reads no row."""
        of_file, found = self._row_groups(name), Counter[str]()
        lengths = of_file.chunks[:, of_file.columns[column], VALUES]
        for group in np.flatnonzero((of_file.rows == 1) & (lengths >= pages.FEWEST)).tolist():
            found[of_file.firsts[group]] += int(lengths[group])
        return found

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
        wanted, fetched = pa.array(list(keys), pa.string()), self._fetched(name, groups, columns)
        file, metadata = fetched.file, fetched.file.metadata
        long_lists = [pages.long_lists(metadata.row_group(place), lists) for place in range(len(groups))]
        with self._naming_damage(name):
            for are_long, some in itertools.groupby(range(len(groups)), lambda place: bool(long_lists[place])):
                for batch in ([place] for place in some) if are_long else _batches(metadata, some):
                    if split := _split(long_lists[batch[0]] or {}, fetched):
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
        rows = self.read(name, columns, self._between(name, first, last))
        keys = rows.column(0)
        return rows.filter(pc.and_(pc.greater_equal(keys, first), pc.less_equal(keys, last)))

    def _unpacked(self, name: str) -> RowGroups:
        with naming_damage(self._root, f"{self._folder}/{DOCS}"):
            return row_groups(self._packed, name)

    def _part(self, name: str, start: int, end: int) -> bytes:
        with self._open(name) as source:
            return _bytes(source, start, end)

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


class _Fetched(NamedTuple):
    """A file in memory of some row groups of a file; columns that were not fetched cannot be read."""

    data: bytes
    file: pq.ParquetFile

    def of(self, chunk: pq.ColumnChunkMetaData) -> bytes:
        """The bytes of a column of a row group."""
        return self.data[chunk.data_page_offset : chunk.data_page_offset + chunk.total_compressed_size]


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


def _split(chunks: Mapping[str, pq.ColumnChunkMetaData], fetched: _Fetched) -> dict[str, pages.Bytes] | None:
    """The lists of a row, by column; None if one is compressed in an unknown way."""
    found = {}
    for column, chunk in chunks.items():
        if (split := pages.split_numbers(chunk, fetched.of(chunk))) is None:
            return None
        found[column] = split
    return found


def _bytes(source: Any, start: int, end: int) -> bytes:
    """The bytes of a file from `start` to `end`, in several reads if a read returns fewer."""
    source.seek(start)
    data = source.read(end - start)
    while start + len(data) < end and (more := source.read(end - start - len(data))):
        data += more
    if start + len(data) < end:
        raise OSError(f"it ends before byte {end}")
    return data
