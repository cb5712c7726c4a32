"""Steps in memory: what is stored and what is not, the order of calls, bundles, failures, and which steps they are."""

from collections.abc import Callable, Iterator
from typing import Any

import apache_beam as beam
import pytest
from apache_beam.runners.portability.fn_api_runner import FnApiRunner
from apache_beam.runners.runner import PipelineRunner
from apache_beam.testing.util import assert_that, equal_to
from apache_beam.transforms.window import GlobalWindow, WindowedValue

from beamtrawl.runners.engines.choose import notice
from beamtrawl.runners.engines.direct import DirectEngine
from beamtrawl.runners.engines.in_memory import InMemoryRunner
from beamtrawl.runners.terminal.errors import Failure
from beamtrawl.transforms.batches.partitions import Partition
from beamtrawl.transforms.outcomes import CrawlDirError
from tests.support.tables import each_row

Log = list[str]

LOGS: dict[str, Log] = {}
"""What functions have logged, by their names: Beam copies functions."""


class LogFn(beam.DoFn):
    """Logs its calls. Elements with the name of a call fail there."""

    def __init__(self, name: str) -> None:
        self._name = name

    def _call(self, what: Any) -> None:
        LOGS.setdefault(self._name, []).append(f"{what}")

    def setup(self) -> None:
        self._call("setup")

    def start_bundle(self) -> None:
        self._call("start")

    def process(self, element: Any, *sides: Any) -> Iterator[Any]:
        self._call(element)
        if element == "process":
            raise CrawlDirError("x cannot be read")
        self._last = element
        yield element

    def finish_bundle(self) -> Iterator[WindowedValue]:
        self._call("finish")
        if self._last == "finish":
            raise ValueError("too late")
        yield WindowedValue("from finish", 0, [GlobalWindow()])

    def teardown(self) -> None:
        self._call("teardown")


def log(name: str) -> beam.ParDo:
    return beam.ParDo(LogFn(name))


def run(build: Callable[[beam.Pipeline], object], name: str = "log") -> Log:
    """Build and run a pipeline; return what its functions of a name logged."""
    LOGS.clear()
    DirectEngine(1).run(build, seconds=0.0)
    return LOGS.get(name, [])


def test_an_element_goes_through_all_functions_before_the_next_is_made() -> None:
    def make(count: int) -> Iterator[str]:
        for number in range(count):
            LogFn("log")._call(f"made {number}")
            yield f"used {number}"

    logged = run(lambda pipeline: pipeline | beam.Create([3]) | beam.FlatMap(make) | beam.Map(str) | log("log"))
    steps = ["made 0", "setup", "start", "used 0", "made 1", "used 1", "made 2", "used 2"]
    assert logged == [*steps, "finish", "teardown"]


def test_what_a_function_yields_at_the_end_of_a_bundle_reaches_the_next_in_its_bundle() -> None:
    logged = run(lambda pipeline: pipeline | beam.Create(["a"]) | "One" >> log("one") | "Two" >> log("two"), "two")
    assert logged == ["setup", "start", "a", "from finish", "finish", "teardown"]


def test_elements_wait_for_a_side_input_that_is_made_later() -> None:
    def build(pipeline: beam.Pipeline) -> None:
        numbers = pipeline | beam.Create([1, 2])
        later = numbers | "Ten" >> beam.Map(lambda n: n * 10) | beam.combiners.ToList()
        sums = numbers | beam.Map(lambda n, tens: n + sum(tens), beam.pvalue.AsSingleton(later))
        assert_that(sums, equal_to([31, 32]))

    run(build)


def test_functions_without_elements_are_not_called() -> None:
    assert run(lambda pipeline: pipeline | beam.Create([]) | log("log")) == []


def with_tens(numbers: beam.PCollection) -> beam.PCollection:
    return (numbers, numbers | beam.Map(lambda x: x * 10)) | beam.Flatten()


TRANSFORMS: dict[str, tuple[Callable[[beam.Pipeline], Any], list[Any]]] = {
    "two readers of one": (
        lambda p: with_tens(p | beam.Create([1, 2])),
        [1, 2, 10, 20],
    ),
    "groups": (
        lambda p: (
            p
            | beam.Create([("a", 1), ("b", 2), ("a", 3)])
            | beam.GroupByKey()
            | beam.MapTuple(lambda k, v: (k, sorted(v)))
        ),
        [("a", [1, 3]), ("b", [2])],
    ),
    "groups that are read twice": (
        lambda p: (
            p | beam.Create([("a", 1), ("a", 3)]) | beam.GroupByKey() | beam.MapTuple(lambda k, v: (sum(v), max(v)))
        ),
        [(4, 3)],
    ),
    "a join": (
        lambda p: (
            {"x": p | "X" >> beam.Create([(1, "a")]), "y": p | "Y" >> beam.Create([(1, "b")])}
            | beam.CoGroupByKey()
            | beam.MapTuple(lambda k, v: (k, list(v["x"]), list(v["y"])))
        ),
        [(1, ["a"], ["b"])],
    ),
    "all as one": (lambda p: p | beam.Create([1, 2]) | beam.CombineGlobally(sum), [3]),
    "nothing as one": (lambda p: p | beam.Create([]) | beam.CombineGlobally(sum), [0]),
    "nothing as nothing": (lambda p: p | beam.Create([]) | beam.CombineGlobally(sum).without_defaults(), []),
    "all by key": (lambda p: p | beam.Create([("a", 1), ("a", 2)]) | beam.CombinePerKey(sum), [("a", 3)]),
    "a list": (lambda p: p | beam.Create([]) | beam.combiners.ToList(), [[]]),
    "spread": (lambda p: p | beam.Create([1, 2]) | beam.Reshuffle(), [1, 2]),
    "a side input with a default": (
        lambda p: (
            p
            | beam.Create([1])
            | beam.Map(
                lambda n, side: (n, side), beam.pvalue.AsSingleton(p | "None" >> beam.Create([]), default_value="none")
            )
        ),
        [(1, "none")],
    ),
}


