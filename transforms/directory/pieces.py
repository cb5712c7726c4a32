"""Durable pieces of a step: files that are complete while the step still runs, and promises to hosts.

A piece is a record, `attempts/ATTEMPT-piece-ID.json`, that names closed table files. Promises are the latest states of
hosts with a pause longer than that of a resumed step, one JSON row per line of `attempts/ATTEMPT-promises-ID.jsonl`,
written immediately. Both survive a kill, and the next attempt at the step adopts them.
"""

import contextlib
import fnmatch
import json
import queue
import threading
import uuid
from collections.abc import Iterable, Iterator
from datetime import datetime
from typing import NamedTuple

import pyarrow as pa

from ..files import filesystem
from ..outcomes import CrawlDirError, DiskError
from ..tables.schemas import HostRow
from ..tables.table_files import TableFile, open_parquet, parse_report, render_report
from .crawl_dir import CrawlDir, Step

_TIMES = ("last_fetched_at", "not_before")


class Leftovers(NamedTuple):
    """The usable results of earlier attempts at a step."""

    files: list[TableFile]  # of their complete pieces
    promises: list[str]  # paths of promise files, below the crawl directory
    records: list[str]  # paths of the records of the pieces

    def paths(self, table: str) -> list[str]:
        return [file.path for file in self.files if file.table == table]


def attempts_prefix(step: Step) -> str:
    """The common prefix of the names of all attempts at a step."""
    return f"{step.round:06d}-{step.kind}"


NOTHING_LEFT = Leftovers([], [], [])


def find_leftovers(crawl: CrawlDir, prefix: str) -> Leftovers:
    """The complete pieces and the promises of attempts with this name prefix; ignores pieces with a damaged file.

    CrawlDirError or OSError if a file cannot be read at the moment: what was fetched is not given up for that.
    """
    files: list[TableFile] = []
    records: list[str] = []
    names = crawl.names("attempts", f"{prefix}*")
    for name in fnmatch.filter(names, "*-piece-*.json"):
        try:
            piece = parse_report(crawl.read_text(f"attempts/{name}"))
        except (FileNotFoundError, ValueError, TypeError):  # another process has just committed it; or it is damaged
            continue
        if all(_is_whole(crawl.root, file) for file in piece):
            files += piece
            records.append(f"attempts/{name}")
    return Leftovers(files, _promises_in(names), records)


def find_promises(crawl: CrawlDir, prefix: str) -> list[str]:
    """The paths of the promise files of attempts with this name prefix; no piece is read."""
    return _promises_in(crawl.names("attempts", f"{prefix}*"))


def _promises_in(names: list[str]) -> list[str]:
    return [f"attempts/{name}" for name in fnmatch.filter(names, "*-promises-*.jsonl")]


def _is_whole(root: str, file: TableFile) -> bool:
    try:
        with open_parquet(root, file.path) as parquet:
            return bool(parquet.metadata.num_rows == file.rows)
    except CrawlDirError as error:
        if isinstance(error, DiskError) or not _is_damage(error.__cause__):
            raise
        return False


def _is_damage(cause: BaseException | None) -> bool:
    """Whether a file is missing or damaged; else the disk or the store has failed, and may be read the next time."""
    if isinstance(cause, FileNotFoundError | pa.ArrowException):
        return True
    return isinstance(cause, OSError) and cause.errno is None  # of Arrow: a footer that it cannot decode


def write_piece(crawl: CrawlDir, attempt: str, files: Iterable[TableFile]) -> None:
    """Records closed files as a piece, in one atomic write, durably."""
    files = list(files)
    crawl.sync(files)
    crawl.write_text(f"attempts/{attempt}-piece-{uuid.uuid4().hex[:8]}.json", render_report(files))


_SYNC_INTERVAL = 1.0  # seconds


class PromiseLog:
    """Writes promises: immediately to one file on a local disk; elsewhere to new files, uploaded by a thread.

    On a local disk they survive a kill at once, and a power cut within a second.
    """

    def __init__(self, crawl: CrawlDir, attempt: str, sync_interval: float = _SYNC_INTERVAL) -> None:
        self._crawl = crawl
        self._sync_interval = sync_interval
        self._prefix = f"attempts/{attempt}-promises-"
        self._paths: list[str] = []
        self._file: filesystem.Sink | None = None
        self._lines: queue.SimpleQueue[bytes | None] = queue.SimpleQueue()
        if filesystem.store_of(crawl.root).has_local_paths:
            self._file = filesystem.create(self._new_path(), durable=False)
        else:
            self._lines.put(b"")  # a file that records that requests have begun
        self._is_closed = threading.Event()
        self._failure: DiskError | None = None
        self._thread = threading.Thread(target=self._sync if self._file else self._upload, name="promises", daemon=True)
        self._thread.start()

    def write(self, row: HostRow) -> None:
        """Writes the state of a host."""
        if self._failure:
            raise self._failure
        line = json.dumps(row, default=datetime.isoformat).encode() + b"\n"
        if self._file:
            self._file.write(line)
            self._file.flush()
        else:
            self._lines.put(line)

    def remove(self) -> None:
        """Removes the written promises, which a complete piece supersedes."""
        self._is_closed.set()
        self._lines.put(None)
        self._thread.join()
        if self._file:
            self._file.close()
        with contextlib.suppress(FileNotFoundError):  # another process took over, and has committed the step
            filesystem.delete(self._paths)

    def _sync(self) -> None:
        if not self._file:
            return
        synced = 0
        while not self._failure and not self._is_closed.wait(self._sync_interval):
            if (size := self._file.size) > synced:
                try:
                    self._file.sync()
                    filesystem.sync_folder(filesystem.split(self._file.path)[0])
                except DiskError as error:  # re-raised in the thread that writes
                    self._failure = error
                synced = size

    def _upload(self) -> None:
        is_open = True
        while is_open:
            lines = [self._lines.get()]
            while not self._lines.empty():
                lines.append(self._lines.get())
            is_open = None not in lines
            text = b"".join(line for line in lines if line)
            if text or not self._paths:
                try:
                    filesystem.write_bytes(self._new_path(), text)
                except DiskError as error:  # re-raised in the thread that writes
                    self._failure = error

    def _new_path(self) -> str:
        self._paths.append(self._crawl.path(f"{self._prefix}{uuid.uuid4().hex[:8]}.jsonl"))
        return self._paths[-1]


def read_promises(root: str, path: str) -> Iterator[HostRow]:
    """The rows of a promise file; skips a line truncated by a kill."""
    for line in filesystem.read_bytes(filesystem.join(root, path)).splitlines():
        try:
            row: HostRow = json.loads(line)
        except ValueError:
            continue
        for name in _TIMES:
            row[name] = row[name] and datetime.fromisoformat(row[name])  # type: ignore[literal-required]
        yield row
