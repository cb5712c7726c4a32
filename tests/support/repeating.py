"""An engine that repeats work as a cluster does after a lost worker, and distributes it otherwise than others."""

from collections.abc import Callable
from functools import partial

import apache_beam as beam
from apache_beam.options.pipeline_options import DirectOptions, PipelineOptions
from apache_beam.runners.portability.fn_api_runner import FnApiRunner

from beamtrawl.pipeline import fetch


class RepeatingEngine:
    """Runs every bundle several times and drops the output of all runs but the last; several bundles run at once.

    What a dropped run has written stays, under names that no report contains. Each stage's elements are divided among
    three workers, so bundles, groups and the order of elements differ from those of one worker. Bundles of a fetch step
    run once: a retry of the engine would request pages again, so the Flink engine turns retries off.
    """

    workers = 3

    def __init__(self) -> None:
        self.repeated = 0  # pipelines

    def run(self, build: Callable[[beam.Pipeline], None], seconds: float) -> None:
        is_fetch = isinstance(build, partial) and build.func is fetch.build
        self.repeated += not is_fetch
        options = PipelineOptions([])
        options.view_as(DirectOptions).direct_num_workers = 1 if is_fetch else self.workers
        options.view_as(DirectOptions).direct_running_mode = "in_memory" if is_fetch else "multi_threading"
        runner = FnApiRunner(bundle_repeat=0 if is_fetch else 1)
        with beam.Pipeline(runner=runner, options=options) as pipeline:
            build(pipeline)
