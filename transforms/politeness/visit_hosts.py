"""Visits each host's due URLs within the politeness limits."""

import dataclasses
import itertools
import pickle
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import apache_beam as beam
from apache_beam.utils.windowed_value import WindowedValue

from ..directory.crawl_dir import CrawlDir
from ..directory.pieces import NOTHING_LEFT, find_leftovers
from ..files import filesystem
from ..http.dns import Names
from ..robots.lookup import reply_of
from ..tables.schemas import RobotsRow
from ..urls.canonical import host as host_of, host_name
from . import backoff, host_queue
from .adopted import Adopted
from .context import CHECK_INTERVAL, Event, VisitContext
from .scheduler import HostScheduler
from .workers.keeper import Keeper
from .works import Work, shared_ready_at, turn_of, works_of


class _WorkFn(beam.DoFn):
    """Converts the rows of a domain's hosts to works, by what is to be in one worker: the domain, or an address."""

    def __init__(self, context: VisitContext) -> None:
        self._context = context

    def start_bundle(self) -> None:
        self._names = Names(self._context.fetch)

    def process(self, pair: tuple[str, dict[str, Iterable[Any]]]) -> Iterator[tuple[str, list[tuple]]]:
        domain, sides = pair
        works = works_of(sides, self._context, datetime.now(UTC))
        if self._context.politeness.scope != "address":
            if works:
                yield domain, list(map(tuple, works))
            return
        for name, ports in _by_name(works):
            named = [work._replace(addresses=self._names.addresses_of(work.host)) for work in ports]
            addresses = [address for work in named for address in work.addresses]
            yield host_queue.shared_queue_name(name, "address", addresses), list(map(tuple, named))


def _by_name(works: Iterable[Work]) -> Iterator[tuple[str, list[Work]]]:
    def name(work: Work) -> str:
        return host_name(work.host)

    for each, ports in itertools.groupby(sorted(works, key=name), name):
        yield each, list(ports)


class _VisitFn(beam.DoFn):
    """Takes elements while requests could begin, and completes all queues at the end; writes durable pieces.

    So of a million hosts, those that no connection is free for are not in memory.
    """

    runs_at_once = True  # tells the runner `in_memory` to leave the bundle open while elements come

    def __init__(self, context: VisitContext) -> None:
        self._context = context

    def setup(self) -> None:
        """Start the time of the round for this worker."""
        if self._context.deadline is None:
            deadline = datetime.now(UTC) + timedelta(seconds=self._context.limits.round_time)
            self._context = dataclasses.replace(self._context, deadline=deadline)
        filesystem.store_of(self._context.root).keep(self._context.root)

    def teardown(self) -> None:
        self.start_bundle()  # without the hosts of the last one: the pipeline refers to this function for longer
        filesystem.store_of(self._context.root).release(self._context.root)

    def start_bundle(self) -> None:
        self._scheduler: HostScheduler | None = None

    def process(
        self,
        key_to_works: tuple[str, Iterable[list[tuple]]],
        held: dict[str, datetime],
        window: Any = beam.DoFn.WindowParam,
        timestamp: Any = beam.DoFn.TimestampParam,
    ) -> Iterator[tuple]:
        self._stamp = (timestamp, (window,))
        key, works = key_to_works[0], [Work._make(work) for some in key_to_works[1] for work in some]
        scheduler = self._scheduler = self._scheduler or self._open(held)
        works = [self._adopted.take_over(work) for work in works]
        for shared, some in _by_name(works) if self._context.politeness.scope == "host" else [(key, works)]:
            self._add(scheduler, shared, some)
        self._keep(scheduler.pump(wait=False))
        yield from self._moved(scheduler)

    def _add(self, scheduler: HostScheduler, shared: str, works: list[Work]) -> None:
        for work in works:
            scheduler.names.learn(work.host, work.addresses)
        now = datetime.now(UTC)
        turns = [turn_of(work, self._context, now) for work in works if work.due]
        scheduler.add(shared, turns, shared_ready_at(works, self._context) if len(works) > 1 else 0.0)

    def finish_bundle(self) -> Iterator[WindowedValue]:
        if self._scheduler is None:
            return
        self._keep(self._scheduler.pump(wait=True))
        self._scheduler.close()
        self._keeper.close(self._scheduler.turn_rows())
        for work in self._moved(self._scheduler):
            yield WindowedValue(work, *self._stamp)

    def _open(self, held: dict[str, datetime], hosts: set[str] | None = None) -> HostScheduler:
        """Start, or continue after the complete pieces of failed or earlier bundles.

        With `hosts`, only their URLs and robots.txt files are read from the pieces.
        """
        context, crawl = self._context, CrawlDir(self._context.root)
        leftovers = find_leftovers(crawl, context.attempt)
        self._adopted = Adopted.read(crawl.root, leftovers, hosts)
        if leftovers != NOTHING_LEFT:  # another bundle may have sent a request to any host until now
            self._context = context = self._after_leftovers(context)
        self._keeper = Keeper(crawl, context.attempt, context.round, context.limits.piece_time)
        held = held | self._adopted.held(context.politeness)
        scheduler = HostScheduler(context, held, keeper=self._keeper)
        for row in (row for rows in self._adopted.robots.values() for row in rows):
            scheduler.robots.answers.put(f"{row['origin']}/robots.txt", reply_of(row), row["fetched_at"])
        return scheduler

    def _after_leftovers(self, context: VisitContext) -> VisitContext:
        """The context after bundles that have requested: no request to the ports of a name before their delays end."""
        found = backoff.by_name(self._adopted.hosts.values(), context.politeness)
        latest = {name: max(moment, context.name_ready_at.get(name, moment)) for name, moment in found.items()}
        names = {**context.name_ready_at, **latest}
        return dataclasses.replace(context, requests_before=datetime.now(UTC) + CHECK_INTERVAL, name_ready_at=names)

    def _moved(self, scheduler: HostScheduler) -> Iterator[tuple]:
        """Yield the works of hosts whose robots.txt redirects to a host that another worker may process."""
        moved, scheduler.robots.moved = scheduler.robots.moved, []
        for host, due, rows, search, state in moved:
            robots: list[RobotsRow] = pickle.loads(rows) if rows else []
            rest = [tuple(each) for each in due]
            yield tuple(Work(host, rest, robots, state, [], dataclasses.astuple(search)))

    def _keep(self, events: Iterable[Event]) -> None:
        """Store events. If one raises, fetched rows are made durable before the exception propagates."""
        try:
            for event in events:
                self._keeper.add(event.table, event.row)
        except Exception:
            if scheduler := self._scheduler:
                for event in scheduler.abandon():
                    self._keeper.add(event.table, event.row)
                self._keeper.close(scheduler.turn_rows())
            raise


