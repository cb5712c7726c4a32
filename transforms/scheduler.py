"""Run the turns of many hosts at once, one request at a time on each."""

import dataclasses
import functools
import json
import queue
import time
from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from heapq import heappop, heappush
from typing import Any, NamedTuple

from apache_beam.io.filesystems import FileSystems
from apache_beam.metrics import Metrics

from transforms import hosts
from transforms.client import Client
from transforms.frontier import Due, budget
from transforms.identity import Identity
from transforms.outcomes import REQUESTED, Outcome
from transforms.replies import Reply, header, outcome, redirect_target
from transforms.robots import Verdict
from transforms.robots_asking import ROBOTS_HOPS, Known, ask_robots, robots_row
from transforms.settings import Settings
from transforms.urls import origin as origin_of

LOOK_EVERY = timedelta(seconds=0.5)
"""How often a scheduler looks whether it is to stop."""

_IDLE_CONNECTIONS = 256  # beyond that many hosts, connections are not kept alive between requests
_KEEP_ALIVE_WAIT = 5.0  # seconds: servers close an idle connection soon after, so a longer wait is not worth one


class Event(NamedTuple):
    """A row for one of the tables, as the scheduler emits it."""

    table: str  # visits or robots
    row: dict[str, Any]


@dataclasses.dataclass(frozen=True)
class VisitContext:
    """What all visits of a round share."""

    settings: Settings
    identity: Identity
    round: int
    deadline: datetime
    asked_before: datetime | None  # an attempt that did not commit may have asked any host until then
    opener: Callable[[], Callable[[], Client]]  # once a bundle: what opens a client for a host
    progress: str | None = None  # a file prefix for reports on the way, if anybody reads them
    stop_file: str | None = None  # when it appears, no further request starts


class HostScheduler:
    """Runs the turns of many hosts in one thread, with a pool of threads that do nothing but wait for servers.

    Hosts stand in a heap by the time each may be asked next. A host with a request under way is not in the heap, so it
    never has two. Memory is bounded by the hosts' queues and one reply per connection.
    """

    def __init__(self, context: VisitContext) -> None:
        self._context = context
        self._open_client = context.opener()
        self._pool = ThreadPoolExecutor(context.settings.fetch.connections, thread_name_prefix="fetch")
        self._heap: list[tuple[float, str, hosts.HostTurn]] = []
        self._running: dict[str, tuple[float, list[Client]]] = {}  # host: latest end, the clients at work for it
        self._clients: dict[str, Client] = {}
        self._results: queue.SimpleQueue[tuple[hosts.HostTurn, Any, Any, float]] = queue.SimpleQueue()
        self._deadline = time.monotonic() + (context.deadline - datetime.now(UTC)).total_seconds()
        self._next_look = 0.0
        self.report = Report()

    def add(self, host: str, queue: deque[Due], robots: Known, asked: datetime | None) -> None:
        """Take a host in; `asked` is when it last answered us, in an earlier round."""
        turn = hosts.HostTurn(host, queue, robots.fresh, robots.stale)
        if asked:
            since = (datetime.now(UTC) - asked).total_seconds()
            turn.ready_at = time.monotonic() - since + self._delay(turn)
        self._line_up(turn)

    def pump(self, wait: bool) -> Iterator[Event]:
        """What has happened so far; with `wait`, all that is still to happen, as it happens."""
        while self._heap or self._running:
            now = time.monotonic()
            self._look_around(now)
            yield from self._dispatch(now)
            if not (self._heap or self._running):
                break
            try:
                timeout = self._pause(time.monotonic()) if wait else 0.0
                answer = self._results.get(timeout=timeout) if timeout else self._results.get_nowait()
            except queue.Empty:
                if not wait:
                    return
                continue
            del self._running[answer[0].host]
            yield from self._take(*answer)
        self._tell()

    def close(self) -> None:
        self._pool.shutdown()
        for client in self._clients.values():
            client.close()

    def _dispatch(self, now: float) -> Iterator[Event]:
        """Start what may start now."""
        # After the deadline every waiting host is due: to be told that its turn is over.
        limit = float("inf") if now >= self._deadline else now
        while self._heap and self._heap[0][0] <= limit and self._has_room():
            _, _, turn = heappop(self._heap)
            while True:
                head = turn.queue[0] if turn.queue else None
                origin = origin_of(head.url) if head else ""
                action = hosts.next_action(head, origin, turn.robots.get(origin), turn.ready_at, now, self._deadline)
                if not isinstance(action, hosts.Answer):
                    break
                turn.queue.popleft()
                yield self._visit(action.due, action.outcome, Reply(), action.rule)
            if isinstance(action, hosts.Wait):
                heappush(self._heap, (action.until, turn.host, turn))
            elif isinstance(action, hosts.Done):
                self._drop_client(turn.host)
            else:
                self._start(turn, action, now)

    def _start(self, turn: hosts.HostTurn, action: hosts.AskRobots | hosts.Visit, now: float) -> None:
        client = self._clients.get(turn.host)
        if client is None:
            client = self._clients[turn.host] = self._open_client()
        seconds = self._context.settings.fetch.total_timeout
        if isinstance(action, hosts.AskRobots):
            seconds += ROBOTS_HOPS * (seconds + self._delay(turn))
        clients = [client]
        self._running[turn.host] = (now + seconds, clients)
        self._pool.submit(self._act, turn, action, clients)

    def _has_room(self) -> bool:
        """Whether a thread is free: the time of a request runs from its start, so none is started to stand in line."""
        return len(self._running) < self._context.settings.fetch.connections

    def _act(self, turn: hosts.HostTurn, action: hosts.AskRobots | hosts.Visit, clients: list[Client]) -> None:
        """In a thread of the pool: one request; whatever happens, the host comes back."""

        def open_other() -> Client:
            clients.append(self._open_client())
            return clients[-1]

        try:
            result: Any
            if isinstance(action, hosts.AskRobots):
                pause = functools.partial(time.sleep, self._delay(turn))
                result = ask_robots(action.origin, clients[0], open_other, self._context.identity, pause)
            else:
                due = action.due
                result = clients[0].get(
                    due.url, self._context.identity.headers(due.url, due.referrer, due.etag, due.last_modified)
                )
        except Exception as error:  # raised again in the bundle's thread, which fails the bundle
            result = error
        self._results.put((turn, action, result, time.monotonic()))

    def _take(
        self, turn: hosts.HostTurn, action: hosts.AskRobots | hosts.Visit, result: Any, ended: float
    ) -> Iterator[Event]:
        """An answer has come, at `ended`: say what it was, and when the host may be asked again."""
        if isinstance(result, Exception):
            raise result
        if isinstance(action, hosts.AskRobots):
            row, robots = robots_row(
                action.origin, turn.host, result, self._context.round, datetime.now(UTC), self._context.identity.token
            )
            if robots.verdict is Verdict.UNREACHABLE:
                robots = turn.last_good.get(action.origin, robots)
            turn.robots[action.origin] = robots
            self._trim(turn, robots)
            yield Event("robots", row)
        else:
            turn.queue.popleft()
            conditional = bool(action.due.etag or action.due.last_modified)
            yield self._visit(action.due, outcome(action.due.url, result, conditional), result, action.rule)
        pause = self._delay(turn)
        turn.ready_at = ended + pause
        if pause > _KEEP_ALIVE_WAIT or len(self._clients) > _IDLE_CONNECTIONS or not turn.queue:
            self._drop_client(turn.host)
        self._line_up(turn)

    def _line_up(self, turn: hosts.HostTurn) -> None:
        """A host that will not be ready in this round is not waited for: its turn is over now."""
        heappush(self._heap, (turn.ready_at if turn.ready_at < self._deadline else 0.0, turn.host, turn))

    def _delay(self, turn: hosts.HostTurn) -> float:
        configured = self._context.settings.politeness.delay
        return max((hosts.delay(configured, robots) for robots in turn.robots.values()), default=configured)

    def _trim(self, turn: hosts.HostTurn, robots: hosts.Robots) -> None:
        """What a Crawl-delay leaves no time for stays in the frontier, without a visit."""
        count = budget(self._context.settings.limits, hosts.delay(self._context.settings.politeness.delay, robots))
        while len(turn.queue) > count:
            turn.queue.pop()

    def _visit(self, due: Due, end: Outcome, reply: Reply, rule: str) -> Event:
        self.report.count(end, reply)
        return Event("visits", visit_row(due, end, reply, rule, self._context.round, datetime.now(UTC)))

    def _drop_client(self, host: str) -> None:
        if client := self._clients.pop(host, None):
            client.close()

    def _pause(self, now: float) -> float:
        """Seconds until something may need doing even if no answer comes."""
        until = self._next_look
        if self._heap and self._has_room():
            until = min(until, self._heap[0][0])
        return max(0.0005, until - now)

    def _look_around(self, now: float) -> None:
        """Every LOOK_EVERY: cut requests that take too long, tell how it goes, see whether to stop."""
        if now < self._next_look:
            return
        self._next_look = now + LOOK_EVERY.total_seconds()
        for latest, clients in self._running.values():
            if now > latest:
                for client in clients:
                    client.abort()
        context = self._context
        if context.stop_file and FileSystems.exists(context.stop_file):
            self._deadline = min(self._deadline, now)
        self._tell()

    def _tell(self) -> None:
        if self._context.progress:
            self.report.write(self._context.progress, len(self._running), len(self._heap))


