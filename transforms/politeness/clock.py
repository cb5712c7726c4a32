"""Clock and asynchronous calls of a scheduler. Tests pass simulated ones.

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
    """A source of monotonic and UTC time."""

    def monotonic(self) -> float:
        """Return monotonic time in seconds."""

    def utc(self) -> datetime:
        """Return the current date and time in UTC."""


class Calls(Protocol[T]):
    """Runs calls concurrently, and returns their results in order of completion."""

    def start(self, call: Callable[[], T]) -> None:
        """Start a call; it must not raise."""

    def take(self, timeout: float) -> T | None:
        """Return the result of the first completed call not yet taken; None after `timeout` seconds."""

    def close(self) -> None:
        """Wait for the running calls."""


class SystemClock:
    """The clock of this machine."""

    def monotonic(self) -> float:
        return time.monotonic()

    def utc(self) -> datetime:
        return datetime.now(UTC)


SYSTEM_CLOCK = SystemClock()


def monotonic(moment: datetime, clock: Clock = SYSTEM_CLOCK) -> float:
    """Convert a moment to seconds of the clock's monotonic time."""
    return clock.monotonic() + (moment - clock.utc()).total_seconds()


class ThreadCalls(Generic[T]):
    """Calls in threads of this process."""

    def __init__(self, threads: int) -> None:
        self._pool = ThreadPoolExecutor(threads, thread_name_prefix="fetch")
        # Not SimpleQueue: in CPython it blocks forever if the timeout expires before the wait starts.
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