class _VisitMovedFn(_VisitFn):
    """Visits the hosts whose robots.txt redirects to other domains: all in one worker, after all others.

    So each target is requested once, in its own queue, with the host state that the other workers have stored.
    """

    def process(  # type: ignore[override]
        self,
        key_to_works: tuple[int, Iterable[tuple]],
        held: dict[str, datetime],
        window: Any = beam.DoFn.WindowParam,
        timestamp: Any = beam.DoFn.TimestampParam,
    ) -> Iterator[tuple]:
        works = [Work._make(work) for work in key_to_works[1]]
        hosts = {host for work in works if work.search for host in (work.host, host_of(work.search[1]))}
        self._scheduler = self._scheduler or self._open(held, hosts)
        scope, queues = self._context.politeness.scope, {}  # type: ignore[var-annotated]
        for work in works:
            addresses = self._scheduler.names.addresses_of(work.host) if scope == "address" else []
            name = host_queue.shared_queue_name(work.host, scope, addresses)
            queues.setdefault(name, []).append(tuple(work._replace(addresses=addresses)))
        for name, some in queues.items():
            yield from super().process((name, [some]), held, window, timestamp)


class VisitHosts(beam.PTransform):
    """Visit every due URL of each host within the politeness limits; hosts of one domain or queue are in one worker.

    Takes (registered domain, {"due": (host, lists of Due as tuples), "robots": (host, row), "hosts": (host, row),
    "traps": (host, row of traps or trap_samples), "visited": (host, keys of URLs)}) and `held`: one dict of the hosts
    under a delay, each with its end. The robots.txt files of a domain often redirect to one another. Every URL of a
    host's budget that was not visited yet becomes exactly one visit, whatever its outcome; beyond the budget, or that
    of its template, it becomes none and stays in the frontier. So does a URL that is not requested in a round for what
    it waited for before (`url_states.waits_already`).

    Rows of visits, robots and host_turns are written in durable pieces (`directory.pieces`), which the driver commits.
    """

    def __init__(self, context: VisitContext, held: beam.PCollection[dict[str, datetime]]) -> None:
        super().__init__()
        self._context = context
        self._held = held

    def expand(self, domain_to_sides: beam.PCollection[tuple[str, dict[str, Any]]]) -> beam.PCollection[tuple]:
        works = domain_to_sides | "Work" >> beam.ParDo(_WorkFn(self._context)) | "Together" >> beam.GroupByKey()
        held = beam.pvalue.AsSingleton(self._held)
        first = dataclasses.replace(self._context, emits_moved=True)
        moved = works | "Visit" >> beam.ParDo(_VisitFn(first), held)
        return (
            moved
            | "OneKey" >> beam.Map(lambda work: (0, work))
            | "InOneWorker" >> beam.GroupByKey()
            | "VisitMoved" >> beam.ParDo(_VisitMovedFn(self._context), held)
        )
