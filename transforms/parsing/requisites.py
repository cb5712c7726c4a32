"""Finds what pages and stylesheets need to look like themselves: stylesheets, scripts, images, icons and fonts.

A page is parsed a second time, because few crawls want its requisites, and no other reader pays for them then.
"""

import itertools
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from turbohtml import Element

from ..http import media_types
from ..urls.canonical import canonicalize
from . import charsets, css, html_links, html_tree
from .source import MAX_MARKUP

_MAX_REFERENCES = 10_000  # read per page or stylesheet
_MAX_REFERENCE = 16_384  # characters; a longer reference is a data: URL
_MAX_STYLE = 1_048_576  # bytes read of a stylesheet; characters of an element or attribute

_RELATIONS = frozenset(
    {"stylesheet", "icon", "apple-touch-icon", "apple-touch-icon-precomposed", "mask-icon", "modulepreload"}
)
_ATTRIBUTES = {"script": "src", "img": "src", "input": "src", "video": "poster"}
_BACKGROUND = "background"  # of a body, a table and its cells


class Requisite(NamedTuple):
    """A URL that a page or a stylesheet needs."""

    url: str  # canonical
    is_stylesheet: bool


def of_page(body: bytes, url: str, content_type: str | None) -> list[Requisite]:
    """The requisites of an HTML page at a canonical URL, each once: stylesheets first, then in document order."""
    media_type, declared = media_types.parse(content_type)
    text, charset = charsets.decode(body[:MAX_MARKUP], declared, True)
    root = html_tree.parse(text, media_type).root
    base = html_links.base_url(html_tree.elements(root), url)
    return sorted(_requisites(_of_elements(root), url, base, charset), key=lambda found: not found.is_stylesheet)


def of_stylesheet(body: bytes, url: str, content_type: str | None) -> list[Requisite]:
    """The requisites of a stylesheet at a canonical URL, each once, in order; none of what is not CSS."""
    essence, charset = media_types.parse(content_type)
    if essence != "text/css":
        return []
    text, _ = charsets.decode(body[:_MAX_STYLE], charset, False)
    return _requisites(_of_css(text), url, url)


def _requisites(references: Iterable[tuple[str, bool]], url: str, base: str, charset: str = "utf-8") -> list[Requisite]:
    """The http and https URLs of references, each once, without that of the document itself."""
    found: dict[str, bool] = {}
    for reference, is_stylesheet in itertools.islice(references, _MAX_REFERENCES):
        if len(reference) <= _MAX_REFERENCE and not reference.startswith("#"):
            target = canonicalize(reference, base, charset)
            if target and target != url:
                found[target] = found.get(target, False) or is_stylesheet
    return [Requisite(*item) for item in found.items()]


def _of_elements(root: Element) -> Iterator[tuple[str, bool]]:
    """(reference as written, whether to a stylesheet) in document order."""
    for element in root.iter_elements():
        get, tag = element.attr, element.tag
        if tag == "link":
            relations = set((get("rel") or "").lower().split())
            if relations & _RELATIONS:
                yield get("href") or "", "stylesheet" in relations
        elif reference := get(_ATTRIBUTES.get(tag, _BACKGROUND)):
            yield reference, False
        if tag in ("img", "source") and (candidates := get("srcset")):
            yield from ((reference, False) for reference in html_links.srcset(candidates))
        if style := element.text if tag == "style" else get("style"):
            yield from _of_css(style[:_MAX_STYLE])


def _of_css(text: str) -> Iterator[tuple[str, bool]]:
    for found in css.references(text):
        yield found.reference, found.is_import
