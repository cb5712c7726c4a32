"""Stages that share exchanges: batches of several kinds travel in one shuffle, because a cluster pays for each.

An element of an exchange is ((kind, partition), (side, data)): after the shuffle, the function of the kind receives
(partition, {side: [data, …]}). `Graph` builds stages, and refuses batches that nothing would read.
"""

import dataclasses
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from typing import Any

import apache_beam as beam
from apache_beam.pvalue import TaggedOutput

from ..tables.batches import Batch
from .functions import StageFn
from .stage_progress import StageProgress

EXCHANGE = "Exchange"
"""The label of the shuffle in a stage."""

Keyed = tuple[tuple[str, int], tuple[str, Any]]
"""((kind, partition), (side, data))"""

By = Callable[[Batch], Iterable[tuple[int, Any]]]
"""Makes other batches of a batch."""


@dataclasses.dataclass(frozen=True)
class Route:
    """Sends batches to a destination as they are, after `by` has made other batches of each."""

    destination: str
    by: By | None

    def __call__(self, batch: Batch) -> Iterator[TaggedOutput]:
        for number, data in (batch,) if self.by is None else self.by(batch):
            yield TaggedOutput(self.destination, self.element(number, data))

    def element(self, number: int, data: Any) -> Any:
        """The element that is sent."""
        return data


@dataclasses.dataclass(frozen=True)
class SideRoute(Route):
    """Sends batches to a side of a function, through an exchange."""

    kind: str
    side: str
    in_one_place: bool

    def element(self, number: int, data: Any) -> Keyed:
        return (self.kind, 0 if self.in_one_place else number), (self.side, data)


@dataclasses.dataclass(frozen=True)
class PartRoute(Route):
    """Sends batches to a part of a summary."""

    part: str

    def element(self, number: int, data: Any) -> tuple[str, Any]:
        return self.part, data


Routes = Mapping[str, Mapping[str, tuple[Route, ...]]]
"""The routes of each output, by the kind of the function and the name of the output."""


class DispatchFn(beam.DoFn):
    """Calls the function of an element's kind, and sends its outputs, which are batches, along the routes.

    Elements of `others` kinds are for other stages.
    """

    def __init__(
        self,
        stage: str,
        functions: Mapping[str, StageFn],
        routes: Routes,
        others: Collection[str] = (),
        progress: StageProgress | None = None,
    ) -> None:
        self._stage, self._functions, self._routes = stage, dict(functions), routes
        self._others, self._progress = frozenset(others), progress

    def setup(self) -> None:
        for function in self._functions.values():
            function.setup()

    def process(self, element: tuple[Any, Any], *inputs: Any) -> Iterator[Any]:
        kind, argument = self._parse(element)
        if self._progress:
            self._progress.report()
        if (function := self._functions.get(kind)) is None:
            if kind not in self._others:
                raise ValueError(f"{self._stage}: no function for elements of kind {kind!r}")
            return
        routes = self._routes[kind]
        for output in function.process(argument, *inputs) or ():
            tag = getattr(output, "tag", "")
            if tag not in routes:
                raise ValueError(self._undeclared(kind, output))
            for route in routes[tag]:
                yield from route(output.value)

    def _undeclared(self, kind: str, output: Any) -> str:
        name, declared = type(self._functions[kind]).__name__, ", ".join(self._routes[kind]) or "none"
        what = f"output {output.tag!r}" if hasattr(output, "tag") else f"a {type(output).__name__} without an output"
        return f"{self._stage}: {name} yields {what}; it declares {declared}"

    def _parse(self, element: tuple[Any, Any]) -> tuple[str, Any]:
        return element


class DispatchGroupsFn(DispatchFn):
    """As `DispatchFn`, for the groups of an exchange."""

    def _parse(self, element: tuple[Any, Any]) -> tuple[str, Any]:
        (kind, number), values = element
        sides: dict[str, list[Any]] = defaultdict(list)
        for side, data in values:
            sides[side].append(data)
        return kind, (number, sides)


class DispatchOneFn(DispatchFn):
    """As `DispatchFn`, for elements that one function, of kind "", takes."""

    def _parse(self, element: Any) -> tuple[str, Any]:
        return "", element


Sent = Mapping[str, beam.PCollection]
"""What a stage sends to each destination, by its name."""


class Stage(beam.PTransform):
    """Applies functions to elements; returns the PCollections of the destinations by name."""

    def __init__(
        self, dispatch: DispatchFn, destinations: Iterable[str], inputs: Iterable[beam.pvalue.AsSideInput]
    ) -> None:
        super().__init__()
        self._dispatch, self._destinations, self._inputs = dispatch, sorted(destinations), tuple(inputs)

    def expand(self, elements: beam.PCollection) -> "Sent":
        sent = elements | "Dispatch" >> beam.ParDo(self._dispatch, *self._inputs).with_outputs(*self._destinations)
        return {name: sent[name] for name in self._destinations}


class Read(Stage):
    """Spreads the elements, such as (kind, path of a table's file), over all workers.

    Several stages may read one PCollection, though some wait for the others' outputs as side inputs: without the
    shuffle, the FnApiRunner ends such a pipeline with `watermark-pending bundles did not execute`.
    """

    def expand(self, elements: beam.PCollection) -> "Sent":
        return super().expand(elements | "Spread" >> beam.Reshuffle())


class Receive(Stage):
    """Groups the elements of an exchange."""

    def expand(self, elements: beam.PCollection) -> "Sent":
        return super().expand(elements | EXCHANGE >> beam.GroupByKey())
