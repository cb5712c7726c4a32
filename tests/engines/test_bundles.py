"""Exchanges run in small bundles: each group once, few together, and the same results as in Beam's bundles."""

from collections.abc import Iterator
from typing import Any

import apache_beam as beam
import pytest
from apache_beam.runners.portability.fn_api_runner import FnApiRunner
from apache_beam.testing.util import assert_that, equal_to
from apache_beam.transforms.window import GlobalWindow, WindowedValue

from beamtrawl.runners.engines.bundles import Runner
from beamtrawl.transforms.exchange.stages import Receive, Routes, To, together

MB = 1 << 20


class SendFn(beam.DoFn):
    """Sends each (partition, bytes) to an exchange."""

    def __init__(self, side: str) -> None:
        self._side = side

    def process(self, batch: tuple[int, bytes]) -> Iterator[Any]:
        number, data = batch
        yield ("", number), (self._side, data)


class SizesFn(beam.DoFn):
    """Yields the partition and the sizes of its data by side."""

    def process(self, group: tuple[int, dict[str, list[bytes]]]) -> Iterator[Any]:
        number, sides = group
        yield number, sorted((side, sorted(map(len, data))) for side, data in sides.items())


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
    sent = {"meet": pipeline | "A" >> beam.Create(SENT) | "SendA" >> beam.ParDo(SendFn("a"))}
    more = {"meet": pipeline | "B" >> beam.Create([(n, b"7 bytes") for n in range(9)]) | beam.ParDo(SendFn("b"))}
    routes: Routes = {"": [To("out", "", "")]}
    return (together("meet", sent, more) | "Sizes" >> Receive({"": SizesFn()}, routes))["out"]


@pytest.mark.parametrize("runner", [FnApiRunner, Runner])
def test_a_stage_receives_what_others_sent(runner: type[FnApiRunner]) -> None:
    expected = [(("", number), ("", sizes)) for number, sizes in FOUND]
    with beam.Pipeline(runner=runner()) as pipeline:
        assert_that(exchanged(pipeline), equal_to(expected))


@pytest.mark.parametrize(("runner", "counts"), [(FnApiRunner, [9]), (Runner, [1, 2, 2, 2, 2])])
def test_a_bundle_ends_with_4_megabytes(runner: type[FnApiRunner], counts: list[int]) -> None:
    with beam.Pipeline(runner=runner()) as pipeline:
        found = exchanged(pipeline) | beam.ParDo(CountFn())
        assert_that(found, equal_to(counts))


def test_an_exchange_without_elements() -> None:
    with beam.Pipeline(runner=Runner()) as pipeline:
        nothing = {"meet": pipeline | beam.Create([]) | beam.ParDo(SendFn("a"))}
        found = together("meet", nothing) | Receive({"": SizesFn()}, {"": [To("out", "", "")]})
        assert_that(found["out"], equal_to([]))
