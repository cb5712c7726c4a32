"""A local disk that fails, that a process does not survive, or that loses power, at the n-th operation."""

import contextlib
import errno
import io
import itertools
import os
import random
import shutil
import threading
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, BinaryIO, Literal, NamedTuple

from beamtrawl.transforms.files.local_disk import LocalDisk


def spread(places: Sequence[int], count: int, seed: str) -> list[int]:
    """One of each of `count` equal parts of the places, chosen by a seed; 0: all places."""
    chosen = random.Random(seed)
    parts = min(count, len(places)) or len(places)
    bounds = [len(places) * part // parts for part in range(parts + 1)] if parts else []
    return [places[chosen.randrange(start, end)] for start, end in itertools.pairwise(bounds)]


class Fault(NamedTuple):
    """What happens at operation number `at`, counted from 1.

    - error: it fails once, with the number `errno`
    - full: this and all later operations that need room fail with ENOSPC or `errno`, until `make_room`
    - kill: neither it nor any later operation reaches the disk
    - power: the same; `SimulatedDisk.restore` then drops what was not synced
    """

    kind: Literal["error", "full", "kill", "power", "none"]
    at: int = 0
    errno: int = errno.EIO


class SimulatedDisk(LocalDisk):
    """The local disk with a fault. All operations but closing a file are counted, reading from one if `reads`.

    `kept` is a folder for what a power cut may bring back. `seed` decides which operations that were not synced a
    power cut undoes: each, or a random choice of those whose order a file system may change.
    """

    def __init__(self, kept: Path, fault: Fault, seed: int | None = None, reads: bool = False) -> None:
        self._reads = reads
        self.operations: list[str] = []
        self.has_failed = False
        self._fault = fault
        self._kept = kept
        self._random = None if seed is None else random.Random(seed)
        self._lock = threading.RLock()
        self._is_full = False
        self._no_room = fault.errno if fault.kind == "full" and fault.errno != errno.EIO else errno.ENOSPC
        self._guards = 0
        self._synced: dict[str, int] = {}  # bytes of each file that was written and not renamed; by path
        self._undo: list[tuple[str, Callable[[], None]]] = []  # folder, how to undo a change of its names
        kept.mkdir(exist_ok=True)

    def make_room(self) -> None:
        self._is_full = False
        self._fault = Fault("none")

    def _step(self, name: str, needs_room: bool = False) -> None:
        with self._lock:
            if self.has_failed and self._fault.kind in ("kill", "power"):
                raise OSError(errno.EIO, "the process has ended")
            self.operations.append(name)
            if self._is_full and needs_room:
                raise OSError(self._no_room, os.strerror(self._no_room))
            if len(self.operations) != self._fault.at:
                return
            self.has_failed = True
            if self._fault.kind == "full":
                self._is_full = True
                if needs_room:
                    raise OSError(self._no_room, os.strerror(self._no_room))
            elif self._fault.kind != "none":
                raise OSError(self._fault.errno, os.strerror(self._fault.errno))

    def exists(self, path: str) -> bool:
        self._step("exists")
        return super().exists(path)

    def open(self, path: str) -> BinaryIO:
        self._step("open")
        file = super().open(path)
        return _ReadFile(file, self) if self._reads else file  # type: ignore[return-value]

    def create(self, path: str, mode: int = 0o666) -> BinaryIO:
        self._step("create", needs_room=True)
        with self._lock:
            is_new = not Path(path).exists()
            file = super().create(path, mode)
            self._synced[path] = 0
            if is_new:
                self._changed(path, lambda: Path(path).unlink(missing_ok=True))
        return _File(file, self, path)  # type: ignore[return-value]

    def make_folder(self, path: str) -> None:
        self._step("make_folder", needs_room=True)
        with self._lock:
            if not Path(path).is_dir():
                super().make_folder(path)
                self._changed(path, lambda: shutil.rmtree(path, ignore_errors=True))

    def sync(self, file: BinaryIO) -> None:
        self._step("sync")
        with self._lock:
            path = file.path  # type: ignore[attr-defined]
            if path in self._synced:
                self._synced[path] = Path(path).stat().st_size

    def sync_file(self, path: str) -> None:
        self._step("sync")
        with self._lock, contextlib.suppress(FileNotFoundError):
            if path in self._synced:
                self._synced[path] = Path(path).stat().st_size

    def sync_folder(self, path: str) -> None:
        self._step("sync_folder")
        with self._lock:
            self._undo = [(folder, undo) for folder, undo in self._undo if folder != path]

    def rename(self, source: str, target: str) -> None:
        self._step("rename", needs_room=True)
        with self._lock:
            before = self._copy(target)
            super().rename(source, target)
            self._synced[target] = self._synced.pop(source, 0)
            self._changed(target, lambda: _put_back(before, target))

    def link(self, source: str, target: str) -> None:
        self._step("link", needs_room=True)
        with self._lock:
            super().link(source, target)
            self._synced[target] = self._synced.get(source, 0)
            self._changed(target, lambda: Path(target).unlink(missing_ok=True))

    def remove(self, path: str) -> None:
        self._step("remove")
        with self._lock:
            before = self._copy(path)
            super().remove(path)
            self._synced.pop(path, None)
            self._changed(path, lambda: _put_back(before, path))

    def walk(self, folder: str) -> Iterator[tuple[str, list[str], list[str]]]:
        self._step("walk")
        yield from super().walk(folder)

    @contextlib.contextmanager
    def guard(self, folder: str) -> Iterator[None]:
        self._step("guard")
        with super().guard(folder):
            self._guards += 1
            yield
            self._guards -= 1

    def restore(self) -> None:
        """The state of the disk after a power cut: what was not synced is lost, or not, as the seed decides."""
        for path, size in self._synced.items():
            file = Path(path)
            if file.exists() and file.stat().st_size > size and self._loses_one():
                os.truncate(path, size)
        for _, undo in reversed(self._undo):
            if self._loses_one():
                undo()

    def _loses_one(self) -> bool:
        return self._random is None or self._random.random() < 0.5

    def _changed(self, path: str, undo: Callable[[], None]) -> None:
        self._undo.append((os.path.dirname(path), undo))  # noqa: PTH120

    def _copy(self, path: str) -> Path | None:
        """A second name of a file or of the files of a folder, outside of the crawl; None if there is none."""
        if not Path(path).is_file():
            return None
        copy = self._kept / str(len(list(self._kept.iterdir())))
        os.link(path, copy)
        return copy


class CallingDisk(SimulatedDisk):
    """The local disk; calls a function once, at operation number `at`, or at the first one later outside a guard."""

    def __init__(self, kept: Path, at: int, call: Callable[[], object]) -> None:
        super().__init__(kept, Fault("none"))
        self._at, self._call = at, call
        self.has_called = False

    def _step(self, name: str, needs_room: bool = False) -> None:
        super()._step(name, needs_room)
        if len(self.operations) >= self._at and not self.has_called and not self._guards:
            self.has_called = True
            self._call()


def _put_back(before: Path | None, target: str) -> None:
    Path(target).unlink(missing_ok=True)
    if before:
        Path(target).parent.mkdir(parents=True, exist_ok=True)
        os.link(before, target)


class _ReadFile(io.RawIOBase):
    """An open file whose reads are counted."""

    def __init__(self, file: BinaryIO, disk: SimulatedDisk) -> None:
        self._file, self._disk = file, disk

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        self._disk._step("read")
        return self._file.readinto(buffer)  # type: ignore[attr-defined, no-any-return]

    def seek(self, offset: int, whence: int = os.SEEK_SET) -> int:
        return self._file.seek(offset, whence)

    def tell(self) -> int:
        return self._file.tell()

    def close(self) -> None:
        self._file.close()
        super().close()


class _File:
    """An open file whose writes are counted."""

    def __init__(self, file: BinaryIO, disk: SimulatedDisk, path: str) -> None:
        self._file, self._disk, self.path = file, disk, path

    def write(self, data: Any) -> int:
        self._disk._step("write", needs_room=True)
        return self._file.write(data)

    def flush(self) -> None:
        self._file.flush()

    def close(self) -> None:
        self._file.close()
