"""RequestPool under way: one to a shared, each in a thread that does nothing but wait for a server."""

import queue
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, NamedTuple

from ..http.client import Client
from ..http.reply import Reply
from ..robots.lookup import RobotsSearch
from ..settings import Fetch
from .host_queue import DelegatedRobotsFetch, HostTurn, Visit
from .shared_queues import SharedQueue

Request = Visit | RobotsSearch | DelegatedRobotsFetch

_IDLE_CONNECTIONS = 256  # beyond that many hosts, connections are not kept alive between requests
_KEEP_ALIVE_WAIT = 5.0  # seconds: servers close an idle connection soon after, so a longer wait is not worth one
_LONG_ANSWER = 1.0  # seconds
_WAITING_SHARE = 4


class Answered(NamedTuple):
    """A request that has ended, at `ended` of the monotonic clock."""

    shared: SharedQueue
    turn: HostTurn
    request: Request
    reply: Reply
    ended: float


class _Running(NamedTuple):
    since: float
    client: Client


class RequestPool:
    """Sends requests, keeps a client for each host, and gives answers as they come."""

    def __init__(self, fetch: Fetch, open_client: Callable[[HostTurn], Client]) -> None:
        self._fetch = fetch
        self._open_client = open_client
        self._pool = ThreadPoolExecutor(_WAITING_SHARE * fetch.connections, thread_name_prefix="fetch")
        self._running: dict[str, _Running] = {}  # by shared
        self._clients: dict[str, Client] = {}  # by host
        # No SimpleQueue: CPython's waits for ever if the time to wait is over before it begins to.
        self._ended: queue.Queue[tuple[SharedQueue, HostTurn, Request, Any, float]] = queue.Queue()

    def __len__(self) -> int:
        return len(self._running)

    def has_room(self) -> bool:
        """Whether a thread is free: the time of a request runs from its start, so none is started to stand in line.

        RequestPool that wait for long count a quarter, so that slow servers do not hold the others up.
        """
        if len(self._running) < self._fetch.connections:
            return True
        late = time.monotonic() - _LONG_ANSWER
        waiting = sum(running.since < late for running in self._running.values())
        return len(self._running) - waiting + waiting / _WAITING_SHARE < self._fetch.connections

    def start(
        self, shared: SharedQueue, turn: HostTurn, request: Request, ask: Callable[[Client, Request], Reply], now: float
    ) -> None:
        client = self._clients.get(turn.host)
        if client is None:
            client = self._clients[turn.host] = self._open_client(turn)
        self._running[shared.name] = _Running(now, client)
        self._pool.submit(self._act, shared, turn, request, ask, client)

    def take(self, timeout: float) -> Answered | None:
        """The next answer, waited for so many seconds; raises what a request raised, which a server never does."""
        try:
            shared, turn, request, result, ended = (
                self._ended.get(timeout=timeout) if timeout else self._ended.get_nowait()
            )
        except queue.Empty:
            return None
        del self._running[shared.name]
        if isinstance(result, Exception):
            raise result
        return Answered(shared, turn, request, result, ended)

    def cut_late(self, now: float) -> None:
        """Cut the requests that take longer than a whole one may."""
        for running in self._running.values():
            if now > running.since + self._fetch.total_timeout:
                running.client.abort()

    def forget(self, host: str) -> None:
        """The host's answer was handed on."""
        if client := self._clients.get(host):
            client.forget()

    def rest(self, host: str, seconds: float) -> None:
        """The host is not asked for so long: its connection is given up, unless that is short."""
        if seconds > _KEEP_ALIVE_WAIT or len(self._clients) > _IDLE_CONNECTIONS:
            self.close_client(host)

    def close_client(self, host: str) -> None:
        if client := self._clients.pop(host, None):
            client.close()

    def close(self) -> None:
        self._pool.shutdown()
        for client in self._clients.values():
            client.close()

    def _act(
        self,
        shared: SharedQueue,
        turn: HostTurn,
        request: Request,
        ask: Callable[[Client, Request], Reply],
        client: Client,
    ) -> None:
        """In a thread of the pool: one request; whatever happens, the host comes back."""
        result: Any
        try:
            result = ask(client, request)
        except Exception as error:  # raised again in the bundle's thread, which fails the bundle
            result = error
        self._ended.put((shared, turn, request, result, time.monotonic()))
