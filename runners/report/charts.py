"""Charts as SVG: pure functions of values. Colours are classes of the page's style sheet and follow its scheme."""

import math
from collections.abc import Callable, Iterator, Sequence

from markupsafe import Markup

from .content import Chart, Columns, Table
from .text import visible

WIDTH, HEIGHT = 460, 250
COLOURS = 8  # classes c0 to c7
_LEFT, _RIGHT, _TOP, _BOTTOM = 56, 8, 30, 40
_LABELS = 12  # on the x axis, at most
_DASHES = ("", "6 3", "2 3", "8 3 2 3")  # lines are told apart without colour
_TEXT = Markup('<text x="{:g}" y="{:g}" text-anchor="{}">{}</text>')
_GRID = Markup('<line class="{}" x1="{:g}" x2="{:g}" y1="{:g}" y2="{:g}"/>')


def ticks(high: float, count: int = 4) -> list[float]:
    """Return round numbers from 0 to at least `high`, about `count` of them above 0.

    >>> ticks(9_400), ticks(0.7), ticks(0)
    ([0.0, 5000.0, 10000.0], [0.0, 0.2, 0.4, 0.6, 0.8], [0.0, 1.0])
    """
    if high <= 0:
        return [0.0, 1.0]
    power = 10.0 ** math.floor(math.log10(high / count))
    step = next(factor * power for factor in (1, 2, 5, 10) if factor * power * count >= high * (1 - 1e-9))
    return [round(number * step, 12) for number in range(math.ceil(high / step - 1e-9) + 1)]


def short(value: float) -> str:
    """Return a number in a few characters.

    >>> [short(value) for value in (0, 0.25, 40, 1500, 20_000, 2_500_000, 3e9)]
    ['0', '0.25', '40', '1,500', '20 k', '2.5 M', '3 G']
    """
    for size, unit in ((1e9, "G"), (1e6, "M"), (1e4, "k")):
        if value >= size:
            return f"{value / min(size, 1e3 if unit == 'k' else size):g} {unit}"
    return f"{value:,g}"


def bins(count: int, most: int = 60) -> list[range]:
    """Return consecutive ranges that cover `count` places in at most `most` parts of one size.

    >>> bins(5, 2)
    [range(0, 3), range(3, 5)]
    """
    size = max(1, math.ceil(count / most))
    return [range(start, min(start + size, count)) for start in range(0, count, size)]


def summary(chart: Chart) -> str:
    """Return the chart in a sentence: its axes, extent and largest value."""
    values = [(value, chart.labels[n], name) for name, all_ in chart.series.items() for n, value in enumerate(all_)]
    found = [entry for entry in values if entry[0] is not None]
    if not found:
        return "No values."
    value, label, name = max(found, key=lambda entry: entry[0] or 0.0)
    extent = f"{chart.labels[0]} to {chart.labels[-1]}" if len(chart.labels) > 1 else chart.labels[0]
    return f"{chart.y} by {chart.x}, {extent}. Largest value: {short(round(value or 0.0, 2))} ({name}, {label})."


def svg(chart: Chart, anchor: str) -> Markup:
    """Return the chart as an SVG element with a title and a description; `anchor` makes their ids unique."""
    body = Markup("\n").join(_drawn(chart))
    return Markup(
        '<svg viewBox="0 0 {} {}" role="img" aria-labelledby="{id}-title {id}-desc"><title id="{id}-title">{}</title>'
        '<desc id="{id}-desc">{}</desc>\n{}\n</svg>'
    ).format(WIDTH, HEIGHT, visible(chart.title), visible(summary(chart), 400), body, id=anchor)


