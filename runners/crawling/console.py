"""Shows the progress of a crawl: on a terminal, as lines of text, as events in JSON, and in a log file."""

import contextlib
import errno
import os
import signal
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from datetime import datetime
from typing import TextIO, TypeVar

from ...pipeline.control import End, StopSignal
from ...pipeline.seeds import Added
from ...transforms.directory.crawl_dir import Manifest, Step
from ..process.background import INTERRUPTS, Background
from ..process.submission import Submission, waits_for
from ..progress import events
from ..progress.events import Event
from ..progress.outputs import JsonOutput, Output, TextOutput
from ..progress.running import Running
from ..terminal.errors import one_line

T = TypeVar("T")

_EVENTS_S, _LOG_S = 2.0, 60.0  # between two events on a step under way
_TICK_S = 0.25


def open_outputs(stream: TextIO, json: TextIO | None = None, log: TextIO | None = None) -> list[Output]:
    """Return the outputs of a crawl: `stream` for people unless there is `json` for programs, and `log`."""
    outputs: list[Output] = [JsonOutput(json, _EVENTS_S)] if json else [text_output(stream)]
    return outputs + ([JsonOutput(log, _LOG_S)] if log else [])


def text_output(stream: TextIO) -> Output:
    """Return an output for people on a terminal or another stream."""
    if stream.isatty() and os.environ.get("TERM") != "dumb":
        from ..progress.live import LiveOutput  # noqa: PLC0415  # rich takes a while to import

        return LiveOutput(stream)
    return TextOutput(stream)


class Console:
    """Passes the progress of a crawl on to outputs (an Observer of `runners.crawling.session`).

    `rounds` is the number of rounds that the command runs, if that is known. `submission` returns how far the running
    pipeline is on its way to a cluster. Threads and a signal handler may call it.
    """

    def __init__(
        self,
        outputs: Sequence[Output],
        rounds: int | None = None,
        submission: Callable[[], Submission] = lambda: Submission.NONE,
    ) -> None:
        self._outputs, self._rounds, self._submission = outputs, rounds, submission
        self._lock = threading.RLock()  # a signal handler may interrupt an output
        self._round = 0
        self._running: Running | None = None
        self._busy: tuple[str, float] | None = None
        self._next_at = [0.0] * len(outputs)

    def event(self, event: Event) -> None:
        with self._lock:
            for output in self._outputs:
                with _while_open():
                    output.event(event)

    def warn(self, line: str) -> None:
        self.event(Event("warning", line))

    def seeds_added(self, added: Added) -> None:
        self.event(events.seeds_added(added))

    def step_started(self, step: Step, progress: str, rows: int, at_most: int | None = None) -> None:
        self._round += step.kind == "fetch"
        now = time.monotonic()
        running = Running(step, rows, now, at_most, self._round, self._rounds, now, reports=progress)
        self.event(events.step_started(running))
        with self._lock:
            self._running, self._busy = running, None
            self._next_at = [now + output.interval_s for output in self._outputs]

    def step_committed(self, manifest: Manifest) -> None:
        with self._lock:
            self._running = self._busy = None
            self.event(events.step_committed(manifest))

    def waiting(self, until: datetime, urls: int) -> None:
        self._busy = None
        self.event(events.waiting(until, urls))

    def busy(self, what: str) -> None:
        now = time.monotonic()
        with self._lock:
            self._running, self._busy = None, (what, now)
            self._next_at = [now + output.interval_s for output in self._outputs]
            self.event(Event("busy", what))

    def still_busy(self, what: str) -> None:
        """Other words for what is under way since the last `busy`."""
        with self._lock:
            if self._busy:
                self._busy = what, self._busy[1]

    def ended(self, end: End, frontier: int, release: str) -> None:
        with self._lock:
            self._busy = None
            self.event(events.ended(end, frontier, release))

    def failed(self, message: str) -> None:
        with self._lock:
            self._running = self._busy = None
            self.event(Event("failed", message))

    def close(self) -> None:
        with self._lock:
            for output in self._outputs:
                output.close()

    def tick(self) -> None:
        """Show what is under way, on each output at most once per its interval."""
        now, current = time.monotonic(), self._running
        due = [number for number, at in enumerate(self._next_at) if now >= at]
        if not due or (current is None and self._busy is None):
            return
        reported = current.read() if current else None
        waits = waits_for(self._submission(), reported.workers) if reported else None
        with self._lock:
            if self._running is not current:  # ended meanwhile
                return
            for number in due:
                self._next_at[number] = now + self._outputs[number].interval_s
            if current and reported:
                self._running = current.at(now, reported, waits)
                for number in due:
                    with _while_open():
                        self._outputs[number].running(self._running)
            elif self._busy:
                for number in due:
                    with _while_open():
                        self._outputs[number].busy(self._busy[0], now - self._busy[1])


@contextlib.contextmanager
def _while_open() -> Iterator[None]:
    """Ignore that a terminal was closed: the crawl stops politely (SIGHUP), and nobody reads on."""
    try:
        yield
    except OSError as error:
        if error.errno != errno.EIO:
            raise


@contextlib.contextmanager
def telling(what: str, output: Output) -> Iterator[Callable[[str], None]]:
    """Show what is under way while the body runs, which may say more of it by the function that it gets."""
    console, ended = Console([output]), threading.Event()
    console.busy(what)

    def tick() -> None:
        while not ended.wait(_TICK_S):
            console.tick()

    thread = threading.Thread(target=tick, name="progress", daemon=True)
    thread.start()
    try:
        yield lambda more: console.still_busy(f"{what}: {more}")
    finally:
        ended.set()
        thread.join()
        console.close()


@contextlib.contextmanager
def closing(console: Console) -> Iterator[None]:
    """Close a console at the end; an error of the body is its last event."""
    try:
        yield
    except Exception as error:
        console.failed(one_line(error))
        raise
    finally:
        console.close()


def run_interruptibly(work: Callable[[], T], stop: StopSignal, console: Console) -> T:
    """Run in the background; Ctrl-C, SIGTERM or a closed terminal sets `stop`, a second one ends the program."""

    def interrupted(*_: object) -> None:
        if stop.is_set():
            console.event(Event("stopping", "stopped at once; what was not committed is done again by the next crawl"))
            os._exit(130)
        console.event(Event("stopping", "stopping after the requests under way; press Ctrl-C again to stop at once"))
        stop.stop()

    heard = [number for number in INTERRUPTS if signal.getsignal(number) is not signal.SIG_IGN]  # as nohup does
    before = [(number, signal.signal(number, interrupted)) for number in heard]
    background = Background(work)
    try:
        background.wait(console.tick)
    finally:
        for number, handler in before:
            signal.signal(number, handler)
    return background.result()
