"""Run the turns of many hosts at once, one request at a time on each."""

import contextlib
import dataclasses
import random
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping
from datetime import datetime, timedelta
from typing import NamedTuple, cast

from ..frontier.selection import Due
from ..http.client import Client
from ..http.dns import Names
from ..http.reply import Reply, outcome, redirect_target, retry_after
from ..http.request_headers import Identity
from ..outcomes import Outcome
from ..robots import lookup
from ..robots.lookup import RobotsAnswers
from ..robots.rules import Verdict
from ..settings import Fetch, Limits, Politeness, Traps
from ..storage.schemas import HostRow, RobotsRow, VisitRow
from ..storage.sitemap_terms import SITEMAP
from ..urls.canonical import domain
from ..urls.canonical import host as host_of
from ..urls.canonical import origin as origin_of
from . import backoff, host_queue
from .clock import SYSTEM_CLOCK, Calls, Clock, monotonic
from .host_stats import Tally, turn_row
from .keeper import Keeper
from .progress import Report, Watch
from .request_pool import Answered, Ended, Request, RequestPool
from .shared_queues import NOW, SharedQueue, SharedQueues
from .visit_rows import visit_row

CHECK_INTERVAL = timedelta(seconds=0.5)
"""Interval at which a scheduler checks for the stop file."""

_FOR_EVER = float("inf")
_LONG_REST = 1.0  # seconds; during a shorter delay, an early check of the next URL does not pay


class Event(NamedTuple):
    """A row for one of the tables, as the scheduler emits it."""

    table: str  # visits, robots or host_turns
    row: VisitRow | RobotsRow | HostRow


class Moved(NamedTuple):
    """The remaining work of a host whose robots.txt redirects to a host that another worker may process."""

    host: str
    due: list[Due]
    search: lookup.RobotsSearch
    state: HostRow


@dataclasses.dataclass(frozen=True)
class VisitContext:
    """The context of all visits of a round."""

    politeness: Politeness
    limits: Limits
    fetch: Fetch
    traps: Traps
    identity: Identity
    round: int
    deadline: datetime | None  # None: `limits.round_time` after a worker starts
    requests_before: datetime | None  # an attempt that did not commit may have sent requests to any host until then
    opener: Callable[
        [Names], Callable[[host_queue.BrowserRules], Client]
    ]  # called once per bundle; the result opens a client for a host
    gives_away: bool = False  # emit hosts whose robots.txt redirects to another domain as `Moved`
    root: str = ""  # of the crawl directory
    attempt: str = ""  # the name of its durable pieces
    progress: str | None = None  # file prefix of progress reports; None: no reports
    stop_file: str | None = None  # once it exists, no further request starts


