"""Runs a pipeline in this process and thread: each element goes through the functions as an object, one after another.

With a pool of worker processes, these run the functions behind a Reshuffle, a grouping or a Create of several values.

The FnApiRunner translates a pipeline, plans bundles, and encodes each element for a worker in the same process: most of
the time of a step of few pages. Here functions are called as Beam's worker calls them, and an element reaches the next
function before its own function goes on, so it is never stored. Stored are the elements of a GroupByKey, pickled, in a
temporary file, and of side inputs, and what waits for a side input. A bundle behind a join (CoGroupByKey) ends with 4
MB; all other elements of a source are one bundle. Windows, triggers, state, timers and Beam's counters
do not exist here.
"""

import contextlib
import pickle
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from typing import Any

import apache_beam as beam
from apache_beam.internal import pickler
from apache_beam.options.pipeline_options import PipelineOptions
from apache_beam.pipeline import AppliedPTransform
from apache_beam.runners.common import DoFnRunner, Receiver
from apache_beam.runners.runner import PipelineResult, PipelineRunner, PipelineState
from apache_beam.transforms.sideinputs import SideInputMap
from apache_beam.transforms.window import GlobalWindows, WindowedValue

from ...transforms.tables.batches import release_freed
from ..process.spool import Spool, SpooledList
from .pool import Outputs, Pool

_BUNDLE_BYTES = 4 << 20
_Side = tuple[beam.pvalue.AsSideInput, list[WindowedValue]]

_windowed = GlobalWindows.windowed_value


class InMemoryRunner(PipelineRunner):
    """Runs pipelines of the transforms that this program has; NotImplementedError for others."""

    def __init__(self, pool: Pool | None = None) -> None:
        super().__init__()
        self._pool = pool
        self._spread = set[beam.PCollection]()  # whose elements different processes may take

    def is_fnapi_compatible(self) -> bool:
        return True  # else the pipeline is translated and built again

    def apply(self, transform: beam.PTransform, input: Any, options: PipelineOptions) -> Any:
        """Build the graph; without the inner transforms of those that `_vertex_of` runs as they are."""
        if isinstance(transform, beam.Reshuffle):
            self._spread.add(input)
            return input
        if isinstance(transform, beam.Create) or _is_combined(transform):
            return beam.PCollection(input.pipeline)
        return super().apply(transform, input, options)

    def run_pipeline(self, pipeline: beam.Pipeline, options: PipelineOptions) -> PipelineResult:
        with Spool() as spool:
            _Graph(pipeline, self._pool, spool, self._spread).run()
        return _Done(PipelineState.DONE)


class _Done(PipelineResult):
    def wait_until_finish(self, duration: int | None = None) -> str:
        return self.state


def _is_in_join(applied: AppliedPTransform) -> bool:
    return "/CoGroupByKeyImpl/" in applied.full_label


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

    def __init__(self, pickled: Iterable[bytes]) -> None:
        self._pickled = pickled

    def __iter__(self) -> Iterator[Any]:
        return map(pickle.loads, self._pickled)

    def __reduce__(self) -> tuple[type, tuple[list[Any]]]:
        """A worker gets a list: the file in which the values are is the driver's."""
        return list, (list(self),)


class _Group(_Vertex):
    """A GroupByKey. Pickled values take little memory, and later stages cannot change those of others."""

    def __init__(self, output: _Output, is_join: bool, spool: Spool) -> None:
        super().__init__(output)
        self._groups: dict[Any, SpooledList] = defaultdict(partial(SpooledList, spool))
        self._sizes: dict[Any, int] = defaultdict(int)
        self._most_bytes = _BUNDLE_BYTES if is_join else float("inf")

    def read(self, value: WindowedValue) -> None:
        key, element = value.value
        pickled = pickle.dumps(element, pickle.HIGHEST_PROTOCOL)
        self._groups[key].append(pickled)
        self._sizes[key] += len(pickled)

    def run(self, end_bundle: Callable[[], None]) -> None:
        bundle_bytes = 0
        for key in list(self._groups):
            pickled = self._groups.pop(key)
            bundle_bytes += self._sizes.pop(key)
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


class _Pooled(_Call):
    """A ParDo that the workers of a pool run; a single element is not worth the way."""

    def __init__(
        self,
        make_runner: Callable[[], DoFnRunner],
        run: Callable[[SpooledList], Iterator[tuple[str | None, Any]]],
        outputs: dict[str | None, _Output],
        spool: Spool,
    ) -> None:
        super().__init__(make_runner, lambda: True)
        self._run, self._outputs, self._elements = run, outputs, SpooledList(spool)

    def read(self, value: WindowedValue) -> None:
        self._elements.append(pickle.dumps(value.value, pickle.HIGHEST_PROTOCOL))

    def run(self, end_bundle: Callable[[], None]) -> None:
        if len(self._elements) > 1:
            for tag, value in self._run(self._elements):
                self._outputs[tag].receive(_windowed(value))
            return
        for element in self._elements:
            super().read(_windowed(pickle.loads(element)))