class Report:
    """How the visits of one bundle go, for people who watch."""

    def __init__(self) -> None:
        self._outcomes: dict[str, int] = {}
        self._bytes = 0
        self._name = f"{time.time_ns():x}"

    def count(self, end: Outcome, reply: Reply) -> None:
        Metrics.counter("visits", end.value).inc()
        self._outcomes[end.value] = self._outcomes.get(end.value, 0) + 1
        self._bytes += len(reply.body)

    def write(self, prefix: str, active: int, waiting: int) -> None:
        line = {"outcomes": self._outcomes, "bytes": self._bytes, "active": active, "waiting": waiting}
        with FileSystems.create(f"{prefix}-{self._name}.json") as file:
            file.write(json.dumps(line).encode())


def visit_row(due: Due, end: Outcome, reply: Reply, rule: str, round_: int, now: datetime) -> dict[str, Any]:
    """The row of table visits for a visit, whatever its end."""
    media_type = header(reply.headers, "content-type")
    return {
        "url_key": due.url_key,
        "url": due.url,
        "host": due.host,
        "round": round_,
        "fetched_at": now,
        "outcome": end.value,
        "status": reply.status,
        "redirect_to": redirect_target(due.url, reply) if end is Outcome.REDIRECTED else None,
        "address": reply.address,
        "media_type": media_type,
        "headers": [{"name": name, "value": value} for name, value in reply.headers],
        "body": reply.body if reply.status else None,
        "body_bytes": len(reply.body),
        "truncated": reply.truncated,
        "elapsed_ms": reply.elapsed * 1000 if end in REQUESTED else None,
        "robots_rule": rule or None,
        "attempt": due.failures + 1,
        "depth": due.depth,
        "referrer": due.referrer,
        "error": reply.error,
        "priority": due.priority,
        "redirects": due.redirects,
        "discovered_round": due.discovered_round,
    }
