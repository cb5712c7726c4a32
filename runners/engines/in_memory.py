"""Runs a pipeline in this process and thread: each element goes through the functions as an object, one after another.

With a pool of worker processes, these run the functions behind a Reshuffle, a grouping or a Create of several values.

The FnApiRunner translates a pipeline, plans bundles, and encodes each element for a worker in the same process: most of
the time of a step of few pages. Here functions are called as Beam's worker calls them, and an element reaches the next
function before its own function goes on, so it is never stored. Stored are the elements of a GroupByKey and those that
wait for a side input, pickled, in a temporary file; and in memory, side inputs. A bundle behind a join (CoGroupByKey)
ends with 4 MB; all other elements of a source are one bundle. Windows, triggers, state, timers and Beam's counters do
not exist here.
"""

import contextlib
import pickle
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import Any

import apache_beam as beam
from apache_beam.options.pipeline_options import PipelineOptions
from apache_beam.pipeline import AppliedPTransform
from apache_beam.runners.runner import PipelineResult, PipelineRunner, PipelineState
from apache_beam.transforms.window import WindowedValue

from ...transforms.tables.batches import release_freed
from ..process.memory import give_back
from ..process.spool import Spool, SpooledList
from .calls import BUNDLE_BYTES, Call, CalledFn, Output, PooledCall, Vertex, windowed
from .pool import Pool


class InMemoryRunner(PipelineRunner):
    """Runs pipelines of the transforms that this program has; NotImplementedError for others."""

    def __init__(self, pool: Pool | None = None, look: Callable[[], None] = lambda: None) -> None:
        """`look` is called between any two elements of a source or a grouping, and may end the pipeline by an error."""
        super().__init__()
        self._pool, self._look = pool, look
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
        give_back()  # what was read before the step
        with Spool() as spool:
            _Graph(pipeline, self._look, self._pool, spool, self._spread).run()
        give_back()
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


class _Source(Vertex):
    def __init__(self, output: Output, values: Iterable[Any], look: Callable[[], None]) -> None:
        super().__init__(output)
        self._values, self._look = values, look

    def run(self, end_bundle: Callable[[], None]) -> None:
        for value in self._values:
            self._look()
            self._output.receive(windowed(value))


class _Values:
    """The values of a group, each unpickled when it is read."""

    def __init__(self, pickled: Iterable[bytes]) -> None:
        self._pickled = pickled

    def __iter__(self) -> Iterator[Any]:
        return map(pickle.loads, self._pickled)

    def __reduce__(self) -> tuple[type, tuple[list[Any]]]:
        """A worker gets a list: the file in which the values are is the driver's."""
        return list, (list(self),)


class _Group(Vertex):
    """A GroupByKey. Pickled values take little memory, and later stages cannot change those of others."""

    def __init__(self, output: Output, is_join: bool, spool: Spool, look: Callable[[], None]) -> None:
        super().__init__(output)
        self._look = look
        self._groups: dict[Any, SpooledList] = defaultdict(partial(SpooledList, spool))
        self._most_bytes = BUNDLE_BYTES if is_join else float("inf")

    def read(self, value: WindowedValue) -> None:
        key, element = value.value
        self._groups[key].append(pickle.dumps(element, pickle.HIGHEST_PROTOCOL))

    def run(self, end_bundle: Callable[[], None]) -> None:
        bundle_bytes = 0
        for key in list(self._groups):
            self._look()
            pickled = self._groups.pop(key)
            bundle_bytes += pickled.size
            self._output.receive(windowed((key, _Values(pickled))))
            if bundle_bytes >= self._most_bytes:
                del pickled
                end_bundle()
                release_freed(bundle_bytes)
                bundle_bytes = 0


class _Combine(Vertex):
    """A CombineGlobally."""

    def __init__(self, output: Output, transform: beam.CombineGlobally) -> None:
        super().__init__(output)
        self._fn = beam.CombineFn.maybe_from_callable(transform.fn)
        self._has_value = transform.has_defaults
        self._value = self._fn.create_accumulator()

    def read(self, value: WindowedValue) -> None:
        self._value, self._has_value = self._fn.add_input(self._value, value.value), True

    def run(self, end_bundle: Callable[[], None]) -> None:
        if self._has_value:
            self._output.receive(windowed(self._fn.extract_output(self._value)))


