"""Who may ask next: hosts in queues, one request at a time in each (SPEC B3).

A shared is one host's own, or shared by the hosts of a domain or of an address. Times are those of the monotonic clock.
"""

import dataclasses
import itertools
from collections.abc import Callable, Iterator
from heapq import heappop, heappush

from .host_queue import HostTurn

NOW = -1.0
"""A time before all others."""


@dataclasses.dataclass
class SharedQueue:
    """Hosts that share a queue."""

    name: str
    ready_at: float = 0.0
    is_working: bool = False  # one of its hosts is being asked
    turns: list[tuple[float, int, HostTurn]] = dataclasses.field(default_factory=list)  # a heap, by readiness
    entry_at: float | None = None  # its entry in the heap of all queues; one with another time is void


class SharedQueues:
    """Hosts stand in their shared by the time each may be asked, and queues in a heap by the time of their first host.

    A shared at work is not in the heap, so it never has two requests under way. `deadline` tells when the round ends:
    a shared that is not ready before then has nothing to wait for.
    """

    def __init__(self, deadline: Callable[[], float]) -> None:
        self._deadline = deadline
        self._queues: dict[str, SharedQueue] = {}
        self._of: dict[str, SharedQueue] = {}  # by host
        self._heap: list[tuple[float, int, SharedQueue]] = []
        self._count = itertools.count()  # of those that are ready at the same time, the first to come goes first

    def __len__(self) -> int:
        return len(self._heap)

    def open(self, name: str, ready_at: float = 0.0) -> SharedQueue:
        """The shared of a name, old or new; it asks for nothing before `ready_at`."""
        shared = self._queues.setdefault(name, SharedQueue(name))
        shared.ready_at = max(shared.ready_at, ready_at)
        return shared

    def join(self, shared: SharedQueue, host: str) -> None:
        """Give a host its shared, for good."""
        self._of.setdefault(host, shared)

    def schedule(self, turn: HostTurn, at: float) -> None:
        """Have a host come to its turn at a time, unless it stands in line already, or is being asked."""
        if not turn.is_scheduled:
            turn.is_scheduled = True
            shared = self._of[turn.host]
            heappush(shared.turns, (at, next(self._count), turn))
            self._enter(shared)

    def waiting(self) -> Iterator[tuple[HostTurn, float]]:
        """The hosts that stand in a queue, each with the time from which it may be asked."""
        for shared in self._queues.values():
            yield from ((turn, max(at, shared.ready_at)) for at, _, turn in shared.turns)

    def next_at(self) -> float | None:
        """When the next shared wants to be looked at."""
        return self._heap[0][0] if self._heap else None

    def pop(self) -> SharedQueue | None:
        """The shared whose time comes first; None if that entry was void."""
        entry_at, _, shared = heappop(self._heap)
        if entry_at != shared.entry_at:
            return None
        shared.entry_at = None
        return shared

    def first(self, shared: SharedQueue) -> HostTurn | None:
        """The host of a shared whose time comes first; it leaves the line."""
        if not shared.turns:
            return None
        _, _, turn = heappop(shared.turns)
        turn.is_scheduled = False
        return turn

    def start(self, shared: SharedQueue, turn: HostTurn) -> None:
        """A host of a shared is being asked: nobody else of the shared is, until `stop`."""
        shared.is_working, shared.entry_at, turn.is_scheduled = True, None, True

    def stop(self, shared: SharedQueue, turn: HostTurn) -> None:
        """It has answered; the others may go on."""
        shared.is_working, turn.is_scheduled = False, False
        self._enter(shared)

    def _enter(self, shared: SharedQueue) -> None:
        if shared.is_working or not shared.turns:
            return
        first = shared.turns[0][0]
        at = max(first, shared.ready_at) if first > NOW and shared.ready_at < self._deadline() else NOW
        if at != shared.entry_at:
            shared.entry_at = at
            heappush(self._heap, (at, next(self._count), shared))
