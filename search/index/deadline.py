"""A limit on the time of a query."""

import time
from collections.abc import Callable


class Deadline:
    """The moment from which a query starts no further piece of its work. A piece that has begun is finished.

    `clock` gives seconds and never goes back. Without `seconds` there is no limit. Thread-safe.
    """

    is_partial = False
    """Whether a piece of work has been left out."""

    def __init__(self, seconds: float | None = None, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._end = None if seconds is None else clock() + seconds

    def cuts(self) -> bool:
        """Whether the next piece of work must be left out. If so, the answer is partial from now on."""
        if self._end is None or self._clock() < self._end:
            return False
        self.is_partial = True
        return True
