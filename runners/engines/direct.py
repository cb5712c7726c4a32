"""Runs pipelines on this machine, on all its cores."""

import copy
import logging
import sys
import threading
import weakref
from collections.abc import Callable, Sequence
from typing import Any

import apache_beam as beam
from apache_beam.options.pipeline_options import DirectOptions, PipelineOptions, PipelineOptionsT, TypeOptions
from apache_beam.runners.runner import PipelineRunner

from ...transforms.memory.limits import Memory
from ...transforms.parsing.language.detect import keep_copy_in, load_model
from ..process import usage
from ..process.cache_folder import cache_folder
from ..process.memory import share_memory
from ..terminal.errors import Failure
from . import direct_worker
from .bundles import Runner
from .cores import usable_cores
from .expected import reporting
from .fork_server import COMMAND, ForkServer
from .in_memory import InMemoryRunner
from .inspection import inspected_once
from .local_workers import LocalWorkers

_WORTH_WORKERS = 6.0
"""Seconds of work from which worker processes pay off.

A step in two of them costs a quarter of a second more than in this process, and their server one to two CPU seconds
once, unless it is forked. The work is estimated from rows, so a shorter step is small: at most 4,000 URLs of the
frontier, or 1,000 visits.
"""


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


def runs_in_memory(workers: int | None, flags: Sequence[str], seconds: float) -> bool:
    """Whether a step is run without Beam's runner (`in_memory`): it is small, and neither worker processes nor options
    of Beam were asked for."""
    return seconds < _WORTH_WORKERS and workers in (None, 1) and not flags


class DirectEngine:
    """Runs pipelines on all cores of this machine.

    Beam's `DirectRunner` chooses between engines and first probes the network for another program; the FnApiRunner is
    used directly. Without a number of workers, there are as many worker processes as cores, and none for a step that
    would end before they have started. Small steps need no runner of Beam.
    """

    def __init__(self, workers: int | None, flags: Sequence[str], command: Sequence[str] = COMMAND) -> None:
        self.workers = workers or usable_cores()
        self._exactly = workers
        self._flags = list(flags)
        self._command = command
        self._known: dict[int, PipelineOptions] = {}
        self._server: ForkServer | None = None
        share_memory()
        keep_copy_in(cache_folder())
        # Beam warns about this mode, which is intended here.
        logging.getLogger("apache_beam.runners.portability.fn_api_runner.fn_runner").setLevel(logging.ERROR)

    def fork_server(self) -> None:
        """Fork the server of worker processes from this process, so that it need not import all modules again.

        For a program of one thread that has no connections. Without this, or with other threads, or outside of Linux,
        the server is a process of its own, started when it is needed.
        """
        if self.workers > 1 and sys.platform == "linux" and threading.active_count() == 1:
            load_model()  # once, for this process and the workers
            self._start(direct_worker.main)

    def _start(self, server: Sequence[str] | Callable[[], object]) -> ForkServer:
        self._server = ForkServer(server)
        self._close = weakref.finalize(self, self._server.close)
        return self._server

    def _options(self, workers: int) -> PipelineOptions:
        if workers not in self._known:
            options = _Options(self._flags)
            options.view_as(DirectOptions).direct_num_workers = workers
            options.view_as(TypeOptions).pipeline_type_check = False
            self._known[workers] = options
        return self._known[workers]

    def workers_for(self, seconds: float) -> int:
        """Return the number of workers of a step with so much CPU time."""
        return self._exactly or (1 if seconds < _WORTH_WORKERS else self.workers)

    def limited(self, workers: int) -> "DirectEngine":
        """Return the same engine with exactly so many workers."""
        other = copy.copy(self)
        other.workers = other._exactly = workers
        return other

    def memory(self) -> Memory:
        """Return what this process and its workers have and may have."""
        return usage.memory()

    def peak(self, used: int | None) -> usage.Peak:
        return usage.Peak(used)

    def run(self, build: Callable[[beam.Pipeline], None], seconds: float) -> None:
        workers = self.workers_for(seconds)
        options = self._options(workers)
        if runs_in_memory(self._exactly, self._flags, seconds):
            _run(build, InMemoryRunner(), options)
            return
        if workers == 1:
            _run(build, Runner(), options)
            return
        processes = LocalWorkers(self._server or self._start(self._command))
        try:
            with processes:
                _run(build, Runner(processes.environment), options)
        except Exception as error:
            self._server = None
            self._close()
            if processes.failure:
                raise Failure(processes.failure) from error
            raise


def _run(build: Callable[[beam.Pipeline], None], runner: PipelineRunner, options: PipelineOptions) -> None:
    with inspected_once(), reporting(), beam.Pipeline(runner=runner, options=options) as pipeline:
        build(pipeline)
