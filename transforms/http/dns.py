"""DNS cache: each host name is looked up once, at a limited rate, for all threads of a worker.

A crawl starts with many names at once, which would overload a resolver. Answers are cached, failures included;
answers after the timeout are cached for later look-ups.
"""

import ipaddress
import socket
import threading
import time
from collections.abc import Callable, Iterable
from concurrent.futures import Future
from typing import Any, NamedTuple

from .. import settings
from ..urls.canonical import canonicalize, host as host_of, host_name
from . import address_guard

ANSWER_LIFETIME = 3600.0
"""Seconds for which the addresses of a name are used; `getaddrinfo` does not return their TTL."""

FAILURE_LIFETIME = 300.0
"""Seconds for which a name that did not resolve is not looked up again (at most five minutes: RFC 2308, 7.1)."""

AT_ONCE = 32
"""Maximum number of concurrent look-ups, including those that have timed out for all callers."""


class Place(NamedTuple):
    """A socket address without its port."""

    family: int
    address: str
    rest: tuple[int, ...] = ()  # flow info and scope id of an IPv6 address


class Known(NamedTuple):
    """The cached result of a look-up."""

    places: tuple[Place, ...]
    failure: tuple[int, str] | None  # number and text of a socket.gaierror
    until: float  # expiry, by the clock


def next_start(last: float, now: float, per_second: float) -> float:
    """The earliest start of the next look-up, if the last one started, or will start, at `last`.

    >>> next_start(last=10.0, now=10.1, per_second=2), next_start(last=10.0, now=11.0, per_second=2)
    (10.5, 11.0)
    """
    return max(now, last + 1 / per_second)


def give_up_at(now: float, in_line: int, per_second: float, timeout: float) -> float:
    """The deadline of a look-up behind `in_line` others: the time in the queue plus the timeout."""
    return now + (in_line + 1) / per_second + timeout


def pinned(pins: Iterable[str]) -> dict[tuple[str, int], tuple[Place, ...]]:
    """Maps (name as in canonical URLs, port) to the addresses of its pins ("NAME:PORT:ADDRESS", as in curl)."""
    found: dict[tuple[str, int], tuple[Place, ...]] = {}
    for name, port, address in map(settings.pin, pins):
        key = (host_of(canonicalize(f"http://{name}/") or f"http://{name}/"), port)
        found[key] = (*found.get(key, ()), Place(_family(address), address))
    return found


def _family(address: str) -> int:
    return socket.AF_INET if ipaddress.ip_address(address).version == 4 else socket.AF_INET6


class _LookUp(NamedTuple):
    """A running or queued look-up."""

    result: "Future[Known]"
    give_up_at: float


