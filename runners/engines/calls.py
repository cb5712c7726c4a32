"""Calls of functions (ParDo), as Beam's worker calls them: in this process, or by the workers of a pool."""

import pickle
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple

from apache_beam.internal import pickler
from apache_beam.runners.common import DoFnRunner, Receiver
from apache_beam.transforms.sideinputs import SideInputMap
from apache_beam.transforms.window import GlobalWindows, WindowedValue

from ...transforms.tables.batches import release_freed
from ..process.spool import Spool, SpooledList
from .pool import Emit, Outputs, Pool

BUNDLE_BYTES = 4 << 20
_TOGETHER = 1_000  # outputs that a worker sends at once: what it reads may be millions of rows
_RELEASE_BYTES = 64 << 20  # of what workers send, after which the memory for it is returned

windowed = GlobalWindows.windowed_value


class Output(Receiver):
    """Passes each element on to all that read a PCollection."""

    def __init__(self) -> None:
        self.readers: list[Callable[[WindowedValue], None]] = []

    def receive(self, value: WindowedValue) -> None:
        for read in self.readers:
            read(value)


class Vertex:
    """A transform. `read` takes an element; `run` is called when no further elements will come."""

    def __init__(self, output: Output) -> None:
        self._output = output

    def read(self, value: WindowedValue) -> None:
        self._output.receive(value)

    def run(self, end_bundle: Callable[[], None]) -> None:
        """Process what is left; `end_bundle` ends the bundles of all functions, which then begin another."""

    def end_bundle(self) -> None:
        """End the bundle of a function, if one has begun."""

    def close(self) -> None:
        """No element will come any more."""


class CalledFn(NamedTuple):
    """A function of a pipeline, and what it is called with besides elements."""

    label: str
    fn: Any  # the DoFn
    args: Sequence[Any]
    kwargs: Mapping[str, Any]
    windowing: Any  # of the elements
    views: Sequence[tuple[type, Any]]  # of the side inputs

    @property
    def runs_at_once(self) -> bool:
        """Whether it only begins with its elements as they come, and has all done at the end of its one bundle."""
        return getattr(self.fn, "runs_at_once", False)

    def runner(self, sides: Sequence[Iterable[WindowedValue]], outputs: Mapping[str | None, Receiver]) -> DoFnRunner:
        """What runs it with these side inputs; elements that it yields without a tag are lost if there is no None."""
        maps = [SideInputMap(*view, values) for view, values in zip(self.views, sides, strict=True)]
        receivers = {None: Output(), **outputs}
        return DoFnRunner(self.fn, self.args, self.kwargs, maps, self.windowing, receivers, step_name=self.label)


class Call(Vertex):
    """A ParDo. Until its side inputs are complete, elements wait, pickled."""

    def __init__(
        self,
        called: CalledFn,
        sides: Sequence[list[WindowedValue]],
        outputs: Mapping[str | None, Output],
        is_ready: Callable[[], bool],
        spool: Spool,
    ) -> None:
        self._called, self._sides, self._outputs, self._is_ready = called, sides, outputs, is_ready
        self._waiting = SpooledList(spool)
        self._runner: DoFnRunner | None = None
        self._in_bundle = False

    def read(self, value: WindowedValue) -> None:
        if self._in_bundle or self._is_ready():
            self._process(value)
        else:
            self._waiting.append(pickle.dumps(value.value, pickle.HIGHEST_PROTOCOL))

    def _process(self, value: WindowedValue) -> None:
        if not self._in_bundle:
            self._begin_bundle()
        assert self._runner
        self._runner.process(value)

    def _begin_bundle(self) -> None:
        if self._runner is None:
            runner = self._called.runner(self._sides, self._outputs)
            runner.setup()
            self._runner = runner  # what was not set up is not torn down
        self._runner.start()
        self._in_bundle = True

    def run(self, end_bundle: Callable[[], None]) -> None:
        for pickled in self._waiting:
            self._process(windowed(pickle.loads(pickled)))

    def end_bundle(self) -> None:
        if self._in_bundle and self._runner:
            self._runner.finish()
            self._in_bundle = False

    def close(self) -> None:
        runner, self._runner = self._runner, None
        if runner:
            runner.teardown()


class PooledCall(Call):
    """A ParDo that the workers of a pool run; a single element is not worth the way."""

    def __init__(
        self,
        called: CalledFn,
        sides: Sequence[list[WindowedValue]],
        outputs: Mapping[str | None, Output],
        pool: Pool,
        spool: Spool,
    ) -> None:
        super().__init__(called, sides, outputs, lambda: False, spool)
        self._pool, self._spool = pool, spool

    def run(self, end_bundle: Callable[[], None]) -> None:
        if len(self._waiting) < 2:
            super().run(end_bundle)
            return
        shares = self._waiting.divided(self._pool.count if self._called.runs_at_once else 1)
        released = self._spool.size
        for tag, value in self._pool.run(self._pickled(), *shares):
            self._outputs[tag].receive(windowed(value))
            if self._spool.size - released >= _RELEASE_BYTES:
                release_freed(_RELEASE_BYTES)
                released = self._spool.size

    def _pickled(self) -> bytes:
        """What makes the function in a worker."""
        called = pickler.dumps(tuple(self._called), use_zlib=True)
        sides = [[value.value for value in side] for side in self._sides]
        return pickle.dumps(partial(_InWorker, called, sides, list(self._outputs)))


class _InWorker:
    """A function in a worker of a pool. Its bundles end with 4 MB, as those behind a join do, if it has several."""

    def __init__(self, pickled: bytes, sides: Sequence[Sequence[Any]], tags: Sequence[str | None], emit: Emit) -> None:
        called = CalledFn(*pickler.loads(pickled, use_zlib=True))
        self._outputs: Outputs = []
        receivers = {tag: _Collected(tag, self._outputs, emit) for tag in tags}
        self._runner = called.runner([list(map(windowed, side)) for side in sides], receivers)
        self._bytes, self._most_bytes = 0, float("inf") if called.runs_at_once else BUNDLE_BYTES
        self._runner.setup()
        self._runner.start()

    def process(self, element: Any, size: int) -> Outputs:
        if self._bytes >= self._most_bytes:
            self._runner.finish()
            release_freed(self._bytes)
            self._runner.start()
            self._bytes = 0
        self._bytes += size
        self._runner.process(windowed(element))
        return self._taken()

    def end(self) -> Outputs:
        self._runner.finish()
        return self._taken()

    def close(self) -> None:
        self._runner.teardown()

    def _taken(self) -> Outputs:
        taken = self._outputs[:]
        self._outputs.clear()
        return taken


class _Collected(Receiver):
    """Adds what a function yields with a tag to its outputs, which are sent when they are many."""

    def __init__(self, tag: str | None, outputs: Outputs, emit: Emit) -> None:
        self._tag, self._outputs, self._emit = tag, outputs, emit

    def receive(self, value: WindowedValue) -> None:
        self._outputs.append((self._tag, value.value))
        if len(self._outputs) >= _TOGETHER:
            self._emit(self._outputs)
            self._outputs.clear()
