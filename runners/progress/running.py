"""A step under way: what its workers have reported, in files that the driver reads, and what follows from that."""

import dataclasses
import json
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple, TypeVar

from ...transforms.directory.crawl_dir import Step
from ...transforms.files import filesystem
from ...transforms.outcomes import count_requests
from ...transforms.politeness.workers.reports import Failure, Queue

T = TypeVar("T")

_NAMED = 10  # queues and failures


class Stage(NamedTuple):
    """The furthest stage of a step on which a worker has reported."""

    number: int  # from 1
    stages: int
    name: str
    parsed: int  # rows of the first stage so far, over all workers


class History(NamedTuple):
    """Requests over time, in buckets of equal width."""

    began: float = 0.0  # POSIX time
    width_s: float = 2.0
    counts: tuple[int, ...] = ()


class Reported(NamedTuple):
    """The sum of the workers' reports."""

    workers: int = 0  # that have reported
    outcomes: Mapping[str, int] = {}  # visits
    bytes: int = 0  # of bodies
    active: int = 0  # hosts with a request under way
    waiting: int = 0  # hosts in their ordinary delay
    backing_off: int = 0  # hosts that failed or asked for a longer wait
    queued: int = 0  # URLs that the workers have taken and not visited yet
    longest_queue_s: float = 0.0  # until the longest queue of a host is empty, at its delay
    ends_in_s: float | None = None  # until the time of the round is over
    stage: Stage | None = None
    rate: float = 0.0  # requests per second in the last ten seconds
    history: History = History()
    queues: tuple[Queue, ...] = ()  # the longest, those that hold the round first
    failures: tuple[Failure, ...] = ()  # visits, newest first
    is_taking: bool = False  # a worker takes further hosts, whose URLs are not among the queued ones

    @property
    def visits(self) -> int:
        return sum(self.outcomes.values())

    @property
    def requests(self) -> int:
        """Those of the visits for which a request was sent."""
        return count_requests(self.outcomes)


NOTHING = Reported()


def add_up(reports: Iterable[Mapping[str, Any]]) -> Reported:
    """Return the sum of reports; those of other versions may lack fields."""
    reports = list(reports)
    fetching = [report for report in reports if "outcomes" in report]
    stages = [report for report in reports if "stage" in report]
    outcomes: Counter[str] = Counter()
    for report in fetching:
        outcomes.update(report["outcomes"])
    sums = {
        name: sum(report.get(name, 0) for report in fetching)
        for name in ("bytes", "active", "waiting", "backing_off", "queued")
    }
    return Reported(
        workers=len(reports),
        outcomes=dict(outcomes),
        **sums,
        is_taking=any(report.get("is_taking") for report in fetching),
        longest_queue_s=max((report.get("longest_queue_s", 0.0) for report in fetching), default=0.0),
        ends_in_s=max((left for report in fetching if (left := report.get("ends_in_s")) is not None), default=None),
        stage=_furthest(stages),
        rate=sum(report["requests"]["rate"] for report in fetching if "requests" in report and report["queued"]),
        history=_history([report["requests"] for report in fetching if "requests" in report]),
        queues=tuple(sorted(_named(Queue, "queues", fetching), key=lambda q: (-q.holds, -q.seconds, q.name))[:_NAMED]),
        failures=tuple(sorted(_named(Failure, "failures", fetching), key=lambda f: -f.at)[:_NAMED]),
    )


def _named(kind: Callable[..., T], name: str, reports: Iterable[Mapping[str, Any]]) -> list[T]:
    return [kind(**row) for report in reports for row in report.get(name, ())]


def _history(parts: Sequence[Mapping[str, Any]]) -> History:
    """Return the sum of the workers' requests over time; a bucket counts where its middle is."""
    parts = [part for part in parts if part["began"] is not None]
    if not parts:
        return History()
    began, width_s = min(part["began"] for part in parts), max(part["width_s"] for part in parts)
    counts: Counter[int] = Counter()
    for part in parts:
        for number, count in enumerate(part["buckets"]):
            middle = part["began"] + (number + 0.5) * part["width_s"]
            counts[int((middle - began) / width_s)] += count
    return History(began, width_s, tuple(counts[place] for place in range(max(counts, default=-1) + 1)))


def _furthest(reports: Sequence[Mapping[str, Any]]) -> Stage | None:
    if not reports:
        return None
    last = max(reports, key=lambda report: report["stage"])
    parsed = sum(report["rows"] for report in reports if report["stage"] == 1)
    return Stage(last["stage"], last["stages"], last["name"], parsed)


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


@dataclasses.dataclass(frozen=True)
class Running:
    """A step at the moment `now`; times are seconds of the monotonic clock."""

    step: Step
    rows: int  # URLs in the frontier, or visits to process
    started: float
    at_most: int | None = None  # visits, by the limits of pages
    round: int = 0  # of the rounds of this command, from 1; 0: not known
    rounds: int | None = None  # that this command runs; None: until nothing is left
    now: float = 0.0
    reported: Reported = NOTHING
    waits: str | None = None  # what it waits for, before the first report
    reports: str = ""  # the common prefix of the workers' reports

    def read(self) -> Reported:
        """Return what the workers have reported by now."""
        return add_up(read_reports(self.reports))

    def at(self, now: float, reported: Reported, waits: str | None = None) -> "Running":
        """Return the state at a later moment, with what is reported then, or what the step waits for."""
        return dataclasses.replace(self, now=now, reported=reported, waits=waits)

    @property
    def seconds(self) -> float:
        """Since the start of the step."""
        return max(0.0, self.now - self.started)

    @property
    def done(self) -> int:
        """Visits so far, or parsed visits in an update step."""
        if self.step.kind == "fetch":
            return self.reported.visits
        return self.reported.stage.parsed if self.reported.stage else 0

    @property
    def total(self) -> int:
        """The most that the step can process."""
        return self.rows if self.at_most is None else min(self.rows, self.at_most)

    @property
    def mean_rate(self) -> float:
        """Requests per second since the start of the step."""
        return self.reported.requests / self.seconds if self.seconds else 0.0

    @property
    def _to_come(self) -> int:
        """URLs that are queued or may be taken yet, at most."""
        queued = self.reported.queued
        return max(queued, self.total - self.done) if self.reported.is_taking else queued

    @property
    def seconds_left(self) -> float | None:
        """Seconds until the queues of the workers are empty; None if that is not known yet.

        The largest of two bounds: all URLs to come at the mean rate, and the longest queue of a host at its delay. The
        round's time limits both.
        """
        known = self.reported
        if not known.queued or not self.mean_rate:
            return None
        left = max(self._to_come / self.mean_rate, known.longest_queue_s)
        return left if known.ends_in_s is None else min(left, known.ends_in_s)

    @property
    def fraction(self) -> float | None:
        """The part of the step that is done, from 0 to 1; None if it is not known."""
        if self.step.kind == "fetch":
            all_of_it = min(self.total, self.done + self._to_come) if self.reported.queued else self.total
            return min(1.0, self.done / all_of_it) if all_of_it and self.reported.workers else None
        if stage := self.reported.stage:  # parsing is about half of the work
            parsed = min(1.0, stage.parsed / self.rows) if self.rows else 1.0
            return 0.5 * parsed if stage.number == 1 else 0.5 + 0.5 * (stage.number - 1) / stage.stages
        return None
