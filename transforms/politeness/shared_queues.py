"""Who may ask next: hosts in lanes, one request at a time in each (SPEC B3).

A lane is one host's own, or shared by the hosts of a domain or of an address. Times are those of the monotonic clock.
"""

import dataclasses
import itertools
from collections.abc import Callable
from heapq import heappop, heappush

from .host_queue import HostTurn

NOW = -1.0
"""A time before all others."""


@dataclasses.dataclass
class Lane:
    """Hosts that share a queue."""

    name: str
    ready_at: float = 0.0
    is_working: bool = False  # one of its hosts is being asked
    turns: list[tuple[float, int, HostTurn]] = dataclasses.field(default_factory=list)  # a heap, by readiness
    wakes_at: float | None = None  # its entry in the heap of all lanes; one with another time is void


class Lanes:
    """Hosts stand in their lane by the time each may be asked, and lanes in a heap by the time of their first host.

    A lane at work is not in the heap, so it never has two requests under way. `deadline` tells when the round ends:
    a lane that is not ready before then has nothing to wait for.
    """

    def __init__(self, deadline: Callable[[], float]) -> None:
        self._deadline = deadline
        self._lanes: dict[str, Lane] = {}
        self._of: dict[str, Lane] = {}  # by host
        self._heap: list[tuple[float, int, Lane]] = []
        self._count = itertools.count()  # of those that are ready at the same time, the first to come goes first

    def __len__(self) -> int:
        return len(self._heap)

    def open(self, name: str, ready_at: float = 0.0) -> Lane:
        """The lane of a name, old or new; it asks for nothing before `ready_at`."""
        lane = self._lanes.setdefault(name, Lane(name))
        lane.ready_at = max(lane.ready_at, ready_at)
        return lane

    def join(self, lane: Lane, host: str) -> None:
        """Give a host its lane, for good."""
        self._of.setdefault(host, lane)

    def line_up(self, turn: HostTurn, at: float) -> None:
        """Have a host come to its turn at a time, unless it stands in line already, or is being asked."""
        if not turn.in_line:
            turn.in_line = True
            lane = self._of[turn.host]
            heappush(lane.turns, (at, next(self._count), turn))
            self._wake(lane)

    def next_at(self) -> float | None:
        """When the next lane wants to be looked at."""
        return self._heap[0][0] if self._heap else None

    def pop(self) -> Lane | None:
        """The lane whose time comes first; None if that entry was void."""
        wakes_at, _, lane = heappop(self._heap)
        if wakes_at != lane.wakes_at:
            return None
        lane.wakes_at = None
        return lane

    def first(self, lane: Lane) -> HostTurn | None:
        """The host of a lane whose time comes first; it leaves the line."""
        if not lane.turns:
            return None
        _, _, turn = heappop(lane.turns)
        turn.in_line = False
        return turn

    def start(self, lane: Lane, turn: HostTurn) -> None:
        """A host of a lane is being asked: nobody else of the lane is, until `stop`."""
        lane.is_working, lane.wakes_at, turn.in_line = True, None, True

    def stop(self, lane: Lane, turn: HostTurn) -> None:
        """It has answered; the others may go on."""
        lane.is_working, turn.in_line = False, False
        self._wake(lane)

    def _wake(self, lane: Lane) -> None:
        if lane.is_working or not lane.turns:
            return
        first = lane.turns[0][0]
        at = max(first, lane.ready_at) if first > NOW and lane.ready_at < self._deadline() else NOW
        if at != lane.wakes_at:
            lane.wakes_at = at
            heappush(self._heap, (at, next(self._count), lane))
