"""Operations on files of a local disk, in an object, so that another one can be mounted in its place."""

import contextlib
import errno
import os
import shutil
import time
from collections.abc import Iterator
from typing import BinaryIO

try:
    import fcntl
except ImportError:  # Windows: `guard` excludes nobody
    fcntl = None  # type: ignore[assignment]

_NO_FOLDER_SYNC = {
    errno.ENOENT,
    errno.ENOTDIR,
    errno.EINVAL,
    errno.EACCES,
    errno.EPERM,
    errno.ENOTSUP,
    errno.EBADF,
    errno.EISDIR,
}
"""Errors that mean that there is nothing to sync, or that the file system cannot sync folders."""

_GUARD_SECONDS = 30.0
_GUARD_INTERVAL = 0.02


class LocalDisk:
    """The local disk. Each method is one operation on paths without a scheme, and raises OSError if it fails."""

    def exists(self, path: str) -> bool:
        return os.path.exists(path)

    def open(self, path: str) -> BinaryIO:
        return open(path, "rb", buffering=0)  # a buffer would read more than is asked for

    def create(self, path: str) -> BinaryIO:
        """An empty file for writing, without a buffer; replaces an existing one."""
        return open(path, "wb", buffering=0)

    def make_folder(self, path: str) -> None:
        """Makes one folder, unless it exists; its parent must exist."""
        with contextlib.suppress(FileExistsError):
            os.mkdir(path)

    def sync(self, file: BinaryIO) -> None:
        """Returns once the contents of a file would survive a power cut."""
        os.fsync(file.fileno())

    def sync_folder(self, path: str) -> None:
        """Returns once the names in a folder would survive a power cut, where the file system offers this."""
        try:
            descriptor = os.open(path, os.O_RDONLY)
            try:
                os.fsync(descriptor)
            finally:
                os.close(descriptor)
        except OSError as error:
            if error.errno not in _NO_FOLDER_SYNC:
                raise

    def replace(self, source: str, target: str) -> None:
        """Renames a file; an existing target is replaced atomically."""
        os.replace(source, target)

    def link(self, source: str, target: str) -> None:
        """Gives a file a second name; FileExistsError if the name is taken."""
        os.link(source, target)

    def remove(self, path: str) -> None:
        """Removes a file, or a folder with its contents."""
        shutil.rmtree(path) if os.path.isdir(path) else os.remove(path)

    def walk(self, folder: str) -> Iterator[tuple[str, list[str], list[str]]]:
        """As os.walk."""
        yield from os.walk(folder)

    @contextlib.contextmanager
    def guard(self, folder: str) -> Iterator[None]:
        """Excludes all other threads and processes that guard the folder. TimeoutError after 30 seconds.

        The guard of a process that ends is released. Nobody is excluded on file systems without locks.
        """
        if fcntl is None:
            yield
            return
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            _lock(descriptor, folder)
            yield
        finally:
            os.close(descriptor)


def _lock(descriptor: int, folder: str) -> None:
    patience = time.monotonic() + _GUARD_SECONDS
    while True:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return
        except BlockingIOError:
            if time.monotonic() > patience:
                raise TimeoutError(errno.ETIMEDOUT, "another process holds its lock", folder) from None
            time.sleep(_GUARD_INTERVAL)
        except OSError as error:
            if error.errno not in (errno.ENOLCK, errno.ENOTSUP, errno.EINVAL):
                raise
            return
