"""Reads an object as a file, by requests for ranges of its bytes."""

import io
import os
from collections.abc import Callable
from typing import Any, BinaryIO, cast

TAIL = 256 << 10
"""Bytes of the first request of a reader that needs the size: the end, where the footer of a Parquet file is."""

BUFFER = 4 << 20
"""Bytes that are read ahead."""

ReadRange = Callable[[int, int], tuple[bytes, int]]
"""Requests a range of the bytes of an object (`object_store.read_range`)."""


class ObjectFile(io.RawIOBase):
    """A seekable file. Each read is one request, unless the end of the object, which is kept, has the bytes."""

    def __init__(self, read_range: ReadRange) -> None:
        self._read_range = read_range
        self._at = 0
        self._size: int | None = None
        self._tail = b""

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def tell(self) -> int:
        return self._at

    def seek(self, offset: int, whence: int = os.SEEK_SET) -> int:
        if whence == os.SEEK_END:
            self._at = self._end() + offset
        else:
            self._at = offset + (self._at if whence == os.SEEK_CUR else 0)
        return self._at

    def readinto(self, buffer: Any) -> int:
        data = self._range(self._at, self._at + len(buffer))
        buffer[: len(data)] = data
        self._at += len(data)
        return len(data)

    def readall(self) -> bytes:
        size = self._end()
        start, self._at = self._at, max(self._at, size)
        return self._range(start, size)

    def _range(self, start: int, end: int) -> bytes:
        if self._size is None:
            data, self._size = self._read_range(start, end)
            return data
        end = min(end, self._size)
        tail = self._size - len(self._tail)
        if start >= tail:
            return self._tail[start - tail : end - tail]
        return self._read_range(start, end)[0] if start < end else b""

    def _end(self) -> int:
        if self._size is None:
            self._tail, self._size = self._read_range(-TAIL, 0)
        return self._size


def open_object(read_range: ReadRange) -> BinaryIO:
    """A buffered file; `raw` reads without the buffer."""
    return cast(BinaryIO, io.BufferedReader(ObjectFile(read_range), BUFFER))