class HostScheduler:
    """Runs the turns of many hosts in one thread, with a pool of threads that only wait for servers.

    Memory is bounded by the hosts' queues and one reply per connection. `held` maps hosts, with
    or without due URLs, to the end of their delay: another host's robots.txt may redirect there.
    """

    def __init__(
        self,
        context: VisitContext,
        held: Mapping[str, datetime],
        clock: Clock = SYSTEM_CLOCK,
        calls: Calls[Ended] | None = None,
        keeper: Keeper | None = None,
    ) -> None:
        self._context = context
        self._keeper = keeper
        self._clock = clock
        self._held = held
        self._politeness = context.politeness
        self.names = Names(context.fetch)
        open_client = context.opener(self.names)
        self._requests = RequestPool(
            context.fetch, lambda turn: open_client(host_queue.browser_rules(turn, self._politeness)), clock, calls
        )
        self._queues = SharedQueues(lambda: self._deadline)
        self._turns: dict[str, host_queue.HostTurn] = {}  # by host, including completed turns
        self._deadline = monotonic(context.deadline, self._clock) if context.deadline else _FOR_EVER
        self._not_before = 0.0
        if context.requests_before:
            self._not_before = monotonic(context.requests_before, self._clock) + self._politeness.delay
        self._next_check = 0.0
        self._random = random.Random()
        self.report = Report()
        self.answers = RobotsAnswers()
        self.moved: list[Moved] = []  # removed by the caller
        self._unsent: list[host_queue.HostTurn] = []  # their robots.txt fetch continues at another host
        self._watch = Watch(context.stop_file, context.progress, CHECK_INTERVAL.total_seconds())

    def add(self, name: str, turns: Iterable[host_queue.HostTurn], ready_at: float = 0.0) -> None:
        """Add a shared queue with its hosts; no request to them starts before `ready_at` (monotonic clock)."""
        shared = self._queues.open(name, ready_at)
        for turn in turns:
            known = self._turns.setdefault(turn.host, turn)
            if known is not turn:  # added earlier for another host's robots.txt
                known.queue, known.robots, known.last_good = turn.queue, turn.robots, turn.last_good
                known.state, known.ready_at = turn.state, max(known.ready_at, turn.ready_at)
            known.ready_at = max(known.ready_at, self._not_before)
            self._queues.join(shared, turn.host)
            if known.is_away:
                self._unsent.append(known)
            else:
                self._schedule(known)

    def pump(self, wait: bool) -> Iterator[Event]:
        """Yield the events so far; with `wait`, run all turns to their end and yield their events."""
        while self._unsent:
            turn = self._unsent.pop()
            if turn.search:
                yield from self._send(turn, turn.search)
        while self._queues or self._requests:
            now = self._clock.monotonic()
            self._check(now)
            if wait and self._only_waits(now):
                self._deadline = min(self._deadline, now)
            yield from self._dispatch(now)
            if not (self._queues or self._requests):
                break
            if answered := self._requests.take(self._pause(self._clock.monotonic()) if wait else 0.0):
                yield from self._take(answered)
            elif not wait:
                return
        self._publish()
        if wait:
            yield from (Event("host_turns", row) for row in self.turn_rows())

    def turn_rows(self) -> list[HostRow]:
        """Return a row for each host visited or requested since the last call."""
        took_place = [turn for turn in self._turns.values() if turn.tally.visits or turn.tally.requests]
        rows = [self._turn_row(turn) for turn in took_place]
        for turn in took_place:
            turn.tally = Tally()
        return rows

    def close(self) -> None:
        self._watch.close()
        self._requests.close()

    def abandon(self) -> Iterator[Event]:
        """End after a failure: start no further request, and yield the events of the requests under way."""
        self.close()
        while self._requests:
            with contextlib.suppress(Exception):  # the caller raises the first exception
                if answered := self._requests.take(0.0):
                    yield from self._take(answered)

    def _only_waits(self, now: float) -> bool:
        """Return whether the round only waits for hosts, for longer than `backoff.patience`."""
        return not self._requests and not any(
            ready_at - now <= backoff.patience(turn.held_by, self._politeness)
            for turn, ready_at in self._queues.waiting()
        )

    def _dispatch(self, now: float) -> Iterator[Event]:
        """Start all requests that are allowed now."""
        # After the deadline every waiting queue is due, so that its turns end.
        limit = float("inf") if now >= self._deadline else now
        while (at := self._queues.next_at()) is not None and at <= limit and self._requests.has_room():
            if shared := self._queues.pop():
                yield from self._advance(shared, now)

    def _advance(self, shared: SharedQueue, now: float) -> Iterator[Event]:
        """Start a request to the first host of a shared queue, if it is ready; the others wait for its response."""
        while turn := self._queues.first(shared):
            wish = yield from self._wish(shared, turn, now)
            if isinstance(wish, host_queue.Wait):
                self._schedule(turn)
                return
            if isinstance(wish, host_queue.Done):
                self._requests.close_client(turn.host)
            else:
                self._start(shared, turn, wish, now)
                return

    def _wish(
        self, shared: SharedQueue, turn: host_queue.HostTurn, now: float
    ) -> Generator[Event, None, Request | host_queue.Wait | host_queue.Done]:
        """Return a host's next action, after all visits that end without a request."""
        ready_at = max(turn.ready_at, shared.ready_at)
        while turn.delegated:
            if now < self._deadline and ready_at < self._deadline:
                return turn.delegated[0] if ready_at <= now else host_queue.Wait(ready_at)
            search, sender = turn.delegated.popleft()
            if now < self._deadline:
                held = Reply(
                    failure=Outcome.TIMEOUT, error=f"it was moved to {turn.host}, which is not to be asked yet"
                )
                yield from self._arrive(sender, search, held, now)
            else:
                sender.search = None
                self._schedule(sender)
        while not turn.is_away:
            head = turn.queue[0] if turn.queue else None
            origin = origin_of(head.url) if head else ""
            deadline = min(self._deadline, turn.ends_at)
            if turn.has_answered:
                deadline -= turn.state.elapsed_s  # its response would arrive too late
            robots = turn.robots.get(origin)
            action = host_queue.next_action(head, origin, robots, ready_at, now, deadline)
            if isinstance(action, host_queue.FetchRobots):
                turn.search = turn.search or lookup.start_search(origin, action.depth)
                return turn.search
            if not isinstance(action, host_queue.Answer):
                return action
            turn.queue.popleft()
            yield self._visit(
                turn, action.due, action.outcome, Reply(error=robots.error if robots else None), action.rule
            )
        return host_queue.Done()

    def _start(self, shared: SharedQueue, turn: host_queue.HostTurn, request: Request, now: float) -> None:
        """Pass a request to the pool."""
        if seconds := self._context.limits.max_seconds_per_host:
            turn.ends_at = min(turn.ends_at, now + seconds)
        self._queues.start(shared, turn)
        self._requests.start(shared, turn, request, self._ask, now)

    def _ask(self, client: Client, request: Request) -> Reply:
        identity = self._context.identity
        if isinstance(request, host_queue.Visit):
            due = request.due
            headers = identity.headers(due.url, due.referrer, due.etag, due.last_modified)
            return client.get(due.url, headers, any_type=due.kind == SITEMAP)
        url = (request.search if isinstance(request, host_queue.DelegatedRobotsFetch) else request).url
        return client.get(url, identity.headers(url), any_type=True)

    def _take(self, answered: Answered) -> Iterator[Event]:
        """Process a response: yield its events, and schedule the host's next request."""
        shared, turn, request, reply, ended = answered
        self._queues.stop(shared, turn)
        if isinstance(request, host_queue.Visit):
            due = turn.queue.popleft()
            end = outcome(due.url, reply, bool(due.etag or due.last_modified))
            if end is Outcome.REDIRECTED and due.redirects and redirect_target(due.url, reply) == due.referrer:
                end = Outcome.REDIRECT_LOOP
            self._rest(turn, end, reply, ended)
            yield self._visit(turn, due, end, reply, request.rule)
            self._schedule(turn, look=turn.ready_at - ended > _LONG_REST)
        elif isinstance(request, host_queue.DelegatedRobotsFetch):
            turn.delegated.popleft()
            self.answers.put(request.search.url, reply)
            waiting = self._take_delegated(turn, request.search.url)
            end = outcome(request.search.url, reply, conditional=False)
            own = lookup.start_search(origin_of(request.search.url), request.search.depth)
            if own.url == request.search.url and own.origin not in turn.robots and turn.search is None:
                yield from self._arrive(turn, own, reply, ended)  # one response for both
            else:
                self._rest(turn, end, reply, ended)
                self._schedule(turn)
            for same in (request, *waiting):
                yield from self._arrive(same.sender, same.search, reply, ended)
        else:
            end = outcome(request.url, reply, conditional=False)
            self.answers.put(request.url, reply)
            waiting = self._take_delegated(turn, request.url)
            yield from self._arrive(turn, request, reply, ended)
            for same in waiting:
                yield from self._arrive(same.sender, same.search, reply, ended)
        turn.has_answered = True
        turn.tally.request(end, reply, self._clock.utc())
        if self._politeness.scope != "host":
            self._queues.open(shared.name, ended + backoff.shared_rest(turn.state, self._politeness))
        self._requests.forget(turn.host)
        if turn.queue:
            self._requests.rest(turn.host, turn.ready_at - ended)
        else:
            self._requests.close_client(turn.host)

    def _take_delegated(self, turn: host_queue.HostTurn, url: str) -> list[host_queue.DelegatedRobotsFetch]:
        """Remove and return the delegated fetches of a URL."""
        waiting = [other for other in turn.delegated if other.search.url == url]
        turn.delegated = deque(other for other in turn.delegated if other.search.url != url)
        return waiting

    def _arrive(
        self, turn: host_queue.HostTurn, search: host_queue.RobotsSearch, reply: Reply, ended: float
    ) -> Iterator[Event]:
        """Process a response to a robots.txt fetch: follow its redirect, or use it as the result."""
        context = self._context
        end = outcome(search.url, reply, conditional=False)
        turn.search = lookup.next_hop(search, reply)
        lasts = _FOR_EVER
        if turn.search is None:
            row, robots = lookup.robots_row(
                search, turn.host, reply, context.round, self._clock.utc(), context.identity.token
            )
            yield Event("robots", row)
            if robots.verdict is Verdict.UNREACHABLE:
                robots = turn.last_good.get(search.origin, robots)
            if robots.verdict is Verdict.UNREACHABLE:
                if search.hops:  # the failure is another host's
                    robots = dataclasses.replace(robots, failure=None)
                if robots.failure is not Outcome.BLOCKED_ADDRESS:
                    end = Outcome.UNREACHABLE_ROBOTS
            turn.robots[search.origin] = robots
            longest = max(known.crawl_delay for known in turn.robots.values())
            turn.state = dataclasses.replace(turn.state, crawl_delay=longest)
            lasts = (row["expires_at"] - row["fetched_at"]).total_seconds()
        self._rest(turn, end, reply, ended, lasts)
        self._trim(turn)
        if turn.search and turn.is_away and self._may_be_elsewhere(turn, host_of(turn.search.url)):
            self.moved.append(Moved(turn.host, list(turn.queue), turn.search, self._turn_row(turn)))
            turn.queue.clear()
            turn.search = None
            self._schedule(turn)
        elif turn.search and turn.is_away:
            yield from self._send(turn, turn.search)
        else:
            self._schedule(turn, look=True)

    def _may_be_elsewhere(self, turn: host_queue.HostTurn, host: str) -> bool:
        """Return whether another worker may have the host; a domain is in one worker, unless queues are by address."""
        if not self._context.gives_away or host in self._turns:
            return False
        return self._politeness.scope == "address" or domain(host) != domain(turn.host)

    def _send(self, sender: host_queue.HostTurn, search: host_queue.RobotsSearch) -> Iterator[Event]:
        """Fetch a robots.txt from another host, in that host's queue and with its delay; once for all requesters."""
        if reply := self.answers.get(search.url):
            yield from self._arrive(sender, search, reply, self._clock.monotonic())
            return
        host = host_of(search.url)
        if host not in self._turns:
            addresses = self.names.addresses_of(host) if self._politeness.scope == "address" else ()
            turn = host_queue.HostTurn(
                host, deque(), ready_at=monotonic(self._held[host], self._clock) if host in self._held else 0.0
            )
            self.add(host_queue.shared_queue_name(host, self._politeness.scope, addresses), [turn])
        self._turns[host].delegated.append(host_queue.DelegatedRobotsFetch(search, sender))
        self._schedule(self._turns[host])

    def _rest(
        self, turn: host_queue.HostTurn, end: Outcome, reply: Reply, ended: float, robots_last: float = _FOR_EVER
    ) -> None:
        """Set a host's delay after its response.

        A Crawl-delay longer than the lifetime of robots.txt (`robots_last`, seconds) is ignored after robots.txt
        itself: otherwise no page would ever be requested.
        """
        answered_at = self._clock.utc() - timedelta(seconds=self._clock.monotonic() - ended)
        wanted = retry_after(reply.headers, answered_at) if end in backoff.HOST_FAILURES else None
        turn.state = backoff.after(turn.state, end, reply.elapsed_s)
        counted = turn.state
        if counted.crawl_delay > robots_last:
            counted = dataclasses.replace(counted, crawl_delay=0.0)
        seconds, turn.held_by = backoff.rest(counted, end, wanted, self._politeness, self._random.random())
        turn.ready_at = ended + seconds
        if self._keeper and seconds > self._politeness.delay:
            row = self._turn_row(turn, Tally(last_answer=answered_at))
            self._keeper.promise(cast(HostRow, {name: row[name] for name in backoff.STATE_COLUMNS}))  # type: ignore[literal-required]

    def _trim(self, turn: host_queue.HostTurn) -> None:
        """Drop the URLs that do not fit into the round; they stay in the frontier, without a visit."""
        left = self._deadline - self._clock.monotonic()
        count = backoff.budget(self._context.limits, turn.state, self._politeness, left)
        while len(turn.queue) > count:
            turn.queue.pop()

    def _schedule(self, turn: host_queue.HostTurn, look: bool = False) -> None:
        """Schedule a host's turn for when it is ready.

        The turn is immediate if the host will not be ready in this round, or if visits may end without a request
        (`look`), so that these do not wait for the delay.
        """
        deadline = self._deadline if turn.delegated else min(self._deadline, turn.ends_at)
        self._queues.schedule(turn, NOW if look or turn.ready_at >= deadline else turn.ready_at)

    def _visit(self, turn: host_queue.HostTurn, due: Due, end: Outcome, reply: Reply, rule: str) -> Event:
        self.report.count(end, reply)
        turn.tally.visit(end)
        robots = turn.robots.get(origin_of(due.url))
        row = visit_row(
            due,
            end,
            reply,
            rule=rule,
            robots_at=robots.fetched_at if robots else None,
            failures=turn.state.failures,
            round_=self._context.round,
            now=self._clock.utc(),
        )
        return Event("visits", row)

    def _turn_row(self, turn: host_queue.HostTurn, tally: Tally | None = None) -> HostRow:
        rests = turn.ready_at - self._clock.monotonic()
        not_before = self._clock.utc() + timedelta(seconds=rests) if turn.ready_at else None
        return turn_row(turn.host, self._context.round, tally or turn.tally, turn.state, not_before, turn.held_by)

    def _pause(self, now: float) -> float:
        """Return the seconds until the next action that does not depend on a response."""
        until = self._next_check
        if (at := self._queues.next_at()) is not None and self._requests.has_room():
            until = min(until, at)
        return max(0.0005, until - now)

    def _check(self, now: float) -> None:
        """Every CHECK_INTERVAL: abort requests that take too long, publish the progress, check for a stop."""
        if self._keeper and self._keeper.is_due:
            self._keeper.cut(self.turn_rows())
        if self._watch.is_stopped:
            self._deadline = min(self._deadline, now)
        if now < self._next_check:
            return
        self._next_check = now + CHECK_INTERVAL.total_seconds()
        self._requests.cut_late(now)
        self._publish()

    def _publish(self) -> None:
        self._watch.snapshot = self.report.snapshot(len(self._requests), len(self._queues))
