"""Progress of a crawl: one live line on a terminal, plain lines elsewhere."""

import json
import os
import signal
import threading
import time
from collections.abc import Callable
from datetime import datetime
from typing import Any, TextIO, TypeVar

from ..pipeline.crawl import End, StopSignal
from ..pipeline.seeds import Added
from ..transforms.outcomes import Outcome
from ..transforms.storage import filesystem
from ..transforms.storage.crawl_dir import Manifest, Step
from .background import INTERRUPTS, Background
from .submission import Submission, waits_for

T = TypeVar("T")
_LIVE_EVERY = 1.0  # seconds
_PLAIN_EVERY = 30.0


def add_up(reports: list[dict[str, Any]]) -> dict[str, Any]:
    """Return the sum of the workers' reports."""
    total: dict[str, Any] = {"outcomes": {}, "bytes": 0, "active": 0, "waiting": 0}
    for report in reports:
        for name, count in report["outcomes"].items():
            total["outcomes"][name] = total["outcomes"].get(name, 0) + count
        for name in ("bytes", "active", "waiting"):
            total[name] += report[name]
    return total


def describe(step: Step, rows: int, total: dict[str, Any], seconds: float, waits: str | None = None) -> str:
    """Return one line on a running fetch step. `waits`: what it waits for, before its first worker reports."""
    if waits:
        return f"round {step.round} {step.kind}: {waits}, {rows} URLs, {duration(seconds)}"
    done = sum(total["outcomes"].values())
    rate = done / seconds if seconds > 0 else 0.0
    left = f", about {duration((rows - done) / rate)} left" if rate > 0 and rows > done else ""
    parts = ", ".join(f"{name} {count}" for name, count in sorted(total["outcomes"].items(), key=lambda i: -i[1]))
    return (
        f"round {step.round} {step.kind}: {done} of {rows} URLs, {rate:.1f}/s, {size(total['bytes'])},"
        f" hosts {total['active']} active {total['waiting']} waiting{left}" + (f" ({parts})" if parts else "")
    )


def describe_manifest(manifest: Manifest) -> str:
    """Return one line on a committed step."""
    counters = manifest.counters
    seconds = (datetime.fromisoformat(manifest.ended_at) - datetime.fromisoformat(manifest.started_at)).total_seconds()
    took = f"in {seconds:.1f} s"
    if manifest.step == "fetch":
        visits = counters.get("visits_rows", 0)
        parts = ", ".join(f"{o.value} {counters[o.value]}" for o in Outcome if counters.get(o.value))
        rate = f", {visits / seconds:.1f}/s" if seconds > 0 else ""
        return f"round {manifest.round} fetch: {visits} visits {took}{rate} ({parts})"
    if manifest.step == "compact" and manifest.replaced:
        before, after = len(manifest.replaced), len(manifest.files)
        return f"round {manifest.round} compact: {before} files of tables merged into {after}, {took}"
    if manifest.step == "compact":
        before, after = len(manifest.index_replaced), len(manifest.index)
        return f"round {manifest.round} compact: {before} segments of the index merged into {after}, {took}"
    if manifest.step == "rank":
        found = f"{counters['links']} links between {counters['pages']} pages of {counters['hosts']} hosts"
        return f"round {manifest.round} rank: {found}, {took}"
    return (
        f"round {manifest.round} update: {counters.get('documents_rows', 0)} documents"
        f" ({counters.get('duplicates', 0)} duplicates), {counters.get('links_rows', 0)} links,"
        f" {counters.get('frontier_waiting', 0)} URLs in the next frontier, {took}"
    )


def describe_added(added: Added) -> str:
    again = f", {added.again} to be asked for once more" if added.again else ""
    known = f", {added.known} known already" if added.known else ""
    return f"{added.new} seeds added{again}{known}"


