"""A file that is being written: its size, its checksum, and how its errors are named."""

import contextlib
import io
import zlib
from collections.abc import Callable, Iterator
from typing import Any, BinaryIO

from ..outcomes import DiskError, StoreError

BUFFER = 1 << 20


class Sink(io.RawIOBase):
    """A file that is being written, in one pass: counts its bytes and their CRC-32.

    `sync` and `discard` are those of its store. With `durable`, its contents survive a power cut once it is closed.
    """

    def __init__(
        self,
        path: str,
        file: BinaryIO,
        sync: Callable[[BinaryIO], None],
        discard: Callable[[BinaryIO], None],
        durable: bool,
    ) -> None:
        self.path = path
        self.size = 0
        self._crc = 0
        self._file, self._sync, self._discard = file, sync, discard
        self._durable = durable
        self._pending: list[bytes] = []
        self._pending_size = 0

    @property
    def checksum(self) -> str:
        """The checksum of the bytes written so far, with the name of its algorithm."""
        return render_checksum(self._crc)

    def writable(self) -> bool:
        return True

    def write(self, data: Any) -> int:
        data = bytes(data)
        self._crc = zlib.crc32(data, self._crc)
        self.size += len(data)
        self._pending.append(data)
        self._pending_size += len(data)
        if self._pending_size >= BUFFER:
            self._drain()
        return len(data)

    def tell(self) -> int:
        return self.size

    def flush(self) -> None:
        if not self.closed:
            self._drain()
            self._file.flush()

    def sync(self) -> None:
        """Makes what was flushed so far durable; a thread other than that which writes may call it."""
        with naming(self.path):
            self._sync(self._file)

    def close(self) -> None:
        if self.closed:
            return
        try:
            super().close()  # flushes
            if self._durable:
                self.sync()
        finally:
            with naming(self.path):
                self._file.close()

    def __exit__(self, kind: Any, error: Any, trace: Any) -> None:
        if kind is not None:
            self._durable = False  # it is incomplete
            self._discard(self._file)
        super().__exit__(kind, error, trace)

    def _drain(self) -> None:
        data = memoryview(b"".join(self._pending))
        self._pending, self._pending_size = [], 0
        with naming(self.path):
            while data:
                data = data[self._file.write(data) or len(data) :]


@contextlib.contextmanager
def naming(path: str) -> Iterator[None]:
    """Converts errors while a file is written to a DiskError, one line with its path."""
    try:
        yield
    except StoreError:
        raise
    except OSError as error:
        raise DiskError.of(path, error) from error


def render_checksum(crc: int) -> str:
    """A CRC-32 with the name of its algorithm.

    >>> render_checksum(zlib.crc32(b"beamtrawl"))
    'crc32-353705cb'
    """
    return f"crc32-{crc:08x}"
