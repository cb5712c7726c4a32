"""The Parquet files of an index folder, opened for reading: few requests, and those side by side.

Opening a folder reads its `docs` file, all of it. That has the footers of the others (`transforms.index_files`), so
every later read knows its bytes: it is one request a row group, and all that a call needs are asked for together.
"""

import bisect
import contextlib
import os
import threading
from collections.abc import Collection, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from apache_beam.io.filesystems import FileSystems

from transforms.index import DOCS
from transforms.index_files import footers
from transforms.index_read import naming, require_version

_REQUESTS = ThreadPoolExecutor(32, "read")
"""For what is asked of a store at the same time. What runs in it waits for nothing else in it."""


class Files:
    """The files of a folder. Any number of folders and threads can share a process.

    What cannot be read, or is of another index version, is a CrawlDirError.
    """

    docs: pa.Table
    """The table `docs`."""

    def __init__(self, root: str, folder: str) -> None:
        self._root, self._folder = root, folder
        # A store takes long to open a file, and a disk has only so many files that may be open.
        self._keeps_open = FileSystems.get_scheme(root) is not None
        self._opened: dict[str, list[Any]] = {}
        self._lock = threading.Lock()
        with naming(f"{folder}/{DOCS}"):
            with self._open(DOCS) as source:
                data = _bytes(source, 0, source.seek(0, os.SEEK_END))
            with pq.ParquetFile(pa.BufferReader(data)) as file:
                require_version(f"{folder}/{DOCS}", file.metadata)
                self.docs = file.read()
                self._footers = footers(file.metadata)
        self._ranges = {name: _key_ranges(footer) for name, footer in self._footers.items()}

    def rows(self, name: str) -> list[int]:
        """How many rows each row group of a file has."""
        footer = self._footers[name]
        return [footer.row_group(number).num_rows for number in range(footer.num_row_groups)]

    def read(self, name: str, groups: Sequence[int], columns: Sequence[str]) -> list[pa.Table]:
        """Some neighbouring columns of row groups, read side by side."""
        if len(groups) == 1:
            return [self._read(name, groups[0], columns)]
        return list(_REQUESTS.map(lambda group: self._read(name, group, columns), groups))

    def find(self, name: str, keys: Collection[str], columns: Sequence[str]) -> Iterator[tuple[str, pa.Table]]:
        """The rows that have one of the keys in the first column, by which the file is sorted; each as a table."""
        firsts, lasts = self._ranges[name]
        by_group: dict[int, list[str]] = {}
        for key in keys:
            for group in range(bisect.bisect_left(lasts, key), bisect.bisect_right(firsts, key)):
                by_group.setdefault(group, []).append(key)
        for rows, wanted in zip(self.read(name, list(by_group), columns), by_group.values(), strict=True):
            found = pc.indices_nonzero(pc.is_in(rows.column(0), value_set=pa.array(wanted, pa.string())))
            for row in found.to_pylist():
                yield rows.column(0)[row].as_py(), rows.slice(row, 1)

    def _read(self, name: str, group: int, columns: Sequence[str]) -> pa.Table:
        footer = self._footers[name]
        chunks = footer.row_group(group)
        wanted = [
            chunk
            for chunk in map(chunks.column, range(chunks.num_columns))
            if chunk.path_in_schema.partition(".")[0] in columns
        ]
        start = min(chunk.dictionary_page_offset or chunk.data_page_offset for chunk in wanted)
        end = max((c.dictionary_page_offset or c.data_page_offset) + c.total_compressed_size for c in wanted)
        with naming(f"{self._folder}/{name}"):
            with self._open(name) as source:
                data = _bytes(source, start, end - start)
            with pq.ParquetFile(_Part(data, start), metadata=footer) as file:
                return file.read_row_group(group, columns, use_threads=False)

    @contextlib.contextmanager
    def _open(self, name: str) -> Iterator[Any]:
        """A file to read from, for one thread at a time."""
        with self._lock:
            idle = self._opened.setdefault(name, [])
            file = idle.pop() if idle else None
        file = file or FileSystems.open(
            FileSystems.join(self._root, *f"{self._folder}/{name}".split("/")), compression_type="uncompressed"
        )
        try:
            # Below the buffer, which would fetch 16 MB from S3 where some kilobytes are wanted.
            yield getattr(file, "raw", file)
        except BaseException:
            file.close()
            raise
        if self._keeps_open:
            with self._lock:
                idle.append(file)
        else:
            file.close()


class _Part:
    """Some bytes of a file, as the file, for a reader that asks for no others."""

    closed = False

    def __init__(self, data: bytes, start: int) -> None:
        self._data, self._start, self._place = data, start, start

    def seek(self, offset: int, whence: int = os.SEEK_SET) -> int:
        self._place = offset + (0, self._place, self._start + len(self._data))[whence]
        return self._place

    def tell(self) -> int:
        return self._place

    def read(self, size: int = -1) -> bytes:
        start = self._place - self._start
        data = self._data[start : start + size if size >= 0 else None]
        self._place += len(data)
        return data

    def readable(self) -> bool:
        return True

    def close(self) -> None:
        """There is nothing to close."""


def _bytes(source: Any, start: int, length: int) -> bytes:
    """So many bytes of a file from a place on. A raw file may give fewer at a time."""
    source.seek(start)
    data = source.read(length)
    while len(data) < length and (more := source.read(length - len(data))):
        data += more
    return data


def _key_ranges(footer: pq.FileMetaData) -> tuple[list[str], list[str]]:
    """The least and the greatest value of the first column in each row group, if the file is sorted by it."""
    columns = (footer.row_group(number).column(0) for number in range(footer.num_row_groups))
    statistics = [column.statistics for column in columns if column.is_stats_set]
    return [found.min for found in statistics], [found.max for found in statistics]
