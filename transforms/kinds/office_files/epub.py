"""Reads EPUB 2 and 3 (W3C EPUB 3.3): metadata of the package, and chapters in reading order."""

import posixpath
from typing import Any
from urllib.parse import unquote

from ...parsing import charsets, html_tree, main_text
from . import markup
from .archive import Archive, resolved
from .content import Content, Enough, Unreadable

_CONTAINER, _ENCRYPTION = "META-INF/container.xml", "META-INF/encryption.xml"
_CHAPTERS = ("application/xhtml+xml", "text/html", "application/x-dtbook+xml", "image/svg+xml")
_FACTS = {
    "title": "title",
    "description": "description",
    "creator": "author",
    "language": "language",
    "date": "created",
}
_MAX_CHAPTER = 5 << 20  # bytes, as of a page
_WEB = ("http://", "https://")


def read(archive: Archive, content: Content) -> None:
    """Add metadata and chapters; links within the book lead to no page."""
    container = markup.tree(archive.read(_CONTAINER))
    package = next((element.get("full-path", "") for element in container.iter("{*}rootfile")), "")
    root = markup.tree(archive.read(package))
    _read_metadata(root, content)
    chapters = [name for name in _chapters(root, package) if archive.has(name)]
    if archive.has(_ENCRYPTION):
        _check_encryption(markup.tree(archive.read(_ENCRYPTION)), set(chapters))
    for name in dict.fromkeys(chapters):
        with archive.open(name) as part:
            data = part.read(_MAX_CHAPTER + 1)
        _read_chapter(data[:_MAX_CHAPTER], content)
        if len(data) > _MAX_CHAPTER:
            raise Enough


def _read_metadata(root: Any, content: Content) -> None:
    metadata = next(markup.children(root, "metadata"), root)
    for name, fact in _FACTS.items():
        for element in metadata.iter(f"{{http://purl.org/dc/elements/1.1/}}{name}"):
            content.fact(fact, "".join(element.itertext()))
    subjects = metadata.iter("{http://purl.org/dc/elements/1.1/}subject")
    content.fact("keywords", ", ".join(text for element in subjects if (text := (element.text or "").strip())))


def _chapters(root: Any, package: str) -> list[str]:
    """The names of the chapters in reading order, without the table of contents; as listed, if there is no order."""
    items = {
        item.get("id", ""): resolved(package, item.get("href", ""))
        for item in root.iter("{*}item")
        if item.get("media-type", "") in _CHAPTERS and "nav" not in item.get("properties", "").split()
    }
    order = [items[name] for element in root.iter("{*}itemref") if (name := element.get("idref", "")) in items]
    return order or list(items.values())


def _check_encryption(root: Any, chapters: set[str]) -> None:
    """Unreadable if a chapter is encrypted; fonts may be (EPUB 3.3, 4.2.6.3.1 and 4.4)."""
    for element in root.iter("{*}CipherReference"):
        if posixpath.normpath(unquote(element.get("URI", ""))) in chapters:
            raise Unreadable("the file is encrypted")


def _read_chapter(data: bytes, content: Content) -> None:
    root = html_tree.parse(charsets.decode(data, None, True)[0], html_tree.XHTML).root
    for element in root.iter_elements("a"):
        reference = element.attr("href") or ""
        if reference.startswith(_WEB):
            content.link(reference, element.text)
    found = main_text.main_text(root)
    headings = set(found.headings)
    for line in found.text.splitlines():
        content.line(line, line in headings)
