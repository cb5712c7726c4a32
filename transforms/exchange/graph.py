"""The graph of a step: stages, the exchanges between them, and what is refused because nothing would read it."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from types import TracebackType
from typing import Any, NamedTuple, Self, TypeVar

import apache_beam as beam

from .functions import Output, Side, StageFn
from .stage_progress import StageProgress
from .stages import By, DispatchFn, DispatchGroupsFn, DispatchOneFn, PartRoute, Read, Receive, Route, SideRoute, Stage
from .summaries import Summarize


class Source(NamedTuple):
    """Elements (kind, argument), such as the paths of files, and the kinds that there are."""

    elements: beam.PCollection
    kinds: Sequence[str]


class Destination:
    """Elements that stages send, and that one stage or side input reads when all have sent theirs."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.senders: dict[str, beam.PCollection] = {}
        self.is_read = False

    def add(self, stage: str, elements: beam.PCollection) -> None:
        """Add what a stage sends."""
        if self.is_read:
            raise ValueError(f"{stage} sends to {self.name}, which an earlier stage reads")
        self.senders[stage] = elements

    def read(self) -> Any:
        """What all stages have sent."""
        self.is_read = True
        if not self.senders:
            raise ValueError(f"no stage sends to {self.name}")
        first, *others = self.senders.values()
        return (first, *others) | f"To{self.name.title().replace('_', '')}" >> beam.Flatten() if others else first


Named = TypeVar("Named", bound=Destination)


class Elements(Destination):
    """The data of batches, without their partitions."""

    def as_list(self) -> beam.pvalue.AsList:
        """The side input of what all stages have sent."""
        return beam.pvalue.AsList(self.read())


class Part(NamedTuple):
    """A part of a summary."""

    summary: Destination
    name: str


class Summary(Destination):
    """Data that is combined, by part, to one value (`summaries.Found`)."""

    def __init__(self, name: str, parts: Mapping[str, beam.CombineFn]) -> None:
        super().__init__(name)
        self._parts = parts

    def __getitem__(self, part: str) -> Part:
        if part not in self._parts:
            raise ValueError(f"summary {self.name} has no part {part!r}, only {', '.join(self._parts)}")
        return Part(self, part)

    def as_singleton(self) -> Any:
        """The side input of what all stages have sent."""
        return self.read() | f"Summarize{self.name.title().replace('_', '')}" >> Summarize(self._parts)


class Exchange(Destination):
    """A shuffle of batches for some functions; the kind of a batch is the name of the function's class."""

    def __init__(self, name: str, functions: Iterable[StageFn]) -> None:
        super().__init__(name)
        self.functions = {type(function).__name__: function for function in functions}


class Converted(NamedTuple):
    """A target of other batches, which `by` makes of each batch of an output."""

    by: By
    target: Side | Part | Elements


Target = Side | Part | Elements | Converted
Routing = Mapping[Output, Sequence[Target]]
"""Where the outputs of a stage's functions go."""

DROPPED: Sequence[Target] = ()
"""The targets of an output that a stage does not need."""


