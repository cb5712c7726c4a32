"""Stages that share exchanges: batches of several kinds travel in one shuffle, because a cluster pays for each.

An element of an exchange is ((kind, partition), (side, data)): after the shuffle, the function of the kind receives
(partition, {side: [data, …]}).
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

import apache_beam as beam

from ..tables.batches import Batch
from .stage_progress import StageProgress

EXCHANGE = "Exchange"
"""The label of the shuffle in a stage."""

Keyed = tuple[tuple[str, int], tuple[str, Any]]
"""((kind, partition), (side, data))"""


class To:
    """Sends batches, (partition, data), to an exchange, after `by` has made other batches of each."""

    def __init__(
        self, exchange: str, kind: str, side: str, by: Callable[[Batch], Iterable[tuple[int, Any]]] | None = None
    ) -> None:
        self.exchange, self._kind, self._side, self._by = exchange, kind, side, by

    def __call__(self, batch: Batch) -> Iterator[Any]:
        for number, data in (batch,) if self._by is None else self._by(batch):
            yield self.element(number, data)

    def element(self, number: int, data: Any) -> Any:
        return (self._kind, number), (self._side, data)


class ToOne(To):
    """Sends the data of all batches to one partition."""

    def element(self, number: int, data: Any) -> Any:
        return (self._kind, 0), (self._side, data)


class ToSummary(To):
    """Sends (side, data), for `Summarize`."""

    def __init__(self, exchange: str, side: str, by: Callable[[Batch], Iterable[tuple[int, Any]]] | None = None):
        super().__init__(exchange, "", side, by)

    def element(self, number: int, data: Any) -> Any:
        return self._side, data


class ToAll(To):
    """Sends the data alone, as the elements of a side input or of a stage without an exchange."""

    def __init__(self, exchange: str, by: Callable[[Batch], Iterable[tuple[int, Any]]] | None = None):
        super().__init__(exchange, "", "", by)

    def element(self, number: int, data: Any) -> Any:
        return data


Routes = Mapping[str, Sequence[To]]
"""Where an output goes, by its tag, or by the kind of the function for an output without one. Others are dropped."""


class _DispatchFn(beam.DoFn):
    """Calls the function of an element's kind, and sends its outputs, which are batches, along the routes."""

    def __init__(self, fns: Mapping[str, beam.DoFn], routes: Routes, progress: StageProgress | None) -> None:
        self._fns, self._routes, self._progress = dict(fns), dict(routes), progress

    def setup(self) -> None:
        for fn in self._fns.values():
            fn.setup()

    def process(self, element: tuple[Any, Any], *inputs: Any) -> Iterator[Any]:
        kind, argument = self._parse(element)
        if self._progress:
            self._progress.report()
        if fn := self._fns.get(kind):
            for output in fn.process(argument, *inputs) or ():
                is_tagged = isinstance(output, beam.pvalue.TaggedOutput)
                tag, batch = (output.tag, output.value) if is_tagged else (kind, output)
                for to in self._routes.get(tag, ()):
                    for sent in to(batch):
                        yield beam.pvalue.TaggedOutput(to.exchange, sent)

    def _parse(self, element: tuple[Any, Any]) -> tuple[str, Any]:
        return element


class _DispatchGroupsFn(_DispatchFn):
    def _parse(self, element: tuple[Any, Any]) -> tuple[str, Any]:
        (kind, number), values = element
        sides: dict[str, list[Any]] = defaultdict(list)
        for side, data in values:
            sides[side].append(data)
        return kind, (number, sides)


class _Stage(beam.PTransform):
    """Applies a function to each element, by its kind; returns the PCollections of the exchanges by name.

    `inputs` are the side inputs that every function takes. Workers report to `progress`.
    """

    _fn: type[_DispatchFn] = _DispatchFn

    def __init__(
        self,
        fns: Mapping[str, beam.DoFn],
        routes: Routes,
        *inputs: beam.pvalue.AsSideInput,
        progress: StageProgress | None = None,
    ) -> None:
        super().__init__()
        self._dispatch, self._inputs = self._fn(fns, routes, progress), inputs
        self._exchanges = sorted({to.exchange for some in routes.values() for to in some})

    def expand(self, elements: beam.PCollection) -> "dict[str, beam.PCollection]":
        found = elements | "Dispatch" >> beam.ParDo(self._dispatch, *self._inputs).with_outputs(*self._exchanges)
        return {name: found[name] for name in self._exchanges}


class Read(_Stage):
    """Applies functions to (kind, argument), such as a path of a table's file, on all workers.

    Several stages may read one PCollection, though some wait for the others' outputs as side inputs: without the
    shuffle, the FnApiRunner ends such a pipeline with `watermark-pending bundles did not execute`.
    """

    def expand(self, elements: beam.PCollection) -> "dict[str, beam.PCollection]":
        return super().expand(elements | "Spread" >> beam.Reshuffle())


class Receive(_Stage):
    """Groups the elements of an exchange, and applies functions to (partition, {side: [data, …]})."""

    _fn = _DispatchGroupsFn

    def expand(self, elements: beam.PCollection) -> "dict[str, beam.PCollection]":
        return super().expand(elements | EXCHANGE >> beam.GroupByKey())


def together(exchange: str, *stages: Mapping[str, beam.PCollection]) -> Any:
    """What some stages send to an exchange."""
    sent = tuple(stage[exchange] for stage in stages if exchange in stage)
    return sent | f"To{exchange.title().replace('_', '')}" >> beam.Flatten() if len(sent) > 1 else sent[0]


class _SummarizeFn(beam.CombineFn):
    def __init__(self, fns: Mapping[str, beam.CombineFn]) -> None:
        self._fns = dict(fns)

    def create_accumulator(self) -> dict[str, Any]:
        return {}

    def add_input(self, summary: dict[str, Any], element: tuple[str, Any]) -> dict[str, Any]:
        name, data = element
        known = summary[name] if name in summary else self._fns[name].create_accumulator()
        summary[name] = self._fns[name].add_input(known, data)
        return summary

    def merge_accumulators(self, summaries: Iterable[dict[str, Any]]) -> dict[str, Any]:
        found: dict[str, list[Any]] = defaultdict(list)
        for summary in summaries:
            for name, part in summary.items():
                found[name].append(part)
        return {name: self._fns[name].merge_accumulators(parts) for name, parts in found.items()}

    def extract_output(self, summary: dict[str, Any]) -> dict[str, Any]:
        return {name: self._fns[name].extract_output(part) for name, part in summary.items()}


class Summarize(beam.PTransform):
    """Combines (name, data) by the CombineFns of the names, to one dict; a name without data is not in it."""

    def __init__(self, fns: Mapping[str, beam.CombineFn]) -> None:
        super().__init__()
        self._fn = _SummarizeFn(fns)

    def expand(self, elements: "beam.PCollection[tuple[str, Any]]") -> "beam.pvalue.AsSingleton":
        summary = elements | "Combine" >> beam.CombineGlobally(self._fn).without_defaults()
        return beam.pvalue.AsSingleton(summary, default_value={})
