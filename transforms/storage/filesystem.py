"""Files on the local disk or on any file system of Beam: the only module that uses Beam's FileSystems.

A path without a scheme is local and requires the standard library only. A path with a scheme, such as
s3://bucket/crawl, uses Beam's FileSystems, which are imported on first use because importing Beam takes a second.
Files are never compressed, whatever their extension. Errors are OSErrors in both cases (BeamIOError is one).
"""

import os
import re
import shutil
from collections.abc import Iterable, Iterator
from typing import Any, BinaryIO

_SCHEME = re.compile(r"[a-zA-Z][-a-zA-Z0-9+.]*://")
_WILDCARD = re.compile(r"[\[\]*?]")


def is_local(path: str) -> bool:
    """Whether a path has no scheme.

    >>> is_local("/tmp/crawl"), is_local("s3://bucket/crawl")
    (True, False)
    """
    return not _SCHEME.match(path)


def join(root: str, relative: str) -> str:
    """The path of a file below a root; `relative` has forward slashes."""
    parts = relative.split("/")
    return os.path.join(root, *parts) if is_local(root) else str(_beam().join(root, *parts))


def split(path: str) -> tuple[str, str]:
    """(folder, name) of a path."""
    if is_local(path):
        return os.path.split(os.path.abspath(path))
    folder, name = _beam().split(path)
    return folder, name


def exists(path: str) -> bool:
    return os.path.exists(path) if is_local(path) else bool(_beam().exists(path))


def open_file(path: str) -> BinaryIO:
    """A seekable file for reading."""
    return open(path, "rb") if is_local(path) else _beam().open(path, compression_type="uncompressed")


def read_bytes(path: str) -> bytes:
    with open_file(path) as file:
        return bytes(file.read())


def create(path: str) -> BinaryIO:
    """A file for writing, which replaces an existing one; creates missing parent folders."""
    if not is_local(path):
        return _beam().create(path, compression_type="uncompressed")
    if folder := os.path.dirname(path):
        os.makedirs(folder, exist_ok=True)
    return open(path, "wb")


def write_bytes(path: str, data: bytes) -> None:
    with create(path) as file:
        file.write(data)


def rename(source: str, target: str) -> None:
    """Renames a file. An existing local target is replaced atomically."""
    if is_local(target):
        os.replace(source, target)
    else:
        _beam().rename([source], [target])


def delete(paths: Iterable[str]) -> None:
    """Removes files, and folders with their contents. OSError if one is missing or remains; the others are removed."""
    paths = list(paths)
    if remote := [path for path in paths if not is_local(path)]:
        _beam().delete(remote)
    failed = None
    for path in filter(is_local, paths):
        try:
            shutil.rmtree(path) if os.path.isdir(path) else os.remove(path)
        except OSError as error:
            failed = error
    if failed:
        raise failed


def match(folder: str, pattern: str) -> list[str]:
    """The paths of the files below a folder that match a pattern, sorted; none if there is no folder.

    `*` matches any characters of a name, `**` any characters of a path. The folder is taken literally.
    """
    if is_local(folder):
        wanted = _pattern(pattern)
        deep = "/" in pattern or "**" in pattern
        return sorted(path for path, name in _files(folder, deep) if wanted.fullmatch(name))
    # A wildcard character in the folder's name is matched as any character; other folders are filtered out below.
    (found,) = _beam().match([_WILDCARD.sub("?", folder) + "/" + pattern])
    return sorted(entry.path for entry in found.metadata_list if entry.path.startswith(folder))


def _files(folder: str, deep: bool) -> Iterator[tuple[str, str]]:
    """(path, relative path with forward slashes) of each file in a folder, and in its subfolders if `deep`."""
    for place, folders, names in os.walk(folder):
        if not deep:
            folders.clear()
        for name in names:
            path = os.path.join(place, name)
            yield path, os.path.relpath(path, folder).replace(os.sep, "/") if deep else name


def _pattern(pattern: str) -> re.Pattern[str]:
    parts = {"**": ".*", "*": "[^/]*"}
    return re.compile("".join(parts.get(part) or re.escape(part) for part in re.split(r"(\*\*|\*)", pattern)))


def _beam() -> Any:
    from apache_beam.io.filesystems import FileSystems

    return FileSystems
