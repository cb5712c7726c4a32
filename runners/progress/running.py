"""The state of a step under way, as a value: what is known of it at one moment, and what follows from that."""

import dataclasses

from ...transforms.directory.crawl_dir import Step
from .reports import NOTHING, Reported

_WINDOW_S = 10.0
"""The time over which the current rate is measured."""


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
    samples: tuple[tuple[float, int], ...] = ()  # (time, requests) within the window

    def at(self, now: float, reported: Reported, waits: str | None = None) -> "Running":
        """Return the state at a later moment, with what is reported then, or what the step waits for."""
        samples = self.samples or ((self.started, 0),)
        while len(samples) > 1 and samples[1][0] <= now - _WINDOW_S:
            samples = samples[1:]
        samples = (*samples, (now, reported.requests))
        return dataclasses.replace(self, now=now, reported=reported, waits=waits, samples=samples)

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
    def rate(self) -> float:
        """Requests per second in the last seconds."""
        first, requests = self.samples[0] if self.samples else (self.now, 0)
        return max(0, self.reported.requests - requests) / (self.now - first) if self.now > first else 0.0

    @property
    def seconds_left(self) -> float | None:
        """Seconds until the queues of the workers are empty; None if that is not known yet.

        The largest of two bounds: all queued URLs at the mean rate, and the longest queue of a host at its delay. The
        round's time limits both.
        """
        known = self.reported
        if not known.queued or not self.mean_rate:
            return None
        left = max(known.queued / self.mean_rate, known.longest_queue_s)
        return left if known.ends_in_s is None else min(left, known.ends_in_s)

    @property
    def fraction(self) -> float | None:
        """The part of the step that is done, from 0 to 1; None if it is not known."""
        if self.step.kind == "fetch":
            all_of_it = min(self.total, self.done + self.reported.queued) if self.reported.queued else self.total
            return min(1.0, self.done / all_of_it) if all_of_it and self.reported.workers else None
        if stage := self.reported.stage:  # parsing is about half of the work
            parsed = min(1.0, stage.parsed / self.rows) if self.rows else 1.0
            return 0.5 * parsed if stage.number == 1 else 0.5 + 0.5 * (stage.number - 1) / stage.stages
        return None
