"""Files by path, each in the store that its scheme names (`store.Store`).

A path without a scheme is local and requires the standard library only. s3:// and gs:// are object stores
(`object_store`); a path with any other scheme, such as hdfs://, uses Beam's FileSystems (`beam_files`).
Files are never compressed, whatever their extension.
"""

import contextlib
import os
import re
import zlib
from collections.abc import Iterable, Iterator
from typing import BinaryIO

from .beam_files import BeamFiles
from .local_disk import LocalDisk
from .object_store import ObjectStore, is_object
from .sink import BUFFER, Sink, naming, render_checksum
from .store import Store

_SCHEME = re.compile(r"[a-zA-Z][-a-zA-Z0-9+.]*://")
_LOCAL, _OBJECTS, _BEAM = LocalDisk(), ObjectStore(), BeamFiles()
_MOUNTED: dict[str, Store] = {}


def store_of(path: str) -> Store:
    """The store of a path.

    >>> [type(store_of(path)).__name__ for path in ("/tmp/crawl", "s3://bucket/crawl", "hdfs://host/crawl")]
    ['LocalDisk', 'ObjectStore', 'BeamFiles']
    """
    for prefix, store in _MOUNTED.items():
        if path.startswith(prefix) or path == prefix[:-1]:
            return store
    if not _SCHEME.match(path):
        return _LOCAL
    return _OBJECTS if is_object(path) else _BEAM


@contextlib.contextmanager
def mounted(folder: str, store: Store) -> Iterator[None]:
    """Uses a store for all paths of this process below a local folder, while the body runs."""
    prefix = os.path.join(os.path.abspath(folder), "")
    _MOUNTED[prefix] = store
    try:
        yield
    finally:
        del _MOUNTED[prefix]


def join(root: str, relative: str) -> str:
    """The path of a file below a root; `relative` has forward slashes."""
    return store_of(root).join(root, *relative.split("/"))


def split(path: str) -> tuple[str, str]:
    """(folder, name) of a path."""
    return store_of(path).split(path)


def exists(path: str) -> bool:
    return store_of(path).exists(path)


def open_file(path: str) -> BinaryIO:
    """A seekable file for reading."""
    return store_of(path).open(path)


def read_bytes(path: str) -> bytes:
    return store_of(path).read(path)[0]


def read_all(paths: Iterable[str]) -> list[bytes]:
    """The contents of small files of one store; those of an object store are requested in parallel."""
    paths = list(paths)
    return store_of(paths[0]).read_all(paths) if paths else []


def measure(path: str) -> tuple[int, str]:
    """The size of a file in bytes and its checksum, as `Sink.checksum`; reads it once."""
    size = crc = 0
    with open_file(path) as file:
        while data := file.read(BUFFER):
            size += len(data)
            crc = zlib.crc32(data, crc)
    return size, render_checksum(crc)


def create(path: str, durable: bool = True) -> Sink:
    """A file for writing, which replaces an existing one; creates missing parent folders.

    With `durable`, its contents survive a power cut once it is closed.
    """
    return store_of(path).sink(path, durable)


def write_bytes(path: str, data: bytes, durable: bool = True) -> None:
    with create(path, durable) as file:
        file.write(data)


def sync_file(path: str) -> None:
    """Makes the contents of a closed file durable."""
    with naming(path):
        store_of(path).sync_file(path)


def sync_folder(folder: str) -> None:
    """Makes the names of the files in a folder durable: created, renamed and removed ones."""
    with naming(folder):
        store_of(folder).sync_folder(folder)


def rename(source: str, target: str) -> None:
    """Renames a file. An existing local target is replaced atomically."""
    store_of(target).rename(source, target)


def delete(paths: Iterable[str]) -> None:
    """Removes files of one store, as `Store.delete`."""
    if paths := list(paths):
        store_of(paths[0]).delete(paths)


@contextlib.contextmanager
def guard(folder: str) -> Iterator[None]:
    """Excludes others that guard a folder, as `Store.guard`; makes the folder if it is missing."""
    store = store_of(folder)
    with naming(folder):
        store.make_folders(store.absolute(folder))
    with store.guard(folder):
        yield


def match(folder: str, pattern: str) -> list[str]:
    """The paths of the files below a folder that match a pattern, sorted; none if there is no folder.

    `*` matches any characters of a name, `**` any characters of a path. The folder is taken literally.
    """
    return sorted(store_of(folder).match(folder, pattern))
