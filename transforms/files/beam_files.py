"""Files on the file systems of Beam, such as hdfs://, by Beam's FileSystems: the only module that uses them.

Beam is imported on first use, because that takes a second.
"""

import re
from collections.abc import Iterable, Iterator
from typing import Any, BinaryIO

from ..outcomes import StoreError
from .store import Store, matcher

_WILDCARD = re.compile(r"[\[\]*?]")
_UNKNOWN = re.compile(r"[\[\]?]")  # to `filesystem.match`


class BeamFiles(Store):
    """The file systems of Beam, each found by its scheme. Nobody is excluded: no locks, and no versions."""

    has_local_paths = False
    reads_by_request = True
    has_versions = False
    watch_s = 2.0
    report_s = 0.0

    def join(self, root: str, *parts: str) -> str:
        return str(_beam(root).join(root, *parts))

    def split(self, path: str) -> tuple[str, str]:
        folder, name = _beam(path).split(path)
        return folder, name

    def exists(self, path: str) -> bool:
        return bool(_beam(path).exists(path))

    def open(self, path: str) -> BinaryIO:
        file: BinaryIO = _beam(path).open(path, compression_type="uncompressed")
        return file

    def create(self, path: str, mode: int = 0o666) -> BinaryIO:
        file: BinaryIO = _beam(path).create(path, compression_type="uncompressed")
        return file

    def rename(self, source: str, target: str) -> None:
        _beam(target).rename([source], [target])

    def delete(self, paths: Iterable[str]) -> None:
        if paths := list(paths):
            _beam(paths[0]).delete(paths)

    def match(self, folder: str, pattern: str) -> Iterator[str]:
        # Beam knows more wildcards, and none can be escaped: they match any character, and others are left out below.
        (found,) = _beam(folder).match([_WILDCARD.sub("?", folder) + "/" + _UNKNOWN.sub("?", pattern)])
        paths, wanted = (entry.path for entry in found.metadata_list), matcher(pattern)
        return (path for path in paths if path.startswith(folder) and wanted.fullmatch(path[len(folder) + 1 :]))


def _beam(path: str) -> Any:
    """Beam's FileSystems; StoreError if none of them has the scheme of a path."""
    from apache_beam.io.filesystem import FileSystem
    from apache_beam.io.filesystems import FileSystems

    scheme = FileSystems.get_scheme(path)
    if all(system.scheme() != scheme for system in FileSystem.get_all_subclasses()):  # those whose libraries are here
        raise StoreError(
            f"{path}: {scheme}:// is no file system that Beam has here; give a local path, without a scheme, or one on"
            " s3://, gs:// or hdfs://"
        )
    return FileSystems
