"""Reports on a crawl while it runs."""

from __future__ import annotations

import dataclasses
import queue
import time
from collections.abc import Callable, Mapping
from datetime import datetime

from beamtrawl.pipeline.seeds import Added
from beamtrawl.runners.progress.running import Running
from beamtrawl.runners.progress.words import describe_added, describe_manifest, describe_waiting, line
from beamtrawl.runners.terminal.units import counted
from beamtrawl.transforms.directory.crawl_dir import Manifest, Step
from beamtrawl.transforms.outcomes import Outcome

_EVERY_S = 2.0  # between two reports on a step under way


@dataclasses.dataclass(frozen=True)
class Progress:
    """A report on a crawl that runs; `str` gives the line that the command line shows."""

    step: str  # seeds, fetch, update, rank, compact, or wait for URLs that are due again soon
    round: int
    is_committed: bool  # the step is done and written
    done: int  # of `total`, what the step has worked on; both are 0 where that is not known
    total: int
    outcomes: Mapping[str, int]  # visits of the step by outcome
    message: str

    def __str__(self) -> str:
        return self.message


class Recorder:
    """Records a run, and reports to a callback in the thread that calls `tick` (an Observer)."""

    def __init__(self, callback: Callable[[Progress], object] | None) -> None:
        self.committed: list[Manifest] = []
        self.warnings: list[str] = []
        self._callback = callback
        self._reports: queue.SimpleQueue[Progress] = queue.SimpleQueue()
        self._current: Running | None = None
        self._reported_at = time.monotonic()

    def seeds_added(self, added: Added) -> None:
        self._report("seeds", 0, describe_added(added), is_committed=True)

    def warn(self, line: str) -> None:
        self.warnings.append(line)

    def step_started(self, step: Step, progress: str, rows: int, at_most: int | None = None) -> None:
        now = time.monotonic()
        self._current = Running(step, rows, now, at_most, now=now, reports=progress)
        self._report(step.kind, step.round, f"round {step.round} {step.kind} of {counted(rows, 'URL')}", total=rows)

    def step_committed(self, manifest: Manifest) -> None:
        self._current = None
        self.committed.append(manifest)
        outcomes = visits_by_outcome([manifest])
        done = sum(outcomes.values())
        self._report(manifest.step, manifest.round, describe_manifest(manifest), True, done, done, outcomes)

    def busy(self, what: str) -> None:
        self._current = None

    def waiting(self, until: datetime, urls: int) -> None:
        self._report("wait", self.committed[-1].round if self.committed else 0, describe_waiting(until, urls))

    def tick(self) -> None:
        """Call the callback with what has happened since the last tick."""
        if self._callback is None:
            return
        self._look()
        while not self._reports.empty():
            self._callback(self._reports.get())

    def _look(self) -> None:
        """Report on the step under way, if it is time to."""
        now, current = time.monotonic(), self._current
        if current is None or now - self._reported_at < _EVERY_S:
            return
        self._reported_at = now
        running = self._current = current.at(now, current.read())
        step, outcomes = running.step, dict(running.reported.outcomes)
        self._report(step.kind, step.round, line(running), done=running.done, total=running.total, outcomes=outcomes)

    def _report(
        self,
        step: str,
        round_: int,
        message: str,
        is_committed: bool = False,
        done: int = 0,
        total: int = 0,
        outcomes: Mapping[str, int] | None = None,
    ) -> None:
        if self._callback is not None:
            self._reports.put(Progress(step, round_, is_committed, done, total, outcomes or {}, message))


def visits_by_outcome(manifests: list[Manifest]) -> dict[str, int]:
    """Visits of the fetch steps among these, by outcome."""
    found: dict[str, int] = {}
    for manifest in manifests:
        if manifest.step == "fetch":
            for outcome in Outcome:
                if count := manifest.counters.get(outcome.value):
                    found[outcome.value] = found.get(outcome.value, 0) + count
    return found
