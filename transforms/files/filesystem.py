"""Files on the local disk, on object stores and on any file system of Beam.

A path without a scheme is local and requires the standard library only. s3:// and gs:// are object stores
(`object_store`); a path with any other scheme, such as hdfs://, uses Beam's FileSystems (`beam_files`).
Files are never compressed, whatever their extension. Errors are OSErrors in all cases (BeamIOError is one).

Durability: a file from `create` survives a power cut once it is closed, and its name once `sync_folder` has returned
for its folder; folders that `create` makes are durable. Object stores make files durable when they are closed.
"""

import contextlib
import io
import os
import re
import zlib
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from types import ModuleType
from typing import Any, BinaryIO

from ..errors import DiskError, StoreError
from . import beam_files, object_store
from .local_disk import LocalDisk
from .object_store import Tag, is_object

_SCHEME = re.compile(r"[a-zA-Z][-a-zA-Z0-9+.]*://")
_LOCAL = LocalDisk()
_MOUNTED: dict[str, LocalDisk] = {}
_BUFFER = 1 << 20
_REQUESTS = 32


@contextlib.contextmanager
def mounted(folder: str, disk: LocalDisk) -> Iterator[None]:
    """Uses a disk for all paths of this process below a local folder, while the body runs."""
    prefix = os.path.join(os.path.abspath(folder), "")
    _MOUNTED[prefix] = disk
    try:
        yield
    finally:
        del _MOUNTED[prefix]


def _disk(path: str) -> LocalDisk:
    for prefix, disk in _MOUNTED.items():
        if path.startswith(prefix) or path == prefix[:-1]:
            return disk
    return _LOCAL


class Sink(io.RawIOBase):
    """A file that is being written, in one pass: counts its bytes and their CRC-32."""

    def __init__(self, path: str, file: BinaryIO, disk: LocalDisk | None, durable: bool) -> None:
        self.path = path
        self.size = 0
        self._crc = 0
        self._file = file
        self._disk = disk  # None: a store, which makes closed files durable
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
        if self._pending_size >= _BUFFER:
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
        if self._disk:
            with naming(self.path):
                self._disk.sync(self._file)

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
            if isinstance(self._file, object_store.Upload):
                self._file.discard()
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


def is_local(path: str) -> bool:
    """Whether a path has no scheme.

    >>> is_local("/tmp/crawl"), is_local("s3://bucket/crawl")
    (True, False)
    """
    return not _SCHEME.match(path)


def join(root: str, relative: str) -> str:
    """The path of a file below a root; `relative` has forward slashes."""
    parts = relative.split("/")
    return os.path.join(root, *parts) if is_local(root) else str(_remote(root).join(root, *parts))


def split(path: str) -> tuple[str, str]:
    """(folder, name) of a path."""
    if is_local(path):
        return os.path.split(os.path.abspath(path))
    folder, name = _remote(path).split(path)
    return folder, name


def exists(path: str) -> bool:
    return _disk(path).exists(path) if is_local(path) else bool(_remote(path).exists(path))


def open_file(path: str) -> BinaryIO:
    """A seekable file for reading."""
    file: BinaryIO = _disk(path).open(path) if is_local(path) else _remote(path).open_file(path)
    return file


def read_bytes(path: str) -> bytes:
    if is_object(path):
        return object_store.read(path)[0]
    with open_file(path) as file:
        return bytes(file.read())


def read_all(paths: Iterable[str]) -> list[bytes]:
    """The contents of small files; those of an object store are requested in parallel."""
    paths = list(paths)
    if not all(map(is_object, paths)) or len(paths) < 2:
        return [read_bytes(path) for path in paths]
    with ThreadPoolExecutor(min(_REQUESTS, len(paths))) as requests:
        return list(requests.map(read_bytes, paths))


def measure(path: str) -> tuple[int, str]:
    """The size of a file in bytes and its checksum, as `Sink.checksum`; reads it once."""
    size = crc = 0
    with open_file(path) as file:
        while data := file.read(_BUFFER):
            size += len(data)
            crc = zlib.crc32(data, crc)
    return size, render_checksum(crc)


