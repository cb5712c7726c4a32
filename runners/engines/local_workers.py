"""Worker processes of Beam on this machine, started for one pipeline.

Beam has an environment for such processes (`SubprocessSDKEnvironment`); there a pipeline waits forever for a dead
worker, and for one that does not end. Here the death of a worker fails all requests to it, so the pipeline ends within
seconds, and a worker that is not needed any more is killed if it does not end.
"""

import contextlib
import signal
import threading
import time
import uuid
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from types import TracebackType
from typing import Any

import grpc
from apache_beam.portability.api import beam_fn_api_pb2, beam_fn_api_pb2_grpc, endpoints_pb2
from apache_beam.runners.portability.fn_api_runner.worker_handlers import (
    ControlConnection,
    ControlFuture,
    GrpcWorkerHandler,
    WorkerHandler,
)
from apache_beam.runners.portability.local_job_service import BeamFnLoggingServicer
from apache_beam.transforms.environments import SubprocessSDKEnvironment
from google.protobuf import json_format, text_format

from ..process.background import Background
from ..process.failed_threads import on_failed_thread
from .fork_server import ForkServer

_URN = "beamtrawl:env:local_workers:v1"

_END_SECONDS = 5.0
"""Time for a worker to end by itself after its last bundle. Then it is killed: it has handed over all results, and
Beam's harness waits forever for its log to close if the connection of the log broke and was made again."""


class LocalWorkers:
    """The worker processes of one pipeline, which runs inside `with`. All end with the block."""

    def __init__(
        self, server: ForkServer, ask_every: float = 10.0, most_unanswered: int = 30, fail_seconds: float = 20.0
    ) -> None:
        """Ask each worker every so many seconds whether it is there; one that has left so many unanswered has failed.

        Counted are requests, not seconds: a machine that was asleep has asked none. The pipeline has `fail_seconds` to
        end then, of which Beam takes five to close its server.
        """
        self.server = server
        self._ask_every, self._most_unanswered, self._fail_seconds = ask_every, most_unanswered, fail_seconds
        self._closing = threading.Event()
        self._failing = on_failed_thread(lambda reason: self.fail(f"in the main process, {reason}"))
        self.failure: str | None = None  # why the first dead worker died, in one line
        self._failed_at = 0.0
        self._workers: list[_Worker] = []
        self._lock = threading.Lock()
        self._name = uuid.uuid4().hex

    def __enter__(self) -> "LocalWorkers":
        _running[self._name] = self
        threading.Thread(target=self._ask_all, name="questions to workers", daemon=True).start()
        self._failing.__enter__()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._failing.__exit__(None, None, None)
        self._closing.set()
        del _running[self._name]
        for worker in self._workers:
            worker.kill()

    @property
    def environment(self) -> SubprocessSDKEnvironment:
        """The environment to run a pipeline in."""
        return _Environment.from_command_string(self._name)

    def _ask_all(self) -> None:
        while not self._closing.wait(self._ask_every):
            with self._lock:
                workers = list(self._workers)
            if any(worker.ask() > self._most_unanswered for worker in workers):
                seconds = self._ask_every * self._most_unanswered
                self.fail(
                    f"a worker process has told nothing for {seconds:g} s and was ended; the same command goes on"
                )
                return

    def add(self, worker: "_Worker") -> None:
        with self._lock:
            self._workers.append(worker)
            failure = self.failure
        if failure:
            worker.fail(failure)

    def run(self, work: Callable[[], None]) -> None:
        """Run the pipeline in a thread, which is left alone if it does not end though a worker has failed.

        A thread of gRPC's server that could not start another has ended, and Beam waits for that server for ever.
        """
        background = Background(work)
        background.wait(self._give_up)
        background.result()

    def _give_up(self) -> None:
        if self.failure and time.monotonic() > self._failed_at + self._fail_seconds:
            raise RuntimeError(self.failure)

    def fail(self, reason: str) -> None:
        """End all workers: one of them has died, so the pipeline fails."""
        with self._lock:
            if not self.failure:
                self.failure, self._failed_at = reason, time.monotonic()
            workers = list(self._workers)
        for worker in workers:
            worker.fail(self.failure)


_running: dict[str, LocalWorkers] = {}
"""By name. Beam passes only bytes from an environment to the handlers of its workers."""


class _Environment(SubprocessSDKEnvironment):
    def to_runner_api_parameter(self, context: Any) -> tuple[str, bytes]:
        return _URN, self.command_string.encode()


