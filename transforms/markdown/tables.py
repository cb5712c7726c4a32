"""Tables as GFM (section 4.10): which are tables, and where their cells lie."""

from collections.abc import Callable, Iterator
from typing import Any

MAX_SPAN = 50
"""Maximum number of columns or rows of a cell. Of columns, the HTML standard allows 1,000."""

MAX_REPEATED = 10_000
"""Maximum number of cells of a table that repeat one above them."""

_LAYOUT = ("table", "h1", "h2", "h3", "h4", "h5", "h6", "article", "main")


def layout_tables(root: Any) -> set[Any]:
    """The tables that hold tables or headings: their cells are read as blocks."""
    found: set[Any] = set()
    for inner in root.iter(*_LAYOUT):
        for ancestor in inner.iterancestors():
            if ancestor in found:
                break
            found.add(ancestor)
    return found


def rows_of(table: Any) -> list[tuple[list[Any], bool]] | None:
    """The rows of a table: cells, and whether it is a head; None if it is none: less than two rows or columns."""
    if (table.get("role") or "").strip().lower() in ("presentation", "none"):
        return None
    rows = [(row, [cell for cell in row if cell.tag in ("td", "th")]) for row in table.iter("tr")]
    rows = [(row, cells) for row, cells in rows if cells]
    if len(rows) < 2 or max(len(cells) for _, cells in rows) < 2:
        return None
    return [(cells, _is_head(row, cells)) for row, cells in rows]


def _is_head(row: Any, cells: list[Any]) -> bool:
    parent = row.getparent()
    return (parent is not None and parent.tag == "thead") or all(cell.tag == "th" for cell in cells)


def lines_of(rows: list[tuple[list[Any], bool]], render: Callable[[Any], str]) -> list[str]:
    """The lines of a table.

    A cell of several rows is repeated in each, one of several columns is followed by empty ones.
    The first row is the head if it is one in HTML; else the head is empty, because GFM demands one.
    """
    grid = [(row, is_head) for row, is_head in _grid(rows, render) if row]
    if not grid:
        return []
    columns = max(len(row) for row, _ in grid)
    head = grid.pop(0)[0] if grid[0][1] else []
    head += [""] * (columns - len(head))
    return [_line(head), "|" + " --- |" * columns, *(_line(row) for row, _ in grid)]


def _line(cells: list[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _grid(rows: list[tuple[list[Any], bool]], render: Callable[[Any], str]) -> Iterator[tuple[list[str], bool]]:
    """The rows as texts, without empty cells at the end, and whether each is a head."""
    spanning: dict[int, tuple[int, str]] = {}  # by column: further rows, and the text
    repeated = 0
    for cells, is_head in rows:
        line: list[str] = []
        for cell in [*cells, None]:
            while above := spanning.pop(len(line), None):
                left, text = above
                if left > 1:
                    spanning[len(line)] = (left - 1, text)
                repeated += 1
                line.append(text if repeated <= MAX_REPEATED else "")
            if cell is not None:
                text, wide, high = render(cell), _span(cell, "colspan"), _span(cell, "rowspan")
                if high > 1:
                    spanning[len(line)] = (high - 1, text)
                line += [text, *[""] * (wide - 1)]
        while line and not line[-1]:
            line.pop()
        yield line, is_head


def _span(cell: Any, name: str) -> int:
    value = (cell.get(name) or "").strip()
    return max(1, min(int(value), MAX_SPAN)) if value.isascii() and value.isdecimal() and len(value) < 9 else 1