def create(path: str, durable: bool = True) -> Sink:
    """A file for writing, which replaces an existing one; creates missing parent folders.

    With `durable`, its contents survive a power cut once it is closed.
    """
    with naming(path):
        if not is_local(path):
            return Sink(path, _remote(path).create(path), None, durable)
        disk = _disk(path)
        _make_folders(disk, os.path.dirname(os.path.abspath(path)))
        return Sink(path, disk.create(path), disk, durable)


def _make_folders(disk: LocalDisk, folder: str) -> None:
    """Makes the missing ones of a folder and its parents, durably."""
    missing = []
    while not disk.exists(folder):
        missing.append(folder)
        folder = os.path.dirname(folder)
    for child in reversed(missing):
        disk.make_folder(child)
        disk.sync_folder(folder)
        folder = child


def write_bytes(path: str, data: bytes, durable: bool = True) -> None:
    with create(path, durable) as file:
        file.write(data)


def sync_folder(folder: str) -> None:
    """Makes the names of the files in a folder durable: created, renamed and removed ones."""
    if is_local(folder):
        with naming(folder):
            _disk(folder).sync_folder(folder)


def read_tagged(path: str) -> tuple[bytes, Tag | None]:
    """The contents of a file, and its version if it is an object: what `replace` needs."""
    return object_store.read(path) if is_object(path) else (read_bytes(path), None)


def replace(path: str, data: bytes, tag: Tag | None) -> Tag | None:
    """Writes an object atomically if it still has the version `tag`; without a tag, if there is no such object.

    Returns its new version; None if another process was first.
    """
    return object_store.put(path, data, tag)


def rename(source: str, target: str) -> None:
    """Renames a file. An existing local target is replaced atomically."""
    if is_local(target):
        _disk(target).replace(source, target)
    else:
        _remote(target).rename(source, target)


def rename_new(source: str, target: str) -> bool:
    """Renames a file unless the target exists, and returns whether it did; atomic on a local disk."""
    if not is_local(target):
        if exists(target):
            return False
        rename(source, target)
        return True
    disk = _disk(target)
    try:
        disk.link(source, target)
    except FileExistsError:
        return False
    disk.remove(source)
    return True


def delete(paths: Iterable[str]) -> None:
    """Removes files, and local folders with their contents. OSError if one remains; the others are removed.

    OSError if one is missing, too; of an object store, missing ones count as removed.
    """
    paths = list(paths)
    if remote := [path for path in paths if not is_local(path)]:
        _remote(remote[0]).delete(remote)
    failed = None
    for path in filter(is_local, paths):
        try:
            _disk(path).remove(path)
        except OSError as error:
            failed = error
    if failed:
        raise failed


@contextlib.contextmanager
def guard(folder: str) -> Iterator[None]:
    """Excludes other processes that guard a local folder, as `LocalDisk.guard`; stores have no such locks.

    Makes the folder if it is missing.
    """
    if not is_local(folder):
        yield
        return
    disk = _disk(folder)
    with naming(folder):
        _make_folders(disk, os.path.abspath(folder))
    with disk.guard(folder):
        yield


def match(folder: str, pattern: str) -> list[str]:
    """The paths of the files below a folder that match a pattern, sorted; none if there is no folder.

    `*` matches any characters of a name, `**` any characters of a path. The folder is taken literally.
    """
    wanted = _pattern(pattern)
    if is_object(folder):
        return sorted(object_store.match(folder, wanted))
    if not is_local(folder):
        return sorted(beam_files.match(folder, pattern))
    deep = "/" in pattern or "**" in pattern
    return sorted(path for path, name in _files(folder, deep) if wanted.fullmatch(name))


def _files(folder: str, deep: bool) -> Iterator[tuple[str, str]]:
    """(path, relative path with forward slashes) of each file in a folder, and in its subfolders if `deep`."""
    for place, folders, names in _disk(folder).walk(folder):
        if not deep:
            folders.clear()
        for name in names:
            path = os.path.join(place, name)
            yield path, os.path.relpath(path, folder).replace(os.sep, "/") if deep else name


def _pattern(pattern: str) -> re.Pattern[str]:
    parts = {"**": ".*", "*": "[^/]*"}
    return re.compile("".join(parts.get(part) or re.escape(part) for part in re.split(r"(\*\*|\*)", pattern)))


def _remote(path: str) -> ModuleType:
    return object_store if is_object(path) else beam_files
