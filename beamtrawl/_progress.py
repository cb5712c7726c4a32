"""Reports on a crawl while it runs."""

from __future__ import annotations

import dataclasses
import math
import queue
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from beamtrawl.runners.progress.events import Event
from beamtrawl.runners.progress.running import Running
from beamtrawl.runners.progress.words import line
from beamtrawl.transforms.outcomes import Outcome


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
    """An output that records a run, and reports to a callback in the thread that calls `report`."""

    def __init__(self, callback: Callable[[Progress], object] | None) -> None:
        self.interval_s = 2.0 if callback else math.inf  # between two reports on a step under way
        self.committed: list[Mapping[str, Any]] = []  # fields of the events
        self.warnings: list[str] = []
        self._callback = callback
        self._reports: queue.SimpleQueue[Progress] = queue.SimpleQueue()

    def event(self, event: Event) -> None:
        said, fields = event.message, event.fields
        match event.name:
            case "seeds_added":
                self._reports.put(Progress("seeds", 0, True, 0, 0, {}, said))
            case "step_started":
                self._reports.put(Progress(fields["step"], fields["round"], False, 0, fields["rows"], {}, said))
            case "step_committed":
                self.committed.append(fields)
                outcomes = visits_by_outcome([fields])
                done = sum(outcomes.values())
                self._reports.put(Progress(fields["step"], fields["round"], True, done, done, outcomes, said))
            case "waiting":
                round_ = self.committed[-1]["round"] if self.committed else 0
                self._reports.put(Progress("wait", round_, False, 0, 0, {}, said))
            case "warning":
                self.warnings.append(said)

    def running(self, running: Running) -> None:
        step, outcomes = running.step, dict(running.reported.outcomes)
        self._reports.put(Progress(step.kind, step.round, False, running.done, running.total, outcomes, line(running)))

    def busy(self, what: str, seconds: float) -> None:
        pass

    def close(self) -> None:
        pass

    def report(self) -> None:
        """Call the callback with what has happened since the last call."""
        while self._callback is not None and not self._reports.empty():
            self._callback(self._reports.get())


def visits_by_outcome(committed: Iterable[Mapping[str, Any]]) -> dict[str, int]:
    """Visits of the fetch steps among these, by outcome."""
    visits: Counter[str] = Counter()
    for step in committed:
        if step["step"] == "fetch":
            visits.update({outcome.value: step["counters"].get(outcome.value, 0) for outcome in Outcome})
    return dict(+visits)
