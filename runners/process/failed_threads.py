"""What a process does that cannot start a thread: Beam and gRPC would wait for ever for what it was to do."""

import contextlib
import threading
from collections.abc import Callable, Iterator

NO_THREAD = (
    "no thread can be started: raise the limits of address space and processes (ulimit -v, ulimit -u), or take fewer"
    " workers"
)


@contextlib.contextmanager
def on_failed_thread(react: Callable[[str], None]) -> Iterator[None]:
    """Call `react` with one line when any thread cannot be started inside `with`; the error is then raised.

    gRPC catches the error, and Beam logs it at most, so only `Thread.start` itself sees all of them.
    """
    start = threading.Thread.start

    def start_or_react(thread: threading.Thread) -> None:
        try:
            start(thread)
        except (RuntimeError, MemoryError) as error:
            if isinstance(error, MemoryError) or "can't start" in str(error):
                react(NO_THREAD)
            raise

    threading.Thread.start = start_or_react  # type: ignore[assignment, method-assign]
    try:
        yield
    finally:
        threading.Thread.start = start  # type: ignore[method-assign]
