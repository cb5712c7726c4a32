"""Reports the progress of a bundle and watches for the stop file and blocks, outside the thread that schedules."""

import contextlib
import json
import math
import threading
import time
from collections import Counter, deque
from collections.abc import Callable
from typing import Any

from apache_beam.metrics import Metrics

from ...blocks.files import BlockFiles
from ...blocks.rules import Blocks
from ...directory.crawl_dir import CrawlDir
from ...files import filesystem
from ...http.reply import Reply
from ...outcomes import CrawlDirError, Outcome, count_requests
from .reports import Census, Failure, Requests

_NO_FAILURES = frozenset(
    {
        Outcome.FETCHED,
        Outcome.NOT_MODIFIED,
        Outcome.REDIRECTED,
        Outcome.GONE,  # so many that others would not be seen
        Outcome.DENIED_ROBOTS,
        Outcome.DEFERRED,
    }
)
_FAILURES = 10  # that are kept
_URL_CHARACTERS, _ERROR_CHARACTERS = 300, 200


class Report:
    """Counts visits; for use in the bundle's own thread, as Beam loses counters of any other."""

    def __init__(self, clock: Callable[[], float] = time.time) -> None:
        self._clock = clock  # POSIX time
        self._outcomes = Counter[str]()
        self._bytes = 0
        self._counters: dict[Outcome, Any] = {}
        self._failures: deque[Failure] = deque(maxlen=_FAILURES)
        self._requests = Requests()
        self.is_taking = True  # further hosts may come

    def count(self, end: Outcome, reply: Reply, url: str) -> None:
        if end not in self._counters:
            self._counters[end] = Metrics.counter("visits", end.value)
        self._counters[end].inc()
        self._outcomes[end.value] += 1
        self._bytes += len(reply.body)
        if end not in _NO_FAILURES:
            error = reply.error or (f"status {reply.status}" if reply.status else "")
            self._failures.append(
                Failure(round(self._clock(), 3), url[:_URL_CHARACTERS], end.value, error[:_ERROR_CHARACTERS])
            )

    def snapshot(self, active: int, census: Census) -> dict[str, Any]:
        """Return a report: outcomes and bytes so far, hosts with a request under way, and the queues."""
        now = self._clock()
        self._requests.note(now, count_requests(self._outcomes))
        return {
            "at": round(now, 3),
            "outcomes": dict(self._outcomes),
            "bytes": self._bytes,
            "active": active,
            "waiting": max(0, census.hosts - census.backing_off - active),
            "backing_off": census.backing_off,
            "queued": census.urls,
            "is_taking": self.is_taking,
            "longest_queue_s": round(census.seconds, 1),
            "ends_in_s": round(census.ends_in, 1) if math.isfinite(census.ends_in) else None,
            "requests": self._requests.to_dict(),
            "queues": [
                queue._replace(delay_s=round(queue.delay_s, 1), seconds=round(queue.seconds, 1))._asdict()
                for queue in census.longest
            ],
            "failures": [failure._asdict() for failure in self._failures],
        }


class Watch:
    """Polls for the stop file and blocks, and writes the newest snapshot to `PREFIX-….json`, in its own thread.

    Calls to a slow store block only `close`, and the constructor, which reads the blocks of the crawl directory `root`
    so that none is missed. On a store, blocks are read at most every `Store.watch_s`.
    """

    def __init__(self, stop_file: str | None, progress: str | None, interval_s: float, root: str = "") -> None:
        self.is_stopped = False  # the stop file exists
        self._block_files = BlockFiles(CrawlDir(root)) if root else None
        self.blocks = self._block_files.read() if self._block_files else Blocks()
        self._blocks_interval_s = filesystem.store_of(root).watch_s
        self._blocks_at_s = 0.0
        self.snapshot: dict[str, Any] | None = None
        self._stop_file, self._interval_s = stop_file, interval_s
        self._progress = f"{progress}-{time.time_ns():x}.json" if progress else None
        self._closing = threading.Event()
        self._thread: threading.Thread | None = None
        if stop_file or progress or root:
            self._thread = threading.Thread(target=self._run, name="watch", daemon=True)
            self._thread.start()

    def close(self) -> None:
        """Write the last snapshot, and end the thread."""
        self._closing.set()
        if self._thread:
            self._thread.join()

    def _run(self) -> None:
        written, written_at = None, -math.inf
        every_s = filesystem.store_of(self._progress).report_s if self._progress else 0.0
        is_closing = False
        while not is_closing:
            is_closing = self._closing.wait(self._interval_s if written is not None or self.is_stopped else 0.0)
            snapshot = self.snapshot
            is_due = is_closing or time.monotonic() - written_at >= every_s
            with contextlib.suppress(OSError):  # a disk that fails ends the crawl elsewhere
                if self._stop_file and not self.is_stopped:
                    self.is_stopped = filesystem.exists(self._stop_file)
                self._read_blocks()
                if self._progress and is_due and snapshot is not None and snapshot != written:
                    filesystem.write_bytes(self._progress, json.dumps(snapshot).encode(), durable=False)
                    written_at = time.monotonic()
            written = (snapshot or {}) if is_due else written

    def _read_blocks(self) -> None:
        if self._block_files and time.monotonic() >= self._blocks_at_s:
            with contextlib.suppress(CrawlDirError):  # a file that holds no block: the others stay as they were
                self.blocks = self._block_files.read()
            self._blocks_at_s = time.monotonic() + self._blocks_interval_s
