"""Visit each host's due URLs, politely."""

import dataclasses
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import apache_beam as beam

from ..http.dns import Names
from ..storage.crawl_dir import CrawlDir
from ..storage.pieces import NOTHING_LEFT, find_leftovers
from . import host_queue
from .adopted import Adopted
from .keeper import Keeper
from .scheduler import Event, HostScheduler, VisitContext
from .works import Work, shared_ready_at, turn_of, works_of


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
    """Takes queues in while the bundle runs, and finishes all of them at its end; writes durable pieces."""

    def __init__(self, context: VisitContext) -> None:
        self._context = context

    def setup(self) -> None:
        """A worker starts: the time of the round runs from here on."""
        if self._context.deadline is None:
            deadline = datetime.now(UTC) + timedelta(seconds=self._context.limits.round_time)
            self._context = dataclasses.replace(self._context, deadline=deadline)

    def start_bundle(self) -> None:
        self._scheduler: HostScheduler | None = None

    def process(self, queue_to_works: tuple[str, list[tuple]], held: dict[str, datetime]) -> None:
        scheduler = self._scheduler = self._scheduler or self._open(held)
        shared, works = queue_to_works[0], [Work._make(work) for work in queue_to_works[1]]
        works = [self._adopted.take_over(work) for work in works]
        now = datetime.now(UTC)
        for work in works:
            scheduler.names.learn(work.host, work.addresses)
        turns = [turn_of(work, self._context, now) for work in works if work.due]
        scheduler.add(shared, turns, shared_ready_at(works, self._context) if len(works) > 1 else 0.0)
        self._keep(scheduler.pump(wait=False))

    def finish_bundle(self) -> None:
        if self._scheduler is None:
            return
        self._keep(self._scheduler.pump(wait=True))
        self._scheduler.close()
        self._keeper.close(self._scheduler.turn_rows())

    def _open(self, held: dict[str, datetime]) -> HostScheduler:
        """Start, or go on after the complete pieces of a bundle that has failed."""
        context, crawl = self._context, CrawlDir(self._context.root)
        leftovers = find_leftovers(crawl, context.attempt)
        self._adopted = Adopted.read(crawl.root, leftovers)
        if leftovers != NOTHING_LEFT:  # another bundle may have sent a request to any host until now
            context = dataclasses.replace(context, requests_before=datetime.now(UTC))
        self._keeper = Keeper(crawl, context.attempt, context.round, context.limits.piece_time)
        return HostScheduler(context, held | self._adopted.held(context.politeness), keeper=self._keeper)

    def _keep(self, events: Iterable[Event]) -> None:
        """Take events in. If one fails the bundle, what was fetched is durable before that is raised."""
        try:
            for event in events:
                self._keeper.add(event.table, event.row)
        except Exception:
            if scheduler := self._scheduler:
                for event in scheduler.abandon():
                    self._keeper.add(event.table, event.row)
                self._keeper.close(scheduler.turn_rows())
            raise


class VisitHosts(beam.PTransform):
    """Visit every due URL of each host, politely; the URLs of one host stay together, and hosts that share a queue.

    Takes (registered domain, {"due": (host, lists of Due as tuples), "robots": (host, row), "hosts": (host, row),
    "traps": (host, row of traps or trap_samples), "visited": (host, keys of URLs)}) and `held`: one dict of the hosts
    that may not be asked yet, with the time until then. The hosts of a domain come to one worker, for they often have
    their robots.txt from one another. Every URL of a host's budget that was not visited yet becomes exactly one visit,
    whatever happens to it; beyond the budget, or that of its template, it becomes none and stays in the frontier.

    Rows of visits, robots and host_turns are written in durable pieces (`storage.pieces`), which the driver commits.
    """

    def __init__(self, context: VisitContext, held: beam.PCollection[dict[str, datetime]]) -> None:
        super().__init__()
        self._context = context
        self._held = held

    def expand(self, domain_to_sides: beam.PCollection[tuple[str, dict[str, Any]]]) -> beam.PCollection[None]:
        queue_to_works = domain_to_sides | "Work" >> beam.ParDo(_WorkFn(self._context))
        if self._context.politeness.scope == "address":
            queue_to_works = (
                queue_to_works
                | "Share" >> beam.GroupByKey()
                | "Join" >> beam.MapTuple(lambda shared, works: (shared, [work for some in works for work in some]))
            )
        return queue_to_works | "Visit" >> beam.ParDo(_VisitFn(self._context), beam.pvalue.AsSingleton(self._held))
