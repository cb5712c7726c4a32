"""Lists of bytes that are in a temporary file instead of memory."""

import os
import tempfile
import threading
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple

_SMALL = 1 << 10  # bytes; of less, a place costs as much memory
_LARGE_FILES = "/var/tmp"  # /tmp may be in memory


class _Place(NamedTuple):
    start: int
    size: int


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

    def put(self, data: bytes) -> _Place | bytes:
        """Write bytes, and return where they are; the bytes themselves if they are few, or the disk is full."""
        if len(data) < _SMALL:
            return data
        with self._lock:
            place, self._end = _Place(self._end, len(data)), self._end + len(data)
        try:
            written = 0
            while written < place.size:
                written += os.pwrite(self._file.fileno(), memoryview(data)[written:], place.start + written)
        except OSError:
            return data
        return place

    def get(self, place: _Place) -> bytes:
        """Return the bytes that are there; OSError if they cannot be read."""
        parts, read = [], 0
        while read < place.size:
            part = os.pread(self._file.fileno(), place.size - read, place.start + read)
            if not part:
                raise OSError(f"a temporary file has ended before byte {place.start + place.size}")
            parts.append(part)
            read += len(part)
        return b"".join(parts)


class SpooledList:
    """A list whose large items of bytes are in a spool, each read when it is needed. Other items stay as they are."""

    def __init__(self, spool: Spool, items: Iterable[Any] = ()) -> None:
        self._spool, self._items = spool, list[Any]()
        self.extend(items)

    def append(self, item: Any) -> None:
        self._items.append(self._spool.put(item) if isinstance(item, bytes) else item)

    def extend(self, items: Iterable[Any]) -> None:
        if isinstance(items, SpooledList) and items._spool is self._spool:
            self._items.extend(items._items)
        else:
            for item in items:
                self.append(item)

    def __len__(self) -> int:
        return len(self._items)

    def __getitem__(self, part: slice) -> "SpooledList":
        found = SpooledList(self._spool)
        found._items = self._items[part]
        return found

    def __iter__(self) -> Iterator[Any]:
        for item in self._items:
            yield self._spool.get(item) if isinstance(item, _Place) else item
