"""Parses HTML text into a tree, with bounds on time and memory.

lxml cannot be interrupted, so its input is bounded instead.
"""

import itertools
import re
from collections import defaultdict
from typing import Any, NamedTuple

from lxml import etree

MAX_TAGS = 500_000
"""Maximum number of `<` read per page. A tree takes about 150 bytes for each."""

MAX_ATTRIBUTES = 100
"""Maximum number of attributes of a tag. A tag with more is read as text, unless the page is small."""

MAX_DEPTH = 2_040
"""Maximum nesting depth. At 2,047 lxml stops reading without an error."""

# Without huge_tree lxml stops at a depth of 254.
_PARSER = etree.HTMLParser(encoding="utf-8", huge_tree=True, remove_comments=True, remove_pis=True, collect_ids=False)

# The time of libxml2 for a tag is quadratic in its attributes: 40,000 take four seconds.
_OVERLOADED = re.compile(
    rb"<(?=[A-Za-z][^\s/>]*+(?:[\s/]*+[^\s/>][^\s/>=]*+(?:\s*+=\s*+(?:\"[^\"]*+\"|'[^']*+'|[^\s>\"'][^\s>]*+)?+)?+){%d})"
    % (MAX_ATTRIBUTES + 1)
)
_MAX_OVERLOADED = 20  # such tags per page; finding one takes up to 60 ms
_SMALL = 65_536  # bytes; a single tag of this size takes half a second


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
_SOUGHT = tuple(sorted(_LINKING | _DESCRIBING))


class Elements(NamedTuple):
    """The elements of a page that say where it leads and what it is, each list in document order."""

    linking: list[tuple[str, Any]]  # (tag, element) of those that may hold a reference
    describing: defaultdict[str, list[Any]]  # by tag: base, link, meta, script, time, title


class Tree(NamedTuple):
    """A parsed page."""

    root: Any
    truncated: str  # the bound that was exceeded: "nodes" or "depth"; "" if none


def parse(text: str) -> Tree:
    """The tree of an HTML text; an empty `html` element for an empty text."""
    data = text.encode()  # lxml rejects a str with an encoding declaration, which XHTML has
    whole = len(data)
    if whole > MAX_TAGS and data.count(b"<") > MAX_TAGS:
        data = data[: _nth(b"<", data, MAX_TAGS)]
    truncated = "nodes" if len(data) < whole else ""
    if len(data) > _SMALL:
        data, overloaded = _OVERLOADED.subn(b"&lt;", data, _MAX_OVERLOADED)
        if overloaded == _MAX_OVERLOADED and (another := _OVERLOADED.search(data)):
            data, truncated = data[: another.start()], "nodes"
    try:
        root = etree.fromstring(data, _PARSER)
    except etree.ParseError:
        root = None
    if root is None:
        root = etree.Element("html")
    return Tree(root, "depth" if _depth_at_end(root) >= MAX_DEPTH else truncated)


def elements(root: Any) -> Elements:
    """The elements that links and metadata are read from, in one walk: a walk for one tag takes nearly as long."""
    linking, describing = list[tuple[str, Any]](), defaultdict[str, list[Any]](list)
    for element in root.iter(*_SOUGHT):
        tag = element.tag
        if tag in _LINKING:
            linking.append((tag, element))
        if tag in _DESCRIBING:
            describing[tag].append(element)
    return Elements(linking, describing)


def _nth(part: bytes, data: bytes, number: int) -> int:
    return next(itertools.islice(re.finditer(part, data), number, None)).start()


def _depth_at_end(root: Any) -> int:
    depth = 1
    while len(root):
        root = root[-1]
        depth += 1
    return depth
