"""Exchanges run in small bundles: each group once, few together, and the same results as in Beam's bundles."""

from collections.abc import Iterator
from typing import Any

import apache_beam as beam
import pytest
from apache_beam.pvalue import TaggedOutput
from apache_beam.runners.portability.fn_api_runner import FnApiRunner
from apache_beam.runners.runner import PipelineRunner
from apache_beam.testing.util import assert_that, equal_to
from apache_beam.transforms.window import GlobalWindow, WindowedValue

from beamtrawl.runners.engines.bundles import Runner
from beamtrawl.runners.engines.in_memory import InMemoryRunner
from beamtrawl.transforms.exchange.functions import Output, Partition, Side, StageFn
from beamtrawl.transforms.exchange.graph import Graph, Source

MB = 1 << 20


class SendFn(StageFn):
    """Sends each (partition, bytes) to an exchange."""

    data = Output(bytes)

    def process(self, batch: tuple[int, bytes]) -> Iterator[TaggedOutput]:
        yield self.data.at(*batch)


class SizesFn(StageFn):
    """Yields the partition and the sizes of its data by side."""

    a, b = Side(bytes), Side(bytes)
    sizes = Output(tuple)

    def process(self, partition: Partition) -> Iterator[TaggedOutput]:
        number, sides = partition
        yield self.sizes.once((number, sorted((side, sorted(map(len, data))) for side, data in sides.items())))


class CountFn(beam.DoFn):
    """Yields the number of elements in each bundle."""

    def start_bundle(self) -> None:
        self._count = 0

    def process(self, _: Any) -> None:
        self._count += 1

    def finish_bundle(self) -> Iterator[WindowedValue]:
        yield WindowedValue(self._count, 0, [GlobalWindow()])


SENT = [(number, b"x" * (3 * MB + number)) for number in range(9)] + [(4, b"y")]
FOUND = [(number, [("a", [3 * MB + number] if number != 4 else [1, 3 * MB + 4]), ("b", [7])]) for number in range(9)]


def exchanged(pipeline: beam.Pipeline) -> Any:
    """What a stage yields for SENT by two senders."""
    return sizes(pipeline, SENT, [(number, b"7 bytes") for number in range(9)])


def sizes(pipeline: beam.Pipeline, *sent: list[tuple[int, bytes]]) -> Any:
    """What a stage yields for what senders send to each of its sides."""
    with Graph() as graph:
        meet, out = graph.exchange("meet", SizesFn()), graph.elements("out")
        for batches, side in zip(sent, (SizesFn.a, SizesFn.b), strict=True):
            elements = pipeline | f"Create{side.name}" >> beam.Create([("batch", batch) for batch in batches])
            graph.read(f"Send{side.name}", Source(elements, ["batch"]), {"batch": SendFn()}, {SendFn.data: [side]})
        graph.receive("Sizes", meet, {SizesFn.sizes: [out]})
        return out.read()


@pytest.mark.parametrize("runner", [FnApiRunner, Runner, InMemoryRunner])
def test_a_stage_receives_what_others_sent(runner: type[PipelineRunner]) -> None:
    with beam.Pipeline(runner=runner()) as pipeline:
        assert_that(exchanged(pipeline), equal_to(FOUND))


@pytest.mark.parametrize(
    ("runner", "counts"), [(FnApiRunner, [9]), (Runner, [1, 2, 2, 2, 2]), (InMemoryRunner, [1, 2, 2, 2, 2])]
)
def test_a_bundle_ends_with_4_megabytes(runner: type[PipelineRunner], counts: list[int]) -> None:
    with beam.Pipeline(runner=runner()) as pipeline:
        found = exchanged(pipeline) | beam.ParDo(CountFn())
        assert_that(found, equal_to(counts))


@pytest.mark.parametrize("runner", [Runner, InMemoryRunner])
def test_an_exchange_without_elements(runner: type[PipelineRunner]) -> None:
    with beam.Pipeline(runner=runner()) as pipeline:
        assert_that(sizes(pipeline, [], []), equal_to([]))
