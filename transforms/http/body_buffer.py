"""Hold the bodies of a worker in bounded memory: a body that has begun never waits, and spills to a file instead."""

import contextlib
import tempfile
import threading
from collections import deque
from typing import BinaryIO

from ..outcomes import Outcome
from .errors import RequestError

OWN_BYTES = 65_536
"""Every body may hold so many bytes in memory without asking: small pages take no lock and wait for nobody."""

_LOAD_PATIENCE_S = 600.0


class BodyMemory:
    """The bytes of memory that the bodies of a worker share.

    `reading_bytes` are for bodies that are being read: `try_take` never waits, so a body never holds a part of them
    while it waits for more. `loaded_bytes` are for complete bodies that come back from a file: they are taken as a
    whole, in order of arrival, and each is given back as soon as its row was handed on.
    """

    def __init__(self, reading_bytes: int, loaded_bytes: int) -> None:
        self._reading = reading_bytes
        self._loaded = self._loaded_limit = loaded_bytes
        self._changed = threading.Condition()
        self._waiting: deque[object] = deque()

    def try_take(self, count: int) -> bool:
        """Take so many bytes for a body that is being read, if they are free."""
        with self._changed:
            if self._reading < count:
                return False
            self._reading -= count
            return True

    def give_back(self, count: int) -> None:
        """Free what `try_take` took."""
        with self._changed:
            self._reading += count

    def take_loaded(self, count: int, patience_s: float) -> int:
        """Wait for the memory of a complete body; returns the bytes that `give_back_loaded` frees.

        A body longer than all of the memory takes all of it. RequestError (deferred) after `patience_s` seconds.
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
        """Free what `take_loaded` took."""
        with self._changed:
            self._loaded += count
            self._changed.notify_all()


class BodyBuffer:
    """The bytes of one body: in memory as long as there is some, in a temporary file otherwise.

    `append` never waits. `load` gives the bytes; they count until `release`.
    """

    def __init__(self, memory: BodyMemory) -> None:
        self._memory = memory
        self._data = bytearray()  # not a list of parts: a byte each, they would take fifty times their size
        self._taken = 0  # of the memory for reading
        self._loaded = 0  # of the memory for complete bodies
        self._file: BinaryIO | None = None
        self._size = 0

    def append(self, part: bytes) -> None:
        """Add bytes. RequestError (deferred) if they fit neither into memory nor onto the disk."""
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
        """All bytes. Waits for memory if they are in a file; RequestError (deferred) if none becomes free."""
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
        """Give back all memory and the file; the buffer is not used after that."""
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
