"""Files on the local disk, with the standard library."""

import contextlib
import errno
import os
import shutil
import stat
import sys
import time
from collections import Counter
from collections.abc import Iterable, Iterator
from typing import BinaryIO

from ..outcomes import CrawlDirError
from .store import Space, Store, matcher

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

_kept = Counter[str]()
"""The folders that this process never makes anew (`Store.keep`)."""

_GUARD_SECONDS = 30.0
_GUARD_INTERVAL = 0.02


class LocalDisk(Store):
    """The local disk: paths without a scheme. Tests mount a subclass whose single operations fail."""

    has_local_paths = True
    reads_by_request = False
    has_versions = False
    watch_s = 0.0
    report_s = 0.0

    def absolute(self, path: str) -> str:
        return os.path.abspath(path)

    def join(self, root: str, *parts: str) -> str:
        return os.path.join(root, *parts)

    def split(self, path: str) -> tuple[str, str]:
        return os.path.split(os.path.abspath(path))

    def exists(self, path: str) -> bool:
        return os.path.exists(path)

    def open(self, path: str) -> BinaryIO:
        return open(path, "rb", buffering=0, opener=_open_regular)  # a buffer would read more than is asked for

    def create(self, path: str, mode: int = 0o666) -> BinaryIO:
        """As `Store.create`, without a buffer."""
        return open(path, "wb", buffering=0, opener=lambda name, flags: os.open(name, flags, mode))

    def keep(self, folder: str) -> None:
        if self.exists(folder):
            _kept[folder] += 1

    def release(self, folder: str) -> None:
        if _kept[folder]:
            _kept[folder] -= 1

    def make_folders(self, folder: str) -> None:
        missing = []
        while not self.exists(folder):
            if _kept[folder] > 0:
                raise CrawlDirError(
                    f"{folder} was moved or removed during this command; run it again with its new place"
                )
            missing.append(folder)
            folder = os.path.dirname(folder)
        for child in reversed(missing):
            self.make_folder(child)
            self.sync_folder(folder)
            folder = child

    def make_folder(self, path: str) -> None:
        """Makes one folder, unless it exists; its parent must exist."""
        with contextlib.suppress(FileExistsError):
            os.mkdir(path)

    def sync(self, file: BinaryIO) -> None:
        """Returns once the contents of a file would survive a power cut."""
        os.fsync(file.fileno())

    def sync_file(self, path: str) -> None:
        with contextlib.suppress(FileNotFoundError, NotADirectoryError), open(path, "rb", buffering=0) as file:
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

    def rename(self, source: str, target: str) -> None:
        os.replace(source, target)

    def rename_new(self, source: str, target: str) -> bool:
        try:
            self.link(source, target)
        except FileExistsError:
            return False
        self.remove(source)
        return True

    def link(self, source: str, target: str) -> None:
        """Gives a file a second name; FileExistsError if the name is taken."""
        os.link(source, target)

    def remove(self, path: str) -> None:
        """Removes a file; never a folder, which may hold files of others."""
        os.remove(path)

    def delete(self, paths: Iterable[str]) -> None:
        failed = None
        for path in paths:
            try:
                self.remove(path)
            except OSError as error:
                failed = error
        if failed:
            raise failed

    def match(self, folder: str, pattern: str) -> Iterator[str]:
        wanted = matcher(pattern)
        is_deep = "/" in pattern or "**" in pattern
        for place, folders, names in self.walk(folder):
            links = [name for name in folders if os.path.islink(os.path.join(place, name))] if is_deep else []
            if not is_deep:
                folders.clear()
            for name in (*names, *links):
                path = os.path.join(place, name)
                if wanted.fullmatch(os.path.relpath(path, folder).replace(os.sep, "/") if is_deep else name):
                    yield path

    def walk(self, folder: str) -> Iterator[tuple[str, list[str], list[str]]]:
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

    def space(self, folder: str) -> Space:
        usage = shutil.disk_usage(folder)
        return Space(usage.free, usage.total)

    def is_no_folder(self, path: str) -> bool:
        return os.path.lexists(path) and not os.path.isdir(path)

    def is_link(self, path: str) -> bool:
        return os.path.islink(path) or (sys.platform == "win32" and os.path.realpath(path) != os.path.abspath(path))

    def permissions(self, path: str) -> int:
        try:
            return stat.S_IMODE(os.stat(path).st_mode) & 0o666
        except FileNotFoundError:
            return 0o666

    def changed_at(self, path: str) -> int:
        return os.stat(path).st_mtime_ns


def _open_regular(path: str, flags: int) -> int:
    """A descriptor of a file; CrawlDirError for a pipe or a device, which has no end, or never begins."""
    descriptor = os.open(path, flags | getattr(os, "O_NONBLOCK", 0))
    mode = os.fstat(descriptor).st_mode
    if stat.S_ISREG(mode) or stat.S_ISDIR(mode):  # `open` itself refuses a folder
        return descriptor
    os.close(descriptor)
    raise CrawlDirError(f"{path} is a pipe or a device, and must be a file; rename or remove it")


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
