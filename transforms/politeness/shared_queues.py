"""Selects the next host to fetch: hosts in queues, one request at a time in each (docs/politeness.md).

A queue belongs to the hosts (ports) of a name, of a domain or of an address. Times are those of the monotonic clock.
A queue that has begun precedes all that have not, for `_IN_A_ROW` requests: of a million hosts only as many have begun
as the robot can fetch from at a time. Their connections are kept while they are few (`request_pool`).
"""

import dataclasses
import itertools
from collections.abc import Callable, Iterator
from heapq import heappop, heappush

from .host_queue import HostTurn

NOW = -1.0
"""A time before all others."""

_IN_A_ROW = 16  # requests, until a queue is behind all that are ready: a round that ends early has pages of each


@dataclasses.dataclass(slots=True)
class SharedQueue:
    """Hosts that share a queue."""

    name: str
    ready_at: float = 0.0
    is_working: bool = False  # a request to one of its hosts is under way
    turns: list[tuple[float, int, HostTurn]] = dataclasses.field(default_factory=list)  # a heap, by ready time
    entry_at: float | None = None  # time of its entry in a heap of queues; entries with another time are void
    requests: int = 0  # so far


class SharedQueues:
    """Each queue orders its hosts by ready time; two heaps order the queues by the ready time of their first host.

    One is of those that have begun. A queue with a request under way is in none, so it never has two. `deadline`
    returns the end of the round: a queue that is not ready before then does not wait.
    """

    def __init__(self, deadline: Callable[[], float]) -> None:
        self._deadline = deadline
        self._queues: dict[str, SharedQueue] = {}
        self._of: dict[str, SharedQueue] = {}  # by name
        self._begun: list[tuple[float, int, SharedQueue]] = []
        self._others: list[tuple[float, int, SharedQueue]] = []
        self._count = itertools.count()  # ties are broken by order of arrival

    def __len__(self) -> int:
        return len(self._begun) + len(self._others)

    def open(self, name: str, ready_at: float = 0.0) -> SharedQueue:
        """Return the queue of a name, created if missing; it starts no request before `ready_at`."""
        shared = self._queues.setdefault(name, SharedQueue(name))
        shared.ready_at = max(shared.ready_at, ready_at)
        return shared

    def join(self, shared: SharedQueue, turn: HostTurn) -> None:
        """Assign all hosts of a name to their queue, permanently."""
        self._of.setdefault(turn.name, shared)

    def drop(self, name: str) -> None:
        """Forget a queue without hosts that wait."""
        del self._queues[name], self._of[name]

    def name_of(self, turn: HostTurn) -> str:
        """Return the name of a host's queue."""
        return self._of[turn.name].name

    def schedule(self, turn: HostTurn, at: float) -> None:
        """Schedule a host's turn, unless it is scheduled already or has a request under way."""
        if not turn.is_scheduled:
            turn.is_scheduled = True
            shared = self._of[turn.name]
            heappush(shared.turns, (at, next(self._count), turn))
            self._enter(shared)

    def waiting(self) -> Iterator[tuple[HostTurn, float]]:
        """Yield the queued hosts, each with its ready time."""
        for shared in self._queues.values():
            yield from ((turn, max(at, shared.ready_at)) for at, _, turn in shared.turns)

    def next_at(self) -> float | None:
        """Return the earliest time of a queue in a heap."""
        return min((heap[0][0] for heap in (self._begun, self._others) if heap), default=None)

    def pop(self, until: float) -> SharedQueue | None:
        """Remove and return the first queue that is ready by then, one of which is; None if its entry was void."""
        is_begun = bool(self._begun) and self._begun[0][0] <= until
        entry_at, _, shared = heappop(self._begun if is_begun else self._others)
        if entry_at != shared.entry_at:
            return None
        shared.entry_at = None
        return shared

    def has_new(self, now: float) -> bool:
        """Return whether a queue that has not begun is ready: it waits for a connection only."""
        return bool(self._others) and self._others[0][0] <= now and not self._others[0][2].requests

    def first(self, shared: SharedQueue) -> HostTurn | None:
        """Remove and return the first host of a queue."""
        if not shared.turns:
            return None
        _, _, turn = heappop(shared.turns)
        turn.is_scheduled = False
        return turn

    def start(self, shared: SharedQueue, turn: HostTurn) -> None:
        """Mark a request to a host as started: no other host of the queue starts one until `stop`."""
        shared.is_working, shared.entry_at, turn.is_scheduled = True, None, True
        shared.requests += 1

    def stop(self, shared: SharedQueue, turn: HostTurn) -> None:
        """Mark the request as ended; other hosts of the queue may start one."""
        shared.is_working, turn.is_scheduled = False, False
        self._enter(shared)

    def _enter(self, shared: SharedQueue) -> None:
        if shared.is_working or not shared.turns:
            return
        first = shared.turns[0][0]
        at = max(first, shared.ready_at) if first > NOW and shared.ready_at < self._deadline() else NOW
        if at != shared.entry_at:
            shared.entry_at = at
            heappush(self._begun if shared.requests % _IN_A_ROW else self._others, (at, next(self._count), shared))
