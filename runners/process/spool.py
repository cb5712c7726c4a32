"""Lists of bytes that are in a temporary file instead of memory."""

import os
import tempfile
import threading
from array import array
from bisect import bisect_right
from collections.abc import Iterator, Mapping

_TOGETHER = 1 << 20  # bytes that are written at once, so that small items cost little
_LARGE_FILES = "/var/tmp"  # /tmp may be in memory


class Spool:
    """A temporary file of bytes, which has no name. Threads may share it inside `with`; then it is gone."""

    def __init__(self, environment: Mapping[str, str] = os.environ) -> None:
        is_given = environment.get("TMPDIR") or not os.access(_LARGE_FILES, os.W_OK)
        self._file = tempfile.TemporaryFile(  # noqa: SIM115  # `__exit__` closes it
            prefix="beamtrawl-exchange-", dir=None if is_given else _LARGE_FILES, buffering=0
        )
        self._start, self._rest = 0, bytearray()  # what is not written yet, and where it will be
        self._kept: list[tuple[int, bytearray]] = []  # what could not be written, as the disk was full
        self._lock = threading.Lock()

    def __enter__(self) -> "Spool":
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()

    @property
    def size(self) -> int:
        """Return how many bytes it was given so far."""
        return self._start + len(self._rest)

    def put(self, data: bytes) -> int:
        """Write bytes, together with others; return where they are. What the disk has no room for is in memory."""
        with self._lock:
            place = self.size
            self._rest += data
            if len(self._rest) >= _TOGETHER:
                self._write()
        return place

    def _write(self) -> None:
        start, rest, written = self._start, self._rest, 0
        try:
            while written < len(rest):
                written += os.pwrite(self._file.fileno(), memoryview(rest)[written:], start + written)
        except OSError:
            self._kept.append((start, rest))
        self._start, self._rest = start + len(rest), bytearray()

    def get(self, place: int, size: int) -> bytes:
        """Return the bytes that are there; OSError if they cannot be read."""
        if place >= self._start or self._kept:  # in this order: another thread may write meanwhile
            with self._lock:
                kept = bisect_right(self._kept, place, key=lambda each: each[0])
                for start, part in (*self._kept[max(0, kept - 1) : kept], (self._start, self._rest)):
                    if 0 <= place - start < len(part):
                        return bytes(part[place - start : place - start + size])
        data = os.pread(self._file.fileno(), size, place)
        while len(data) < size:  # the kernel reads two gigabytes at once, at most
            more = os.pread(self._file.fileno(), size - len(data), place + len(data))
            if not more:
                raise OSError(f"a temporary file has ended before byte {place + size}")
            data += more
        return data


class SpooledList:
    """A list of bytes that are in a spool, each read when it is needed: an item takes sixteen bytes of memory."""

    __slots__ = ("_places", "_spool", "size")

    def __init__(self, spool: Spool) -> None:
        self._spool, self._places = spool, array("Q")  # where an item is, and its size
        self.size = 0  # of all items, bytes

    def append(self, item: bytes) -> None:
        self._add(self._spool.put(item), len(item))

    def _add(self, place: int, size: int) -> None:
        self._places.extend((place, size))
        self.size += size

    def divided(self, count: int) -> "list[SpooledList]":
        """Return so many lists of the items: about equally large, the largest items first."""
        shares, sizes = [SpooledList(self._spool) for _ in range(count)], self._places[1::2]
        for number in sorted(range(len(self)), key=sizes.__getitem__, reverse=True):
            min(shares, key=lambda share: share.size)._add(self._places[2 * number], sizes[number])
        return shares

    def __len__(self) -> int:
        return len(self._places) // 2

    def __iter__(self) -> Iterator[bytes]:
        return map(self._spool.get, self._places[::2], self._places[1::2])
