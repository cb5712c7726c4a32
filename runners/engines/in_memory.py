"""Runs a pipeline in this process and thread: each element goes through the functions as an object, one after another.

The FnApiRunner translates a pipeline, plans bundles, and encodes each element for a worker in the same process: most of
the time of a step of few pages. Here functions are called as Beam's worker calls them, and an element reaches the next
function before its own function goes on, so it is never stored. Stored are the elements of a GroupByKey, pickled, and
of side inputs, and what waits for a side input. As `bundles` does, a bundle behind a join ends with 4 MB; all other
elements of a source are one bundle. Windows, triggers, state, timers and Beam's counters do not exist here.
"""

import contextlib
import pickle
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import apache_beam as beam
from apache_beam.options.pipeline_options import PipelineOptions
from apache_beam.pipeline import AppliedPTransform
from apache_beam.runners.common import DoFnRunner, Receiver
from apache_beam.runners.runner import PipelineResult, PipelineRunner, PipelineState
from apache_beam.transforms.sideinputs import SideInputMap
from apache_beam.transforms.window import GlobalWindows, WindowedValue

from ...transforms.tables.batches import release_freed

_BUNDLE_BYTES = 4 << 20

_windowed = GlobalWindows.windowed_value


class InMemoryRunner(PipelineRunner):
    """Runs pipelines of the transforms that this program has; NotImplementedError for others."""

    def is_fnapi_compatible(self) -> bool:
        return True  # else the pipeline is translated and built again

    def apply(self, transform: beam.PTransform, input: Any, options: PipelineOptions) -> Any:
        """Build the graph; without the inner transforms of those that `_vertex_of` runs as they are."""
        if isinstance(transform, beam.Reshuffle):
            return input
        if isinstance(transform, beam.Create) or _is_combined(transform):
            return beam.PCollection(input.pipeline)
        return super().apply(transform, input, options)

    def run_pipeline(self, pipeline: beam.Pipeline, options: PipelineOptions) -> PipelineResult:
        _Graph(pipeline).run()
        return _Done(PipelineState.DONE)


class _Done(PipelineResult):
    def wait_until_finish(self, duration: int | None = None) -> str:
        return self.state


def _is_combined(transform: beam.PTransform | None) -> bool:
    return isinstance(transform, beam.CombineGlobally) and not (
        transform.args or transform.kwargs or transform.fanout or transform.as_view
    )


class _Output(Receiver):
    """Passes each element on to all that read a PCollection."""

    def __init__(self) -> None:
        self.readers: list[Callable[[WindowedValue], None]] = []

    def receive(self, value: WindowedValue) -> None:
        for read in self.readers:
            read(value)


class _Vertex:
    """A transform. `read` takes an element; `run` is called when no further elements will come."""

    def __init__(self, output: _Output) -> None:
        self._output = output

    def read(self, value: WindowedValue) -> None:
        self._output.receive(value)

    def run(self, end_bundle: Callable[[], None]) -> None:
        """Process what is left; `end_bundle` ends the bundles of all functions, which then begin another."""

    def end_bundle(self) -> None:
        """End the bundle of a function, if one has begun."""

    def close(self) -> None:
        """No element will come any more."""


class _Source(_Vertex):
    def __init__(self, output: _Output, values: Iterable[Any]) -> None:
        super().__init__(output)
        self._values = values

    def run(self, end_bundle: Callable[[], None]) -> None:
        for value in self._values:
            self._output.receive(_windowed(value))


class _Values:
    """The values of a group, each unpickled when it is read."""

    def __init__(self, pickled: list[bytes]) -> None:
        self._pickled = pickled

    def __iter__(self) -> Iterator[Any]:
        return map(pickle.loads, self._pickled)


class _Group(_Vertex):
    """A GroupByKey. Pickled values take little memory, and later stages cannot change those of others."""

    def __init__(self, output: _Output, is_join: bool) -> None:
        super().__init__(output)
        self._groups: dict[Any, list[bytes]] = defaultdict(list)
        self._most_bytes = _BUNDLE_BYTES if is_join else float("inf")

    def read(self, value: WindowedValue) -> None:
        key, element = value.value
        self._groups[key].append(pickle.dumps(element, pickle.HIGHEST_PROTOCOL))

    def run(self, end_bundle: Callable[[], None]) -> None:
        bundle_bytes = 0
        for key in list(self._groups):
            pickled = self._groups.pop(key)
            bundle_bytes += sum(map(len, pickled))
            self._output.receive(_windowed((key, _Values(pickled))))
            if bundle_bytes >= self._most_bytes:
                del pickled
                end_bundle()
                release_freed(bundle_bytes)
                bundle_bytes = 0


class _Combine(_Vertex):
    """A CombineGlobally."""

    def __init__(self, output: _Output, transform: beam.CombineGlobally) -> None:
        super().__init__(output)
        self._fn = beam.CombineFn.maybe_from_callable(transform.fn)
        self._has_value = transform.has_defaults
        self._value = self._fn.create_accumulator()

    def read(self, value: WindowedValue) -> None:
        self._value, self._has_value = self._fn.add_input(self._value, value.value), True

    def run(self, end_bundle: Callable[[], None]) -> None:
        if self._has_value:
            self._output.receive(_windowed(self._fn.extract_output(self._value)))


