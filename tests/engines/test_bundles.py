"""Joins run in small bundles: each group once, few together, and the same results as in Beam's bundles."""

import itertools
from collections.abc import Iterator
from typing import Any

import apache_beam as beam
import pytest
from apache_beam.coders import BytesCoder, IterableCoder, TupleCoder, WindowedValueCoder
from apache_beam.coders.coders import GlobalWindowCoder
from apache_beam.runners.portability.fn_api_runner import FnApiRunner
from apache_beam.runners.portability.fn_api_runner.execution import GroupingBuffer, ListBuffer
from apache_beam.runners.runner import PipelineRunner
from apache_beam.testing.util import assert_that, equal_to
from apache_beam.transforms.core import Windowing
from apache_beam.transforms.window import GlobalWindow, GlobalWindows, WindowedValue

from beamtrawl.runners.engines.bundles import Runner, keep_in_file
from beamtrawl.runners.engines.in_memory import InMemoryRunner
from beamtrawl.runners.process.spool import Spool, SpooledList
from beamtrawl.transforms.batches.partitions import Partition

MB = 1 << 20


def sizes_of(partition: Partition) -> tuple[int, list[Any]]:
    """The partition and the sizes of its data by side."""
    number, sides = partition
    return number, sorted((side, sorted(map(len, data))) for side, data in sides.items())


class CountFn(beam.DoFn):
    """Yields the number of elements in each bundle."""

    def start_bundle(self) -> None:
        self._count = 0

    def process(self, _: Any) -> None:
        self._count += 1

    def finish_bundle(self) -> Iterator[WindowedValue]:
        yield WindowedValue(self._count, 0, [GlobalWindow()])


class Watched(Runner):
    """Notes the bytes in memory of the values that wait when a stage begins."""

    def __init__(self) -> None:
        super().__init__()
        self.largest: list[int] = []

    def _get_bundle_manager(self, bundle_context_manager: Any) -> Any:
        waiting = bundle_context_manager.execution_context.queues.watermark_pending_inputs._keyed_elements.values()
        self.largest.append(sum(in_memory(buffer) for _, inputs in waiting for buffer in inputs.data.values()))
        return super()._get_bundle_manager(bundle_context_manager)


def in_memory(buffer: Any) -> int:
    """The bytes of the values that a buffer has in memory."""
    lists = (buffer._table or {}).values() if isinstance(buffer, GroupingBuffer) else [buffer._inputs]
    items = itertools.chain.from_iterable(getattr(each, "_items", each) for each in lists)
    return sum(len(item) for item in items if isinstance(item, bytes))


SENT = [(number, b"x" * (3 * MB + number)) for number in range(5)] + [(4, b"y")]
FOUND = [(number, [("a", [3 * MB + number] if number != 4 else [1, 3 * MB + 4]), ("b", [7])]) for number in range(5)]


def exchanged(pipeline: beam.Pipeline) -> Any:
    """What a stage yields for SENT by two senders."""
    return sizes(pipeline, SENT, [(number, b"7 bytes") for number in range(5)])


def sizes(pipeline: beam.Pipeline, *sent: list[tuple[int, bytes]]) -> Any:
    """What a stage yields for what is sent to each of its sides."""
    sides = {side: pipeline | f"Create{side}" >> beam.Create(batches) for side, batches in zip("ab", sent, strict=True)}
    return sides | "Meet" >> beam.CoGroupByKey() | "Sizes" >> beam.Map(sizes_of)


@pytest.mark.parametrize(("runner", "counts"), [(FnApiRunner, [5]), (Runner, [1, 2, 2]), (InMemoryRunner, [1, 2, 2])])
def test_a_bundle_ends_with_4_megabytes(runner: type[PipelineRunner], counts: list[int]) -> None:
    """And all that others sent is received."""
    with beam.Pipeline(runner=runner()) as pipeline:
        received = exchanged(pipeline)
        assert_that(received, equal_to(FOUND), "Received")
        assert_that(received | beam.ParDo(CountFn()), equal_to(counts), "Bundles")


@pytest.mark.parametrize("runner", [Runner, InMemoryRunner])
def test_a_join_without_elements(runner: type[PipelineRunner]) -> None:
    with beam.Pipeline(runner=runner()) as pipeline:
        assert_that(sizes(pipeline, [], []), equal_to([]))


def test_blocks_between_stages_are_not_in_memory() -> None:
    blocks = [bytes([number]) * MB for number in range(5)]
    with Spool() as spool:
        buffer = ListBuffer(None)
        keep_in_file(buffer, spool)
        for block in blocks:
            buffer.append(block)
        assert isinstance(buffer._inputs, SpooledList)
        assert list(buffer) == blocks
        assert [list(part) for part in buffer.partition(2)] == [blocks[::2], blocks[1::2]]
        buffer.clear()
        assert buffer.cleared


def test_values_of_groups_are_not_in_memory() -> None:
    pairs, grouped = TupleCoder([BytesCoder()] * 2), TupleCoder([BytesCoder(), IterableCoder(BytesCoder())])
    in_windows = [WindowedValueCoder(coder, GlobalWindowCoder()) for coder in (pairs, grouped)]
    with Spool() as spool:
        buffer = GroupingBuffer(*in_windows, Windowing(GlobalWindows()))
        keep_in_file(buffer, spool)
        for value in (b"one", b"two"):
            buffer.append(in_windows[0].get_impl().encode_nested(WindowedValue((b"key", value), 0, [GlobalWindow()])))
        (values,) = buffer._table.values()
        assert isinstance(values, SpooledList)
        assert list(values) == [b"one", b"two"]


def test_the_groups_of_a_pipeline_are_not_in_memory() -> None:
    """The driver's memory does not grow with what stages send to one another."""
    runner = Watched()
    with beam.Pipeline(runner=runner) as pipeline:
        assert_that(exchanged(pipeline), equal_to(FOUND))
    assert max(runner.largest) < MB  # sent were 15
