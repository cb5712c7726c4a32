"""Visit each host's due URLs, politely."""

from collections import deque
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from typing import Any, NamedTuple

import apache_beam as beam
from apache_beam.utils.windowed_value import WindowedValue

from transforms import hosts
from transforms.frontier import Due, budget, choose
from transforms.robots_asking import known_robots
from transforms.scheduler import HostScheduler, VisitContext


class _VisitFn(beam.DoFn):
    """Takes hosts in while the bundle runs, and finishes all of them at its end."""

    def __init__(self, context: VisitContext) -> None:
        self._context = context

    def start_bundle(self) -> None:
        self._scheduler = HostScheduler(self._context)

    def process(
        self,
        host_to_work: tuple[str, dict[str, Iterable[Any]]],
        window: Any = beam.DoFn.WindowParam,
        timestamp: Any = beam.DoFn.TimestampParam,
    ) -> Iterator[Any]:
        self._stamp = (timestamp, (window,))
        host, work = host_to_work
        rows = (Due._make(row) for rows in work["due"] for row in rows)
        settings = self._context.settings
        robots = known_robots(work["robots"], self._context.identity.token, datetime.now(UTC))
        delay = max((hosts.delay(settings.politeness.delay, known) for known in robots.fresh.values()), default=0.0)
        due = choose(rows, budget(settings.limits, max(delay, settings.politeness.delay)))
        if due:
            asked = [*work["asked"], *(row["fetched_at"] for row in work["robots"]), self._context.asked_before]
            self._scheduler.add(host, deque(due), robots, max(filter(None, asked), default=None))
        for event in self._scheduler.pump(wait=False):
            yield beam.pvalue.TaggedOutput(event.table, event.row)

    def finish_bundle(self) -> Iterator[Any]:
        try:
            for event in self._scheduler.pump(wait=True):
                yield beam.pvalue.TaggedOutput(event.table, WindowedValue(event.row, *self._stamp))
        finally:
            self._scheduler.close()


class Visited(NamedTuple):
    """What `VisitHosts` gives: rows of the tables visits and robots."""

    visits: "beam.PCollection[dict]"
    robots: "beam.PCollection[dict]"


class VisitHosts(beam.PTransform):
    """Visit every due URL of each host, politely; the URLs of one host stay together.

    Takes (host, {"due": lists of Due as tuples, "robots": rows, "asked": when it last answered}). Every URL of a
    host's budget becomes exactly one visit, whatever happens to it; beyond the budget it becomes none and stays in the
    frontier.
    """

    def __init__(self, context: VisitContext) -> None:
        super().__init__()
        self._context = context

    def expand(self, host_to_work: beam.PCollection[tuple[str, dict[str, Any]]]) -> "Visited":
        done = host_to_work | "Visit" >> beam.ParDo(_VisitFn(self._context)).with_outputs("visits", "robots")
        return Visited(done.visits, done.robots)
