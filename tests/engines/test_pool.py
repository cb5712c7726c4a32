"""Worker processes run the functions of the in-memory runner behind shuffles, and nothing else."""

import os
import socket
from collections.abc import Callable
from pathlib import Path

import apache_beam as beam
import pytest

from beamtrawl.runners.engines.direct import DirectEngine
from beamtrawl.runners.engines.pool import serve
from beamtrawl.runners.terminal.errors import Failure
from beamtrawl.transforms.outcomes import CrawlDirError


def ran(tmp_path: Path, spread: Callable[[beam.Pipeline], beam.PCollection], most: int = -1) -> str:
    """Run the function on what `spread` makes of a pipeline; return what it wrote: elements, processes, counts."""
    out = str(tmp_path / "out")

    class WhereFn(beam.DoFn):  # workers do not import tests
        """Yields each element, by tag, and where it was; a process says at the end of a bundle how many it had."""

        def __init__(self, most: int) -> None:
            self._most = most

        def start_bundle(self) -> None:
            self._count = 0

        def process(self, element: int | tuple, sums: list[int]):
            self._count += 1
            if element == self._most:
                raise CrawlDirError(f"{element} is too much of {sorted(sums)}")
            yield beam.pvalue.TaggedOutput("found", (element, os.getpid(), sorted(sums)))

        def finish_bundle(self):
            value = beam.transforms.window.GlobalWindows.windowed_value(self._count)
            yield beam.pvalue.TaggedOutput("counts", value)

    def build(pipeline: beam.Pipeline) -> None:
        sides = beam.pvalue.AsList(pipeline | "Sides" >> beam.Create([3]) | beam.Map(lambda number: number + 1))
        outputs = spread(pipeline) | beam.ParDo(WhereFn(most), sides).with_outputs("found", "counts")
        lines = (outputs.found | "Found" >> beam.Map(repr), outputs.counts | "Count" >> beam.Map(str)) | beam.Flatten()
        together = lines | "Key" >> beam.Map(lambda line: (0, line)) | "Together" >> beam.GroupByKey()
        _ = together | "Write" >> beam.Map(lambda group: Path(out).write_text("\n".join(sorted(group[1]))))

    DirectEngine(2).run(build, seconds=30)
    return (tmp_path / "out").read_text()


def pairs(pipeline: beam.Pipeline) -> beam.PCollection:
    return pipeline | beam.Create([("a", 1), ("b", 2), ("a", 3)], reshuffle=False)


# what comes before a function
SPREAD: dict[str, Callable[[beam.Pipeline], beam.PCollection]] = {
    "a reshuffle": lambda p: p | beam.Create(range(6), reshuffle=False) | beam.Reshuffle(),
    "values": lambda p: p | beam.Create(range(6)),
    "a grouping": lambda p: pairs(p) | beam.GroupByKey(),
    "a join": lambda p: dict.fromkeys(("one", "a longer tag"), pairs(p)) | beam.CoGroupByKey(),
}


@pytest.mark.parametrize("spread", SPREAD.values(), ids=SPREAD)
def test_functions_behind_a_shuffle_run_in_workers(tmp_path: Path, spread: Callable) -> None:
    lines = [eval(line) for line in ran(tmp_path, spread).splitlines()]
    found, counts = ([line for line in lines if isinstance(line, kind)] for kind in (tuple, int))
    assert sum(counts) == len(found) > 1
    assert all(sides == [4] for _, _, sides in found)
    assert {pid for _, pid, _ in found} != {os.getpid()}


def test_a_single_element_stays_in_the_driver(tmp_path: Path) -> None:
    (line, count) = ran(tmp_path, lambda p: p | beam.Create([5]) | beam.Reshuffle()).splitlines()
    assert (eval(line)[:2], count) == ((5, os.getpid()), "1")


def test_an_expected_error_of_a_function_is_told_in_one_line(tmp_path: Path) -> None:
    with pytest.raises(Failure, match=r"^5 is too much of \[4\]$"):
        ran(tmp_path, lambda p: p | beam.Create(range(6)), most=5)


