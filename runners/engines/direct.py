"""This machine: all its cores, nothing to install or start."""

import logging
import os
import shlex
import sys
from collections.abc import Callable, Sequence

import apache_beam as beam
from apache_beam.options.pipeline_options import DirectOptions, PipelineOptions, PipelineOptionsT
from apache_beam.runners.portability.fn_api_runner import FnApiRunner
from apache_beam.transforms.environments import SubprocessSDKEnvironment

_WORTH_WORKERS = 6.0
"""Seconds of work from which worker processes are worth their start, some three seconds of computing each."""


class _Options(PipelineOptions):
    """Options that keep their views: Beam asks for a thousand a step, and makes each with an argument parser."""

    def view_as(self, cls: type[PipelineOptionsT]) -> PipelineOptionsT:
        views = self.__dict__.setdefault("_views", {})  # past Beam's __setattr__, which knows options only
        if cls not in views:
            views[cls] = super().view_as(cls)
        return views[cls]


class DirectEngine:
    """This machine, all its cores.

    Beam's `DirectRunner` is a switch between engines that first looks for another program on the network; the one
    meant is the FnApiRunner, so it is named. Unless told how many, it takes as many worker processes as there are
    cores, and none for a step that would be over before they have started.
    """

    def __init__(self, workers: int | None, flags: Sequence[str]) -> None:
        self.workers = workers or os.cpu_count() or 1
        self._exactly = workers
        self._flags = list(flags)
        # Worker processes are meant to run in this mode; the warning about it is for others.
        logging.getLogger("apache_beam.runners.portability.fn_api_runner.fn_runner").setLevel(logging.ERROR)

    def run(self, build: Callable[[beam.Pipeline], None], seconds: float) -> None:
        workers = self._exactly or (1 if seconds < _WORTH_WORKERS else self.workers)
        options = _Options(self._flags)
        options.view_as(DirectOptions).direct_num_workers = workers
        # `exec`: the worker takes the shell's place, so that the driver is its parent.
        command = f"exec {shlex.quote(sys.executable)} -P -m beamtrawl.runners.engines.direct_worker"
        environment = SubprocessSDKEnvironment.from_command_string(command) if workers > 1 else None
        with beam.Pipeline(runner=FnApiRunner(environment), options=options) as pipeline:
            build(pipeline)
