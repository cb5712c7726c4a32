"""Reads a SpreadsheetML workbook (ECMA-376 part 1, 18): xlsx."""

from collections.abc import Iterator
from typing import Any, NamedTuple

from . import markup, numbers, package
from .archive import Archive
from .content import Content
from .presentation import read_shapes

_MAX_STRINGS = 16_000_000  # characters of the table of strings, of which a document's text is a part


def read(archive: Archive, main: str, content: Content) -> None:
    """Add the sheets in their order: names as headings, rows as lines; hidden sheets and formulas are left out.

    Numbers are without their format, but for dates, which are in ISO 8601.
    """
    strings = [text for part in package.related(archive, main, "sharedStrings") for text in _strings(archive, part)]
    dates = set[int]()
    for part in package.related(archive, main, "styles"):
        dates |= numbers.date_styles(markup.tree(archive.read(part)))
    workbook = markup.tree(archive.read(main))
    is_1904 = any(element.get("date1904") in ("1", "true") for element in workbook.iter("{*}workbookPr"))
    values = _Values(strings, dates, is_1904)
    targets = {found.id: found.target for found in package.relationships(archive, main)}
    for sheet in workbook.iter("{*}sheet"):
        part = targets.get(markup.attribute(sheet, "id"), "")
        if archive.has(part) and not sheet.get("state", "").lower().endswith("hidden"):
            content.line(sheet.get("name", ""), is_heading=True)
            _read_sheet(archive, part, values, content)
            for drawing in package.related(archive, part, "drawing"):
                for shapes in (drawing, *package.related(archive, drawing, "diagramData")):
                    read_shapes(archive, shapes, content)


def _strings(archive: Archive, part: str) -> Iterator[str]:
    left = _MAX_STRINGS
    with archive.open(part) as stream:
        for event, element in markup.elements(stream, ("si",)):
            if event == "end":
                text = _text(element)
                markup.forget(element)
                if (left := left - len(text)) < 0:
                    return
                yield text


def _text(element: Any) -> str:
    """The text of a string, which may consist of runs; without phonetic guides."""
    return "".join(part.text or "" for part in markup.descendants(element, ("rPh",)) if markup.local(part) == "t")


class _Values(NamedTuple):
    """What the value of a cell is read with."""

    strings: list[str]
    dates: set[int]  # indexes of styles
    is_1904: bool  # whether dates count from 1904

    def text(self, cell: Any) -> str:
        kind = cell.get("t", "n")
        if kind == "inlineStr":
            return _text(cell)
        value = next((element.text or "" for element in markup.children(cell, "v")), "")
        if kind == "n":
            style = cell.get("s", "")
            return numbers.number(value, style.isdecimal() and int(style) in self.dates, self.is_1904)
        if kind == "b":
            return "TRUE" if value == "1" else "FALSE"
        if kind == "s":
            return self.strings[int(value)] if value.isdecimal() and int(value) < len(self.strings) else ""
        return "" if kind == "e" else value


def _read_sheet(archive: Archive, part: str, values: _Values, content: Content) -> None:
    links = package.links(archive, part)
    with archive.open(part) as stream:
        for event, element in markup.elements(stream, ("row", "hyperlink")):
            if event == "start":
                continue
            if markup.local(element) == "row":
                content.line(" ".join(values.text(cell) for cell in markup.children(element, "c")))
            else:
                content.link(links.get(markup.attribute(element, "id"), ""), element.get("display", ""))
            markup.forget(element)
