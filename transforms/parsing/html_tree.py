"""Parses HTML text into the tree that a browser builds of it (https://html.spec.whatwg.org/multipage/parsing.html).

The parser's time is linear in the nodes of the tree, and it nests elements no deeper than browsers do.
"""

import itertools
import re
from collections import Counter, defaultdict
from typing import NamedTuple

import turbohtml
from turbohtml import Element, Namespace

MAX_TAGS = 500_000
"""Maximum number of `<` read per page. A tree takes about 100 bytes for each."""

MAX_NODES = 3_000_000
"""Maximum number of elements that a page may have by what its tags repeat."""

# A formatting element that is not closed is repeated in each block after it, together with all others that are open:
# 30 kB of tags make a million elements. Of equal ones, three are. A start tag of `a` or `nobr` closes the one before.
_FEW_TAGS = 5_000  # of which browsers make 2.5 million elements at most
_FORMATTING_NAMES = ["b", "big", "code", "em", "font", "i", "s", "small", "strike", "strong", "tt", "u"]
# The case is not ignored by a flag: without one, a search goes from one "<" to the next.
_ANY_CASE = ("".join(f"[{letter}{letter.upper()}]" for letter in name) for name in _FORMATTING_NAMES)
_FORMATTING = re.compile(rf"<((?:{'|'.join(_ANY_CASE)})(?:[\s/][^>]{{,200}})?)>")
_MAX_DEPTH = 512  # of the parser, as in browsers


XHTML = "application/xhtml+xml"
_VOID = "area|base|br|col|embed|hr|img|input|link|meta|param|source|track|wbr"
_EMPTY = re.compile(rf"<(?!(?:{_VOID})[\s/])([A-Za-z][\w.-]*)((?:\s[^<>]*)?)/>")

URL_ATTRIBUTES = {
    "a": "href",
    "area": "href",
    "frame": "src",
    "iframe": "src",
    "link": "href",
    "img": "src",
    "form": "action",
    "object": "data",
    "embed": "src",
}
"""The attribute that holds the reference of an element."""

_LINKING = frozenset({*URL_ATTRIBUTES, "source", "meta"})  # source has a srcset, meta a refresh
_DESCRIBING = frozenset({"base", "link", "meta", "script", "time", "title"})
_INERT = ("noscript", "template")
_SOUGHT = tuple(sorted(_LINKING | _DESCRIBING))


class Elements(NamedTuple):
    """The elements of a page that say where it leads and what it is, each list in document order."""

    linking: list[tuple[str, Element]]  # (tag, element) of those that may hold a reference
    describing: defaultdict[str, list[Element]]  # by tag: base, link, meta, script, time, title
    has_nested_links: bool


class Tree(NamedTuple):
    """A parsed page."""

    root: Element  # html
    truncated: str  # "nodes" if a bound was exceeded; else ""


def parse(text: str, media_type: str | None = None) -> Tree:
    """The tree of an HTML text as of a browser with scripts, whose `noscript` is read nevertheless.

    It has no templates, of which a browser shows only what is a shadow tree. With the media type of XHTML, a tag that
    ends with a slash is an empty element.
    """
    if media_type == XHTML:
        text = _EMPTY.sub(r"<\1\2></\1>", text)
    tags, whole = text.count("<"), len(text)
    if tags > _FEW_TAGS and (most := _most_tags(text)) < tags:
        text = text[: _nth("<", text, most)]
    root = turbohtml.parse(text, positions=False, scripting=True, allow_declarative_shadow_roots=False).root
    if root is None:
        raise ValueError("the parser built no root element")  # it does for any text
    for element in list(root.iter_elements(_INERT)):
        if element.tag == "noscript":
            inside = list(turbohtml.parse_fragment(element.text, positions=False))
            element.clear()
            element.extend(inside)
            continue
        if element.attr("shadowrootmode"):
            element.insert_before(*(node for content in element for node in content))
        element.extract()
    return Tree(root, "nodes" if len(text) < whole else "")


def elements(root: Element) -> Elements:
    """The elements that links and metadata are read from, in one walk: a walk for one tag takes nearly as long."""
    linking, describing = list[tuple[str, Element]](), defaultdict[str, list[Element]](list)
    for element in root.iter_elements(_SOUGHT):
        tag = element.tag
        if tag in _LINKING:
            linking.append((tag, element))
        if tag in _DESCRIBING:
            describing[tag].append(element)
    return Elements(linking, describing, root.select_one("a a") is not None)


def is_html(element: Element) -> bool:
    """Whether an element is of HTML, not of SVG or MathML."""
    return element.namespace is Namespace.HTML


def _most_tags(text: str) -> int:
    """How many tags of a text to read."""
    open_ = sum(min(3, count) for count in Counter(_FORMATTING.findall(text)).values())
    return min(MAX_TAGS, MAX_NODES // min(_MAX_DEPTH, 1 + open_))


def _nth(part: str, text: str, number: int) -> int:
    return next(itertools.islice(re.finditer(part, text), number, None)).start()
