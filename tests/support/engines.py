"""Runs pipelines for tests in less than half the time: transforms are called in order, and elements stay objects.

The engines of the program encode each element, plan bundles and send them to a worker: most of the time of a step of
few pages. A crawl makes the same tables in both ways (tests/crawls/test_rounds.py). What depends on an engine (workers,
kills, retries, coders) is tested with the engine itself, as is every crawl through the command line.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable

import apache_beam as beam
from apache_beam.options.pipeline_options import PipelineOptions
from apache_beam.pipeline import AppliedPTransform
from apache_beam.runners.common import DoFnRunner, Receiver
from apache_beam.runners.runner import PipelineResult, PipelineRunner, PipelineState
from apache_beam.transforms.sideinputs import SideInputMap
from apache_beam.transforms.window import GlobalWindows, WindowedValue

from beamtrawl.runners.engines.direct import _Options
from beamtrawl.runners.engines.expected import reporting
from beamtrawl.runners.engines.inspection import inspected_once

Values = list[WindowedValue]


class SimpleEngine:
    """Runs pipelines in this process and thread."""

    workers = 1

    def run(self, build: Callable[[beam.Pipeline], None], seconds: float) -> None:
        options = _Options([], pipeline_type_check=False)
        with inspected_once(), reporting(), beam.Pipeline(runner=_Runner(), options=options) as pipeline:
            build(pipeline)


class _Runner(PipelineRunner):
    def is_fnapi_compatible(self) -> bool:
        return True  # else the pipeline is translated and built again

    def run_pipeline(self, pipeline: beam.Pipeline, options: PipelineOptions) -> PipelineResult:
        values: dict[beam.PCollection, Values] = {}
        for part in pipeline._root_transform().parts:
            _run(part, values)
        return _Done(PipelineState.DONE)


class _Done(PipelineResult):
    def wait_until_finish(self, duration: int | None = None) -> str:
        return self.state


def _run(applied: AppliedPTransform, values: dict[beam.PCollection, Values]) -> None:
    """Add the values of all outputs of a transform."""
    transform, inputs = applied.transform, [values.get(each, []) for each in applied.inputs]
    if isinstance(transform, beam.Reshuffle):
        ((output,), (elements,)) = applied.outputs.values(), inputs
        values[output] = elements
    elif applied.parts:
        for part in applied.parts:
            _run(part, values)
    elif isinstance(transform, beam.ParDo):
        sides = [SideInputMap(type(side), side._view_options(), values[side.pvalue]) for side in applied.side_inputs]
        found = _call(applied, transform, inputs[0], sides)
        for tag, output in applied.outputs.items():
            values[output] = found[tag]
    else:
        for output in applied.outputs.values():
            if output not in values:  # a transform without parts may return its input
                values[output] = _simple(transform, inputs)


def _simple(transform: beam.PTransform | None, inputs: list[Values]) -> Values:
    if isinstance(transform, beam.Impulse):
        return [GlobalWindows.windowed_value(b"")]
    if isinstance(transform, beam.Flatten):
        return [value for values in inputs for value in values]
    if isinstance(transform, beam.GroupByKey):
        groups = defaultdict(list)
        for value in inputs[0]:
            groups[value.value[0]].append(value.value[1])
        return [GlobalWindows.windowed_value(group) for group in groups.items()]
    raise NotImplementedError(f"{transform}: the pipelines of the program have had no such transform")


class _Collector(Receiver):
    def __init__(self) -> None:
        self.values: Values = []

    def receive(self, value: WindowedValue) -> None:
        self.values.append(value)


def _call(
    applied: AppliedPTransform, transform: beam.ParDo, elements: Values, sides: Iterable[SideInputMap]
) -> dict[str | None, Values]:
    """The outputs of a DoFn, by tag, with all elements in one bundle."""
    receivers = {tag: _Collector() for tag in (None, *applied.outputs)}
    runner = DoFnRunner(
        transform.fn,
        transform.args,
        transform.kwargs,
        sides,
        applied.inputs[0].windowing,
        receivers,
        step_name=applied.full_label,
    )
    if elements:
        runner.setup()
        runner.start()
        for element in elements:
            runner.process(element)
        runner.finish()
        runner.teardown()
    return {tag: receiver.values for tag, receiver in receivers.items()}
