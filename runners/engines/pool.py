"""Worker processes that run the functions of the in-memory runner: each takes the next element when it is free.

Of a step with worker processes, the FnApiRunner makes some seventy stages, each of which it starts in every worker and
watches by three connections: one to two CPU seconds a step, whatever its size. Here the driver runs the graph, as for a
small step (`in_memory`), and sends workers the elements of functions behind a shuffle, over one connection each.
"""

import contextlib
import itertools
import pickle
import socket
import struct
import tempfile
import threading
import time
import traceback
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Set
from functools import partial
from multiprocessing.connection import Connection, wait
from pathlib import Path
from typing import Any, NoReturn, Protocol, TypeVar

from ..process.memory import give_back
from ..terminal.errors import Failure
from .fork_server import ForkServer, Worker, describe_end

ADDRESS = "BEAMTRAWL_POOL"
"""The environment variable of a worker that serves a pool."""

_BEGIN, _ELEMENT, _END = b"b", b"e", b"n"  # the first byte of a message to a worker
_PART, _DONE, _FAILED, _BEAT = b"p", b"d", b"f", b"a"  # and of one from it
_BEAT_S = 5.0  # between two messages of a worker that it is there
_MOST_SILENT_S = 300.0  # that the driver waits for any message of a worker
_LONGEST_FOLDER = 75  # of the 104 bytes that an address may have (sockaddr_un of macOS)
_LOOK_S = 0.2  # between two looks whether a worker that starts has ended
_TURN_S = 1.0  # that the driver waits for a message at a time
_END_S = 5.0  # for a worker to end by itself

T = TypeVar("T")
R = TypeVar("R")

Outputs = list[tuple[str | None, Any]]
"""(tag, value) of each output."""

Emit = Callable[[Outputs], None]
"""Sends outputs before the rest of what an element makes."""


class Function(Protocol):
    """A function as a worker runs it."""

    def process(self, element: Any, size: int) -> Outputs: ...  # an element of so many bytes

    def end(self) -> Outputs: ...  # what it makes at the end of its last bundle

    def close(self) -> None: ...  # the pool has all outputs, and does not wait long


class Pool:
    """Worker processes, started when the first function needs them. All end with the block, or with `close`.

    `look` is called each second, and may end the work by an error.
    """

    def __init__(self, server: ForkServer, workers: int, most_silent_s: float = _MOST_SILENT_S) -> None:
        """A worker without a message while the driver waited so long has failed."""
        self._server, self.count = server, workers
        self.look: Callable[[], None] = lambda: None
        self._most_silent_s, self._silent_s = most_silent_s, defaultdict[Connection, float](float)
        self._workers: list[Worker] = []
        self._connections: dict[Connection, Worker] = {}

    def __enter__(self) -> "Pool":
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        self.close(has_failed=kind is not None)

    def close(self, has_failed: bool = False) -> None:
        for connection in self._connections:
            connection.close()
        for worker in self._workers:
            if has_failed or not worker.ends_within(_END_S):
                worker.kill()
        for worker in self._workers:  # a stopped one does not see the end of the server, which may follow
            worker.ends_within(_END_S)

    def run(self, function: bytes, *shares: Iterable[bytes]) -> Iterator[tuple[str | None, Any]]:
        """Yield what a function makes of elements, in any order; both are pickled.

        `function` takes an Emit and makes a Function.
        Each of several shares, at most `count`, is one worker's; of one share, each worker takes an element when free.
        Failure if a worker ends; RuntimeError with the traceback if the function fails.
        """
        if not self._connections:
            self._start()
        elements = itertools.cycle(map(_ELEMENT.__add__, share) for share in shares)
        messages = {connection: itertools.chain(next(elements), [_END]) for connection in self._connections}
        busy = set(messages)
        for connection in busy:
            self._send(connection, _BEGIN + function)
        while busy:
            for connection, outputs, is_answer in self._answers(busy):
                if is_answer and (message := next(messages[connection], None)):
                    self._send(connection, message)
                elif is_answer:
                    busy.remove(connection)
                yield from outputs

    def is_idle(self) -> bool:
        """Whether all workers, left by another step, answer within seconds: none has ended, none is still busy."""
        busy, until = set(self._connections), time.monotonic() + _END_S
        with contextlib.suppress(Failure):
            for connection in busy:
                self._send(connection, _END)  # of no function
            while busy and (ready := wait(list(busy), until - time.monotonic())):
                busy -= {each for each in ready if isinstance(each, Connection) and self._received(each) is not None}
        return not busy

    def _answers(self, busy: Set[Connection]) -> Iterator[tuple[Connection, Outputs, bool]]:
        """Wait for messages of workers; yield those with outputs, and whether the worker has then done what it had."""
        while True:
            self.look()
            began = time.monotonic()
            ready = [each for each in wait(list(busy), _TURN_S) if isinstance(each, Connection)]
            waited = min(time.monotonic() - began, _TURN_S)  # a driver that was stopped has not waited
            for each in busy:
                self._silent_s[each] = 0.0 if each in ready else self._silent_s[each] + waited
                self._expect(self._silent_s[each] < self._most_silent_s)
            answers = [(each, *received) for each in ready if (received := self._received(each)) is not None]
            if answers:
                yield from answers
                return

    def _expect(self, is_heard: bool) -> None:
        if not is_heard:
            raise Failure(
                f"a worker process has told nothing for {self._most_silent_s:g} s and was ended;"
                " the same command goes on"
            )

    def _start(self) -> None:
        where = tempfile.gettempdir() if len(tempfile.gettempdir()) < _LONGEST_FOLDER else "/tmp"
        made = tempfile.TemporaryDirectory(prefix="beamtrawl-", dir=where)
        with made as folder, socket.socket(socket.AF_UNIX) as listener:
            address = str(Path(folder, "s"))
            listener.bind(address)  # in a folder that nobody else may read
            listener.listen(self.count)
            listener.settimeout(_LOOK_S)
            self._workers = [self._server.start({ADDRESS: address}) for _ in range(self.count)]
            of_pid = {worker.pid: worker for worker in self._workers}
            limit, began = struct.pack("ll", max(1, int(self._most_silent_s)), 0), time.monotonic()
            while len(self._connections) < self.count:
                self._expect(time.monotonic() - began < self._most_silent_s)
                for worker in (each for each in self._workers if each.ends_within(0)):
                    self._fail(worker)
                with contextlib.suppress(TimeoutError):
                    connected, _ = listener.accept()
                    for option in (socket.SO_RCVTIMEO, socket.SO_SNDTIMEO):  # a worker may stop in a message
                        connected.setsockopt(socket.SOL_SOCKET, option, limit)
                    connection = Connection(connected.detach())
                    self._connections[connection] = of_pid[int(connection.recv_bytes())]

    def _send(self, connection: Connection, message: bytes) -> None:
        try:
            connection.send_bytes(message)
        except OSError as error:
            self._expect(not isinstance(error, BlockingIOError))
            self._fail(self._connections[connection])

    def _received(self, connection: Connection) -> tuple[Outputs, bool] | None:
        """Return outputs, and whether they are the last ones; None if the worker only says that it is there."""
        try:
            message = connection.recv_bytes()
        except (EOFError, OSError) as error:
            self._expect(not isinstance(error, BlockingIOError))
            self._fail(self._connections[connection])
        if message == _BEAT:
            return None
        if message[:1] == _FAILED:
            raise RuntimeError(message[1:].decode(errors="replace"))
        outputs: Outputs = pickle.loads(memoryview(message)[1:])
        return outputs, message[:1] == _DONE

    def _fail(self, worker: Worker) -> NoReturn:
        if not worker.ends_within(_END_S):
            worker.kill()
        raise Failure(describe_end(worker.wait(), self._server.lines))

    def map(self, function: Callable[[T], R], items: Iterable[T]) -> Iterator[R]:
        """Yield what a function makes of each item, in their order."""
        numbered = (pickle.dumps(pair, pickle.HIGHEST_PROTOCOL) for pair in enumerate(items))
        made, following = dict[int, R](), 0
        for _, (number, result) in self.run(pickle.dumps(partial(_Mapped, function)), numbered):
            made[number] = result
            while following in made:
                yield made.pop(following)
                following += 1