class _OfPool:
    """A function in a worker of a pool. Its bundles end with 4 MB, as those behind a join do, if it has several."""

    def __init__(self, runner: DoFnRunner, outputs: dict[str | None, "_Collected"], most_bytes: float) -> None:
        self._runner, self._outputs, self._bytes, self._most_bytes = runner, outputs, 0, most_bytes
        runner.setup()
        runner.start()

    def process(self, element: Any, size: int) -> Outputs:
        if self._bytes >= self._most_bytes:
            self._runner.finish()
            release_freed(self._bytes)
            self._runner.start()
            self._bytes = 0
        self._bytes += size
        self._runner.process(_windowed(element))
        return self._taken()

    def end(self) -> Outputs:
        self._runner.finish()
        return self._taken()

    def close(self) -> None:
        self._runner.teardown()

    def _taken(self) -> Outputs:
        return [(tag, value) for tag, output in self._outputs.items() for value in output.take()]


class _Collected(Receiver):
    def __init__(self) -> None:
        self._values = list[Any]()

    def receive(self, value: WindowedValue) -> None:
        self._values.append(value.value)

    def take(self) -> list[Any]:
        taken, self._values = self._values, []
        return taken


def _pickled(
    applied: AppliedPTransform, transform: beam.ParDo, sides: Sequence[_Side], tags: Sequence[str | None]
) -> bytes:
    """What makes the function in a worker."""
    described = [(type(side), side._view_options()) for side, _ in sides]
    made = (transform.fn, transform.args, transform.kwargs, described, applied.inputs[0].windowing)
    values = [[value.value for value in found] for _, found in sides]
    return pickle.dumps(partial(_unpickled, pickler.dumps(made, use_zlib=True), values, applied.full_label, list(tags)))


def _unpickled(made: bytes, values: Sequence[Any], label: str, tags: Sequence[str | None]) -> _OfPool:
    fn, args, kwargs, described, windowing = pickler.loads(made, use_zlib=True)
    sides = [SideInputMap(*of, list(map(_windowed, some))) for of, some in zip(described, values, strict=True)]
    outputs: dict[str | None, _Collected] = {tag: _Collected() for tag in tags}
    receivers = {None: _Collected(), **outputs}
    runner = DoFnRunner(fn, args, kwargs, sides, windowing, receivers, step_name=label)
    return _OfPool(runner, outputs, float("inf") if _runs_at_once(fn) else _BUNDLE_BYTES)


def _runs_at_once(fn: beam.DoFn) -> bool:
    """Whether a function only begins with its elements as they come, and has all done at the end of its one bundle."""
    return getattr(fn, "runs_at_once", False)


class _Graph:
    """The transforms of a pipeline in the order in which they were applied, so each comes after those that it reads."""

    def __init__(self, pipeline: beam.Pipeline, pool: Pool | None, spool: Spool, spread: set[beam.PCollection]) -> None:
        self._pool, self._spool, self._spread = pool, spool, spread
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
            if len(transform.values) > 1:
                self._spread.update(applied.outputs.values())
            return _Source(output, transform.values)
        if isinstance(transform, beam.Impulse):
            return _Source(output, [b""])
        if isinstance(transform, beam.Flatten):
            return _Vertex(output)
        if isinstance(transform, beam.GroupByKey):
            self._spread.update(applied.outputs.values())
            return _Group(output, _is_in_join(applied), self._spool)
        if _is_combined(transform):
            return _Combine(output, transform)
        raise NotImplementedError(f"{applied.full_label}: no pipeline of this program has had such a transform")

    def _call(self, applied: AppliedPTransform, transform: beam.ParDo, outputs: dict[str | None, _Output]) -> _Vertex:
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

        if self._pool and (applied.inputs[0] in self._spread or _runs_at_once(transform.fn)):
            if not (_is_in_join(applied) or applied.full_label.endswith("/RestoreTags")):
                pool, tags = self._pool, tuple(outputs)
                run = lambda elements: pool.run(_pickled(applied, transform, sides, tags), elements)  # noqa: E731
                return _Pooled(make_runner, run, outputs, self._spool)
            self._spread.update(applied.outputs.values())  # it only sorts the values of a group by tag
        return _Call(make_runner, lambda: needed < self._at)

    def _stored(self, collection: beam.PCollection) -> list[WindowedValue]:
        """The elements of a side input, once they are there."""
        if collection not in self._sides:
            stored = self._sides[collection] = list[WindowedValue]()
            self._outputs[collection].readers.append(stored.append)
        return self._sides[collection]
