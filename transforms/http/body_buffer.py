"""Buffers response bodies in bounded memory; a body that finds no free memory spills to a file and never blocks."""

import contextlib
import tempfile
import threading
from collections import deque
from typing import BinaryIO

from ..outcomes import Outcome
from .errors import RequestError

OWN_BYTES = 65_536
"""Bytes that each body may buffer without reserving memory: small pages take no lock and never block."""

_LOAD_PATIENCE_S = 600.0


class BodyMemory:
    """The memory budget that the bodies of a worker share.

    `reading_bytes` are for bodies that are being read: `try_take` never blocks, so no body holds a part of them
    while it waits for more. `loaded_bytes` are for complete bodies that are read back from a file: each is reserved
    as a whole, in order of arrival, and released as soon as the body's row is passed on.
    """

    def __init__(self, reading_bytes: int, loaded_bytes: int) -> None:
        self._reading = reading_bytes
        self._loaded = self._loaded_limit = loaded_bytes
        self._changed = threading.Condition()
        self._waiting: deque[object] = deque()

    def try_take(self, count: int) -> bool:
        """Reserve `count` bytes for a body that is being read; False if they are not free."""
        with self._changed:
            if self._reading < count:
                return False
            self._reading -= count
            return True

    def give_back(self, count: int) -> None:
        """Release what `try_take` reserved."""
        with self._changed:
            self._reading += count

    def take_loaded(self, count: int, patience_s: float) -> int:
        """Wait for the memory of a complete body; returns the number of bytes to pass to `give_back_loaded`.

        A body larger than the whole budget reserves all of it. RequestError (deferred) after `patience_s` seconds.
        """
        count, ticket = min(count, self._loaded_limit), object()
        with self._changed:
            self._waiting.append(ticket)
            try:
                is_free = self._changed.wait_for(
                    lambda: self._waiting[0] is ticket and self._loaded >= count, patience_s
                )
                if not is_free:
                    raise RequestError(Outcome.DEFERRED, "no memory was free for the body; it is fetched later")
                self._loaded -= count
            finally:
                self._waiting.remove(ticket)
                self._changed.notify_all()
        return count

    def give_back_loaded(self, count: int) -> None:
        """Release what `take_loaded` reserved."""
        with self._changed:
            self._loaded += count
            self._changed.notify_all()


class BodyBuffer:
    """The bytes of one body: in memory while some is free, in a temporary file otherwise.

    `append` never blocks. `load` returns the bytes; their memory is reserved until `release`.
    """

    def __init__(self, memory: BodyMemory) -> None:
        self._memory = memory
        self._data = bytearray()  # not a list of parts: parts of one byte would take fifty times their size
        self._taken = 0  # bytes reserved for reading
        self._loaded = 0  # bytes reserved for complete bodies
        self._file: BinaryIO | None = None
        self._size = 0

    def append(self, part: bytes) -> None:
        """Add bytes. RequestError (deferred) if neither memory nor disk has room for them."""
        self._size += len(part)
        if self._file is None:
            more = self._size - max(OWN_BYTES, self._taken + OWN_BYTES)
            if more <= 0 or self._memory.try_take(more):
                self._taken += max(more, 0)
                self._data += part
                return
        try:
            self._spill(part)
        except OSError as error:
            text = f"a body cannot be kept in {tempfile.gettempdir()}: {error.strerror or error}"
            raise RequestError(Outcome.DEFERRED, text) from error

    def load(self) -> bytes:
        """All bytes. If they are in a file, waits for memory; RequestError (deferred) if none becomes free."""
        if self._file is None:
            return bytes(self._data)
        self._loaded = self._memory.take_loaded(self._size, _LOAD_PATIENCE_S)
        try:
            self._file.seek(0)
            return self._file.read()
        except OSError as error:
            raise RequestError(Outcome.DEFERRED, f"a body cannot be read back: {error.strerror or error}") from error
        finally:
            self._close()

    def release(self) -> None:
        """Release all memory and the file; the buffer must not be used afterwards."""
        self._close()
        self._give_back()
        if self._loaded:
            self._memory.give_back_loaded(self._loaded)
            self._loaded = 0

    def _spill(self, part: bytes) -> None:
        if self._file is None:
            self._file = tempfile.TemporaryFile(prefix="beamtrawl-body-")  # noqa: SIM115  # `release` closes it
            self._file.write(self._data)
            self._give_back()
        self._file.write(part)

    def _give_back(self) -> None:
        self._data = bytearray()
        if self._taken:
            self._memory.give_back(self._taken)
            self._taken = 0

    def _close(self) -> None:
        if self._file is not None:
            with contextlib.suppress(OSError):
                self._file.close()
            self._file = None
