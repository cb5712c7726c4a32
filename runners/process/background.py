"""Work in a thread that signals do not reach, while the caller's thread shows progress."""

import signal
import threading
from collections.abc import Callable
from concurrent.futures import Future
from typing import Generic, TypeVar

T = TypeVar("T")
_TICK = 0.2  # seconds

INTERRUPTS = (signal.SIGINT, signal.SIGTERM, *((signal.SIGHUP,) if hasattr(signal, "SIGHUP") else ()))
"""Ctrl-C, the signal of service managers and containers, and a closed terminal; all request an orderly end."""


class Background(Generic[T]):
    """Work that runs in its own thread, started on construction.

    The thread and the processes that it starts ignore INTERRUPTS: Ctrl-C on a terminal, or a service manager, sends
    them to all processes, and only the caller handles them.
    """

    def __init__(self, work: Callable[[], T]) -> None:
        self._future: Future[T] = Future()
        # Not Thread.join: in Python 3.11, KeyboardInterrupt in it marks a running thread as ended.
        self._ended = threading.Event()
        thread = threading.Thread(target=self._run, args=(work,), daemon=True)
        before = signal.pthread_sigmask(signal.SIG_BLOCK, INTERRUPTS)
        try:
            thread.start()
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, before)

    def wait(self, tick: Callable[[], None]) -> None:
        """Wait for the end of the work, and call `tick` several times a second until then.

        After an exception of `tick`, or KeyboardInterrupt, it may be called again.
        """
        while not self._ended.is_set():
            self._ended.wait(_TICK)
            tick()

    def result(self) -> T:
        """Return the result of the work, or re-raise its exception; call it after `wait`."""
        return self._future.result()

    def _run(self, work: Callable[[], T]) -> None:
        try:
            self._future.set_result(work())
        except BaseException as error:  # re-raised in the caller's thread
            self._future.set_exception(error)
        finally:
            self._ended.set()