class _Mapped:
    def __init__(self, function: Callable[[Any], Any], emit: Emit) -> None:
        self._function = function

    def process(self, element: tuple[int, Any], size: int) -> Outputs:
        return [(None, (element[0], self._function(element[1])))]

    def end(self) -> Outputs:
        return []

    def close(self) -> None: ...


Map = Callable[[Callable[[T], R], Iterable[T]], Iterator[R]]


def _beat(say: Callable[[], None]) -> None:
    """Say again and again that this worker is there, until the driver is not."""
    never = threading.Event()
    with contextlib.suppress(OSError):
        while not never.wait(_BEAT_S):
            say()


def serve(address: str, pid: int) -> None:
    """Run functions for a pool until it closes the connection."""
    try:
        with socket.socket(socket.AF_UNIX) as connected:
            connected.connect(address)
            connection = Connection(connected.detach())
        connection.send_bytes(str(pid).encode())
    except (ConnectionError, FileNotFoundError):  # the pool has failed meanwhile, and says why
        return
    sending = threading.Lock()

    def send(message: bytes) -> None:
        with sending:
            connection.send_bytes(message)

    def emit(outputs: Outputs) -> None:
        send(_PART + pickle.dumps(outputs, pickle.HIGHEST_PROTOCOL))

    threading.Thread(target=_beat, args=[partial(send, _BEAT)], daemon=True).start()
    function: Function | None = None
    with contextlib.suppress(EOFError, OSError):
        while True:
            message = connection.recv_bytes()
            kind, size = message[:1], len(message)
            try:
                content: Any = pickle.loads(memoryview(message)[1:]) if size > 1 else None
                del message
                outputs: Outputs = []
                if kind == _BEGIN:
                    give_back()
                    function = content(emit)
                elif function:
                    outputs = function.process(content, size) if kind == _ELEMENT else function.end()
                del content
                answer = _DONE + pickle.dumps(outputs, pickle.HIGHEST_PROTOCOL)
                del outputs
            except Exception:
                answer = _FAILED + traceback.format_exc().encode(errors="replace")
            send(answer)
            del answer
            if kind == _END and function:
                function.close()
                function = None
                give_back()
