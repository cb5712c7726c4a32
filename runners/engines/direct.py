"""Runs pipelines on this machine, on all its cores."""

import contextlib
import copy
import weakref
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import apache_beam as beam
from apache_beam.internal import pickler
from apache_beam.options.pipeline_options import PipelineOptions, PipelineOptionsT, TypeOptions

from ...pipeline.control import Stopped
from ...transforms.memory.limits import Memory
from ...transforms.parsing.language.detect import keep_copy_in
from ..process import usage
from ..process.cache_folder import cache_folder
from ..process.memory import give_back, share_memory
from . import direct_worker
from .cores import usable_cores, workers_that_pay
from .expected import reporting
from .fork_server import COMMAND, ForkServer, may_fork
from .in_memory import InMemoryRunner
from .inspection import inspected_once
from .pool import Pool

_LONG_S = 20.0  # of CPU time of a worker; a new one costs at most one percent of it


class _Options(PipelineOptions):
    """Options that cache their views: Beam reads a thousand in each step, and makes each with an argument parser.

    So it does with all of them together, to warn of those that it does not know, which `options` has refused.
    """

    def view_as(self, cls: type[PipelineOptionsT]) -> PipelineOptionsT:
        views = self.__dict__.setdefault("_views", {})  # bypasses Beam's __setattr__, which accepts options only
        if cls not in views:
            views[cls] = view = super().view_as(cls)
            names = view._visible_option_list()  # which Beam lists and sorts anew to read any of them
            view.__dict__["_visible_option_list"] = lambda: names
        return views[cls]

    def get_all_options(self, *arguments: Any, **named: Any) -> dict[str, Any]:
        known, key = self.__dict__.setdefault("_all", {}), repr((arguments, named))
        if key not in known:
            known[key] = super().get_all_options(*arguments, **named)
        return dict(known[key])

    def __deepcopy__(self, memo: object) -> "_Options":
        """The same options: a pipeline copies them, with all views, though nothing changes them."""
        return self


_OPTIONS = _Options([])
_OPTIONS.view_as(TypeOptions).pipeline_type_check = False


def _raise_if(is_stopped: Callable[[], bool]) -> None:
    if is_stopped():
        raise Stopped


class _Workers:
    """The server of worker processes of an engine and its copies, and the workers that its last step has left idle."""

    def __init__(self, command: Sequence[str]) -> None:
        self._command = command
        self._server: ForkServer | None = None
        self._pool: Pool | None = None

    def start(self, server: Sequence[str] | Callable[[], object]) -> ForkServer:
        self._server = ForkServer(server)
        self._close = weakref.finalize(self, self._server.close)
        return self._server

    def pool(self, count: int, look: Callable[[], None]) -> Pool:
        """Return so many workers: those of the last step, if they are as many and all well."""
        if not (self._pool and self._pool.count == count and self._pool.is_idle()):
            self.end()
            self._pool = Pool(self._server or self.start(self._command), count)
            self._close_pool = weakref.finalize(self, self._pool.close)  # before the server, which collects the workers
        self._pool.look = look
        return self._pool

    def end(self, has_failed: bool = False) -> None:
        """End the idle workers; after a failure, those that work, and the server."""
        pool, self._pool = self._pool, None
        if pool:
            self._close_pool.detach()
            pool.close(has_failed)
        if self._server and has_failed:
            self._server = None
            self._close()


class DirectEngine:
    """Runs pipelines on all cores of this machine.

    There are as many worker processes as pay for a step, at most the given number, or one a core; if the number
    `is_exact`, each step has so many. A step that has as many as the last one takes over its workers. A long step has
    workers, and a process that runs its graph, of its own: what they have in the end is in pieces that cannot be
    returned.
    """

    def __init__(self, workers: int | None, command: Sequence[str] = COMMAND, is_exact: bool = False) -> None:
        self.workers = workers or usable_cores()
        self._idle, self._is_exact = _Workers(command), is_exact
        self._is_stopped: Callable[[], bool] = bool  # never: bool() is False
        share_memory()
        keep_copy_in(cache_folder())

    def fork_server(self, parses: bool = False) -> None:
        """Fork the server of worker processes, so that it imports nothing again, nor what `parses` pages is read again.

        For a program of one thread that has no connections. Without this, or with other threads, or outside of Linux,
        the server is a process of its own, started when it is needed.
        """
        if self.workers > 1 and may_fork():
            if parses:
                direct_worker.load_models()
            self._idle.start(direct_worker.serve_steps)

    def workers_for(self, seconds: float) -> int:
        """Return the number of workers of a step with so much CPU time."""
        return self.workers if self._is_exact else workers_that_pay(self.workers, seconds)

    @property
    def notice(self) -> str:
        """What a user should know who asks for more workers than there are cores."""
        if self.workers <= (cores := usable_cores()):
            return ""
        return (
            f"{self.workers} workers were asked for, and there are {cores} cores: each step has as many of them as its"
            " work pays for"
        )

    def limited(self, workers: int) -> "DirectEngine":
        """Return the same engine with at most so many workers."""
        other = copy.copy(self)
        other.workers = workers
        return other

    def until(self, is_stopped: Callable[[], bool]) -> "DirectEngine":
        """Return the same engine; its pipelines raise Stopped within seconds of `is_stopped`."""
        other = copy.copy(self)
        other._is_stopped = is_stopped
        return other

    def memory(self) -> Memory:
        """Return what this process and its workers have and may have.

        Idle ones count, and a step's bound has workers of its own; so they end first where memory may be short.
        """
        found = usage.memory()
        if found.is_short(self.workers):
            self._idle.end()
            found = usage.memory()
        return found

    def peak(self, used: int | None) -> usage.Peak:
        return usage.Peak(used)

    def run(self, build: Callable[[beam.Pipeline], None], seconds: float) -> None:
        workers, look = self.workers_for(seconds), partial(_raise_if, self._is_stopped)  # not self: it would not end
        if workers == 1:
            self._idle.end()
            _run(build, InMemoryRunner(look=look))
            return
        try:
            if seconds < _LONG_S * workers:
                _run(build, InMemoryRunner(self._idle.pool(workers, look), look))
                return
            self._idle.end()
            give_back()
            with reporting():
                list(self._idle.pool(1, look).map(partial(_run_apart, workers), [pickler.dumps(build)]))
            self._idle.end()
        except BaseException:
            self._idle.end(has_failed=True)
            raise


def _run_apart(workers: int, pickled: bytes) -> None:
    """Build and run a pipeline in a process of its own, with workers that are forked from it."""
    with contextlib.closing(ForkServer(direct_worker.serve_steps)) as server, Pool(server, workers) as pool:
        _run(pickler.loads(pickled), InMemoryRunner(pool))


def _run(build: Callable[[beam.Pipeline], None], runner: InMemoryRunner) -> None:
    with inspected_once(), reporting(), beam.Pipeline(runner=runner, options=_OPTIONS) as pipeline:
        build(pipeline)