class _Graph:
    """The transforms of a pipeline in the order in which they were applied, so each comes after those that it reads."""

    def __init__(
        self,
        pipeline: beam.Pipeline,
        look: Callable[[], None],
        pool: Pool | None,
        spool: Spool,
        spread: set[beam.PCollection],
    ) -> None:
        self._look, self._pool, self._spool, self._spread = look, pool, spool, spread
        self._vertices: list[Vertex] = []
        self._at = 0  # the number of the vertex that runs; those before it are done
        self._outputs: dict[beam.PCollection, Output] = {}
        self._made_by: dict[beam.PCollection, int] = {}
        self._sides: dict[beam.PCollection, list[WindowedValue]] = {}
        self._last_use: dict[beam.PCollection, int] = {}  # of a side input: the number of a vertex
        for part in pipeline._root_transform().parts:
            self._add(part)

    def run(self) -> None:
        try:
            for number, vertex in enumerate(self._vertices):
                self._at, before = number, self._spool.size
                vertex.run(self._end_bundle)
                self._end_bundle()
                vertex.close()
                for collection in (each for each, last in self._last_use.items() if last == number):
                    self._sides[collection].clear()
                release_freed(self._spool.size - before)
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
        outputs = {tag: Output() for tag in made}
        vertex = self._vertex_of(applied, outputs)
        for tag, collection in made.items():
            self._outputs[collection], self._made_by[collection] = outputs[tag], len(self._vertices)
        for collection in applied.inputs:
            if collection in self._outputs:  # else it is the pipeline
                self._outputs[collection].readers.append(vertex.read)
        self._vertices.append(vertex)

    def _vertex_of(self, applied: AppliedPTransform, outputs: dict[str | None, Output]) -> Vertex:
        transform, output = applied.transform, next(iter(outputs.values()))
        if isinstance(transform, beam.ParDo):
            return self._call(applied, outputs)
        if isinstance(transform, beam.Create):
            if len(transform.values) > 1:
                self._spread.update(applied.outputs.values())
            return _Source(output, transform.values, self._look)
        if isinstance(transform, beam.Impulse):
            return _Source(output, [b""], self._look)
        if isinstance(transform, beam.Flatten):
            return Vertex(output)
        if isinstance(transform, beam.GroupByKey):
            self._spread.update(applied.outputs.values())
            return _Group(output, _is_in_join(applied), self._spool, self._look)
        if _is_combined(transform):
            return _Combine(output, transform)
        raise NotImplementedError(f"{applied.full_label}: no pipeline of this program has had such a transform")

    def _call(self, applied: AppliedPTransform, outputs: dict[str | None, Output]) -> Vertex:
        ((source, *_), views) = applied.inputs, [(type(side), side._view_options()) for side in applied.side_inputs]
        transform, sides = applied.transform, [self._stored(side.pvalue) for side in applied.side_inputs]
        called = CalledFn(applied.full_label, transform.fn, transform.args, transform.kwargs, source.windowing, views)
        if self._pool and (source in self._spread or called.runs_at_once):
            if not (_is_in_join(applied) or applied.full_label.endswith("/RestoreTags")):
                return PooledCall(called, sides, outputs, self._pool, self._spool)
            self._spread.update(applied.outputs.values())  # it only sorts the values of a group by tag
        needed = max((self._made_by[side.pvalue] for side in applied.side_inputs), default=-1)
        return Call(called, sides, outputs, lambda: needed < self._at, self._spool)

    def _stored(self, collection: beam.PCollection) -> list[WindowedValue]:
        """The elements of a side input of the next vertex, once they are there."""
        self._last_use[collection] = len(self._vertices)
        if collection not in self._sides:
            stored = self._sides[collection] = list[WindowedValue]()
            self._outputs[collection].readers.append(stored.append)
        return self._sides[collection]