class Names:
    """`socket.getaddrinfo` for (host, port, type=…), with a cache, a rate limit and a timeout.

    One instance serves all threads of a bundle. Concurrent requests for a name share one look-up. At most
    `lookups_per_second` look-ups start per second. One that takes longer than `connect_timeout` (seconds, after its
    time in the queue) fails for all waiting callers, and immediately for later ones, until its answer arrives.
    Pins (`resolve`) take precedence over look-ups; literal addresses need none. This class does not block special
    addresses: `address_guard.connect` does.
    """

    def __init__(
        self,
        fetch: settings.Fetch,
        *,
        resolver: address_guard.Resolver = socket.getaddrinfo,
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self._per_second = fetch.lookups_per_second
        self._timeout = fetch.connect_timeout
        self._pins = pinned(fetch.resolve)
        self._resolver = resolver
        self._clock = clock
        self._sleep = sleep
        self._known: dict[str, Known] = {}
        self._turns = threading.BoundedSemaphore(AT_ONCE)  # acquired by a caller, released by its look-up
        self._lock = threading.Lock()  # guards the attributes below, and changes of `_known`
        self._under_way: dict[str, _LookUp] = {}
        self._in_line = 0
        self._last_start = float("-inf")

    def __call__(self, host: str, port: int, type: int = socket.SOCK_STREAM) -> list[tuple[Any, ...]]:
        """(family, type, 0, "", socket address) for each address; raises socket.gaierror."""
        name = host.lower()
        places = self._pins.get((name, port)) or self._look_up(name)
        return [(place.family, type, 0, "", (place.address, port, *place.rest)) for place in places]

    def addresses_of(self, host: str) -> list[str]:
        """The distinct addresses of a canonical URL's host, in the system's order; empty if it does not resolve.

        `host` is as `canonical.host` returns it. Without a port, both default ports are looked up.
        """
        name = host_name(host)
        ports = [int(host[len(name) + 1 :])] if name != host else [80, 443]
        try:
            entries = [entry for port in ports for entry in self(address_guard.unbracketed(name), port)]
        except socket.gaierror:
            return []
        return list(dict.fromkeys(sockaddr[0] for *_, sockaddr in entries))

    def learn(self, host: str, found: Iterable[str]) -> None:
        """Cache addresses that `addresses_of` returned elsewhere for a host, so that it is not looked up again."""
        name = address_guard.unbracketed(host_name(host))
        places = tuple(Place(_family(address), address) for address in found)
        if places and not any(pinned_name == name for pinned_name, _ in self._pins):  # a pin applies to one port only
            with self._lock:
                self._known[name] = Known(places, None, self._clock() + ANSWER_LIFETIME)

    def _look_up(self, name: str) -> tuple[Place, ...]:
        known = self._known.get(name)
        if known is None or known.until <= self._clock():
            if entries := address_guard.literal(name):
                self._known[name] = known = Known(_places(entries), None, float("inf"))
            else:
                known = self._await(name)
        if known.failure:
            raise socket.gaierror(*known.failure)
        return known.places

    def _await(self, name: str) -> Known:
        """The result of the running look-up of a name, or of a new one."""
        with self._lock:
            now = self._clock()
            known = self._known.get(name)
            if known and known.until > now:  # cached since the first check
                return known
            look_up = self._under_way.get(name)
            ours = look_up is None
            if look_up is None:
                look_up = _LookUp(Future(), give_up_at(now, self._in_line, self._per_second, self._timeout))
                self._under_way[name] = look_up
                self._in_line += 1
        if ours:
            self._start(name, look_up)
        return self._result(look_up)

    def _start(self, name: str, look_up: _LookUp) -> None:
        """Wait in the queue, then start the look-up; fail it if its deadline passes first."""
        if not self._turns.acquire(timeout=self._left(look_up)):
            with self._lock:
                self._in_line -= 1
                del self._under_way[name]  # no query was sent, so there is nothing to cache
            look_up.result.set_result(_failure(socket.EAI_AGAIN, "too many look-ups hang: none could start in time"))
            return
        with self._lock:
            now = self._clock()
            self._last_start = start = next_start(self._last_start, now, self._per_second)
        if start > now:
            self._sleep(start - now)
        with self._lock:
            self._in_line -= 1
        threading.Thread(target=self._run, args=(name, look_up), name="look-up", daemon=True).start()

    def _run(self, name: str, look_up: _LookUp) -> None:
        """Run the look-up, in its own daemon thread: getaddrinfo cannot be interrupted and must not delay an exit."""
        try:
            known = _ask(self._resolver, name, self._clock)
        except Exception as error:  # a bug in the resolver: raised in the waiting callers
            look_up.result.set_exception(error)
        else:
            with self._lock:
                self._known[name] = known
            look_up.result.set_result(known)
        finally:
            with self._lock:
                del self._under_way[name]
            self._turns.release()

    def _result(self, look_up: _LookUp) -> Known:
        try:
            return look_up.result.result(timeout=self._left(look_up))
        except TimeoutError:
            return _failure(socket.EAI_AGAIN, f"no answer within {self._timeout:g} s")

    def _left(self, look_up: _LookUp) -> float:
        return max(0.0, look_up.give_up_at - self._clock())


def _ask(resolver: address_guard.Resolver, name: str, clock: Callable[[], float]) -> Known:
    try:
        places = _places(resolver(name, 0, type=socket.SOCK_STREAM))
    except OSError as error:
        return _failure(error.errno or socket.EAI_AGAIN, error.strerror or str(error), clock() + FAILURE_LIFETIME)
    except ValueError as error:  # not a valid DNS name
        return _failure(socket.EAI_NONAME, str(error), clock() + FAILURE_LIFETIME)
    if not places:
        return _failure(socket.EAI_NONAME, "no address", clock() + FAILURE_LIFETIME)
    return Known(places, None, clock() + ANSWER_LIFETIME)


def _failure(number: int, text: str, until: float = float("-inf")) -> Known:
    return Known((), (number, text), until)


def _places(entries: Iterable[tuple[Any, ...]]) -> tuple[Place, ...]:
    """The distinct addresses of getaddrinfo's entries, in their order."""
    return tuple(dict.fromkeys(Place(int(family), sa[0], tuple(sa[2:])) for family, *_, sa in entries))
