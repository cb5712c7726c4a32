"""Starts worker processes by forking one that has imported Beam and the project, which takes more than a second.

The server process (`direct_worker`) has no threads and no connections when it forks. It is forked from the driver if
that has none either; else it is a new process with its own imports. The standard library's `multiprocessing` has such a
server too, which would import modules of the current folder.
"""

import contextlib
import json
import logging
import os
import queue
import signal
import subprocess
import sys
import threading
import traceback
import warnings
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import NoReturn, TextIO

from ..process.failed_threads import NO_MEMORY, NO_THREAD

COMMAND = (sys.executable, "-P", "-m", "beamtrawl.runners.engines.direct_worker")
"""Starts the server. `-P`: Python files of the current folder are not importable, whatever their names."""

FOR_MAPS = "--for-maps"
"""The word after COMMAND, with a module behind it, for workers that run no steps: it is imported in place of Beam."""


def may_fork() -> bool:
    """Return whether the server may be forked from this process: it has no other threads, and this is Linux."""
    return sys.platform == "linux" and threading.active_count() == 1


_LINES = 100  # of stderr, buffered until the server is ready; the last one states the reason of a failure
_SECONDS = 5.0  # timeout for the pipes of a dead server to close: its workers may still hold them open


class Worker:
    def __init__(self, server: "ForkServer", pid: int) -> None:
        self._server, self.pid = server, pid
        self._code = 0
        self._ended = threading.Event()

    def ends_within(self, seconds: float) -> bool:
        """Wait so long at most; return whether it has ended."""
        return self._ended.wait(seconds)

    def kill(self) -> None:
        self._server.send({"kill": self.pid})

    def wait(self) -> int:
        """Wait for the end; return the exit code, negative for a signal."""
        self._ended.wait()
        return self._code

    def end(self, code: int) -> None:
        self._code = code
        self._ended.set()


class Forked:
    """A forked process that runs a function, with pipes as its standard streams. Used as a `subprocess.Popen` is."""

    def __init__(self, run: Callable[[], object]) -> None:
        (its_stdin, stdin), (stdout, its_stdout), (stderr, its_stderr) = (os.pipe() for _ in range(3))
        with warnings.catch_warnings():  # of the threads of OpenBLAS and jemalloc, which have handlers for a fork
            warnings.filterwarnings("ignore", "This process .* is multi-threaded", DeprecationWarning)
            self._pid = os.fork()
        if not self._pid:
            run_and_exit(partial(_become, run, (its_stdin, its_stdout, its_stderr), (stdin, stdout, stderr)))
        for end in (its_stdin, its_stdout, its_stderr):
            os.close(end)
        self.stdin: TextIO | None = os.fdopen(stdin, "w")
        self.stdout: TextIO | None = os.fdopen(stdout, errors="replace")
        self.stderr: TextIO | None = os.fdopen(stderr, errors="replace")
        self._code: int | None = None
        self._lock = threading.Lock()

    def kill(self) -> None:
        with self._lock:
            if self._code is None:  # else the id may be another process's
                os.kill(self._pid, signal.SIGKILL)

    def wait(self) -> int:
        """Wait for the end, which any number of threads may do; return the exit code, negative for a signal."""
        with contextlib.suppress(ChildProcessError):  # another thread has waited
            os.waitid(os.P_PID, self._pid, os.WEXITED | os.WNOWAIT)
        with self._lock:
            if self._code is None:
                self._code = os.waitstatus_to_exitcode(os.waitpid(self._pid, 0)[1])
            return self._code


def _become(run: Callable[[], object], streams: tuple[int, int, int], others: Sequence[int]) -> None:
    """Run a function with these standard streams. Nothing of the parent's is written or kept."""
    for number, stream in enumerate(streams):
        os.dup2(stream, number)
    for end in (*streams, *others):
        os.close(end)
    sys.stdout, sys.stderr = (os.fdopen(number, "w", 1, closefd=False) for number in (1, 2))  # it may fork others
    logging.getLogger().handlers.clear()
    run()


