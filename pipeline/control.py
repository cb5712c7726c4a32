"""The interface to a running crawl: its progress, the reason of its end, and a signal that stops it."""

import threading
from datetime import datetime
from typing import NamedTuple, Protocol

from ..transforms.directory.crawl_dir import Manifest, Step
from ..transforms.files import filesystem


class Observer(Protocol):
    """Receives the progress of a crawl."""

    def step_started(self, step: Step, progress: str, rows: int, at_most: int | None = None) -> None:
        """`progress` is the prefix of the files in which workers report.

        `rows` counts what the step reads, the URLs of the frontier or visits; `at_most` limits the visits of a fetch
        step.
        """

    def step_committed(self, manifest: Manifest) -> None: ...

    def waiting(self, until: datetime, urls: int) -> None: ...

    def busy(self, what: str) -> None:
        """Work between two steps begins, such as merging files; the next call of any method ends it."""

    def warn(self, line: str) -> None:
        """Show a warning, which does not end the run."""


class End(NamedTuple):
    """Why a crawl ended."""

    reason: str  # frontier_empty, rounds, max_pages, not_due, stopped
    rounds: int  # run now
    due_at: datetime | None = None  # for not_due: when the next URL is due, if that is known
    held: int = 0  # URLs that traps hold, for frontier_empty
    blocked: int = 0  # URLs that wait and are blocked, for frontier_empty and not_due
    excluded: int = 0  # URLs that wait and that the settings exclude, but for stopped
    max_pages: int = 0  # the limit, for max_pages
    full: int = 0  # URLs that wait, of hosts that had all their visits, for frontier_empty and not_due
    is_over: bool = False  # nothing was done, and the settings visit no page again
    depth: int | None = None  # the limit of depth, if links were beyond it, for frontier_empty
    refused: int = 0  # hosts whose addresses are refused, for not_due


class Stopped(Exception):
    """A pipeline was given up because a StopSignal is set; the step is not committed, and another attempt does it."""


class StopSignal:
    """Ends a running crawl: no further request starts, and all fetched pages are committed."""

    def __init__(self) -> None:
        self._event = threading.Event()
        self._file: str | None = None
        self._lock = threading.Lock()

    def stop(self) -> None:
        self._event.set()
        self._write()

    def watch(self, path: str) -> None:
        """Set the file whose existence stops the workers of a step."""
        self._file = path
        if self.is_set():
            self._write()

    def is_set(self) -> bool:
        return self._event.is_set()

    def wait(self, seconds: float) -> None:
        self._event.wait(seconds)

    def _write(self) -> None:
        with self._lock:
            if self._file and not filesystem.exists(self._file):
                filesystem.write_bytes(self._file, b"", durable=False)
