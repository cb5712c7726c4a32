"""Output that is complete or absent: a file, the files of a folder, or standard output."""

import codecs
import contextlib
import errno
import gzip
import io
import os
import re
import shutil
import sys
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any, TextIO, cast

from ...transforms.files import filesystem
from ...transforms.files.store import Store
from ...transforms.outcomes import reason, room_for
from ...transforms.tables.schemas import TABLES
from ..terminal.errors import Failure, Usage
from ..terminal.visible import visible

STDOUT = "-"

_DRAFT = re.compile("draft-[0-9a-f]{32}-")
_NO_LINKS = {errno.EPERM, errno.ENOTSUP, errno.ENOSYS, errno.EMLINK}  # of a file system, such as exFAT


@contextlib.contextmanager
def whole_file(path: str) -> Iterator[IO[bytes]]:
    """A file for writing, on any file system, compressed if its name ends in .gz; `-` is standard output.

    Standard output gets the bytes as they are, but a terminal `visible` text. The file gets its name once it is
    complete, and replaces another one. Failure, and no file, if it cannot be written; Usage if the name is that of a
    device, a pipe, or a file of a crawl.
    """
    if path == STDOUT:
        yield cast(IO[bytes], _Terminal(sys.stdout)) if sys.stdout.isatty() else sys.stdout.buffer
        sys.stdout.flush()
        return
    _refuse(path)
    folder, name = filesystem.split(path)
    with _complaining(path), Drafts(folder, may_replace=True) as drafts:
        sink = drafts.create(name)
        with sink, _compressed(sink, name) as file:
            yield file


def write_text(path: str, text: str) -> None:
    """Write a text to a `whole_file`, or to standard output."""
    if path == STDOUT:
        sys.stdout.write(text)
        return
    with whole_file(path) as sink:
        sink.write(text.encode())


@contextlib.contextmanager
def whole_folder(path: str) -> Iterator["Drafts"]:
    """A folder for new files; none of them has its name before all are complete. Usage if it has files already.

    Drafts of a run that was killed do not count, and are removed.
    """
    is_local = filesystem.store_of(path).has_local_paths and Path(path).is_dir()
    if not is_local and Path(path).exists():
        raise Usage(f"{path} is no folder; name a new or empty one")
    present = [str(file) for file in Path(path).iterdir()] if is_local else filesystem.match(path, "*")
    if not all(_DRAFT.match(filesystem.split(file)[1]) for file in present):
        raise Usage(f"{path} has files already; name a new or empty folder")
    with _complaining(path), Drafts(path.rstrip("/") or "/") as drafts:
        filesystem.delete(present)
        yield drafts


@contextlib.contextmanager
def whole_tree(path: str) -> Iterator["Tree"]:
    """A local folder for files in folders, which gets its name once all are complete. Usage if it has files already.

    Drafts of a run that was killed are removed.
    """
    if not filesystem.store_of(path).has_local_paths:
        raise Usage(f"{path} is on an object store, where no tree of files gets its name at once; name a local folder")
    target = Path(path)
    if target.exists() and not (target.is_dir() and not any(target.iterdir())):
        raise Usage(f"{path} exists already; name a new or empty folder")
    draft = target.absolute().parent / f".draft-{uuid.uuid4().hex[:8]}-{target.absolute().name}"
    with _complaining(path):
        for other in draft.parent.iterdir():
            if re.fullmatch(rf"\.draft-[0-9a-f]{{8}}-{re.escape(target.name)}", other.name):
                shutil.rmtree(other)
        draft.mkdir()
        try:
            yield Tree(draft)
            os.sync()
            draft.replace(target)
            filesystem.sync_folder(str(draft.parent))
        except BaseException:
            shutil.rmtree(draft, ignore_errors=True)
            raise


