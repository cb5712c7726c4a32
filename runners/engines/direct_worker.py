"""The server process of `fork_server`: forks Beam's worker harness.

    python -P -m beamtrawl.runners.engines.direct_worker

Reads a JSON object a line from stdin: {"environment": {…}} forks a worker with these variables, {"kill": PID} ends one.
Writes `ready`, `started PID` and `ended PID CODE`. Ends with stdin, and its workers end with it.
"""

import contextlib
import gc
import json
import logging
import os
import select
import signal
import sys
import threading
import traceback
import warnings
from collections.abc import Iterator
from typing import Any, TextIO

from ..process.background import INTERRUPTS
from ..process.cache_folder import cache_folder
from ..process.failed_threads import on_failed_thread
from ..process.garbage import collect_rarely
from ..process.memory import share_memory
from ..terminal.errors import BEAM_REPEATS
from .parent_watch import end_with_parent


def main() -> None:
    """Import what workers need, then serve the driver on the standard streams, until its end of stdin is closed.

    Ctrl-C, SIGTERM and SIGHUP are for the driver, which then ends the workers.
    """
    for number in INTERRUPTS:
        signal.signal(number, signal.SIG_IGN)
    collect_rarely()
    share_memory()
    logging.disable(logging.WARNING)  # Beam's warnings while it is imported do not concern users
    from apache_beam.runners.worker import sdk_worker_main

    from ...pipeline import fetch, update  # noqa: F401
    from ...transforms.parsing.language.detect import keep_copy_in, load_model
    from .inspection import inspected_once

    keep_copy_in(cache_folder())
    load_model()
    logging.disable(logging.NOTSET)
    logging.getLogger("apache_beam").setLevel(logging.ERROR)  # nor do its messages on the start and end of a worker
    for name in BEAM_REPEATS:  # the driver shows exceptions
        logging.getLogger(name).setLevel(logging.CRITICAL)
    sys.stderr = _WithoutTracebacks(sys.stderr)
    warnings.filterwarnings("ignore", "This process .* is multi-threaded", DeprecationWarning)  # jemalloc's own thread
    gc.freeze()  # a collection in a worker would copy the shared memory
    ended, ends = os.pipe()
    os.set_blocking(ends, False)
    signal.set_wakeup_fd(ends, warn_on_full_buffer=False)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    print("ready", flush=True)
    running: set[int] = set()
    with inspected_once():
        for message in _messages(ended, running):
            if pid := message.get("kill"):
                if pid in running:
                    os.kill(pid, signal.SIGKILL)
            elif pid := os.fork():
                running.add(pid)
                print("started", pid, flush=True)
            else:
                _work(message["environment"], sdk_worker_main.main)


def _messages(ended: int, running: set[int]) -> Iterator[dict[str, Any]]:
    """Yield the messages on stdin; meanwhile report workers that end."""
    rest = b""
    while True:
        ready, _, _ = select.select([0, ended], [], [])
        if ended in ready:
            os.read(ended, 4096)
            _report(running)
        if 0 in ready:
            if not (data := os.read(0, 1 << 16)):
                return
            *lines, rest = (rest + data).split(b"\n")
            yield from map(json.loads, lines)


def _report(running: set[int]) -> None:
    with contextlib.suppress(ChildProcessError):
        while (end := os.waitpid(-1, os.WNOHANG))[0]:
            running.discard(end[0])
            print("ended", end[0], os.waitstatus_to_exitcode(end[1]), flush=True)


def _work(environment: dict[str, str], harness: Any) -> None:
    """Run Beam's harness in a forked process, which never returns."""
    code = 1
    try:
        signal.set_wakeup_fd(-1)
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
        os.dup2(2, 1)  # the server's stdout is for its answers only
        os.environ.update(environment)
        end_with_parent()
        threading.excepthook = _end_without_memory
        with on_failed_thread(_end):
            harness([])
        code = 0
    except BaseException:  # also SystemExit: the server must not run on in this process
        traceback.print_exc()
    finally:
        sys.stderr.flush()
        os._exit(code)


def _end(reason: str) -> None:
    """End this worker at once: the driver shows its last line."""
    sys.stderr.write(f"{reason}\n")
    sys.stderr.flush()
    os._exit(1)


def _end_without_memory(failed: threading.ExceptHookArgs) -> None:
    """End a worker one of whose threads has found no memory: nothing would do the work of that thread."""
    if issubclass(failed.exc_type, MemoryError):
        _end("no memory is left: raise its limit (ulimit -v), or take fewer workers")
    threading.__excepthook__(failed)


class _WithoutTracebacks:
    """A text stream that drops the tracebacks that Beam's harness prints, for it sends them to the driver as well."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self._is_cut = False

    def write(self, text: str) -> int:
        is_rest, self._is_cut = self._is_cut and text == "\n", False  # `print` writes the line end separately
        if text.startswith("Traceback (") and "sdk_worker.py" in text and ", in _execute" in text:
            self._is_cut = True
        return len(text) if is_rest or self._is_cut else self._stream.write(text)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


if __name__ == "__main__":
    main()