def _drawn(chart: Chart) -> Iterator[Markup]:
    up = ticks(_highest(chart))
    right, bottom = WIDTH - _RIGHT, HEIGHT - _BOTTOM

    def height(value: float) -> float:
        return round(value / up[-1] * (bottom - _TOP), 1)

    yield _TEXT.format(4, 12, "start", visible(chart.y))
    for value in up:
        y = bottom - height(value)
        yield _GRID.format("grid" if value else "axis", _LEFT, right, y, y)
        yield _TEXT.format(_LEFT - 6, y + 4, "end", short(value))
    places = _places(len(chart.labels))
    for number in _labelled(len(chart.labels)):
        yield _TEXT.format(places[number], bottom + 16, "middle", visible(chart.labels[number], 12))
    yield _TEXT.format((_LEFT + right) / 2, HEIGHT - 6, "middle", visible(chart.x))
    yield from (_lines if chart.kind == "lines" else _columns)(chart, places, bottom, height)


def _highest(chart: Chart) -> float:
    if chart.kind == "lines":
        return max((value or 0.0 for values in chart.series.values() for value in values), default=0.0)
    return max(
        (sum(value or 0.0 for value in column) for column in zip(*chart.series.values(), strict=True)), default=0.0
    )


def _places(count: int) -> list[float]:
    """Return the x coordinates of the labels: the middles of equal parts of the axis."""
    width = (WIDTH - _LEFT - _RIGHT) / max(1, count)
    return [round(_LEFT + (number + 0.5) * width, 1) for number in range(count)]


def _labelled(count: int) -> list[int]:
    """Return the numbers of the labels that are written: each, each second, fifth, tenth, …"""
    steps = (factor * 10**power for power in range(9) for factor in (1, 2, 5))
    step = next(step for step in steps if count <= step * _LABELS)
    return list(range(0, count, step))


def _columns(
    chart: Chart, places: Sequence[float], bottom: float, height: Callable[[float], float]
) -> Iterator[Markup]:
    width = round(min(48.0, (WIDTH - _LEFT - _RIGHT) / max(1, len(places)) * 0.78), 1)
    for number, place in enumerate(places):
        top = bottom
        for color, (name, values) in enumerate(chart.series.items()):
            value = values[number]
            if value:
                part = height(value)
                top = round(top - part, 1)
                yield Markup(
                    '<rect class="c{}" x="{:g}" y="{:g}" width="{:g}" height="{:g}"><title>{}</title></rect>'
                ).format(color % COLOURS, place - width / 2, top, width, part, _said(chart, number, name, value))


def _lines(chart: Chart, places: Sequence[float], bottom: float, height: Callable[[float], float]) -> Iterator[Markup]:
    for color, (name, values) in enumerate(chart.series.items()):
        points = [
            (x, bottom - height(v), v, n) for n, (x, v) in enumerate(zip(places, values, strict=True)) if v is not None
        ]
        path = " ".join(f"{x:g},{y:g}" for x, y, _, _ in points)
        yield Markup('<polyline class="l{}" points="{}" stroke-dasharray="{}"/>').format(
            color % COLOURS, path, dashes(color)
        )
        for x, y, value, number in points:
            yield Markup('<circle class="c{}" cx="{:g}" cy="{:g}" r="{:g}"><title>{}</title></circle>').format(
                color % COLOURS, x, y, 3 if len(places) <= 30 else 1.5, _said(chart, number, name, value)
            )


def _said(chart: Chart, number: int, name: str, value: float) -> str:
    return visible(f"{chart.labels[number]}: {name} {value:,.6g}")


def bar(share: float) -> Markup:
    """Return a bar of a table cell: its length is a share of the whole width."""
    return Markup(
        '<svg class="bar" viewBox="0 0 100 10" preserveAspectRatio="none" aria-hidden="true">'
        '<rect class="track" width="100" height="10"/><rect class="c0" width="{:.1f}" height="10"/></svg>'
    ).format(100 * min(1.0, max(0.0, share)))


def dashes(number: int) -> str:
    """Return the pattern of the line of a series, as an attribute of SVG."""
    return _DASHES[number % len(_DASHES)]


def table(chart: Chart) -> Table:
    """Return the values of a chart as a table."""
    columns: Columns = {chart.x: "text"}
    columns |= {visible(name): "number" for name in chart.series}
    rows = [(label, *values) for label, *values in zip(chart.labels, *chart.series.values(), strict=True)]
    return Table(f"{chart.title} ({chart.y})", columns, rows)
