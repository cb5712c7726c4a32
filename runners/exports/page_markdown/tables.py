"""Tables as GFM has them (section 4.10): rows of one length, without spans; layout becomes blocks."""

from turbohtml import Element, Text

MAX_SPAN = 50
"""Maximum number of columns or rows of a cell. Of columns, the HTML standard allows 1,000."""

MAX_REPEATED = 10_000
"""Maximum number of cells of a page that repeat one above them, or fill a row."""

_LAYOUT = "table:has(table, h1, h2, h3, h4, h5, h6, article, main), table[role=presentation], table[role=none]"
_LISTS = ("dd", "dl", "dt", "li", "ol", "ul")
_PARTS = ["table", "thead", "tbody", "tfoot", "tr", "td", "th", "caption"]


def write(root: Element) -> None:
    """Change the tables of a tree to such as Markdown can have."""
    layout = set(root.select(_LAYOUT))
    added = 0
    for table in root.find_all("table"):
        rows = [(row, [cell for cell in row if isinstance(cell, Element)]) for row in table.iter_elements("tr")]
        rows = [(row, cells) for row, cells in rows if cells]
        if table in layout or len(rows) < 2 or max(len(cells) for _, cells in rows) < 2:
            for part in [
                table,
                *(element for element in table.iter_elements(_PARTS) if element.closest("table") is table),
            ]:
                part.tag = "div"
            continue
        for caption in table.find_all("caption"):
            table.insert_before(Element("p", {}, list(caption)))
            caption.extract()
        for part in list(table.iter_elements(_LISTS)):  # of which a cell has only the text
            part.tag = "div"
        added += _square(rows, MAX_REPEATED - added)


def _square(rows: list[tuple[Element, list[Element]]], room: int) -> int:
    """Give rows one length: a cell of several rows is repeated in each, one of several columns followed by empty ones.

    Returns how many cells were added, at most `room`.
    """
    spanning: dict[int, tuple[int, str]] = {}  # by column: further rows, and the text
    grid, added = list[tuple[Element, int]](), 0
    for row, cells in rows:
        column = 0
        for cell in [*cells, None]:
            while above := spanning.pop(column, None):
                left, text = above
                if left > 1:
                    spanning[column] = (left - 1, text)
                if added < room:
                    added += 1
                    new = Element("td", {}, [Text(text)])
                    cell.insert_before(new) if cell else row.append(new)
                    column += 1
                else:
                    break
            if cell is None:
                break
            wide, high = _span(cell, "colspan"), _span(cell, "rowspan")
            if high > 1:
                spanning[column] = (high - 1, " ".join(" ".join(cell.strings).split()))
            column += 1
            for _ in range(wide - 1 if added + wide <= room else 0):
                cell.insert_after(Element("td"))
                added += 1
                column += 1
        grid.append((row, column))
    longest = max(column for _, column in grid)
    for row, column in grid:
        for _ in range(longest - column if added + longest <= room else 0):
            row.append(Element("td"))
            added += 1
    return added


def _span(cell: Element, name: str) -> int:
    """The span of a cell, which loses it."""
    value = (cell.attr(name) or "").strip()
    if not value:
        return 1
    del cell.attrs[name]
    return max(1, min(int(value), MAX_SPAN)) if value.isascii() and value.isdecimal() and len(value) < 9 else 1
