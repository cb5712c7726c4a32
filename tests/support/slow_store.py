"""Stores of Beam: local files by the scheme `quick`, and by the scheme `slow`, where each call takes 300 ms.

A path is `slow:///tmp/crawl`. As in an object store there are no folders, and a written file appears when it is closed.
"""

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, BinaryIO

from apache_beam.io.filesystem import BeamIOError, CompressionTypes, FileMetadata, MatchResult
from apache_beam.io.localfilesystem import LocalFileSystem

PREFIX = "slow://"
QUICK = "quick://"


def _local(path: str) -> str:
    return path.rpartition("://")[2]


class _Upload:
    """A file that is written locally; closing it is the call to the store."""

    def __init__(self, path: str, call: Callable[[], None]) -> None:
        self._call = call
        Path(path).parent.mkdir(parents=True, exist_ok=True)
        self._path = path
        self._file = Path(f"{path}.upload").open("wb")  # noqa: SIM115  # closed by `close`

    def close(self) -> None:
        if not self._file.closed:
            self._file.close()
            self._call()
            Path(f"{self._path}.upload").replace(self._path)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._file, name)

    def __enter__(self) -> "_Upload":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class SlowStore(LocalFileSystem):
    """Beam's local file system, with a delay before each call."""

    seconds = 0.3

    @classmethod
    def scheme(cls) -> str:
        return PREFIX[:-3]

    def _call(self) -> None:
        time.sleep(self.seconds)

    def join(self, basepath: str, *paths: str) -> str:
        return "/".join([basepath.rstrip("/"), *paths])

    def split(self, path: str) -> tuple[str, str]:
        folder, _, name = path.rpartition("/")
        return folder, name

    def mkdirs(self, path: str) -> None:
        pass

    def match(self, patterns: list[str], limits: list[int] | None = None) -> list[MatchResult]:
        self._call()
        found = super().match([_local(pattern) for pattern in patterns], limits)
        return [
            MatchResult(
                pattern,
                [FileMetadata(f"{self.scheme()}://{one.path}", one.size_in_bytes) for one in result.metadata_list],
            )
            for pattern, result in zip(patterns, found, strict=True)
        ]

    def create(self, path: str, mime_type: str = "", compression_type: str = CompressionTypes.AUTO) -> Any:
        return _Upload(_local(path), self._call)

    def open(self, path: str, mime_type: str = "", compression_type: str = CompressionTypes.AUTO) -> BinaryIO:
        self._call()
        return Path(_local(path)).open("rb")

    def copy(self, source_file_names: list[str], destination_file_names: list[str]) -> None:
        self._pairs(super().copy, source_file_names, destination_file_names)

    def rename(self, source_file_names: list[str], destination_file_names: list[str]) -> None:
        self._pairs(super().rename, source_file_names, destination_file_names)

    def exists(self, path: str) -> bool:
        self._call()
        return bool(super().exists(_local(path)))

    def size(self, path: str) -> int:
        self._call()
        return int(super().size(_local(path)))

    def delete(self, paths: list[str]) -> None:
        self._call()
        missing = {path: "there is none" for path in paths if not Path(_local(path)).exists()}
        for path in paths:
            Path(_local(path)).unlink(missing_ok=True)
        if missing:
            raise BeamIOError("delete failed", missing)

    def _pairs(self, act: Callable[[list[str], list[str]], None], sources: list[str], targets: list[str]) -> None:
        self._call()
        act([_local(path) for path in sources], [_local(path) for path in targets])


class QuickStore(SlowStore):
    """The same without a delay."""

    seconds = 0.0

    @classmethod
    def scheme(cls) -> str:
        return QUICK[:-3]
