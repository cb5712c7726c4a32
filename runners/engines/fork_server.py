"""Starts worker processes by forking one that has imported Beam and the project, which takes more than a second.

The server process (`direct_worker`) has no threads and no connections when it forks. The standard library's
`multiprocessing` has such a server too, which would import modules of the current folder.
"""

import contextlib
import json
import queue
import subprocess
import sys
import threading
from collections import deque
from collections.abc import Mapping, Sequence

COMMAND = (sys.executable, "-P", "-m", "beamtrawl.runners.engines.direct_worker")
"""Starts the server. `-P`: Python files of the current folder are not importable, whatever their names."""

_LINES = 100  # of stderr, buffered until the server is ready; the last one states the reason of a failure
_SECONDS = 5.0  # timeout for the pipes of a dead server to close: its workers may still hold them open


class Worker:
    """A worker process."""

    def __init__(self, server: "ForkServer", pid: int) -> None:
        self._server, self._pid = server, pid
        self._code = 0
        self._ended = threading.Event()

    def kill(self) -> None:
        self._server.send({"kill": self._pid})

    def wait(self) -> int:
        """Wait for the end; return the exit code, negative for a signal."""
        self._ended.wait()
        return self._code

    def end(self, code: int) -> None:
        self._code = code
        self._ended.set()


class ForkServer:
    """A server process and its workers. All end with `close`, or with this process.

    `lines` are the last lines that they wrote to stderr; what they write once the server is ready is shown.
    """

    def __init__(self, command: Sequence[str] = COMMAND) -> None:
        pipe = subprocess.PIPE
        self._process = subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=pipe, text=True, errors="replace")
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
                if self._is_ready:
                    sys.stderr.write(line)
