"""The turns of a bundle's hosts: their queues, their delays after responses, and their rows."""

import dataclasses
import random
from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime, timedelta
from typing import NamedTuple, cast

from ..frontier.selection import Due
from ..frontier.url_states import waits_already
from ..http.reply import Reply, content_type, price, redirect_target, retry_after
from ..outcomes import REQUESTED, Outcome
from ..tables.schemas import HostRow, VisitRow
from ..tables.sitemap_terms import EXTERNAL
from ..urls.canonical import host_name, origin as origin_of
from . import backoff
from .census import take_census
from .clock import Clock, monotonic
from .context import CHECK_INTERVAL, Event, VisitContext
from .host_queue import HostTurn
from .host_stats import Tally, turn_row
from .shared_queues import NOW, SharedQueues
from .url_queue import UrlQueue
from .workers.keeper import Keeper
from .workers.progress import Report
from .workers.reports import Census

FOR_EVER = float("inf")

_RESTART_S = CHECK_INTERVAL.total_seconds()  # a resumed step requests nothing for so long, and for the configured delay


class _Complete(NamedTuple):
    """What is kept of a host whose turn is complete: another host's robots.txt may still lead to it."""

    host: str
    state: backoff.HostState
    ready_at: float
    name_ready_at: float
    held_by: str | None
    last_answer: datetime | None


