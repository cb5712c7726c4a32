"""Reads OpenDocument files (OASIS OpenDocument 1.3): odt, odp, ods."""

from collections.abc import Iterator
from typing import Any

from . import markup
from .archive import Archive
from .content import Content, Unreadable

_CONTENT, _META, _STYLES, _MANIFEST = "content.xml", "meta.xml", "styles.xml", "META-INF/manifest.xml"
_FACTS = {
    "title": "title",
    "description": "description",
    "subject": "subject",
    "keyword": "keywords",
    "initial-creator": "author",
    "creator": "author",
    "language": "language",
    "creation-date": "created",
    "generator": "producer",
}
_OUTSIDE = ("annotation", "tracked-changes", "forms")  # comments, what was deleted, controls
_SKIPPED = ("annotation", "note-citation", "ruby-text", "text-box", "note-body")  # the last two have paragraphs
_SPACES = ("s", "tab", "line-break")


def read(archive: Archive, content: Content) -> None:
    """Add the content; in a spreadsheet, names of tables are headings, and rows are lines."""
    if archive.has(_MANIFEST):
        _check_encryption(markup.tree(archive.read(_MANIFEST)))
    if archive.has(_META):
        _read_metadata(markup.tree(archive.read(_META)), content)
    if archive.has(_STYLES):
        for element in markup.tree(archive.read(_STYLES)).iter("{*}default-style"):
            for properties in markup.children(element, "text-properties"):
                language = markup.attribute(properties, "language")
                content.fact("language", "" if language == "none" else language)
    _read_content(archive, content)


def _check_encryption(manifest: Any) -> None:
    for entry in markup.children(manifest, "file-entry"):
        is_text = markup.attribute(entry, "full-path") in (_CONTENT, "encrypted-package")
        if is_text and next(markup.children(entry, "encryption-data"), None) is not None:
            raise Unreadable("the file is encrypted")


def _read_metadata(root: Any, content: Content) -> None:
    keywords = [element.text or "" for element in root.iter("{*}keyword")]
    content.fact("keywords", ", ".join(filter(None, keywords)))
    for name, fact in _FACTS.items():
        for element in root.iter(f"{{*}}{name}"):
            content.fact(fact, element.text)


def _read_content(archive: Archive, content: Content) -> None:
    names = ("p", "h", "table", "table-row", "spreadsheet", *_OUTSIDE)
    outside, is_sheet = 0, False
    with archive.open(_CONTENT) as stream:
        for event, element in markup.elements(stream, names):
            name = markup.local(element)
            if name in _OUTSIDE:
                outside += 1 if event == "start" else -1
            elif event == "start":
                is_sheet = is_sheet or name == "spreadsheet"
                if is_sheet and name == "table":
                    content.line(markup.attribute(element, "name"), is_heading=True)
            elif name in ("p", "h"):
                if not outside:
                    _read_links(element, content)
                if not outside and not is_sheet:
                    content.line("".join(_pieces(element)), name == "h" or _is_title(element))
                if not is_sheet:  # its row reads it
                    markup.forget(element)
            elif name == "table-row" and is_sheet:
                inside = markup.descendants(element, _OUTSIDE)
                content.line(" ".join("".join(_pieces(part)) for part in inside if markup.local(part) == "p"))
                markup.forget(element)


def _is_title(paragraph: Any) -> bool:
    """Whether a paragraph is the title of a slide."""
    frame = next(paragraph.iterancestors("{*}frame"), None)
    return frame is not None and markup.attribute(frame, "class") == "title"


def _read_links(paragraph: Any, content: Content) -> None:
    """Add the links. References are relative to the package, so that `../x` is beside the file (part 2, 3.7)."""
    for element in paragraph.iter("{*}a"):
        reference = markup.attribute(element, "href")
        if reference.startswith("../") or ":" in reference.partition("/")[0]:
            content.link(reference.removeprefix("../"), "".join(_pieces(element)))


def _pieces(element: Any) -> Iterator[str]:
    """The text of a paragraph, without that of paragraphs within it."""
    yield element.text or ""
    for child in element:
        name = markup.local(child)
        if name in _SPACES:
            yield " "
        elif name and name not in _SKIPPED:
            yield from _pieces(child)
        yield child.tail or ""