def describe_end(end: End, waiting: int, release: str = "") -> str:
    """Return one line on why a crawl ended, with the number of URLs in its frontier.

    `release` is the command that releases URLs held as traps.
    """
    waits = f"{waiting} URLs wait" if waiting else "no page is due"
    reasons = {
        "frontier_empty": "the frontier is empty"
        + (f" but for {end.blocked} URLs that are blocked" if end.blocked else "")
        + (f"; {end.held} URLs are held as traps; to release them: {release}" if end.held else ""),
        "rounds": f"{end.rounds} rounds done, {waiting} URLs in the frontier",
        "max_pages": f"the limit of pages is reached, {waiting} URLs in the frontier",
        "stopped": f"stopped, {waiting} URLs in the frontier; the same command goes on",
        "not_due": f"{waits} until {end.due_at:%Y-%m-%d %H:%M:%S} UTC; the same command goes on then"
        if end.due_at
        else f"{waiting} URLs wait: the last round was too short to ask for any of them; limits.round_time is its time",
    }
    return reasons[end.reason]


def size(count: float) -> str:
    for unit in ("B", "kB", "MB", "GB"):
        if count < 1000:
            return f"{count:.0f} {unit}" if unit == "B" else f"{count:.1f} {unit}"
        count /= 1000
    return f"{count:.1f} TB"


def duration(seconds: float) -> str:
    minutes, rest = divmod(int(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours} h {minutes} min" if hours else f"{minutes} min {rest} s" if minutes else f"{rest} s"


class Console:
    """Prints the progress of a crawl to a stream (an Observer of `runners.session`).

    `submission` returns how far the running pipeline is on its way to a cluster.
    """

    def __init__(self, stream: TextIO, submission: Callable[[], Submission] = lambda: Submission.NONE) -> None:
        self._stream = stream
        self._submission = submission
        self._live = stream.isatty()
        self._lock = threading.RLock()  # a signal handler may print while a line is printed
        self._step: tuple[Step, str, int, float] | None = None
        self._shown_at = time.monotonic()

    def say(self, line: str) -> None:
        with self._lock:
            print(("\r\x1b[K" if self._live else "") + line, file=self._stream, flush=True)

    warn = say

    def seeds_added(self, added: Added) -> None:
        self.say(describe_added(added))

    def step_started(self, step: Step, progress: str, rows: int) -> None:
        self._shown_at = time.monotonic()
        self._step = (step, progress, rows, self._shown_at)

    def step_committed(self, manifest: Manifest) -> None:
        self._step = None
        self.say(describe_manifest(manifest))

    def waiting(self, until: datetime, urls: int) -> None:
        self.say(f"waiting until {until:%H:%M:%S} UTC, when {urls} URLs are due again")

    def tick(self) -> None:
        """Show the progress of the running step, at most once per interval."""
        now, current = time.monotonic(), self._step
        if current is None or now - self._shown_at < (_LIVE_EVERY if self._live else _PLAIN_EVERY):
            return
        self._shown_at = now
        step, progress, rows, started = current
        if step.kind == "fetch":
            reports = read_reports(progress)
            waits = waits_for(self._submission(), len(reports))
            line = describe(step, rows, add_up(reports), now - started, waits)
        else:
            line = f"round {step.round} update: {rows} visits, {duration(now - started)}"
        if not self._live:
            self.say(line)
            return
        with self._lock:
            width = os.get_terminal_size(self._stream.fileno()).columns
            print("\r\x1b[K" + line[: width - 1], end="", file=self._stream, flush=True)


def read_reports(prefix: str) -> list[dict[str, Any]]:
    """Return the reports that workers have written so far; incomplete files are skipped until the next call."""
    reports = []
    folder, name = filesystem.split(prefix)
    for path in filesystem.match(folder, name + "*"):
        try:
            reports.append(json.loads(filesystem.read_bytes(path)))
        except (ValueError, OSError):
            continue
    return reports


def run_interruptibly(work: Callable[[], T], stop: StopSignal, console: Console) -> T:
    """Run in the background; Ctrl-C or SIGTERM sets `stop`, a second one ends the program."""

    def interrupted(*_: object) -> None:
        if stop.is_set():
            console.say("stopped at once; what was not committed is done again by the next crawl")
            os._exit(130)
        console.say("stopping after the requests under way; press Ctrl-C again to stop at once")
        stop.stop()

    before = [(number, signal.signal(number, interrupted)) for number in INTERRUPTS]
    background = Background(work)
    try:
        background.wait(console.tick)
    finally:
        for number, handler in before:
            signal.signal(number, handler)
    return background.result()
