"""Steps in memory: what is stored and what is not, the order of calls, bundles, failures, and which steps they are."""

from collections.abc import Callable, Iterator
from typing import Any

import apache_beam as beam
import pytest
from apache_beam.testing.util import assert_that, equal_to
from apache_beam.transforms.window import GlobalWindow, WindowedValue

from beamtrawl.runners.engines.direct import DirectEngine, runs_in_memory
from beamtrawl.runners.engines.in_memory import InMemoryRunner
from beamtrawl.runners.terminal.errors import Failure
from beamtrawl.transforms.outcomes import CrawlDirError
from tests.engines.test_bundles import CountFn
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
    DirectEngine(1, []).run(build, seconds=0.0)
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


# workers as given, Beam's options, seconds of the step: whether it runs in memory
STEPS = {
    "small": (None, [], 1.0, True),
    "large": (None, [], 100.0, False),
    "small, with workers": (2, [], 1.0, False),
    "small, in one process": (1, [], 1.0, True),
    "large, in one process": (1, [], 100.0, False),
    "small, with options of Beam": (None, ["--direct_num_workers=1"], 1.0, False),
}


@each_row(STEPS)
def test_which_steps_run_in_memory(workers: int | None, flags: list[str], seconds: float, expected: bool) -> None:
    assert runs_in_memory(workers, flags, seconds) == expected
