"""Lists of bytes that are in a temporary file instead of memory."""

import os
import tempfile
import threading
from collections.abc import Iterator, Mapping

_SMALL = 1 << 10  # bytes; of less, a place costs as much memory
_LARGE_FILES = "/var/tmp"  # /tmp may be in memory


class Spool:
    """A temporary file of bytes, which has no name. Threads may share it inside `with`; then it is gone."""

    def __init__(self, environment: Mapping[str, str] = os.environ) -> None:
        is_given = environment.get("TMPDIR") or not os.access(_LARGE_FILES, os.W_OK)
        self._file = tempfile.TemporaryFile(  # noqa: SIM115  # `__exit__` closes it
            prefix="beamtrawl-exchange-", dir=None if is_given else _LARGE_FILES, buffering=0
        )
        self._end, self._lock = 0, threading.Lock()

    def __enter__(self) -> "Spool":
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()

    def put(self, data: bytes) -> range | bytes:
        """Write bytes, and return where they are; the bytes themselves if they are few, or the disk is full."""
        if len(data) < _SMALL:
            return data
        with self._lock:
            place = range(self._end, self._end + len(data))
            self._end = place.stop
        try:
            written = 0
            while written < len(place):
                written += os.pwrite(self._file.fileno(), memoryview(data)[written:], place.start + written)
        except OSError:
            return data
        return place

    def get(self, place: range) -> bytes:
        """Return the bytes that are there; OSError if they cannot be read."""
        parts, read = [], 0
        while read < len(place):
            part = os.pread(self._file.fileno(), len(place) - read, place.start + read)
            if not part:
                raise OSError(f"a temporary file has ended before byte {place.stop}")
            parts.append(part)
            read += len(part)
        return b"".join(parts)


class SpooledList:
    """A list of bytes whose large items are in a spool, each read when it is needed."""

    def __init__(self, spool: Spool) -> None:
        self._spool, self._items = spool, list[range | bytes]()

    def append(self, item: bytes) -> None:
        self._items.append(self._spool.put(item))

    def divided(self, count: int) -> "list[SpooledList]":
        """Return so many lists of the items: about equally large, the largest items first."""
        shares, sizes = [SpooledList(self._spool) for _ in range(count)], [0] * count
        for item in sorted(self._items, key=len, reverse=True):
            least = sizes.index(min(sizes))
            shares[least]._items.append(item)
            sizes[least] += len(item)
        return shares

    def __len__(self) -> int:
        return len(self._items)

    def __iter__(self) -> Iterator[bytes]:
        for item in self._items:
            yield self._spool.get(item) if isinstance(item, range) else item
