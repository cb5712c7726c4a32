"""Notices that a thread cannot start or finds no memory: others would wait for it for ever."""

import contextlib
import threading
from collections.abc import Callable, Iterator

NO_THREAD = (
    "no thread can be started: raise the limits of address space and processes (ulimit -v, ulimit -u), or take fewer"
    " workers"
)
NO_MEMORY = "no memory is left: raise its limit (ulimit -v), or take fewer workers"
_NO_FILES = "no further file can be opened: raise the limit of open files (ulimit -n)"
_SIGNS = {
    "can't start new thread": NO_THREAD,
    "MemoryError": NO_MEMORY,
    "failed to map segment": NO_MEMORY,
    "[Errno 24]": _NO_FILES,
}


def limit_reached(line: str) -> str | None:
    """Return what to say of an error that comes from a limit of this process, by its type and message.

    >>> limit_reached("RuntimeError: can't start new thread") == NO_THREAD, limit_reached("ValueError: x")
    (True, None)
    """
    return next((said for sign, said in _SIGNS.items() if sign in line), None)


@contextlib.contextmanager
def on_failed_thread(react: Callable[[str], None]) -> Iterator[None]:
    """Call `react` with one line when any thread cannot be started, or ends without memory, inside `with`.

    gRPC catches the first error, and Beam logs it at most, so only `Thread.start` itself sees all of them. It is raised
    there all the same. No traceback of either is printed.
    """
    start, hook = threading.Thread.start, threading.excepthook

    def start_or_react(thread: threading.Thread) -> None:
        try:
            start(thread)
        except (RuntimeError, MemoryError) as error:
            if isinstance(error, MemoryError) or "can't start" in str(error):
                react(NO_THREAD)
            raise

    def ended(thread: threading.ExceptHookArgs) -> None:
        if issubclass(thread.exc_type, MemoryError):
            react(NO_MEMORY)
        elif "can't start" not in str(thread.exc_value):
            hook(thread)

    threading.Thread.start = start_or_react  # type: ignore[assignment, method-assign]
    threading.excepthook = ended
    try:
        yield
    finally:
        threading.Thread.start = start  # type: ignore[method-assign]
        threading.excepthook = hook