class Graph:
    """Builds the stages of a step. At its end, it refuses what is sent to nobody and what nobody sends.

    `progress` returns where the workers report on a stage.
    """

    def __init__(self, progress: Callable[[str], StageProgress | None] = lambda stage: None) -> None:
        self._progress = progress
        self._destinations: dict[str, Destination] = {}
        self._takers: dict[Side, tuple[Exchange, str]] = {}
        self._sent = set[Side]()

    def exchange(self, name: str, *functions: StageFn) -> Exchange:
        """An exchange, with the functions that receive from it, each of a class of its own."""
        exchange = Exchange(name, functions)
        for function in functions:
            for side in function.sides():
                if side in self._takers:
                    raise ValueError(f"two functions take {side}")
                self._takers[side] = exchange, type(function).__name__
        return self._declare(exchange)

    def summary(self, name: str, **parts: beam.CombineFn) -> Summary:
        """A summary of some parts."""
        return self._declare(Summary(name, parts))

    def elements(self, name: str) -> Elements:
        """Elements that are read without a shuffle."""
        return self._declare(Elements(name))

    def read(
        self, stage: str, source: Source, functions: Mapping[str, StageFn], routing: Routing, *inputs: Any
    ) -> None:
        """Apply functions to the elements of a source, by kind; stages that read others of its kinds exist."""
        for kind in functions:
            if kind not in source.kinds:
                raise ValueError(f"{stage} reads {kind!r}, which is none of {', '.join(source.kinds)}")
        self._add(stage, source.elements, Read, DispatchFn, functions, routing, inputs, source.kinds)

    def apply(self, stage: str, elements: Elements, function: StageFn, routing: Routing, *inputs: Any) -> None:
        """Apply a function to elements where they are."""
        self._add(stage, elements.read(), Stage, DispatchOneFn, {"": function}, routing, inputs)

    def receive(
        self, stage: str, exchange: Exchange, routing: Routing, *inputs: Any, move: beam.PTransform | None = None
    ) -> None:
        """Apply the functions of an exchange to what they have received; `move` sends elements to other partitions."""
        elements = exchange.read() if move is None else exchange.read() | move
        self._add(stage, elements, Receive, DispatchGroupsFn, exchange.functions, routing, inputs)

    def _declare(self, destination: Named) -> Named:
        if destination.name in self._destinations:
            raise ValueError(f"two destinations are named {destination.name}")
        self._destinations[destination.name] = destination
        return destination

    def _add(
        self,
        stage: str,
        elements: beam.PCollection,
        transform: type[Stage],
        dispatch: type[DispatchFn],
        functions: Mapping[str, StageFn],
        routing: Routing,
        inputs: Sequence[Any],
        kinds: Sequence[str] = (),
    ) -> None:
        _check_outputs(stage, functions.values(), routing)
        routes = {
            kind: {output.name: tuple(self._routes(stage, output, routing[output])) for output in function.outputs()}
            for kind, function in functions.items()
        }
        targets = {route.destination for some in routes.values() for each in some.values() for route in each}
        fn = dispatch(stage, functions, routes, kinds, self._progress(stage))
        sent = elements | stage >> transform(fn, targets, inputs)
        for name in sorted(targets):
            self._destinations[name].add(stage, sent[name])

    def _routes(self, stage: str, output: Output, targets: Sequence[Target]) -> Iterable[Route]:
        for target in targets:
            by, end = target if isinstance(target, Converted) else (None, target)
            if isinstance(end, Elements):
                yield Route(end.name, by)
            elif isinstance(end, Part):
                yield PartRoute(end.summary.name, by, end.name)
            else:
                yield self._side_route(stage, output, by, end)

    def _side_route(self, stage: str, output: Output, by: By | None, side: Side) -> SideRoute:
        if side not in self._takers:
            raise ValueError(f"{stage} sends {output} to {side}, but no exchange has a function that takes it")
        if by is None and output.content != side.content:
            raise ValueError(f"{stage} sends {output} to {side}, which has other columns or another type")
        self._sent.add(side)
        exchange, kind = self._takers[side]
        return SideRoute(exchange.name, by, kind, side.name, side.in_one_place)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, error: type[BaseException] | None, _: BaseException | None, __: TracebackType | None) -> None:
        if error is not None:
            return
        for destination in self._destinations.values():
            if not destination.is_read:
                senders = " and ".join(destination.senders)
                raise ValueError(f"no stage reads {destination.name}, to which {senders or 'no stage'} sends")
        for side in self._takers:
            if side not in self._sent:
                raise ValueError(f"no stage sends to {side}")


def _check_outputs(stage: str, functions: Iterable[StageFn], routing: Routing) -> None:
    """Refuse an output without a route, and a route without an output."""
    outputs = {output: function for function in functions for output in function.outputs()}
    for output, function in outputs.items():
        if output not in routing:
            raise ValueError(f"{stage} has no route for {type(function).__name__}.{output.name}; DROPPED drops it")
    for output in routing:
        if output not in outputs:
            raise ValueError(f"{stage} has a route for {output}, which none of its functions yields")