class _Call(_Vertex):
    """A ParDo. Until its side inputs are complete, elements wait."""

    def __init__(self, make_runner: Callable[[], DoFnRunner], is_ready: Callable[[], bool]) -> None:
        self._make_runner, self._is_ready = make_runner, is_ready
        self._waiting: list[WindowedValue] = []
        self._runner: DoFnRunner | None = None
        self._in_bundle = False

    def read(self, value: WindowedValue) -> None:
        if not self._in_bundle:
            if not self._is_ready():
                self._waiting.append(value)
                return
            self._begin_bundle()
        assert self._runner
        self._runner.process(value)

    def _begin_bundle(self) -> None:
        if self._runner is None:
            runner = self._make_runner()
            runner.setup()
            self._runner = runner  # what was not set up is not torn down
        self._runner.start()
        self._in_bundle = True

    def run(self, end_bundle: Callable[[], None]) -> None:
        waiting, self._waiting = self._waiting[::-1], []
        while waiting:
            self.read(waiting.pop())

    def end_bundle(self) -> None:
        if self._in_bundle and self._runner:
            self._runner.finish()
            self._in_bundle = False

    def close(self) -> None:
        runner, self._runner = self._runner, None
        if runner:
            runner.teardown()


class _Graph:
    """The transforms of a pipeline in the order in which they were applied, so each comes after those that it reads."""

    def __init__(self, pipeline: beam.Pipeline) -> None:
        self._vertices: list[_Vertex] = []
        self._at = 0  # the number of the vertex that runs; those before it are done
        self._outputs: dict[beam.PCollection, _Output] = {}
        self._made_by: dict[beam.PCollection, int] = {}
        self._sides: dict[beam.PCollection, list[WindowedValue]] = {}
        for part in pipeline._root_transform().parts:
            self._add(part)

    def run(self) -> None:
        try:
            for number, vertex in enumerate(self._vertices):
                self._at = number
                vertex.run(self._end_bundle)
                self._end_bundle()
                vertex.close()
        finally:
            with contextlib.ExitStack() as stack:  # closes all of them, even if one fails
                for vertex in reversed(self._vertices):
                    stack.callback(vertex.close)

    def _end_bundle(self) -> None:
        for vertex in self._vertices[self._at :]:
            vertex.end_bundle()

    def _add(self, applied: AppliedPTransform) -> None:
        if applied.parts:
            for part in applied.parts:
                self._add(part)
            return
        made = {tag: each for tag, each in applied.outputs.items() if each not in self._outputs}
        if not made:  # a transform may return its input
            return
        outputs = {tag: _Output() for tag in made}
        vertex = self._vertex_of(applied, outputs)
        for tag, collection in made.items():
            self._outputs[collection], self._made_by[collection] = outputs[tag], len(self._vertices)
        for collection in applied.inputs:
            if collection in self._outputs:  # else it is the pipeline
                self._outputs[collection].readers.append(vertex.read)
        self._vertices.append(vertex)

    def _vertex_of(self, applied: AppliedPTransform, outputs: dict[str | None, _Output]) -> _Vertex:
        transform, output = applied.transform, next(iter(outputs.values()))
        if isinstance(transform, beam.ParDo):
            return self._call(applied, transform, outputs)
        if isinstance(transform, beam.Create):
            return _Source(output, transform.values)
        if isinstance(transform, beam.Impulse):
            return _Source(output, [b""])
        if isinstance(transform, beam.Flatten):
            return _Vertex(output)
        if isinstance(transform, beam.GroupByKey):
            return _Group(output, "/CoGroupByKeyImpl/" in applied.full_label)
        if _is_combined(transform):
            return _Combine(output, transform)
        raise NotImplementedError(f"{applied.full_label}: no pipeline of this program has had such a transform")

    def _call(self, applied: AppliedPTransform, transform: beam.ParDo, outputs: dict[str | None, _Output]) -> _Call:
        sides = [(side, self._stored(side.pvalue)) for side in applied.side_inputs]
        needed = max((self._made_by[side.pvalue] for side in applied.side_inputs), default=-1)

        def make_runner() -> DoFnRunner:
            return DoFnRunner(
                transform.fn,
                transform.args,
                transform.kwargs,
                [SideInputMap(type(side), side._view_options(), values) for side, values in sides],
                applied.inputs[0].windowing,
                {None: _Output(), **outputs},
                step_name=applied.full_label,
            )

        return _Call(make_runner, lambda: needed < self._at)

    def _stored(self, collection: beam.PCollection) -> list[WindowedValue]:
        """The elements of a side input, once they are there."""
        if collection not in self._sides:
            stored = self._sides[collection] = list[WindowedValue]()
            self._outputs[collection].readers.append(stored.append)
        return self._sides[collection]