class Turns:
    """All hosts of a bundle; no request starts after `deadline`.

    Of those whose turn is complete, a tenth of the memory is kept once their rows are written.
    """

    def __init__(self, context: VisitContext, clock: Clock, keeper: Keeper | None) -> None:
        self._context = context
        self._politeness = context.politeness
        self._clock = clock
        self._keeper = keeper
        self._random = random.Random()
        self._by_host: dict[str, HostTurn] = {}
        self._by_name: dict[str, list[HostTurn]] = {}
        self._complete: dict[str, list[_Complete]] = {}  # by name, too: all ports of it are complete
        self._not_before = 0.0
        if context.requests_before:
            self._not_before = monotonic(context.requests_before, clock) + self._politeness.delay
        self.deadline = monotonic(context.deadline, clock) if context.deadline else FOR_EVER  # monotonic clock
        self.queues = SharedQueues(lambda: self.deadline)
        self.report = Report(lambda: clock.utc().timestamp())

    def find(self, host: str) -> HostTurn | None:
        """Return the turn of a host of the bundle; one that was complete goes on."""
        for port in self._complete.pop(name := host_name(host), ()):
            turn = HostTurn(port.host, UrlQueue(), state=port.state, ready_at=port.ready_at, held_by=port.held_by)
            turn.name_ready_at, turn.tally.last_answer = port.name_ready_at, port.last_answer
            self._by_host[port.host] = turn
            self._by_name.setdefault(name, []).append(turn)
            if self._politeness.scope == "host":
                self.queues.join(self.queues.open(name), turn)
        return self._by_host.get(host)

    def add(self, name: str, turns: Iterable[HostTurn], ready_at: float = 0.0) -> Iterator[HostTurn]:
        """Add a shared queue with its hosts; no request to them starts before `ready_at` (monotonic clock).

        Yields the turns that are not scheduled, because they wait for a robots.txt of another host.
        """
        shared = self.queues.open(name, ready_at)
        for turn in turns:
            known = self.find(turn.host) or self._by_host.setdefault(turn.host, turn)
            if known is not turn:  # added earlier for another host's robots.txt
                known.queue, known.robots, known.last_good = turn.queue, turn.robots, turn.last_good
                known.robots_rows = turn.robots_rows
                known.state, known.ready_at = turn.state, max(known.ready_at, turn.ready_at)
                known.tally.last_answer = known.tally.last_answer or turn.tally.last_answer
            ports = self._by_name.setdefault(known.name, [])
            if known is turn:
                ports.append(turn)
            known.ready_at = max(known.ready_at, self._not_before, *(port.name_ready_at for port in ports))
            self.queues.join(shared, known)
            if known.is_away:
                yield known
            else:
                self.schedule(known)

    def census(self, now: float, under_way: Mapping[str, float]) -> Census:
        """Return the census of all queues; `under_way` has the start of the request of each that has one."""
        named = ((self.queues.name_of(turn), turn) for turn in self._by_host.values())
        answer_s = self._context.fetch.read_timeout
        return take_census(named, now, self.deadline, self._politeness, under_way, answer_s)

    def schedule(self, turn: HostTurn, look: bool = False) -> None:
        """Schedule a host's turn for when it is ready.

        The turn is immediate if the host will not be ready in this round, or if visits may end without a request
        (`look`), so that these do not wait for the delay.
        """
        deadline = self.deadline if turn.delegated else min(self.deadline, turn.ends_at)
        self.queues.schedule(turn, NOW if look or turn.ready_at >= deadline else turn.ready_at)

    def rest(
        self,
        turn: HostTurn,
        end: Outcome,
        reply: Reply,
        ended: float,
        robots_last: float = FOR_EVER,
        due: Due | None = None,
        is_of_origin: bool = False,
    ) -> None:
        """Set a host's delay after its response, also about a URL of its queue (`due`).

        A failure `is_of_origin` if the host answers on another port or with the other scheme: the delay is the usual
        one, so that a link to a closed port holds no page back. 429 and Retry-After still count for the host.

        A 429 to a URL that only other sites link holds its template back, and the host as briefly as another failure,
        if the host has answered in this round: whoever else gets a 429 then waits as long as it says.

        A Crawl-delay not shorter than the lifetime of robots.txt (`robots_last`, seconds) is ignored after robots.txt
        itself: otherwise no page would ever be requested.
        """
        wanted = retry_after(reply.headers, self._utc(ended)) if end in backoff.HOST_FAILURES else None
        if is_of_origin and wanted is None and reply.status != 429:
            self._hold(turn, ended, self.usual_rest(turn))
            return
        is_of_template, is_news = False, True
        if due is not None:
            is_linked_only = reply.status == 429 and self._is_of_others(turn, due)
            wanted = None if is_linked_only else wanted
            is_of_template = is_linked_only or backoff.may_be_of_template(end, wanted)
            is_news = self._note(turn.queue, due, end)
            if is_linked_only:
                turn.queue.set_aside(due)
        turn.state = backoff.after(turn.state, end, reply.elapsed_s, is_news or not is_of_template)
        counted = self._state(turn)
        if counted.crawl_delay >= robots_last:
            counted = dataclasses.replace(counted, crawl_delay=0.0)
        rest = backoff.rest(counted, end, wanted, self._politeness, self._random.random())
        if reply.status == 429 and rest.why in backoff.SILENT:
            rest = rest._replace(why="backoff")  # the host's word about all requests
        if is_of_template and rest.why == "backoff" and turn.state.failures == 1:
            head = turn.queue.head()
            if head and not turn.queue.is_failing(head):
                rest = rest._replace(why=backoff.TEMPLATE)
        self._hold(turn, ended, rest)
        if self._keeper and rest.seconds > self._politeness.delay + _RESTART_S:
            row = self.row(turn, Tally(last_answer=self._utc(ended)))
            self._keeper.promise(cast(HostRow, {name: row[name] for name in backoff.STATE_COLUMNS}))  # type: ignore[literal-required]

    def _hold(self, turn: HostTurn, ended: float, rest: backoff.Rest) -> None:
        """Set a host's delay, and that of the other ports of its name: theirs is the usual one if it is silent."""
        turn.ready_at, turn.held_by = ended + rest.seconds, rest.why
        ports = self._by_name[turn.name]
        if len(ports) > 1 and rest.why in backoff.SILENT:
            rest = self.usual_rest(turn)
        turn.name_ready_at = ended + rest.seconds
        for port in ports:
            if port.ready_at < turn.name_ready_at:
                port.ready_at, port.held_by = turn.name_ready_at, rest.why

    def usual_rest(self, turn: HostTurn) -> backoff.Rest:
        """Return a host's delay after a success."""
        return backoff.usual_rest(self._state(turn), self._politeness)

    def _state(self, turn: HostTurn) -> backoff.HostState:
        """Return the state of a host, with the largest Crawl-delay of the ports of its name."""
        ports = self._by_name[turn.name]
        if len(ports) == 1:
            return turn.state
        return dataclasses.replace(turn.state, crawl_delay=max(port.state.crawl_delay for port in ports))

    def ports(self, turn: HostTurn) -> list[HostTurn]:
        """Return the turns of all ports of a host's name."""
        return self._by_name[turn.name]

    @staticmethod
    def _is_of_others(turn: HostTurn, due: Due) -> bool:
        """Return whether only other sites link a URL of a host that has answered in this round, and not failed since.

        RFC 6585, 4 leaves open whether a server counts requests for a resource or for all of them.
        """
        return bool(due.foreign) and turn.state.failures == 0 and turn.queue.has_answered

    @staticmethod
    def _note(queue: UrlQueue, due: Due, end: Outcome) -> bool:
        """Note in a host's queue how a request ended; return whether it tells more than the host's failures so far."""
        if end in backoff.BLAMED_ON_TEMPLATES:
            return queue.failed(due)
        if end not in backoff.HOST_FAILURES:
            queue.answered(due)
        return True

    def _utc(self, moment: float) -> datetime:
        return self._clock.utc() - timedelta(seconds=self._clock.monotonic() - moment)

    def trim(self, turn: HostTurn) -> None:
        """Drop the URLs that do not fit into the round; they stay in the frontier, without a visit."""
        left = self.deadline - self._clock.monotonic()
        busy = sum(bool(port.queue) for port in self._by_name[turn.name])
        count = backoff.budget(self._context.limits, self._state(turn), self._politeness, left, max(1, busy))
        turn.queue.trim(count)

    def goes_on_waiting(self, turn: HostTurn, due: Due, end: Outcome) -> bool:
        """Return whether a visit without a request changes nothing; the URL then stays in the frontier without it."""
        if not waits_already(due.reason, due.due_at, end, turn.state.failures, self._context.limits):
            return False
        turn.tally.has_waited = True
        return True

    def visit(self, turn: HostTurn, due: Due, end: Outcome, reply: Reply, rule: str) -> Event:
        """Return the row of a visit that has ended, and count it."""
        if end is Outcome.PAYMENT_REQUIRED:
            reply = reply._replace(error=price(reply.headers))
        self.report.count(end, reply, due.url)
        turn.tally.visit(end, reply.status)
        row = visit_row(turn, due, end, reply) | VisitRow(
            round=self._context.round, fetched_at=self._clock.utc(), robots_rule=rule or None
        )
        return Event("visits", row)

    def rows(self) -> Iterator[HostRow]:
        """Yield a row for each host visited, requested or waited for since the last call."""
        for turn in self._by_host.values():
            if turn.tally.is_any:
                row = self.row(turn)
                turn.tally = Tally(last_answer=turn.tally.last_answer)
                yield row
        for name in [name for name, ports in self._by_name.items() if all(turn.is_complete for turn in ports)]:
            ports = [self._by_host.pop(turn.host) for turn in self._by_name.pop(name)]
            if self._politeness.scope == "host":  # else the queue may be that of other names
                self.queues.drop(name)
            self._complete[name] = [
                _Complete(
                    turn.host, turn.state, turn.ready_at, turn.name_ready_at, turn.held_by, turn.tally.last_answer
                )
                for turn in ports
            ]

    def row(self, turn: HostTurn, tally: Tally | None = None) -> HostRow:
        """Return the row of table host_turns for a host, with its own tally unless another is given."""
        rests = turn.ready_at - self._clock.monotonic()
        not_before = self._clock.utc() + timedelta(seconds=rests) if turn.ready_at else None
        return turn_row(turn.host, self._context.round, tally or turn.tally, turn.state, not_before, turn.held_by)


