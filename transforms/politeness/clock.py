"""What a scheduler knows of time: a clock, and calls that end later. Tests pass simulated ones.

calls = ThreadCalls(threads=8)
calls.start(lambda: client.get(url, headers))
reply = calls.take(timeout=0.5)
"""

import queue
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from typing import Generic, Protocol, TypeVar

T = TypeVar("T")


class Clock(Protocol):
    """Tells the time."""

    def monotonic(self) -> float:
        """Seconds on a clock that nobody sets."""

    def utc(self) -> datetime:
        """The date and time in UTC."""


class Calls(Protocol[T]):
    """Runs calls at the same time, and gives their results as they end."""

    def start(self, call: Callable[[], T]) -> None:
        """Start a call, which does not raise."""

    def take(self, timeout: float) -> T | None:
        """The result of the call that ended first of those not yet taken; None if none ends in so many seconds."""

    def close(self) -> None:
        """Wait for the calls that still run."""


class SystemClock:
    """The clock of this machine."""

    def monotonic(self) -> float:
        return time.monotonic()

    def utc(self) -> datetime:
        return datetime.now(UTC)


SYSTEM_CLOCK = SystemClock()


def monotonic(moment: datetime, clock: Clock = SYSTEM_CLOCK) -> float:
    """A moment in seconds of the clock's monotonic time."""
    return clock.monotonic() + (moment - clock.utc()).total_seconds()


class ThreadCalls(Generic[T]):
    """Calls in threads of this process."""

    def __init__(self, threads: int) -> None:
        self._pool = ThreadPoolExecutor(threads, thread_name_prefix="fetch")
        # No SimpleQueue: CPython's waits for ever if the time to wait is over before it begins to.
        self._ended: queue.Queue[T] = queue.Queue()

    def start(self, call: Callable[[], T]) -> None:
        self._pool.submit(lambda: self._ended.put(call()))

    def take(self, timeout: float) -> T | None:
        try:
            return self._ended.get(timeout=timeout) if timeout else self._ended.get_nowait()
        except queue.Empty:
            return None

    def close(self) -> None:
        self._pool.shutdown()
