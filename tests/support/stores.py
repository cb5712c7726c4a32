"""A simulated object store: local files that are read as Beam reads those of S3, by requests for ranges of bytes."""

import io
import threading
import time
from pathlib import Path

from apache_beam.io.filesystem import MatchResult
from apache_beam.io.filesystemio import Downloader, DownloaderStream
from apache_beam.io.localfilesystem import LocalFileSystem

SCHEME = "store"
BUFFER = 16 << 20  # that of Beam's S3


class Requests:
    """What was asked of the store, and how it answers."""

    def __init__(self) -> None:
        self.names: list[str] = []  # of the files, a request each
        self.bytes = 0
        self.delay = 0.0  # seconds that a request takes
        self._lock = threading.Lock()
        self._waves: list[threading.Barrier] = []

    def expect(self, *waves: int) -> None:
        """From now on, answer so many requests together, then so many, and no more: none comes alone."""
        self.names.clear()
        self._waves = [wave for parties in waves for wave in [threading.Barrier(parties)] * parties]

    def answer(self, path: Path, start: int, end: int) -> bytes:
        with self._lock:
            number = len(self.names)
            self.names.append(path.name)
            self.bytes += end - start
        if self._waves:
            self._waves[number].wait(60)
        if self.delay:
            time.sleep(self.delay)
        with path.open("rb") as file:
            file.seek(start)
            return file.read(end - start)


REQUESTS = Requests()


class _Object(Downloader):
    def __init__(self, path: Path) -> None:
        self._path = path

    @property
    def size(self) -> int:
        return self._path.stat().st_size

    def get_range(self, start: int, end: int) -> bytes:
        return REQUESTS.answer(self._path, start, end)


class Store(LocalFileSystem):
    """Beam finds it by its scheme."""

    @classmethod
    def scheme(cls) -> str:
        return SCHEME

    def match(self, patterns: list[str], limits: list[int] | None = None) -> list[MatchResult]:
        found = super().match([pattern.removeprefix(f"{SCHEME}://") for pattern in patterns], limits)
        for result, pattern in zip(found, patterns, strict=True):
            result.pattern = pattern
            for entry in result.metadata_list:
                entry.path = url(Path(entry.path))
        return found

    def open(self, path: str, mime_type: str = "", compression_type: str = "") -> io.BufferedReader:
        file = Path(path.removeprefix(f"{SCHEME}://"))
        return io.BufferedReader(DownloaderStream(_Object(file), mode="rb"), BUFFER)


def url(path: Path) -> str:
    """A local folder as one of the store."""
    return f"{SCHEME}://{path}"
