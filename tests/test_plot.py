"""The charts of the benchmarks."""

import doctest
from xml.etree import ElementTree

import pytest

from benchmarks import plot


def test_the_examples_hold() -> None:
    assert doctest.testmod(plot).failed == 0


@pytest.mark.parametrize(
    ("low", "high", "expected"),
    [
        (0, 10, [0, 2, 4, 6, 8, 10]),
        (0, 0, [0, 1]),
        (5, 5, [5, 6]),
        (100, 1000, [0, 200, 400, 600, 800, 1000]),
        (0, 0.9, [0, 0.2, 0.4, 0.6, 0.8, 1.0]),
    ],
)
def test_ticks_include_all_values(low: float, high: float, expected: list[float]) -> None:
    assert plot.ticks(low, high) == pytest.approx(expected)


def test_a_chart_draws_each_point_once() -> None:
    chart = plot.Chart("A < B", "x", "y", {"one": [(10, 5.0), (0, 0.0)], "two": [(5, 10.0)]})
    root = ElementTree.fromstring(plot.svg([chart, chart]))
    space = "{http://www.w3.org/2000/svg}"
    assert [line.get("points") for line in root.iter(space + "polyline")] == [
        "64.0,254.0 444.0,144.0",
        "254.0,34.0",
    ] * 2
    assert len(list(root.iter(space + "circle"))) == 6
    assert "A < B" in [text.text for text in root.iter(space + "text")]
