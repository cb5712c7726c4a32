"""Requests under way: one per shared queue, each in a thread that only waits for a server."""

from collections.abc import Callable
from functools import partial
from typing import NamedTuple

from ..http.client import Client
from ..http.reply import Reply
from ..robots.lookup import RobotsSearch
from ..settings import Fetch
from .clock import SYSTEM_CLOCK, Calls, Clock, ThreadCalls
from .host_queue import DelegatedRobotsFetch, HostTurn, Visit
from .shared_queues import SharedQueue

Request = Visit | RobotsSearch | DelegatedRobotsFetch

_IDLE_CONNECTIONS = 256  # with more hosts, connections are not kept alive between requests
_KEEP_ALIVE_WAIT = 5.0  # seconds; servers close idle connections soon after
_LONG_ANSWER_S = 0.05  # a longer request mostly waits for its server: it occupies a thread, but no CPU
WAITING_SHARE = 4


def url_of(request: Request) -> str:
    """Return the URL that is requested."""
    if isinstance(request, Visit):
        return request.due.url
    return (request.search if isinstance(request, DelegatedRobotsFetch) else request).url


class Answered(NamedTuple):
    """A request that has ended, at `ended` of the monotonic clock."""

    shared: SharedQueue
    turn: HostTurn
    request: Request
    reply: Reply
    ended: float


Ended = tuple[str, Answered | Exception]
"""A completed call: the name of its shared queue, and its response or exception."""


class _Running(NamedTuple):
    since: float
    request: Request
    client: Client


class RequestPool:
    """Sends requests, keeps a client per host, and returns responses in order of completion.

    Without `calls`, each request has a thread of its own.
    """

    def __init__(
        self,
        fetch: Fetch,
        open_client: Callable[[HostTurn], Client],
        clock: Clock = SYSTEM_CLOCK,
        calls: Calls[Ended] | None = None,
    ) -> None:
        self._fetch = fetch
        self._open_client = open_client
        self._clock = clock
        self._calls = calls or ThreadCalls(WAITING_SHARE * fetch.connections)
        self._running: dict[str, _Running] = {}  # by shared queue
        self._clients: dict[str, Client] = {}  # by host

    def __len__(self) -> int:
        return len(self._running)

    def under_way(self) -> dict[str, float]:
        """Return the start of each request under way, by shared queue."""
        return {name: running.since for name, running in self._running.items()}

    def has_room(self) -> bool:
        """Return whether a thread is free: a request's time runs from its start, so none is queued for a thread.

        Long-running requests count a quarter, so that slow servers do not delay other hosts.
        """
        if len(self._running) < self._fetch.connections:
            return True
        late = self._clock.monotonic() - _LONG_ANSWER_S
        waiting = sum(running.since < late for running in self._running.values())
        return len(self._running) - waiting + waiting / WAITING_SHARE < self._fetch.connections

    def room_at(self) -> float:
        """Return when a thread becomes free if no request ends before: when the next one counts as long-running."""
        if self.has_room():
            return 0.0
        late = self._clock.monotonic() - _LONG_ANSWER_S
        starts = (running.since for running in self._running.values() if running.since >= late)
        return min(starts, default=float("inf")) + _LONG_ANSWER_S

    def start(
        self, shared: SharedQueue, turn: HostTurn, request: Request, ask: Callable[[Client, Request], Reply], now: float
    ) -> None:
        client = self._clients.get(turn.host)
        if client is None:
            client = self._clients[turn.host] = self._open_client(turn)
        self._running[shared.name] = _Running(now, request, client)
        self._calls.start(partial(self._act, shared, turn, request, ask, client))

    def take(self, timeout: float) -> Answered | None:
        """Return the next response within `timeout` seconds; re-raises a request's exception (never a server error)."""
        if (call := self._calls.take(timeout)) is None:
            return None
        name, answered = call
        del self._running[name]
        if isinstance(answered, Exception):
            raise answered
        return answered

    def cut_late(self, now: float) -> None:
        """Abort the requests that exceed the time limit of a whole request."""
        for running in self._running.values():
            if now > running.since + self._fetch.total_timeout:
                running.client.abort()

    def cut(self, is_cut: Callable[[str], bool]) -> None:
        """Abort the requests for the URLs that a predicate holds for."""
        for running in self._running.values():
            if is_cut(url_of(running.request)):
                running.client.abort()

    def forget(self, host: str) -> None:
        """Release the client's data on the host's last response."""
        if client := self._clients.get(host):
            client.forget()

    def rest(self, host: str, seconds: float) -> None:
        """Close the host's connection if its delay of `seconds` is too long to keep it alive."""
        if seconds > _KEEP_ALIVE_WAIT or len(self._clients) > _IDLE_CONNECTIONS:
            self.close_client(host)

    def close_client(self, host: str) -> None:
        if client := self._clients.pop(host, None):
            client.close()

    def close(self) -> None:
        self._calls.close()
        for client in self._clients.values():
            client.close()

    def _act(
        self,
        shared: SharedQueue,
        turn: HostTurn,
        request: Request,
        ask: Callable[[Client, Request], Reply],
        client: Client,
    ) -> Ended:
        """Run one request; always return an `Ended`, also after an exception."""
        try:
            return shared.name, Answered(shared, turn, request, ask(client, request), self._clock.monotonic())
        except Exception as error:  # re-raised in the bundle's thread, which fails the bundle
            return shared.name, error
