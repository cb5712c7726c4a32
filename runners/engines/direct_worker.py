"""The server process of `fork_server`: forks workers, which run functions for a pool.

    python -P -m beamtrawl.runners.engines.direct_worker

Reads a JSON object a line from stdin: {"environment": {…}} forks a worker with these variables, {"kill": PID} ends one.
Writes `ready`, `started PID` and `ended PID CODE`. Ends with stdin, and its workers end with it.
"""

import contextlib
import gc
import importlib
import json
import logging
import os
import select
import signal
import sys
import traceback
import warnings
from collections.abc import Iterator
from typing import Any

from ..process.background import INTERRUPTS
from ..process.cache_folder import cache_folder
from ..process.failed_threads import on_failed_thread
from ..process.garbage import collect_rarely
from ..process.memory import share_memory
from ..process.usage import end_children
from ..terminal.errors import BEAM_REPEATS
from .fork_server import FOR_MAPS
from .parent_watch import end_with_parent
from .pool import ADDRESS, serve


def main() -> None:
    """Import what workers need, then serve the driver on the standard streams, until its end of stdin is closed.

    Ctrl-C, SIGTERM and SIGHUP are for the driver, which then ends the workers.
    """
    for number in INTERRUPTS:
        signal.signal(number, signal.SIG_IGN)
    collect_rarely()
    share_memory()
    logging.disable(logging.WARNING)  # Beam's warnings while it is imported do not concern users
    if FOR_MAPS in sys.argv:
        importlib.import_module(sys.argv[-1])
        _serve_forks(contextlib.nullcontext())
        return
    from ...pipeline import fetch, update  # noqa: F401
    from ...transforms.parsing.language.detect import keep_copy_in, load_model
    from ...transforms.urls.canonical import domain
    from .inspection import inspected_once

    keep_copy_in(cache_folder())
    load_model()
    domain("localhost")  # reads the list of public suffixes, which each worker would read else
    logging.disable(logging.NOTSET)
    logging.getLogger("apache_beam").setLevel(logging.ERROR)
    for name in BEAM_REPEATS:  # the driver shows exceptions
        logging.getLogger(name).setLevel(logging.CRITICAL)
    warnings.filterwarnings("ignore", "This process .* is multi-threaded", DeprecationWarning)  # jemalloc's own thread
    _serve_forks(inspected_once())


def _serve_forks(context: contextlib.AbstractContextManager[None]) -> None:
    gc.freeze()  # a collection in a worker would copy the shared memory
    ended, ends = os.pipe()
    os.set_blocking(ends, False)
    signal.set_wakeup_fd(ends, warn_on_full_buffer=False)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    print("ready", flush=True)
    running: set[int] = set()
    with context:
        for message in _messages(ended, running):
            if pid := message.get("kill"):
                if pid in running:
                    os.kill(pid, signal.SIGKILL)
            elif pid := os.fork():
                running.add(pid)
                print("started", pid, flush=True)
            else:
                _work(message["environment"])


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


def _work(environment: dict[str, str]) -> None:
    """Run functions of a pool in a forked process, which never returns."""
    code = 1
    try:
        signal.set_wakeup_fd(-1)
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
        os.dup2(2, 1)  # the server's stdout is for its answers only
        end_with_parent()
        with on_failed_thread(_end):
            serve(environment[ADDRESS], os.getpid())
        end_children()  # parsers have some, which would be nobody's
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


if __name__ == "__main__":
    main()
