"""The server process of `fork_server`: forks workers, which run functions for a pool; and a map by such workers.

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
import warnings
from collections.abc import Iterator
from functools import partial
from typing import Any

from ..process.absent import BEAM_OPTIONAL, absent, keep_pandas_out
from ..process.background import INTERRUPTS
from ..process.cache_folder import cache_folder
from ..process.failed_threads import on_failed_thread
from ..process.garbage import collect_rarely
from ..process.memory import share_memory
from ..process.usage import end_children, kill
from ..terminal.errors import BEAM_REPEATS
from .cores import usable_cores, workers_that_pay
from .fork_server import COMMAND, FOR_MAPS, ForkServer, may_fork, run_and_exit
from .parent_watch import end_with_parent
from .pool import ADDRESS, Map, Pool, serve


def main() -> None:
    """Import what workers need in a process of its own, then serve."""
    _prepare()
    logging.disable(logging.WARNING)  # Beam's warnings while it is imported do not concern users
    if FOR_MAPS in sys.argv:
        importlib.import_module(sys.argv[-1])
        serve_maps()
        return
    with absent(BEAM_OPTIONAL):
        from ...pipeline import fetch, update  # noqa: F401
    load_models()
    logging.disable(logging.NOTSET)
    serve_steps()


def _prepare() -> None:
    """Ctrl-C, SIGTERM and SIGHUP are for the driver, which then ends the workers."""
    for number in INTERRUPTS:
        signal.signal(number, signal.SIG_IGN)
    collect_rarely()
    keep_pandas_out()
    share_memory()


def load_models() -> None:
    """Read what pages are parsed with, once for this process and those that are forked from it."""
    from ...transforms.parsing.language import detect
    from ...transforms.urls.canonical import domain

    detect.keep_copy_in(cache_folder())
    detect.load_model()
    domain("localhost")  # reads the list of public suffixes


def serve_steps() -> None:
    """Fork workers that run steps, as the driver asks on the standard streams, until its end of stdin is closed."""
    from .inspection import inspected_once

    logging.getLogger("apache_beam").setLevel(logging.ERROR)
    for name in BEAM_REPEATS:  # the driver shows exceptions
        logging.getLogger(name).setLevel(logging.CRITICAL)
    with inspected_once():
        serve_maps()


def serve_maps() -> None:
    """The same for workers that run no steps."""
    _prepare()
    warnings.filterwarnings("ignore", "This process .* is multi-threaded", DeprecationWarning)  # jemalloc's own thread
    gc.freeze()  # a collection in a worker would copy the shared memory
    ended, ends = os.pipe()
    os.set_blocking(ends, False)
    signal.set_wakeup_fd(ends, warn_on_full_buffer=False)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    print("ready", flush=True)
    running: set[int] = set()
    for message in _messages(ended, running):
        if pid := message.get("kill"):
            if pid in running:
                kill(pid)
        elif pid := os.fork():
            running.add(pid)
            print("started", pid, flush=True)
        else:
            run_and_exit(partial(_work, message["environment"]))


@contextlib.contextmanager
def worker_map(seconds: float, module: str) -> Iterator[Map]:
    """A `map`, by as many worker processes as pay for so many seconds of computing, else by this one.

    Of its items, those that are under way are in memory. Workers are forked from this process if that may be done; else
    they share the module of the function.
    """
    if (workers := workers_that_pay(usable_cores(), seconds)) == 1:
        yield map
        return
    server = ForkServer(serve_maps if may_fork() else (*COMMAND, FOR_MAPS, module))
    with contextlib.closing(server), Pool(server, workers) as pool:
        yield pool.map


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
    """Run functions of a pool in a forked process."""
    signal.set_wakeup_fd(-1)
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    os.dup2(2, 1)  # the server's stdout is for its answers only
    end_with_parent()
    with on_failed_thread(_end):
        serve(environment[ADDRESS], os.getpid())
    end_children()  # parsers have some, which would be nobody's


def _end(reason: str) -> None:
    """End this worker at once: the driver shows its last line."""
    sys.stderr.write(f"{reason}\n")
    sys.stderr.flush()
    os._exit(1)


if __name__ == "__main__":
    main()
