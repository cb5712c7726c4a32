"""Values as text, and charts: pure functions."""

import doctest
from datetime import UTC, datetime
from xml.etree import ElementTree

import pytest

from beamtrawl.runners.report import charts, content, text
from beamtrawl.runners.report.charts import bar, bins, short, summary, svg, table, ticks
from beamtrawl.runners.report.content import Chart
from beamtrawl.runners.report.text import show, sort_key, visible

# largest value: the ticks of the axis
TICKS = {
    0: [0, 1],
    0.003: [0, 0.001, 0.002, 0.003],
    1: [0, 0.5, 1],
    4: [0, 1, 2, 3, 4],
    41: [0, 20, 40, 60],
    1_000: [0, 500, 1_000],
    9_400_000: [0, 5_000_000, 10_000_000],
}

# (text, characters at most): what is shown
TEXTS = {
    ("", 9): "",
    ("plain", 9): "plain",
    ("<b>&\"'", 9): "<b>&\"'",
    ("a\u202eb\u2066c", 99): "a⟨U+202E⟩b⟨U+2066⟩c",
    ("nul\0 esc\x1b nel\x85 lf\n", 99): "nul⟨U+0000⟩ esc⟨U+001B⟩ nel⟨U+0085⟩ lf⟨U+000A⟩",
    ("zero\u200bwidth \ufeff \U000e0041", 99): "zero⟨U+200B⟩width ⟨U+FEFF⟩ ⟨U+E0041⟩",
    ("lone \ud800", 99): "lone ⟨U+D800⟩",
    ("검색 אב", 9): "검색 אב",
    ("abcdefghij", 10): "abcdefghij",
    ("abcdefghijk", 10): "abcdefg…jk",
    ("x" * 10_000, 8): "xxxxx…xx",
}

# (value, kind): what is shown
SHOWN = {
    (None, "count"): "",
    (0, "count"): "0",
    (1_234_567, "count"): "1,234,567",
    (3.0, "number"): "3",
    (3.25, "number"): "3.2",
    (2_345.6, "number"): "2,346",
    (999, "bytes"): "999 B",
    (92_200_000, "bytes"): "92.2 MB",
    (0.25, "seconds"): "0.2 s",
    (120, "seconds"): "2.0 min",
    (200_000, "seconds"): "2.3 days",
    (1_024, "ms"): "1,024 ms",
    (0.123, "share"): "12.3 %",
    (-0.05, "change"): "-5.0 %",
    (datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC), "time"): "2026-01-02 03:04:05",
    (404, "text"): "404",
}


@pytest.mark.parametrize(("high", "found"), TICKS.items())
def test_axes_have_round_numbers(high: float, found: list[float]) -> None:
    assert ticks(high) == found


@pytest.mark.parametrize(("value", "shown"), TEXTS.items(), ids=ascii)
def test_texts_are_harmless_and_short(value: tuple[str, int], shown: str) -> None:
    assert visible(*value) == shown


@pytest.mark.parametrize(("value", "shown"), SHOWN.items(), ids=str)
def test_values_are_shown_by_kind(value, shown: str) -> None:
    assert show(*value) == shown


def test_columns_sort_by_numbers() -> None:
    at = datetime(2026, 1, 1, tzinfo=UTC)
    assert [sort_key(0.5, "share"), sort_key(12, "count"), sort_key(at, "time")] == ["0.5", "12", "1767225600"]
    assert [sort_key("a", "text"), sort_key(None, "count")] == ["", ""]


def test_consecutive_places_share_a_bin() -> None:
    assert bins(0) == []
    assert [len(part) for part in bins(60)] == [1] * 60
    assert [len(part) for part in bins(61)] == [2] * 30 + [1]
    assert [place for part in bins(1234) for place in part] == [*range(1234)]
    assert short(12_000_000) == "12 M"


CHART = Chart("Visits", "round", "visits", ["1", "2"], {"good": [30.0, 40.0], "bad": [10.0, None]})


def test_columns_are_stacked_to_scale() -> None:
    root = ElementTree.fromstring(svg(CHART, "a"))
    rects = [(r.get("class"), float(r.get("y")), float(r.get("height"))) for r in root.iter("rect")]
    plot = charts.HEIGHT - charts._TOP - charts._BOTTOM
    (_, good_top, good), (_, _, bad), (_, top, tall) = rects
    assert [color for color, _, _ in rects] == ["c0", "c1", "c0"]
    assert (good, bad, tall) == pytest.approx((plot * 3 / 4, plot / 4, plot), abs=0.2)
    assert (good_top, top) == pytest.approx((charts._TOP + plot / 4, charts._TOP), abs=0.2)
    texts = [element.text for element in root.iter("text")]
    assert texts == ["visits", "0", "10", "20", "30", "40", "1", "2", "round"]
    assert root.get("role") == "img"
    assert root.find("title").text == "Visits"
    assert root.find("desc").text == "visits by round, 1 to 2. Largest value: 40 (good, 2)."
    assert [title.text for title in root.iter("title")][1:] == ["1: good 30", "1: bad 10", "2: good 40"]


def test_lines_leave_gaps_out() -> None:
    root = ElementTree.fromstring(svg(CHART._replace(kind="lines"), "a"))
    lines = [line.get("points").split() for line in root.iter("polyline")]
    assert [len(points) for points in lines] == [2, 1]
    assert len([*root.iter("circle")]) == 3


def test_the_table_of_a_chart_has_its_values() -> None:
    found = table(CHART)
    assert list(found.columns) == ["round", "good", "bad"]
    assert found.rows == [("1", 30.0, 10.0), ("2", 40.0, None)]
    assert summary(CHART._replace(series={"none": [None, None]})) == "No values."


def test_a_chart_injects_nothing() -> None:
    evil = "<script>alert(1)</script>\"'&\u202e"
    drawn = svg(Chart(evil, evil, evil, [evil], {evil: [1.0]}), "a")
    assert "<script" not in drawn
    assert "\u202e" not in drawn
    ElementTree.fromstring(drawn)
    assert bar(7).count('width="100.0"') == 1


@pytest.mark.parametrize("module", [charts, content, text], ids=lambda module: module.__name__)
def test_examples_hold(module) -> None:
    result = doctest.testmod(module)
    assert result.failed == 0
    assert result.attempted > 0
