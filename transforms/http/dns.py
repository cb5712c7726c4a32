"""Host names and the addresses they lead to: each is looked up once, gently, for all threads of a worker.

A crawl starts with many names at once, and a resolver is somebody's server, too. What it said is kept, failures
included; what it says late is kept for the next who asks.
"""

import ipaddress
import socket
import threading
import time
from collections.abc import Callable, Iterable
from concurrent.futures import Future
from typing import Any, NamedTuple

from .. import settings, urls
from . import address_guard

ANSWER_LIFETIME = 3600.0
"""Seconds for which the addresses of a name are used; `getaddrinfo` does not tell how long they hold."""

FAILURE_LIFETIME = 300.0
"""Seconds for which a name that did not resolve is not looked up again (at most five minutes: RFC 2308, 7.1)."""

AT_ONCE = 32
"""Look-ups that run at the same time, those included that nobody waits for any more."""


class Place(NamedTuple):
    """An address as `socket` has it, for any port."""

    family: int
    address: str
    rest: tuple[int, ...] = ()  # flow and scope of an IPv6 address


class Known(NamedTuple):
    """What a look-up gave."""

    places: tuple[Place, ...]
    failure: tuple[int, str] | None  # number and text of a socket.gaierror
    until: float  # the clock's time until which it is used


def next_start(last: float, now: float, per_second: float) -> float:
    """When the next look-up may start, if the last one started, or will start, at `last`.

    >>> next_start(last=10.0, now=10.1, per_second=2), next_start(last=10.0, now=11.0, per_second=2)
    (10.5, 11.0)
    """
    return max(now, last + 1 / per_second)


def give_up_at(now: float, in_line: int, per_second: float, timeout: float) -> float:
    """Until when a look-up is waited for that has so many in line before it: its turn in line, and the timeout."""
    return now + (in_line + 1) / per_second + timeout


def pinned(pins: Iterable[str]) -> dict[tuple[str, int], tuple[Place, ...]]:
    """(name as in canonical URLs, port) to the addresses of all pins for it ("NAME:PORT:ADDRESS", as curl has it)."""
    found: dict[tuple[str, int], tuple[Place, ...]] = {}
    for name, port, address in map(settings.pin, pins):
        key = (urls.host(urls.canonicalize(f"http://{name}/") or f"http://{name}/"), port)
        found[key] = (*found.get(key, ()), Place(_family(address), address))
    return found


def _family(address: str) -> int:
    return socket.AF_INET if ipaddress.ip_address(address).version == 4 else socket.AF_INET6


class _LookUp(NamedTuple):
    """A look-up that is under way, or in line."""

    result: "Future[Known]"
    give_up_at: float


class Names:
    """`socket.getaddrinfo` for (host, port, type=…), with a memory, a pace and an end.

    Made where a bundle starts and shared by all its threads. A name is looked up once, however many ask for it at
    once. Look-ups start at most `lookups_per_second` a second, and one that takes longer than `connect_timeout`
    (seconds, after its turn in line) fails for all who wait, and at once for all who come later, until it answers
    after all. Pins (`resolve`) come before any look-up; literal addresses need none. None of this says that an
    address may be asked: `addresses.connect` does.
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
        self._turns = threading.BoundedSemaphore(AT_ONCE)  # each is taken by a caller, and given back by its look-up
        self._lock = threading.Lock()  # for all that follows, and for changes of what is known
        self._under_way: dict[str, _LookUp] = {}
        self._in_line = 0
        self._last_start = float("-inf")

    def __call__(self, host: str, port: int, type: int = socket.SOCK_STREAM) -> list[tuple[Any, ...]]:
        """(family, type, 0, "", socket address) for each address; raises socket.gaierror."""
        name = host.lower()
        places = self._pins.get((name, port)) or self._look_up(name)
        return [(place.family, type, 0, "", (place.address, port, *place.rest)) for place in places]

    def addresses_of(self, host: str) -> list[str]:
        """The addresses of a canonical URL's host, in the system's order, each once; none if it does not resolve.

        `host` is as `urls.host` gives it. Without a port it stands for both of the default ones.
        """
        name, colon, port = host.rpartition(":")
        if host.endswith("]") or not colon:
            name, port = host, ""
        name = name.removeprefix("[").removesuffix("]")
        try:
            entries = [entry for number in ([int(port)] if port else [80, 443]) for entry in self(name, number)]
        except socket.gaierror:
            return []
        return list(dict.fromkeys(sockaddr[0] for *_, sockaddr in entries))

    def learn(self, host: str, found: Iterable[str]) -> None:
        """Take over what `addresses_of` gave elsewhere for a host, so that it is not looked up again."""
        name = host.removeprefix("[").partition("]" if host.startswith("[") else ":")[0]
        places = tuple(Place(_family(address), address) for address in found)
        if places and not any(pinned_name == name for pinned_name, _ in self._pins):  # a pin is for one port alone
            with self._lock:
                self._known[name] = Known(places, None, self._clock() + ANSWER_LIFETIME)

    def _look_up(self, name: str) -> tuple[Place, ...]:
        known = self._known.get(name)
        if known is None or known.until <= self._clock():
            if known := _literal(name):
                self._known[name] = known
            else:
                known = self._await(name)
        if known.failure:
            raise socket.gaierror(*known.failure)
        return known.places

    def _await(self, name: str) -> Known:
        """What a look-up gives: one that is under way, or else a new one."""
        with self._lock:
            now = self._clock()
            known = self._known.get(name)
            if known and known.until > now:  # it was answered a moment ago
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
        """Stand in line, then start the look-up; or end it if its time is over before that."""
        if not self._turns.acquire(timeout=self._left(look_up)):
            with self._lock:
                self._in_line -= 1
                del self._under_way[name]  # nothing was asked, so nothing is known of the name
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
        """In a daemon thread of its own, since getaddrinfo cannot be interrupted and must not hold up an exit."""
        try:
            known = _ask(self._resolver, name, self._clock)
        except Exception as error:  # a bug of the resolver's: raised where it is waited for
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
    except ValueError as error:  # a name that DNS cannot carry
        return _failure(socket.EAI_NONAME, str(error), clock() + FAILURE_LIFETIME)
    if not places:
        return _failure(socket.EAI_NONAME, "no address", clock() + FAILURE_LIFETIME)
    return Known(places, None, clock() + ANSWER_LIFETIME)


def _failure(number: int, text: str, until: float = float("-inf")) -> Known:
    return Known((), (number, text), until)


def _literal(name: str) -> Known | None:
    """An address in any spelling that the system reads as one; None for a name. DNS is not asked."""
    try:
        entries = socket.getaddrinfo(name, 0, type=socket.SOCK_STREAM, flags=socket.AI_NUMERICHOST)
    except (OSError, ValueError):
        return None
    return Known(_places(entries), None, float("inf"))


def _places(entries: Iterable[tuple[Any, ...]]) -> tuple[Place, ...]:
    """The addresses among getaddrinfo's entries, each once, in their order."""
    return tuple(dict.fromkeys(Place(int(family), sa[0], tuple(sa[2:])) for family, *_, sa in entries))
