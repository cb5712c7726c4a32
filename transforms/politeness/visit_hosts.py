"""Visit each host's due URLs, politely."""

import dataclasses
from collections import deque
from collections.abc import Iterable, Iterator, Mapping
from datetime import UTC, datetime, timedelta
from typing import Any, NamedTuple

import apache_beam as beam
from apache_beam.utils.windowed_value import WindowedValue

from ..frontier.selection import Due, choose
from ..frontier.trap_budgets import Budgets
from ..http.dns import Names
from ..robots.lookup import known_robots
from ..settings import Traps
from ..storage.schemas import HostRow, RobotsRow
from ..traps.judge import compile_allow_list
from ..traps.novelty import unpack
from . import backoff, host_queue
from .clock import monotonic
from .host_stats import newest_row
from .scheduler import HostScheduler, VisitContext


class Work(NamedTuple):
    """What a host has to do in a round, and what is known of it."""

    host: str
    due: list[tuple]  # rows of Due; none for a host that is here for its queue's sake only
    robots: list[RobotsRow]
    row: HostRow | None
    addresses: list[str]  # if they were looked up already


def work_of(host: str, sides: Mapping[str, Iterable[Any]], context: VisitContext, now: datetime) -> Work | None:
    """The work of a host in a round; None if it has none.

    A host that is not due stays with all its URLs in the frontier, and is not given to the fetcher (SPEC B4, B5, C7).
    """
    politeness, row = context.politeness, newest_row(list(sides["hosts"]))
    wait_s = max(0.0, ((backoff.ready_at(row, politeness) or now) - now).total_seconds())
    due: list[Due] = []
    if wait_s <= min(backoff.patience(row["held_by"] if row else None, politeness), context.limits.round_time):
        left = context.limits.round_time - wait_s
        count = backoff.budget(context.limits, backoff.host_state(row), politeness, left)
        admit = _budgets(sides["traps"], context.traps).admit if context.traps.detect else None
        due = choose((Due._make(row) for rows in sides["due"] for row in rows), count, admit)
    if not due and (row is None or politeness.scope == "host"):
        return None
    return Work(host, [tuple(each) for each in due], list(sides["robots"]), row, [])


def _budgets(known: Iterable[dict[str, Any]], traps: Traps) -> Budgets:
    """The budgets of a host's templates; `known` are rows of traps and of trap_samples."""
    rows = list(known)
    forms = (form for row in rows if "forms" in row for form in unpack(row["forms"]))
    return Budgets((row for row in rows if "template" in row), forms, compile_allow_list(traps.allow))


def turn_of(work: Work, context: VisitContext, now: datetime) -> host_queue.HostTurn:
    """A host's turn, from what earlier rounds know of it."""
    known = known_robots(work.robots, context.identity.token, now)
    turn = host_queue.HostTurn(work.host, deque(map(Due._make, work.due)), known.current, known.expired)
    turn.state = backoff.host_state(work.row)
    if work.row:
        turn.held_by = work.row["held_by"]
    if ready_at := backoff.ready_at(work.row, context.politeness):
        turn.ready_at = monotonic(ready_at)
    return turn


def shared_ready_at(works: Iterable[Work], context: VisitContext) -> float:
    """When a queue that hosts share may be asked next, by what they answered in earlier rounds (monotonic clock)."""
    politeness = context.politeness
    return max(
        (
            monotonic(work.row["last_fetched_at"]) + backoff.shared_rest(backoff.host_state(work.row), politeness)
            for work in works
            if work.row and work.row["last_fetched_at"]
        ),
        default=0.0,
    )


def works_of(sides: dict[str, Iterable[Any]], context: VisitContext, now: datetime) -> list[Work]:
    """The works of all hosts of a domain."""
    by_host: dict[str, dict[str, list[Any]]] = {}
    for side, rows in sides.items():
        for host, row in rows:
            by_host.setdefault(host, {name: [] for name in sides})[side].append(row)
    works = (work_of(host, known, context, now) for host, known in sorted(by_host.items()))
    return [work for work in works if work]