def run_and_exit(run: Callable[[], object]) -> NoReturn:
    """Run a function in a process that has just been forked, and end it: it has what its parent would do next."""
    code = 1
    try:
        run()
        code = 0
    except BaseException:  # also SystemExit
        traceback.print_exc()
    finally:
        try:
            sys.stderr.flush()
        finally:  # also if nobody reads it any more
            os._exit(code)


class ForkServer:
    """A server process and its workers. All end with `close`, or with this process.

    `lines` are the last lines that they wrote to stderr; what they write once the server is ready is shown.
    """

    def __init__(self, server: Sequence[str] | Callable[[], object] = COMMAND) -> None:
        """Start the command, or fork a process that runs the function."""
        self._process: Forked | subprocess.Popen[str]
        if callable(server):
            self._process = Forked(server)
        else:
            pipe = subprocess.PIPE
            self._process = subprocess.Popen(server, stdin=pipe, stdout=pipe, stderr=pipe, text=True, errors="replace")
        self.lines: deque[str] = deque(maxlen=_LINES)
        self._is_ready = False
        self._sending, self._starting = threading.Lock(), threading.Lock()
        self._started: queue.SimpleQueue[Worker | None] = queue.SimpleQueue()  # None: the server has ended
        self._running: dict[int, Worker] = {}
        self._code = 0
        self._stderr_reader = threading.Thread(target=self._read_stderr, daemon=True)
        self._answers_reader = threading.Thread(target=self._read_answers, daemon=True)
        self._stderr_reader.start()
        self._answers_reader.start()

    def start(self, environment: Mapping[str, str]) -> Worker:
        """Start a worker with additional environment variables. If the server has ended, the worker has ended too."""
        with self._starting:
            self.send({"environment": dict(environment)})
            if worker := self._started.get():
                return worker
            self._started.put(None)
        worker = Worker(self, 0)
        worker.end(self._code)
        return worker

    def close(self) -> None:
        self._process.kill()
        self._process.wait()
        self._answers_reader.join(_SECONDS)
        assert self._process.stdin
        with contextlib.suppress(OSError):  # what is still in the buffer cannot be sent any more
            self._process.stdin.close()

    def send(self, message: Mapping[str, object]) -> None:
        assert self._process.stdin
        with self._sending, contextlib.suppress(OSError):  # _read_answers reports the end of the server
            self._process.stdin.write(json.dumps(message) + "\n")
            self._process.stdin.flush()

    def _read_answers(self) -> None:
        assert self._process.stdout
        with self._process.stdout as answers:
            for line in answers:
                match line.split():
                    case ["ready"]:
                        self._is_ready = True
                    case ["started", pid]:
                        self._running[int(pid)] = worker = Worker(self, int(pid))
                        self._started.put(worker)
                    case ["ended", pid, code]:
                        self._running.pop(int(pid)).end(int(code))
        self._code = self._process.wait()
        self._stderr_reader.join(_SECONDS)
        for worker in self._running.values():
            worker.end(self._code)
        self._started.put(None)

    def _read_stderr(self) -> None:
        assert self._process.stderr
        with self._process.stderr as stderr:
            for line in stderr:
                self.lines.append(line)
                if self._is_ready and line.strip() not in (NO_THREAD, NO_MEMORY):  # which the driver says
                    sys.stderr.write(line)


def describe_end(code: int, lines: Sequence[str]) -> str:
    """Return one line on a worker that ended early, from its exit code and its stderr."""
    last = next((line.strip() for line in reversed(lines) if line.strip()), "it wrote no message")
    if code < 0:
        memory = ", as Linux ends processes when memory runs out" if code == -signal.SIGKILL else ""
        return f"a worker process was ended by {signal.Signals(-code).name}{memory}; the same command goes on"
    return f"a worker process ended early, with exit code {code}: {last}; --workers 1 runs without worker processes"