class _Connection(ControlConnection):
    """The control connection of a worker, whose requests fail once the worker has died."""

    def __init__(self) -> None:
        super().__init__()
        self._open: list[ControlFuture] = []
        self._failure: str | None = None
        self._pushing = threading.Lock()

    def push(self, request: Any) -> ControlFuture | None:
        with self._pushing:
            if self._failure is not None and isinstance(request, beam_fn_api_pb2.InstructionRequest):
                return ControlFuture(request.instruction_id, self._failed(request.instruction_id))
            future = super().push(request)
            unanswered = [one for one in self._open if not one.is_done()]
            self._open = [*unanswered, future] if future else unanswered
            return future

    def fail(self, reason: str) -> None:
        with self._pushing:
            self._failure = reason
            for future in self._open:
                if not future.is_done():
                    future.set(self._failed(future.instruction_id))

    def _failed(self, instruction: str) -> Any:
        return beam_fn_api_pb2.InstructionResponse(instruction_id=instruction, error=self._failure)

    def set_input(self, input: Iterable[Any]) -> None:
        super().set_input(_until_lost(input))


def _until_lost(messages: Iterable[Any]) -> Iterator[Any]:
    """The messages of a worker up to its death, which `_Worker._watch` reports."""
    with contextlib.suppress(grpc.RpcError):
        yield from messages


@WorkerHandler.register_environment(_URN, bytes)
class _Worker(GrpcWorkerHandler):
    """One worker process."""

    control_conn: _Connection

    def __init__(self, payload: bytes, state: Any, provision_info: Any, grpc_server: Any) -> None:
        super().__init__(state, provision_info, grpc_server)
        self.control_conn = _Connection()
        self.control_handler._connections_by_worker_id[self.worker_id] = self.control_conn
        set_inputs = self.data_conn.set_inputs
        self.data_conn.set_inputs = lambda messages: set_inputs(_until_lost(messages))
        self._workers = _running[payload.decode()]
        self._closing = False
        self._asked: ControlFuture | None = None
        self._unanswered = 0
        self._watcher: threading.Thread | None = None

    def ask(self) -> int:
        """Ask the worker for something small, unless the last question is open; return how often it was open."""
        if self._asked is None or self._asked.is_done():
            request = beam_fn_api_pb2.InstructionRequest(
                monitoring_infos=beam_fn_api_pb2.MonitoringInfosMetadataRequest()
            )
            self._asked, self._unanswered = self.control_conn.push(request), 0
        elif not self._closing:
            self._unanswered += 1
        return self._unanswered

    def start_worker(self) -> None:
        self._logging = grpc.server(ThreadPoolExecutor(1))
        beam_fn_api_pb2_grpc.add_BeamFnLoggingServicer_to_server(BeamFnLoggingServicer(), self._logging)
        port = self._logging.add_insecure_port("127.0.0.1:0")
        self._logging.start()
        options = self.provision_info.provision_info.pipeline_options
        environment = {
            "CONTROL_API_SERVICE_DESCRIPTOR": _descriptor(self.control_address),
            "LOGGING_API_SERVICE_DESCRIPTOR": _descriptor(f"127.0.0.1:{port}"),
            "PIPELINE_OPTIONS": json_format.MessageToJson(options),
            "WORKER_ID": self.worker_id,
        }
        self._process = self._workers.server.start(environment)
        self._workers.add(self)
        self._watcher = threading.Thread(target=self._watch, daemon=True)
        self._watcher.start()

    def close(self) -> None:
        self._closing = True
        super().close()

    def stop_worker(self) -> None:
        if self._watcher and self._watcher.ident:  # else it could not be started
            self._watcher.join(_END_SECONDS)
            if self._watcher.is_alive():
                self.kill()
                self._watcher.join()
        self._logging.stop(0)

    def fail(self, reason: str) -> None:
        self.control_conn.fail(reason)
        self.kill()

    def kill(self) -> None:
        self._process.kill()

    def _watch(self) -> None:
        """Report the end of the process, unless the pipeline has ended."""
        code = self._process.wait()
        if not self._closing:
            self._workers.fail(describe_end(code, self._workers.server.lines))


def describe_end(code: int, lines: Sequence[str]) -> str:
    """Return one line on a worker that ended early, from its exit code and its stderr."""
    last = next((line.strip() for line in reversed(lines) if line.strip()), "it wrote no message")
    if code < 0:
        memory = ", as Linux ends processes when memory runs out" if code == -signal.SIGKILL else ""
        return f"a worker process was ended by {signal.Signals(-code).name}{memory}; the same command goes on"
    return f"a worker process ended early, with exit code {code}: {last}; --workers 1 runs without worker processes"


def _descriptor(url: str) -> str:
    return text_format.MessageToString(endpoints_pb2.ApiServiceDescriptor(url=url))
