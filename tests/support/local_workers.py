"""Pipelines on worker processes of this machine, and the processes that are there meanwhile."""

import os
import signal
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import apache_beam as beam

from beamtrawl.runners.engines.direct import DirectEngine
from beamtrawl.runners.terminal.errors import Failure


def building(kill: bool = False, stay: bool = False) -> Callable[[beam.Pipeline], None]:
    """A pipeline whose classes travel to the workers, which cannot import them."""

    class Visit(beam.DoFn):
        def process(self, number: int) -> Iterator[int]:
            if number == 3 and kill:
                os.kill(os.getpid(), signal.SIGKILL)
            yield number

        def teardown(self) -> None:
            if stay:
                threading.Event().wait()

    def build(pipeline: beam.Pipeline) -> None:
        numbers = pipeline | beam.Create(range(8)) | beam.Reshuffle() | beam.ParDo(Visit())
        _ = numbers | beam.Map(lambda number: (number % 2, number)) | beam.GroupByKey()

    return build


def children() -> set[str]:
    """The processes that this one has started."""
    return {pid for task in Path("/proc/self/task").glob("*/children") for pid in task.read_text().split()}


def workers() -> set[str]:
    """The processes that servers of this one have started."""
    of_servers = {path for pid in children() for path in Path(f"/proc/{pid}/task").glob("*/children")}
    return {pid for path in of_servers for pid in path.read_text().split()}


def run(engine: DirectEngine, build: Callable[[beam.Pipeline], None], seconds: float = 10.0) -> str:
    """Run a pipeline of so much CPU time, and return why it failed."""
    try:
        engine.run(build, seconds)
    except Failure as failure:
        return str(failure)
    return "done"