def visit_row(turn: HostTurn, due: Due, end: Outcome, reply: Reply) -> VisitRow:
    """Return the row of table visits for a URL of a host's turn, without the columns that the turn does not know."""
    robots = turn.robots.get(origin_of(due.url))
    applied = robots if reply.status else None
    return {
        "url_key": due.url_key,
        "url": due.url,
        "host": due.host,
        "outcome": end.value,
        "status": reply.status,
        "redirect_to": redirect_target(due.url, reply) if end is Outcome.REDIRECTED else None,
        "address": reply.address,
        "media_type": content_type(reply.headers),
        "headers": [{"name": name, "value": value} for name, value in reply.headers],
        "body": reply.body if reply.status and due.kind != EXTERNAL else None,
        "body_bytes": len(reply.body),
        "truncated": reply.truncated,
        "elapsed_ms": reply.elapsed_s * 1000 if end in REQUESTED else None,
        "robots_at": robots.fetched_at if robots else None,
        "robots_usage": (applied.usage(due.url) if applied else "") or None,
        "robots_signals": (applied.signals(due.url) if applied else "") or None,
        "host_failures": turn.state.failures,
        "attempt": due.failures + 1,
        "depth": due.depth,
        "referrer": due.referrer,
        "error": reply.error,
        "priority": due.priority,
        "redirects": due.redirects,
        "discovered_round": due.discovered_round,
        "digest_before": due.digest,
        "kind": due.kind,
        "sitemap": due.sitemap,
        "links_without_news": due.links_without_news,
        "foreign": due.foreign,
    }
