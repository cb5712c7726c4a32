"""The reports of the workers of a fetch step, as values: the queues, the failures, and the requests over time."""

import math
from collections import deque
from typing import Any, NamedTuple

ANSWER = "answer"
"""The reason of a queue that waits for an answer."""


class Queue(NamedTuple):
    """A queue of hosts that lasts long."""

    name: str  # of its host, domain or address
    urls: int
    why: str  # the reason for its delay (`backoff.Rest`), or ANSWER
    delay_s: float  # between two requests; the wait for the next one in a backoff, and so far for an answer
    seconds: float  # until it is empty, or until its wait is over
    holds: bool  # whether the round waits for it; else its URLs are deferred when the other queues are empty


class Census(NamedTuple):
    """The queues of a bundle at one moment."""

    hosts: int = 0  # with URLs to visit, those with a request under way included
    backing_off: int = 0  # of these, hosts that are not requested yet because they failed or asked for a longer wait
    urls: int = 0  # in all queues
    seconds: float = 0.0  # until the longest queue that holds the round is empty, at the current delays
    ends_in: float = math.inf  # seconds until the round ends, whatever is left
    longest: tuple[Queue, ...] = ()  # those that hold the round first


class Failure(NamedTuple):
    """A visit that failed."""

    at: float  # POSIX time
    url: str
    outcome: str
    error: str  # or the status


_BUCKETS = 30
_WINDOW_S = 10.0


class Requests:
    """The requests of a bundle over time: those of the last seconds, and since the start in at most 30 equal buckets.

    A bucket has 2, 4, 8 … seconds: two become one when there are too many.
    """

    def __init__(self) -> None:
        self._began: float | None = None
        self._counted = 0
        self._samples: deque[tuple[float, int]] = deque()
        self.width_s = 2.0
        self.buckets: list[int] = []

    def note(self, now: float, count: int) -> None:
        """Note how many there have been until `now` (POSIX time)."""
        self._began = began = now if self._began is None else self._began
        self._samples.append((now, count))
        while len(self._samples) > 2 and self._samples[1][0] <= now - _WINDOW_S:
            self._samples.popleft()
        place = max(0, int((now - began) / self.width_s))
        while place >= _BUCKETS:
            self.buckets = [sum(self.buckets[at : at + 2]) for at in range(0, len(self.buckets), 2)]
            self.width_s, place = self.width_s * 2, place // 2
        self.buckets += [0] * (place + 1 - len(self.buckets))
        self.buckets[place] += count - self._counted
        self._counted = count

    def to_dict(self) -> dict[str, Any]:
        (since, before), (now, count) = (self._samples[0], self._samples[-1]) if self._samples else ((0.0, 0),) * 2
        rate = (count - before) / (now - since) if now > since else 0.0
        return {"rate": round(rate, 2), "began": self._began, "width_s": self.width_s, "buckets": list(self.buckets)}