def test_a_function_that_begins_all_its_elements_at_once_has_equal_shares_in_each_worker(tmp_path: Path) -> None:
    """Such as hosts that are visited: what a worker has begun, no other one takes over."""
    out = str(tmp_path / "out")

    class AtOnceFn(beam.DoFn):
        runs_at_once = True

        def process(self, element: str):
            yield beam.pvalue.TaggedOutput("found", (len(element), os.getpid()))

    def build(pipeline: beam.Pipeline) -> None:
        elements = pipeline | beam.Create(["x" * size for size in (1_000, 1_000, 1_000, 5_000, 1_000, 1_000)])
        found = elements | beam.ParDo(AtOnceFn()).with_outputs("found")
        together = found.found | "Key" >> beam.Map(lambda pair: (0, pair)) | "Together" >> beam.GroupByKey()
        _ = together | "Write" >> beam.Map(lambda group: Path(out).write_text(repr(sorted(group[1]))))

    DirectEngine(2).run(build, seconds=30)
    *small, (size, pid) = eval(Path(out).read_text())
    assert (size, [size for size, _ in small]) == (5_000, [1_000] * 5)
    others = {other for _, other in small}
    assert len(others) == 1 and pid not in others


def test_a_worker_ends_its_bundle_when_its_share_is_done_whatever_the_others_take(tmp_path: Path) -> None:
    """Such as one whose hosts have all begun, while another takes one host after the other."""
    out, fifo = str(tmp_path / "out"), str(tmp_path / "fifo")
    os.mkfifo(fifo)

    class AtOnceFn(beam.DoFn):
        runs_at_once = True

        def start_bundle(self) -> None:
            self._elements: list[str] = []

        def process(self, element: str):
            self._elements.append(element[0])
            if element[0] == "last":  # the second element of its worker: it waits for the end of the other one
                Path(fifo).read_text()
            yield beam.pvalue.TaggedOutput("found", element[0])

        def finish_bundle(self):
            if self._elements == ["large"]:
                Path(fifo).write_text("done")

    def build(pipeline: beam.Pipeline) -> None:
        sizes = {"large": 9_000, "first": 5_000, "last": 1_000}
        elements = pipeline | beam.Create([(name, "x" * size) for name, size in sizes.items()])
        found = elements | beam.ParDo(AtOnceFn()).with_outputs("found")
        together = found.found | "Key" >> beam.Map(lambda name: (0, name)) | "Together" >> beam.GroupByKey()
        _ = together | "Write" >> beam.Map(lambda group: Path(out).write_text(repr(sorted(group[1]))))

    DirectEngine(2).run(build, seconds=30)
    assert eval(Path(out).read_text()) == ["first", "large", "last"]


def test_what_a_function_makes_of_one_element_comes_in_parts(tmp_path: Path) -> None:
    """A file of a million rows is in memory nowhere."""
    out = str(tmp_path / "out")

    class RowsFn(beam.DoFn):
        def process(self, count: int):
            for number in range(count):
                yield beam.pvalue.TaggedOutput("found", number)

    def build(pipeline: beam.Pipeline) -> None:
        rows = pipeline | beam.Create([2_500, 10, 0]) | beam.ParDo(RowsFn()).with_outputs("found")
        together = rows.found | "Key" >> beam.Map(lambda row: (0, row)) | "Together" >> beam.GroupByKey()
        _ = together | "Write" >> beam.Map(lambda group: Path(out).write_text(repr(sorted(group[1]))))

    DirectEngine(2).run(build, seconds=30)
    assert eval(Path(out).read_text()) == sorted([*range(2_500), *range(10)])


def test_a_worker_whose_pool_has_failed_before_it_came_ends_without_a_word(tmp_path: Path) -> None:
    serve(str(tmp_path / "gone"), 1)
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(tmp_path / "closed"))
    serve(str(tmp_path / "closed"), 1)
