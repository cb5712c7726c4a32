"""Files on the file systems of Beam, such as hdfs://, by Beam's FileSystems: the only module that uses them.

Beam is imported on first use, because that takes a second.
"""

import re
from collections.abc import Iterator
from typing import Any, BinaryIO

_WILDCARD = re.compile(r"[\[\]*?]")


def join(root: str, *parts: str) -> str:
    return str(_beam().join(root, *parts))


def split(path: str) -> tuple[str, str]:
    folder, name = _beam().split(path)
    return folder, name


def exists(path: str) -> bool:
    return bool(_beam().exists(path))


def open_file(path: str) -> BinaryIO:
    file: BinaryIO = _beam().open(path, compression_type="uncompressed")
    return file


def create(path: str) -> BinaryIO:
    file: BinaryIO = _beam().create(path, compression_type="uncompressed")
    return file


def rename(source: str, target: str) -> None:
    _beam().rename([source], [target])


def delete(paths: list[str]) -> None:
    _beam().delete(paths)


def match(folder: str, pattern: str) -> Iterator[str]:
    # A wildcard character in the folder's name is matched as any character; other folders are filtered out below.
    (found,) = _beam().match([_WILDCARD.sub("?", folder) + "/" + pattern])
    return (entry.path for entry in found.metadata_list if entry.path.startswith(folder))


def _beam() -> Any:
    from apache_beam.io.filesystems import FileSystems

    return FileSystems
