"""Reads a PresentationML document (ECMA-376 part 1, 19): pptx."""

from typing import Any

from . import markup, package
from .archive import Archive
from .content import Content

_TITLES = ("title", "ctrTitle")
_REPEATED = ("sldNum", "dt", "ftr", "hdr", "sldImg")  # placeholders of what every slide has
_DRAWING = "drawingml"


def read(archive: Archive, main: str, content: Content) -> None:
    """Add the slides in their order, with their diagrams and notes; hidden slides are left out."""
    targets = {found.id: found.target for found in package.relationships(archive, main)}
    root = markup.tree(archive.read(main))
    slides = dict.fromkeys(targets.get(_relation(slide), "") for slide in root.iter("{*}sldId"))
    for slide in filter(archive.has, slides):
        if not read_shapes(archive, slide, content):
            continue
        for kind in ("diagramData", "notesSlide"):
            for part in package.related(archive, slide, kind):
                read_shapes(archive, part, content)


def _relation(element: Any) -> str:
    """The identifier of a relationship; the attribute `id` without a namespace is another one."""
    return next((value for name, value in element.attrib.items() if name.endswith("}id")), "")


def read_shapes(archive: Archive, part: str, content: Content) -> bool:
    """Whether a slide, or a drawing of another file, is shown; the text of its shapes is added then."""
    links = package.links(archive, part)
    with archive.open(part) as stream:
        in_fallback = 0
        for event, element in markup.elements(stream, ("p", "Fallback", "sld")):
            name = markup.local(element)
            if name == "sld" and event == "start" and element.get("show") in ("0", "false"):
                return False
            if name == "Fallback":
                in_fallback += 1 if event == "start" else -1
            elif name == "p" and event == "end" and _DRAWING in element.tag:
                kind = _placeholder(element)
                if not in_fallback and kind not in _REPEATED:
                    _read_paragraph(element, links, kind in _TITLES, content)
                markup.forget(element)
    return True


def _placeholder(paragraph: Any) -> str:
    """The type of the placeholder that a paragraph is in; "" if it is in none."""
    shape = next(paragraph.iterancestors("{*}sp"), None)
    mark = None if shape is None else next(shape.iter("{*}ph"), None)
    return "" if mark is None else mark.get("type", "")


def _read_paragraph(paragraph: Any, links: dict[str, str], is_heading: bool, content: Content) -> None:
    pieces = []
    for element in markup.descendants(paragraph):
        name = markup.local(element)
        if name == "t":
            pieces.append(element.text or "")
        elif name in ("br", "tab"):
            pieces.append(" ")
        elif name == "hlinkClick":
            run = element.getparent().getparent()
            content.link(links.get(_relation(element), ""), "".join(text.text or "" for text in run.iter("{*}t")))
    content.line("".join(pieces), is_heading)
