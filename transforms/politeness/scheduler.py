"""Run the turns of many hosts at once, one request at a time on each."""

import contextlib
from collections.abc import Generator, Iterable, Iterator, Mapping
from datetime import datetime

from ..http.client import Client
from ..http.dns import Names
from ..http.reply import Reply, outcome, redirect_target
from ..outcomes import Outcome
from ..robots import lookup
from ..tables.schemas import HostRow
from ..tables.sitemap_terms import EXTERNAL, PROBE
from ..urls.canonical import origin as origin_of
from . import backoff, host_queue
from .clock import SYSTEM_CLOCK, Calls, Clock
from .context import CHECK_INTERVAL, Event, VisitContext
from .external_targets import method_of, needs_get, refuses_head
from .request_pool import Answered, Ended, Request, RequestPool, url_of
from .robots_fetches import RobotsFetches
from .shared_queues import SharedQueue
from .turns import Turns
from .workers.keeper import Keeper
from .workers.progress import Watch
from .workers.reports import Census

_LONG_REST = 1.0  # seconds; during a shorter delay, an early check of the next URL does not pay


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
        self._politeness = context.politeness
        self.names = Names(context.fetch)
        open_client = context.opener(self.names)
        self._requests = RequestPool(context.fetch, lambda turn: open_client(self._browser_rules(turn)), clock, calls)
        self._watch = Watch(context.stop_file, context.progress, CHECK_INTERVAL.total_seconds(), context.root)
        self._blocks = self._watch.blocks
        self._turns = Turns(context, clock, keeper)
        self._queues = self._turns.queues
        self.robots = RobotsFetches(context, self._turns, self.names, held, clock, lambda: self._watch.blocks)
        self._next_check = 0.0
        self._census, self._census_at = Census(), 0.0

    def add(self, name: str, turns: Iterable[host_queue.HostTurn], ready_at: float = 0.0) -> None:
        """Add a shared queue with its hosts; no request to them starts before `ready_at` (monotonic clock)."""
        self.robots.add(name, turns, ready_at)

    def pump(self, wait: bool) -> Iterator[Event]:
        """Yield the events until another queue could begin; with `wait`, those of all turns to their end."""
        self._turns.report.is_taking = not wait
        yield from self.robots.resume()
        while self._queues or self._requests:
            now = self._clock.monotonic()
            self._check(now)
            if wait and self._only_waits(now):
                self._turns.deadline = min(self._turns.deadline, now)
            yield from self._dispatch(now)
            if not (self._queues or self._requests):
                break
            is_busy = wait or self._queues.has_new(now)
            if answered := self._requests.take(self._pause(self._clock.monotonic()) if is_busy else 0.0):
                yield from self._take(answered)
            elif not is_busy:
                return
        self._publish()
        if wait:
            yield from (Event("host_turns", row) for row in self.turn_rows())

    def turn_rows(self) -> Iterator[HostRow]:
        """Yield a row for each host visited, requested or waited for since the last call."""
        return self._turns.rows()

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
        limit = float("inf") if now >= self._turns.deadline else now
        while (at := self._queues.next_at()) is not None and at <= limit and self._requests.has_room():
            if shared := self._queues.pop(limit):
                yield from self._advance(shared, now)

    def _advance(self, shared: SharedQueue, now: float) -> Iterator[Event]:
        """Start a request to the first host of a shared queue, if it is ready; the others wait for its response."""
        while turn := self._queues.first(shared):
            wish = yield from self._wish(shared, turn, now)
            if isinstance(wish, host_queue.Wait):
                self._turns.schedule(turn)
                return
            if isinstance(wish, host_queue.Done):
                self._requests.close_client(turn.host)
            else:
                self._start(shared, turn, wish, now)
                return

    def _wish(
        self, shared: SharedQueue, turn: host_queue.HostTurn, now: float
    ) -> Generator[Event, None, Request | host_queue.Wait | host_queue.Done]:
        """Return a host's next action, after all visits that end without a request.

        Requests on behalf of other hosts take turns with its own: any number may redirect their robots.txt to it.
        """
        ready_at = max(turn.ready_at, shared.ready_at)
        if not turn.has_served_others and (fetch := (yield from self.robots.delegated(turn, ready_at, now))):
            return fetch
        wish = yield from self._own_wish(turn, ready_at, now)
        if turn.has_served_others and isinstance(wish, host_queue.Done):
            wish = (yield from self.robots.delegated(turn, ready_at, now)) or wish
        return wish

    def _own_wish(
        self, turn: host_queue.HostTurn, ready_at: float, now: float
    ) -> Generator[Event, None, Request | host_queue.Wait | host_queue.Done]:
        """`_wish` without what is requested on behalf of other hosts."""
        while not turn.is_away:
            head = turn.queue.head()
            origin = origin_of(head.url) if head else ""
            deadline = min(self._turns.deadline, turn.ends_at)
            if turn.has_answered:
                deadline -= turn.state.elapsed_s  # its response would arrive too late
            robots = turn.current_robots(origin, self._clock.utc())
            blocks, held_by = self._watch.blocks, turn.queue.held_by(head) if head else None
            action = host_queue.next_action(head, origin, robots, ready_at, now, deadline, blocks, held_by)
            if isinstance(action, host_queue.FetchRobots):
                if turn.search and blocks.match(turn.search.url):
                    turn.search = None
                turn.search = turn.search or lookup.start_search(origin, action.depth)
                return turn.search
            if isinstance(action, host_queue.Visit) and action.due.kind == EXTERNAL:
                return action._replace(method=method_of(action.due, turn.refuses_head, turn.by_get))
            if not isinstance(action, host_queue.Skip):
                return action
            turn.queue.remove(action.due)
            if self._turns.goes_on_waiting(turn, action.due, action.outcome):
                continue
            error = action.error or (robots.error if robots else None)
            yield self._turns.visit(turn, action.due, action.outcome, Reply(error=error), action.rule)
        return host_queue.Done()

    def _browser_rules(self, turn: host_queue.HostTurn) -> host_queue.BrowserRules:
        return host_queue.browser_rules(turn, self._politeness, lambda: self._watch.blocks)

    def _start(self, shared: SharedQueue, turn: host_queue.HostTurn, request: Request, now: float) -> None:
        """Pass a request to the pool."""
        if seconds := self._context.limits.max_seconds_per_host:
            for port in self._turns.ports(turn):
                port.ends_at = min(port.ends_at, now + seconds)
        self._queues.start(shared, turn)
        self._requests.start(shared, turn, request, self._ask, now)

    def _ask(self, client: Client, request: Request) -> Reply:
        identity, url = self._context.identity, url_of(request)
        if isinstance(request, host_queue.Visit):
            due = request.due
            referrer = due.referrer if due.kind != PROBE else None  # no page has a link to a probe that could be mended
            headers = identity.headers(url, referrer, due.etag, due.last_modified)
            if due.kind == EXTERNAL:
                return client.head(url, headers, request.method)
            return client.get(url, headers, any_type=due.kind not in (None, PROBE))
        return client.get(url, identity.headers(url), any_type=True)

    def _take(self, answered: Answered) -> Iterator[Event]:
        """Process a response: yield its events, and schedule the host's next request."""
        shared, turn, request, reply, ended = answered
        self._queues.stop(shared, turn)
        if block := self._watch.blocks.match(url_of(request)):  # its URLs are deferred when the host is scheduled
            end = Outcome.DEFERRED
            reply = Reply(failure=end, error=block.error, elapsed_s=reply.elapsed_s)
            turn.ready_at = max(turn.ready_at, ended + self._turns.usual_rest(turn).seconds)
            self._turns.schedule(turn, look=True)
        elif isinstance(request, host_queue.Visit) and request.method == "HEAD" and needs_get(reply.status):
            end = Outcome.CLIENT_ERROR  # the host answers; what became of the URL is not known yet
            turn.refuses_head |= refuses_head(reply.status)
            turn.by_get |= {request.due.url_key}
            self._turns.rest(turn, end, reply, ended)
            self._turns.schedule(turn)
        elif isinstance(request, host_queue.Visit):
            due = request.due
            turn.queue.remove(due)
            if due.url_key in turn.by_get:
                turn.by_get -= {due.url_key}
            end = outcome(due.url, reply, bool(due.etag or due.last_modified))
            if end is Outcome.REDIRECTED and due.redirects and redirect_target(due.url, reply) == due.referrer:
                end = Outcome.REDIRECT_LOOP
            self._turns.rest(turn, end, reply, ended, due=due)
            yield self._turns.visit(turn, due, end, reply, request.rule)
            self._turns.schedule(turn, look=turn.ready_at - ended > _LONG_REST)
        else:
            end = yield from self.robots.take(turn, request, reply, ended)
        turn.has_answered, turn.has_served_others = True, isinstance(request, host_queue.DelegatedRobotsFetch)
        turn.tally.request(end, reply, self._clock.utc())
        if self._politeness.scope != "host":
            self._queues.open(shared.name, ended + backoff.shared_rest(turn.state, self._politeness))
        self._requests.forget(turn.host)
        if turn.queue:
            self._requests.rest(turn.host, turn.ready_at - ended)
        else:
            self._requests.close_client(turn.host)

    def _pause(self, now: float) -> float:
        """Return the seconds until the next action that does not depend on a response."""
        until = self._next_check
        if (at := self._queues.next_at()) is not None:
            until = min(until, max(at, self._requests.room_at()))
        return max(0.0005, until - now)

    def _check(self, now: float) -> None:
        """Every CHECK_INTERVAL: abort late requests, publish the progress; always: check for a stop and for blocks."""
        if self._keeper and self._keeper.is_due:
            self._keeper.cut(self.turn_rows())
        if self._watch.is_stopped:
            self._turns.deadline = min(self._turns.deadline, now)
        if self._watch.blocks is not self._blocks:
            self._blocks = self._watch.blocks
            self._requests.cut(lambda url: self._blocks.match(url) is not None)
        if now < self._next_check:
            return
        self._next_check = now + CHECK_INTERVAL.total_seconds()
        self._requests.cut_late(now)
        self._publish()

    def _publish(self) -> None:
        """Update the report; hosts are counted so rarely that it takes at most half a percent of the time."""
        now = self._clock.monotonic()
        if not self._queues and not self._requests:
            self._census = Census()
        elif now >= self._census_at:
            self._census = self._turns.census(now, self._requests.under_way())
            self._census_at = now + 200 * (self._clock.monotonic() - now)
        self._watch.snapshot = self._turns.report.snapshot(len(self._requests), self._census)