class Tree:
    """Files in folders below a folder."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def write(self, name: str, data: bytes) -> None:
        """Write a file; its name has forward slashes, and no part that leads upwards."""
        path = self._folder.joinpath(*name.split("/"))
        path.parent.mkdir(parents=True, exist_ok=True)
        try:
            with path.open("xb") as file:
                file.write(data)
        except FileExistsError as error:
            raise Failure(f"cannot write {name}: another page has a file of this name on this disk") from error


def _refuse(path: str) -> None:
    """Usage if a local file is none that an output may replace."""
    if not filesystem.store_of(path).has_local_paths or not os.path.lexists(path):
        return
    if Path(path).exists() and not Path(path).is_file():
        raise Usage(f"cannot write {path}: it is no regular file; name one, or {STDOUT} for standard output")
    place = Path(path).absolute()
    for root in place.parents:
        if (root / "crawl.toml").is_file() and place.relative_to(root).parts[0] in _OF_CRAWLS:
            raise Usage(f"cannot write {path}: it is a file of a crawl; name another one")


_OF_CRAWLS = {"crawl.toml", "secret", "lock.json", "manifests", "index", "attempts", *TABLES}


def require_folder(path: str) -> None:
    """Usage if the local folder of an output is missing, which is a typo more often than not."""
    if path == STDOUT or not filesystem.store_of(path).has_local_paths:
        return
    folder = Path(path).parent
    if not folder.is_dir():
        raise Usage(f"cannot write {path}: there is no folder {folder}; make it, or name another one")


def require_file(path: str) -> None:
    """Usage if the output cannot be a file: a folder, a device, a file of a crawl, or in a folder that is missing."""
    require_folder(path)
    if path == STDOUT:
        return
    if Path(path).is_dir():
        raise Usage(f"cannot write {path}: it is a folder; name a file in it")
    _refuse(path)


class Drafts:
    """Files under provisional names, which are renamed together at the end, in order, or removed on an error."""

    def __init__(self, folder: str, may_replace: bool = False) -> None:
        self._folder, self._prefix = folder, f"draft-{uuid.uuid4().hex}-"  # none can foresee it
        self._may_replace = may_replace
        self._names: list[str] = []

    def create(self, name: str) -> filesystem.Sink:
        """A new file; the caller closes it."""
        sink = filesystem.create(self._draft(name))
        self._names.append(name)
        return sink

    def __enter__(self) -> "Drafts":
        return self

    def __exit__(self, kind: type | None, *_: object) -> None:
        done = 0
        try:
            if kind is None:
                for name in self._names:
                    self._rename(name)
                    done += 1
                filesystem.sync_folder(self._folder)
        finally:
            with contextlib.suppress(OSError):
                filesystem.delete([self._draft(name) for name in self._names[done:]])

    def _rename(self, name: str) -> None:
        source, target = self._draft(name), filesystem.join(self._folder, name)
        if self._may_replace:
            filesystem.rename(source, target)
            return
        store = filesystem.store_of(target)
        try:
            is_new = store.rename_new(source, target)
        except OSError as error:
            if error.errno not in _NO_LINKS:
                raise
            is_new = Store.rename_new(store, source, target)
        if not is_new:
            raise Failure(f"cannot write {target}: it was made meanwhile; name a new or empty folder")

    def _draft(self, name: str) -> str:
        return filesystem.join(self._folder, self._prefix + name)


@contextlib.contextmanager
def _complaining(path: str) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        cause = error.__cause__ if isinstance(error.__cause__, OSError) else error
        room = room_for(cause)
        remedy = f"{room} and run the command again" if room else "name a file in a folder that you may write"
        raise Failure(f"cannot write {path}: {reason(cause)}; {remedy}") from error


class _Terminal(io.RawIOBase):
    """Writes UTF-8 to a terminal, as `visible` text."""

    def __init__(self, stream: TextIO) -> None:
        self._stream, self._decoder = stream, codecs.getincrementaldecoder("utf-8")("replace")

    def writable(self) -> bool:
        return True

    def write(self, data: Any) -> int:
        self._stream.write(visible(self._decoder.decode(bytes(data))))
        return len(data)


def _compressed(sink: filesystem.Sink, name: str) -> contextlib.AbstractContextManager[IO[bytes]]:
    """The file, compressed if the name says so."""
    return (
        cast(IO[bytes], gzip.open(cast(IO[bytes], sink), "wb"))
        if name.endswith(".gz")
        else contextlib.nullcontext(cast(IO[bytes], sink))
    )
