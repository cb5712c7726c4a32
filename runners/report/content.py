"""The parts of a report, as values: sections of paragraphs, figures, tables and charts."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, Literal, NamedTuple

Kind = Literal["text", "right", "count", "number", "bytes", "seconds", "ms", "share", "change", "time"]
"""How a value is shown. A share is a number from 0 to 1, shown as a percentage with a bar; a change is a signed one;
`right` is a text that is aligned with numbers.
"""


Columns = dict[str, Kind]
"""The columns of a table by name."""


def count_columns(*names: str) -> Columns:
    """Return columns of counts."""
    return dict.fromkeys(names, "count")


class Table(NamedTuple):
    """Rows under a caption; None is an empty cell."""

    caption: str
    columns: Columns
    rows: Sequence[Sequence[Any]]
    note: str = ""


class Chart(NamedTuple):
    """Series of values over common labels, as stacked columns or as lines; values are at least 0, None is a gap."""

    title: str
    x: str  # names of the axes, with units
    y: str
    labels: Sequence[str]
    series: Mapping[str, Sequence[float | None]]
    kind: Literal["columns", "lines"] = "columns"


class Figure(NamedTuple):
    """A single value under a name."""

    name: str
    value: Any
    kind: Kind = "count"


class Figures(NamedTuple):
    """Several single values side by side."""

    figures: Sequence[Figure]


class Alert(NamedTuple):
    """A line that needs attention."""

    text: str


Part = str | Figures | Table | Chart | Alert
"""A part of a section; a text is a paragraph."""


class Section(NamedTuple):
    """A section of the report."""

    anchor: str
    title: str
    parts: Sequence[Part]


class Report(NamedTuple):
    """The whole report."""

    name: str
    directory: str
    made_at: datetime
    sections: Sequence[Section]
    title: str = "Crawl report"
    state: str = ""  # a sentence that screen readers say when it changes
    every_s: float | None = None  # the page renews itself so often; None: never


def shares(counts: Sequence[tuple[Any, int]]) -> list[tuple[Any, int, float]]:
    """Add to each (name, count) its share of the sum.

    >>> shares([("html", 3), ("pdf", 1)])
    [('html', 3, 0.75), ('pdf', 1, 0.25)]
    """
    total = sum(count for _, count in counts) or 1
    return [(name, count, count / total) for name, count in counts]


def distribution(caption: str, name: str, unit: str, counts: Sequence[tuple[Any, int]]) -> Table:
    """Return a table of counts by name with their shares."""
    return Table(caption, {name: "text", unit: "count", "share": "share"}, shares(counts))


def largest(counts: Sequence[tuple[Any, int]], most: int, rest: str) -> list[tuple[Any, int]]:
    """Return the `most` largest counts, and the sum of the others under the name `rest`.

    >>> largest([("a", 1), ("b", 5), ("c", 2)], 1, "others")
    [('b', 5), ('others', 3)]
    """
    ordered = sorted(counts, key=lambda item: -item[1])
    left = sum(count for _, count in ordered[most:])
    return ordered[:most] + ([(rest, left)] if left else [])