class _WorkFn(beam.DoFn):
    """From what is known of the hosts of a domain to queues, with the works of each."""

    def __init__(self, context: VisitContext) -> None:
        self._context = context

    def start_bundle(self) -> None:
        self._names = Names(self._context.fetch)

    def process(self, pair: tuple[str, dict[str, Iterable[Any]]]) -> Iterator[tuple[str, list[tuple]]]:
        domain, sides = pair
        works = works_of(sides, self._context, datetime.now(UTC))
        scope = self._context.politeness.scope
        if scope == "domain" and works:
            yield domain, list(map(tuple, works))
        elif scope == "host":
            yield from ((work.host, [tuple(work)]) for work in works)
        else:
            for work in works:
                addresses = self._names.addresses_of(work.host)
                yield (
                    host_queue.shared_queue_name(work.host, scope, addresses),
                    [tuple(work._replace(addresses=addresses))],
                )


class _VisitFn(beam.DoFn):
    """Takes queues in while the bundle runs, and finishes all of them at its end."""

    def __init__(self, context: VisitContext) -> None:
        self._context = context

    def setup(self) -> None:
        """A worker starts: the time of the round runs from here on."""
        if self._context.deadline is None:
            deadline = datetime.now(UTC) + timedelta(seconds=self._context.limits.round_time)
            self._context = dataclasses.replace(self._context, deadline=deadline)

    def start_bundle(self) -> None:
        self._scheduler: HostScheduler | None = None

    def process(
        self,
        queue_to_works: tuple[str, list[tuple]],
        held: dict[str, datetime],
        window: Any = beam.DoFn.WindowParam,
        timestamp: Any = beam.DoFn.TimestampParam,
    ) -> Iterator[Any]:
        self._stamp = (timestamp, (window,))
        scheduler = self._scheduler = self._scheduler or HostScheduler(self._context, held)
        shared, works = queue_to_works[0], [Work._make(work) for work in queue_to_works[1]]
        now = datetime.now(UTC)
        for work in works:
            scheduler.names.learn(work.host, work.addresses)
        turns = [turn_of(work, self._context, now) for work in works if work.due]
        scheduler.add(shared, turns, shared_ready_at(works, self._context) if len(works) > 1 else 0.0)
        for event in scheduler.pump(wait=False):
            yield beam.pvalue.TaggedOutput(event.table, event.row)

    def finish_bundle(self) -> Iterator[Any]:
        if self._scheduler is None:
            return
        try:
            for event in self._scheduler.pump(wait=True):
                yield beam.pvalue.TaggedOutput(event.table, WindowedValue(event.row, *self._stamp))
        finally:
            self._scheduler.close()


class Visited(NamedTuple):
    """What `VisitHosts` gives: rows of the tables visits, robots and host_turns."""

    visits: "beam.PCollection[dict]"
    robots: "beam.PCollection[dict]"
    host_turns: "beam.PCollection[dict]"


class VisitHosts(beam.PTransform):
    """Visit every due URL of each host, politely; the URLs of one host stay together, and hosts that share a queue.

    Takes (registered domain, {"due": (host, lists of Due as tuples), "robots": (host, row), "hosts": (host, row),
    "traps": (host, row of traps or trap_samples)}) and `held`: one dict of the hosts that may not be asked yet, with
    the time until then. The hosts of a domain come to one worker, for they often have their robots.txt from one
    another. Every URL of a host's budget becomes exactly one visit, whatever happens to it; beyond the budget, or that
    of its template, it becomes none and stays in the frontier.
    """

    def __init__(self, context: VisitContext, held: beam.PCollection[dict[str, datetime]]) -> None:
        super().__init__()
        self._context = context
        self._held = held

    def expand(self, domain_to_sides: beam.PCollection[tuple[str, dict[str, Any]]]) -> "Visited":
        queue_to_works = domain_to_sides | "Work" >> beam.ParDo(_WorkFn(self._context))
        if self._context.politeness.scope == "address":
            queue_to_works = (
                queue_to_works
                | "Share" >> beam.GroupByKey()
                | "Join" >> beam.MapTuple(lambda shared, works: (shared, [work for some in works for work in some]))
            )
        done = queue_to_works | "Visit" >> beam.ParDo(
            _VisitFn(self._context), beam.pvalue.AsSingleton(self._held)
        ).with_outputs("visits", "robots", "host_turns")
        return Visited(done.visits, done.robots, done.host_turns)
