"""The interface of a store of files, with its guarantees. A test runs the same cases on each of them."""

import contextlib
import re
import uuid
from collections.abc import Iterable, Iterator, Mapping
from typing import BinaryIO, NamedTuple, Protocol

from .sink import Sink, naming

Tag = Mapping[str, str]
"""The version of an object, for `Store.replace`."""

_DRAFT = re.compile(r".+\.[0-9a-f]{8}\.tmp")


def is_draft(name: str) -> bool:
    """Whether a name is that of a draft of `write_whole` or `write_new`, which a kill may leave behind.

    >>> is_draft("lock.json.0a1b2c3d.tmp"), is_draft("lock.json"), is_draft("notes.tmp")
    (True, False, False)
    """
    return bool(_DRAFT.fullmatch(name))


class Space(NamedTuple):
    """Bytes of the disk of a folder."""

    free: int
    total: int


class Store(Protocol):
    """Files by path: the local disk, object stores, or the file systems of Beam.

    All of them guarantee:

    - A file that was closed is seen by every process that opens or lists it afterwards.
    - `rename` and `write_whole` replace a file: a reader sees the old contents or the new ones, never a part.
    - A file from `sink` survives a power cut once it is closed, if it is `durable`, or once `sync_file` has returned;
      and its name once `sync_folder` has returned for its folder. `write_whole` and `write_new` do both.
    - Errors are OSErrors; FileNotFoundError if a file that is read is missing.

    The rest differs; the attributes say how. `replace`, `write_new` and `guard` each say what holds where.
    """

    has_local_paths: bool
    """Other libraries can open its files by their paths, and what is flushed survives the end of the process."""

    reads_by_request: bool
    """A read takes a round trip: neighbouring ones are worth joining, others are sent at once. Not after a fork."""

    has_versions: bool
    """`replace` compares versions; elsewhere it writes in any case, and writers are excluded by `guard`."""

    watch_s: float
    """The least interval, in seconds, between two listings of a folder for changes: each may be a request."""

    report_s: float
    """The least interval, in seconds, between two reports on progress: each may be a paid request."""

    def absolute(self, path: str) -> str:
        """The path, independent of the current folder."""
        return path

    def join(self, root: str, *parts: str) -> str: ...

    def split(self, path: str) -> tuple[str, str]:
        """(folder, name) of a path."""

    def exists(self, path: str) -> bool: ...

    def open(self, path: str) -> BinaryIO:
        """A seekable file for reading."""

    def read(self, path: str) -> tuple[bytes, Tag | None]:
        """The contents of a file, and its version where there are versions."""
        with self.open(path) as file:
            return bytes(file.read()), None

    def read_all(self, paths: list[str]) -> list[bytes]:
        """The contents of small files."""
        return [self.read(path)[0] for path in paths]

    def create(self, path: str, mode: int = 0o666) -> BinaryIO:
        """An empty file for writing, which replaces an existing one, in a folder that exists; `mode` as of os.open."""

    def keep(self, folder: str) -> None:
        """Do not make this folder anew in this process until `release`: CrawlDirError once it was moved."""
        return

    def release(self, folder: str) -> None:
        """End `keep`."""
        return

    def make_folders(self, folder: str) -> None:
        """Makes the missing ones of a folder and its parents, durably, where there are folders."""
        return

    def sync(self, file: BinaryIO) -> None:
        """Makes what was flushed to a file from `create` durable, if its close does not."""
        return

    def discard(self, file: BinaryIO) -> None:
        """A file from `create` is incomplete, and is not to appear when it is closed, if it does only then."""
        return

    def sync_file(self, path: str) -> None:
        """Makes the contents of a closed file durable, if its close does not; it may have been removed meanwhile."""
        return

    def sync_folder(self, folder: str) -> None:
        """Makes the names of the files in a folder durable: created, renamed and removed ones."""
        return

    def rename(self, source: str, target: str) -> None: ...

    def rename_new(self, source: str, target: str) -> bool:
        """Renames a file unless the target exists, and returns whether it did. Atomic on a local disk only."""
        if self.exists(target):
            return False
        self.rename(source, target)
        return True

    def replace(self, path: str, data: bytes, tag: Tag | None) -> Tag | None:
        """`write_whole` if the file still has this version, None: if there is none; returns the new version.

        None if another process was first. Without versions it always writes.
        """
        self.write_whole(path, data)
        return {}

    def delete(self, paths: Iterable[str]) -> None:
        """Removes files, never folders. OSError if one remains; the others are removed.

        A missing file is an OSError, too; not on object stores.
        """

    def match(self, folder: str, pattern: str) -> Iterable[str]:
        """As `filesystem.match`, in any order; a symbolic link to a folder below it counts as a file."""

    def guard(self, folder: str) -> contextlib.AbstractContextManager[None]:
        """Excludes other threads and processes that guard the folder, on a local disk with locks; nobody elsewhere."""
        return contextlib.nullcontext()

    def space(self, folder: str) -> Space | None:
        """The space of a disk that may become full; None for a store that does not."""
        return None

    def is_no_folder(self, path: str) -> bool:
        """Whether something that is no folder is at a path, such as a file, a pipe or a broken link."""
        return False

    def is_link(self, path: str) -> bool:
        """Whether a path is a symbolic link, whose folder or file lies elsewhere."""
        return False

    def permissions(self, path: str) -> int:
        """Those of a file on a local disk; elsewhere, and for one that is missing, those of new files (os.open)."""
        return 0o666

    def changed_at(self, path: str) -> int | None:
        """When a file was changed, in POSIX nanoseconds; None if that costs a request."""
        return None

    def sink(self, path: str, durable: bool = True, mode: int = 0o666) -> Sink:
        """A file for writing, which replaces an existing one; makes missing folders."""
        with naming(path):
            self.make_folders(self.split(path)[0])
            return Sink(path, self.create(path, mode), self.sync, self.discard, durable)

    def write_whole(self, path: str, data: bytes) -> None:
        """Writes a file atomically and durably; a file that it replaces keeps who may read it, on a local disk."""
        with naming(path):
            with self._draft(path, data, self.permissions(path)) as draft:
                self.rename(draft, path)
            self.sync_folder(self.split(path)[0])

    def write_new(self, path: str, data: bytes, mode: int = 0o666) -> bool:
        """`write_whole` unless the file exists; returns whether it was written.

        On local disks and object stores one of concurrent writers succeeds.
        """
        with naming(path):
            with self._draft(path, data, mode) as draft:
                is_new = self.rename_new(draft, path)
            if is_new:
                self.sync_folder(self.split(path)[0])
        return is_new

    @contextlib.contextmanager
    def _draft(self, path: str, data: bytes, mode: int = 0o666) -> Iterator[str]:
        """The path of a new file with a unique name beside another; removed unless the body renames it."""
        draft = f"{path}.{uuid.uuid4().hex[:8]}.tmp"
        try:
            with self.sink(draft, mode=mode) as file:
                file.write(data)
            yield draft
        finally:
            with contextlib.suppress(OSError):
                if self.exists(draft):
                    self.delete([draft])


def matcher(pattern: str) -> re.Pattern[str]:
    """The regular expression of a pattern of `filesystem.match`.

    >>> bool(matcher("*.json").fullmatch("a.json")), bool(matcher("*.json").fullmatch("b/a.json"))
    (True, False)
    """
    parts = {"**": ".*", "*": "[^/]*"}
    return re.compile("".join(parts.get(part) or re.escape(part) for part in re.split(r"(\*\*|\*)", pattern)))
