"""Line charts as SVG, for the results of benchmarks."""

import math
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple
from xml.sax.saxutils import escape

Points = Sequence[tuple[float, float]]

WIDTH, HEIGHT = 460, 320
_LEFT, _RIGHT, _TOP, _BOTTOM = 64, 16, 34, 66
_COLORS = "#1f5fa8", "#c4572b", "#3b8a3e", "#7a4aa0"
_STYLE = "text{font:12px sans-serif;fill:#333} .title{font-weight:bold} .grid{stroke:#ddd} polyline{fill:none}"


class Chart(NamedTuple):
    """Lines by name over one x axis. Both axes are linear; y starts at 0."""

    title: str
    x: str  # names of the axes, with units
    y: str
    lines: Mapping[str, Points]


def ticks(low: float, high: float, count: int = 5) -> list[float]:
    """At most `count` + 2 round numbers that include all values from `low` to `high`.

    >>> ticks(0, 9_400_000)
    [0.0, 2000000.0, 4000000.0, 6000000.0, 8000000.0, 10000000.0]
    """
    span = (high - low) / count or 1.0
    power = 10.0 ** math.floor(math.log10(span))
    step = next(factor * power for factor in (1, 2, 5, 10) if factor * power >= span * (1 - 1e-9))
    first, last = math.floor(low / step + 1e-9), math.ceil(high / step - 1e-9)
    return [number * step for number in range(first, max(last, first + 1) + 1)]


def short(value: float) -> str:
    """A number in a few characters.

    >>> [short(value) for value in (0, 0.25, 40, 1500, 2_000_000)]
    ['0', '0.25', '40', '1,500', '2 M']
    """
    return f"{value / 1e6:,g} M" if abs(value) >= 1e6 else f"{value:,g}"


def svg(charts: Sequence[Chart]) -> str:
    """The charts side by side, as an SVG document."""
    size = f'width="{WIDTH * len(charts)}" height="{HEIGHT}"'
    drawn = "\n".join(
        f'<g transform="translate({WIDTH * number} 0)">\n' + "\n".join(_drawn(chart)) + "\n</g>"
        for number, chart in enumerate(charts)
    )
    background = '<rect width="100%" height="100%" fill="#fff"/>'
    return f'<svg xmlns="http://www.w3.org/2000/svg" {size}>\n<style>{_STYLE}</style>\n{background}\n{drawn}\n</svg>\n'


def write(path: str, charts: Sequence[Chart]) -> None:
    """Write the charts to a file."""
    Path(path).write_text(svg(charts), encoding="utf-8")


def _drawn(chart: Chart) -> Iterator[str]:
    points = [point for line in chart.lines.values() for point in line]
    across = ticks(min(x for x, _ in points), max(x for x, _ in points))
    up = ticks(0.0, max(y for _, y in points))
    right, bottom = WIDTH - _RIGHT, HEIGHT - _BOTTOM

    def at(x: float, y: float) -> tuple[float, float]:
        part = (x - across[0]) / (across[-1] - across[0]), (y - up[0]) / (up[-1] - up[0])
        return round(_LEFT + part[0] * (right - _LEFT), 1), round(bottom - part[1] * (bottom - _TOP), 1)

    yield _text(WIDTH / 2, 18, chart.title, "middle", ' class="title"')
    for value in up:
        y = at(across[0], value)[1]
        yield f'<line class="grid" x1="{_LEFT}" x2="{right}" y1="{y}" y2="{y}"/>' + _text(
            _LEFT - 6, y + 4, short(value), "end"
        )
    for value in across:
        yield _text(at(value, 0)[0], bottom + 18, short(value), "middle")
    yield _text((_LEFT + right) / 2, bottom + 36, chart.x, "middle")
    yield _text(14, (_TOP + bottom) / 2, chart.y, "middle", f' transform="rotate(-90 14 {(_TOP + bottom) / 2})"')
    for number, (name, line) in enumerate(chart.lines.items()):
        color, left = _COLORS[number % len(_COLORS)], _LEFT + number * (right - _LEFT) / len(chart.lines)
        places = [at(x, y) for x, y in sorted(line)]
        joined = " ".join(f"{x},{y}" for x, y in places)
        yield f'<polyline points="{joined}" stroke="{color}" stroke-width="2"/>'
        yield "".join(f'<circle cx="{x}" cy="{y}" r="3" fill="{color}"/>' for x, y in places)
        yield f'<rect x="{left:.0f}" y="{HEIGHT - 18}" width="10" height="10" fill="{color}"/>'
        yield _text(left + 14, HEIGHT - 9, name, "start")


def _text(x: float, y: float, text: str, anchor: str, more: str = "") -> str:
    return f'<text x="{x:g}" y="{y:g}" text-anchor="{anchor}"{more}>{escape(text)}</text>'
