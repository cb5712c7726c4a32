"""Reads a WordprocessingML document (ECMA-376 part 1, 17): docx."""

import re
from collections.abc import Iterator
from typing import Any

from . import markup, package
from .archive import Archive
from .content import Content
from .presentation import read_shapes

_SKIPPED = ("Fallback", "moveFrom", "del", "pPr", "rPr", "instrText", "rt", "txbxContent")
_NAMESPACE = "wordprocessingml"  # of paragraphs; those of drawings and formulas differ
_SPACES = ("tab", "br", "cr", "ptab", "sym")  # a symbol is a glyph of some font
_HYPERLINK = re.compile(r'\bHYPERLINK\s+"([^"]+)"')
_MOST_BASES = 10  # styles that a style is based on
_LEVELS = range(9)  # 9 is body text (17.3.1.20)


def read(archive: Archive, main: str, content: Content) -> None:
    """Add body, notes and diagrams. Headers, footers, comments, and what is deleted or hidden are left out."""
    headings = set[str]()
    for part in package.related(archive, main, "styles"):
        headings |= _heading_styles(markup.tree(archive.read(part)), content)
    _read_part(archive, main, headings, content)
    for kind in ("footnotes", "endnotes"):
        for part in package.related(archive, main, kind):
            _read_part(archive, part, headings, content)
    for part in package.related(archive, main, "diagramData"):
        read_shapes(archive, part, content)


def _read_part(archive: Archive, part: str, headings: set[str], content: Content) -> None:
    links = package.links(archive, part)
    with archive.open(part) as stream:
        in_fallback = 0
        for event, element in markup.elements(stream, ("p", "Fallback")):
            if markup.local(element) == "Fallback":  # the same content again, for older programs
                in_fallback += 1 if event == "start" else -1
            elif event == "end":
                if not in_fallback and _NAMESPACE in element.tag:
                    _read_paragraph(element, links, headings, content)
                markup.forget(element)


def _read_paragraph(paragraph: Any, links: dict[str, str], headings: set[str], content: Content) -> None:
    for child in markup.descendants(paragraph, _SKIPPED):
        name = markup.local(child)
        if name == "hyperlink":
            content.link(links.get(markup.attribute(child, "id"), ""), "".join(_pieces(child)))
        elif name == "fldSimple":
            _read_field(markup.attribute(child, "instr"), content)
    _read_field("".join(element.text or "" for element in paragraph.iter("{*}instrText")), content)
    text, frames = "".join(_pieces(paragraph)), paragraph.iterfind("{*}pPr/{*}framePr")
    if any(markup.attribute(frame, "dropCap") in ("drop", "margin") for frame in frames):  # 17.3.1.11
        content.initial = text
    else:
        content.line(text, _is_heading(paragraph, headings))


def _read_field(instruction: str, content: Content) -> None:
    for reference in _HYPERLINK.findall(instruction):
        content.link(reference)


def _pieces(element: Any) -> Iterator[str]:
    for child in element:
        name = markup.local(child)
        if name == "t":
            yield child.text or ""
        elif name in _SPACES:
            yield " "
        elif name == "noBreakHyphen":
            yield "-"
        elif name and name not in _SKIPPED and not (name == "r" and _is_hidden(child)):
            yield from _pieces(child)


def _is_hidden(run: Any) -> bool:
    marks = (mark for properties in markup.children(run, "rPr") for mark in markup.children(properties, "vanish"))
    return any(markup.attribute(mark, "val") not in ("0", "false", "off") for mark in marks)


def _is_heading(paragraph: Any, headings: set[str]) -> bool:
    for properties in markup.children(paragraph, "pPr"):
        for mark in properties:
            name, value = markup.local(mark), markup.attribute(mark, "val")
            if (name == "pStyle" and value in headings) or (name == "outlineLvl" and _is_level(value)):
                return True
    return False


def _is_level(value: str) -> bool:
    return value.isdecimal() and int(value) in _LEVELS


def _heading_styles(root: Any, content: Content) -> set[str]:
    """The identifiers of styles of headings: built-in ones, those with an outline level, and those based on them."""
    bases: dict[str, str] = {}
    headings: set[str] = set()
    for element in root.iter("{*}style", "{*}docDefaults"):
        if markup.local(element) == "docDefaults":
            for mark in element.iter("{*}lang"):
                content.fact("language", markup.attribute(mark, "val"))
            continue
        identifier = markup.attribute(element, "styleId")
        values = {markup.local(part): markup.attribute(part, "val") for part in markup.descendants(element)}
        bases[identifier] = values.get("basedOn", "")
        name = values.get("name", "").lower()
        if name == "title" or name.startswith("heading ") or _is_level(values.get("outlineLvl", "")):
            headings.add(identifier)
    for identifier in bases:
        base = identifier
        for _ in range(_MOST_BASES):
            if (base := bases.get(base, "")) in headings:
                headings.add(identifier)
                break
    return headings
