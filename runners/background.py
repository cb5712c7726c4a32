"""Work in a thread that signals do not reach, while the caller's thread shows progress."""

import signal
import threading
from collections.abc import Callable
from concurrent.futures import Future
from typing import Generic, TypeVar

T = TypeVar("T")
_TICK = 0.2  # seconds

INTERRUPTS = (signal.SIGINT, signal.SIGTERM)
"""Ctrl-C, and what service managers and containers send; both ask for a polite end."""


class Background(Generic[T]):
    """Work that runs in a thread of its own from now on.

    The thread and the processes that it starts ignore INTERRUPTS: Ctrl-C on a terminal, or a service manager, sends
    them to all processes, and the caller alone decides what they mean.
    """

    def __init__(self, work: Callable[[], T]) -> None:
        self._future: Future[T] = Future()
        self._thread = threading.Thread(target=self._run, args=(work,), daemon=True)
        before = signal.pthread_sigmask(signal.SIG_BLOCK, INTERRUPTS)
        try:
            self._thread.start()
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, before)

    def wait(self, tick: Callable[[], None]) -> None:
        """Wait for the end of the work, and call `tick` several times a second until then.

        After an exception of `tick`, or KeyboardInterrupt, it may be called again.
        """
        while self._thread.is_alive():
            self._thread.join(_TICK)
            tick()

    def result(self) -> T:
        """What the work has returned, or raises what it has raised; call it after `wait`."""
        return self._future.result()

    def _run(self, work: Callable[[], T]) -> None:
        try:
            self._future.set_result(work())
        except BaseException as error:  # handed over to the caller's thread, whatever it is
            self._future.set_exception(error)