@each_row(TRANSFORMS)
def test_transforms(build: Callable[[beam.Pipeline], Any], expected: list[Any]) -> None:
    with beam.Pipeline(runner=InMemoryRunner()) as pipeline:
        assert_that(build(pipeline), equal_to(expected))


def test_assert_that_notices_a_difference() -> None:
    with pytest.raises(beam.testing.util.BeamAssertException), beam.Pipeline(runner=InMemoryRunner()) as pipeline:
        assert_that(pipeline | beam.Create([1]), equal_to([2]))


def test_groups_of_other_shuffles_than_joins_share_a_bundle() -> None:
    with beam.Pipeline(runner=InMemoryRunner()) as pipeline:
        large = pipeline | beam.Create(range(4)) | beam.Map(lambda n: (n, b"x" * (3 << 20))) | beam.GroupByKey()
        assert_that(large | beam.ParDo(CountFn()), equal_to([4]))


def test_a_later_stage_cannot_change_the_elements_of_another() -> None:
    def spoil(pair: tuple[str, Any]) -> list[int]:
        for each in pair[1]:
            each.clear()
        return [len(each) for each in pair[1]]

    with beam.Pipeline(runner=InMemoryRunner()) as pipeline:
        groups = pipeline | beam.Create([("a", [1, 2])]) | beam.GroupByKey()
        assert_that(groups | beam.Map(spoil), equal_to([[2]]))


FAILURES = {
    "an element, with a message for the user": (
        "process",
        Failure,
        r"^x cannot be read$",
        ["setup", "start", "process"],
    ),
    "the end of a bundle": (
        "finish",
        ValueError,
        r"too late \[while running 'Name'\]",
        ["setup", "start", "finish", "finish"],
    ),
}


@pytest.mark.parametrize(("element", "kind", "message", "calls"), FAILURES.values(), ids=FAILURES)
def test_failures(element: str, kind: type[Exception], message: str, calls: list[str]) -> None:
    """The step fails once: nothing is repeated, and no bundle ends that had begun."""
    with pytest.raises(kind, match=message):
        run(lambda pipeline: pipeline | beam.Create([element]) | "Name" >> log("log"))
    assert LOGS["log"] == [*calls, "teardown"]


class NoSetUpFn(LogFn):
    def setup(self) -> None:
        super().setup()
        raise RuntimeError("no such file")


def test_what_was_not_set_up_is_not_torn_down() -> None:
    with pytest.raises(RuntimeError, match="no such file"):
        run(lambda pipeline: pipeline | beam.Create([1]) | beam.ParDo(NoSetUpFn("log")))
    assert LOGS["log"] == ["setup"]


# the number of workers, whether each step has so many, seconds of the step: its workers
STEPS = {
    "small": (2, False, 0.9, 1),
    "of a second": (2, False, 1.0, 2),
    "large": (2, False, 100.0, 2),
    "small, with many workers": (100_000, False, 0.9, 1),
    "large, with many workers": (100_000, False, 50.0, 100),
    "small, with exactly so many": (3, True, 1.0, 3),
}


@each_row(STEPS)
def test_workers_of_a_step(workers: int, is_exact: bool, seconds: float, count: int) -> None:
    assert DirectEngine(workers, is_exact=is_exact).workers_for(seconds) == count


def test_who_asks_for_more_workers_than_cores_is_told() -> None:
    assert notice(DirectEngine(100_000)).startswith("100000 workers were asked for, and there are ")
    assert notice(DirectEngine(None)) == ""


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


SENT = [(number, b"x" * (3 * MB + number)) for number in range(5)] + [(4, b"y")]
FOUND = [(number, [("a", [3 * MB + number] if number != 4 else [1, 3 * MB + 4]), ("b", [7])]) for number in range(5)]


def exchanged(pipeline: beam.Pipeline) -> Any:
    """What a stage yields for SENT by two senders."""
    return sizes(pipeline, SENT, [(number, b"7 bytes") for number in range(5)])


def sizes(pipeline: beam.Pipeline, *sent: list[tuple[int, bytes]]) -> Any:
    """What a stage yields for what is sent to each of its sides."""
    sides = {side: pipeline | f"Create{side}" >> beam.Create(batches) for side, batches in zip("ab", sent, strict=True)}
    return sides | "Meet" >> beam.CoGroupByKey() | "Sizes" >> beam.Map(sizes_of)


@pytest.mark.parametrize(("runner", "counts"), [(FnApiRunner, [5]), (InMemoryRunner, [1, 2, 2])])
def test_a_bundle_behind_a_join_ends_with_4_megabytes(runner: type[PipelineRunner], counts: list[int]) -> None:
    """And all that others sent is received."""
    with beam.Pipeline(runner=runner()) as pipeline:
        received = exchanged(pipeline)
        assert_that(received, equal_to(FOUND), "Received")
        assert_that(received | beam.ParDo(CountFn()), equal_to(counts), "Bundles")


def test_a_join_without_elements() -> None:
    with beam.Pipeline(runner=InMemoryRunner()) as pipeline:
        assert_that(sizes(pipeline, [], []), equal_to([]))
