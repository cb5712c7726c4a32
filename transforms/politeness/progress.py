"""Reports the progress of a bundle and watches for the stop file, outside the thread that schedules requests."""

import contextlib
import json
import threading
import time
from typing import Any

from apache_beam.metrics import Metrics

from ..http.reply import Reply
from ..outcomes import Outcome
from ..storage import filesystem


class Report:
    """Counts visits; for use in the bundle's own thread, as Beam loses counters of any other."""

    def __init__(self) -> None:
        self._outcomes: dict[str, int] = {}
        self._bytes = 0
        self._counters: dict[Outcome, Any] = {}

    def count(self, end: Outcome, reply: Reply) -> None:
        if end not in self._counters:
            self._counters[end] = Metrics.counter("visits", end.value)
        self._counters[end].inc()
        self._outcomes[end.value] = self._outcomes.get(end.value, 0) + 1
        self._bytes += len(reply.body)

    def snapshot(self, active: int, waiting: int) -> dict[str, Any]:
        """Return current outcomes, bytes, and numbers of active and waiting hosts."""
        return {"outcomes": dict(self._outcomes), "bytes": self._bytes, "active": active, "waiting": waiting}


class Watch:
    """Polls for the stop file, and writes the newest snapshot to `PREFIX-….json`, in its own thread.

    Calls to a slow store block only `close`.
    """

    def __init__(self, stop_file: str | None, progress: str | None, interval_s: float) -> None:
        self.is_stopped = False  # the stop file exists
        self.snapshot: dict[str, Any] | None = None
        self._stop_file, self._interval_s = stop_file, interval_s
        self._progress = f"{progress}-{time.time_ns():x}.json" if progress else None
        self._closing = threading.Event()
        self._thread: threading.Thread | None = None
        if stop_file or progress:
            self._thread = threading.Thread(target=self._run, name="watch", daemon=True)
            self._thread.start()

    def close(self) -> None:
        """Write the last snapshot, and end the thread."""
        self._closing.set()
        if self._thread:
            self._thread.join()

    def _run(self) -> None:
        written = None
        is_closing = False
        while not is_closing:
            is_closing = self._closing.wait(self._interval_s if written is not None or self.is_stopped else 0.0)
            snapshot = self.snapshot
            with contextlib.suppress(OSError):  # a disk that fails ends the crawl elsewhere
                if self._stop_file and not self.is_stopped:
                    self.is_stopped = filesystem.exists(self._stop_file)
                if self._progress and snapshot is not None and snapshot != written:
                    filesystem.write_bytes(self._progress, json.dumps(snapshot).encode(), durable=False)
            written = snapshot or {}
