"""Parses HTML text into the tree that a browser builds of it (https://html.spec.whatwg.org/multipage/parsing.html).

The parser's time is linear in the nodes of the tree, and it nests elements no deeper than browsers do.
"""

import html
import re
from collections import Counter, defaultdict
from typing import NamedTuple

import turbohtml
from turbohtml import Element, Namespace, TokenType

MAX_TAGS = 500_000
"""Maximum number of `<` read per page. A tree takes about 100 bytes for each."""

MAX_NODES = 1_200_000
"""Maximum number of nodes that a page may have by what its tags repeat. Each takes up to 300 bytes with its text."""

# A formatting element that is not closed is repeated in each block after it, together with all others that are open
# (HTML, 13.2.4.3): 30 kB of tags make a million elements. Of equal ones, three are. A start tag of `a` or `nobr` closes
# the one before. Browsers and the parser nest 512 elements at most.
_MAX_DEPTH = 512
_LOOKED_BACK = 600  # elements that are open; what is not found counts as open
_LONGEST = 200  # characters of attributes; longer ones count as different
_FORMATTING_NAMES = ["b", "big", "code", "em", "font", "i", "s", "small", "strike", "strong", "tt", "u"]
_INITIALS = "".join(sorted({letter for name in _FORMATTING_NAMES for letter in (name[0], name[0].upper())}))
# The case is not ignored by a flag: without one, a search goes from one "<" to the next.
_ANY_CASE = ("".join(f"[{letter}{letter.upper()}]" for letter in name) for name in _FORMATTING_NAMES)
_FORMATTING = re.compile(
    rf"<(?=[{_INITIALS}])(?!span|t[dhr])((?:{'|'.join(_ANY_CASE)})(?:[\s/][^>]{{,{_LONGEST}}}|(?=>)))"
)
# One that the page closes before any other element but a `span` begins. Its attributes are written so that it ends at
# its first ">", wherever it is.
_ATTRIBUTES = r'(?:\s+[\w-]+="[^"<]*")*'
_CLOSED = re.compile(rf"<({'|'.join(_FORMATTING_NAMES)}){_ATTRIBUTES}>[^<]*+(?:</?span{_ATTRIBUTES}>[^<]*+)*+</\1>")
_BARRIER_NAMES = (
    "applet caption marquee object table td th template select mi mo mn ms mtext annotation-xml foreignobject desc"
    " title noscript iframe noembed noframes xmp textarea script style"
)
_BARRIERS = frozenset(_BARRIER_NAMES.split())
"""Elements in which an end tag does not close a formatting element around them."""

XHTML = "application/xhtml+xml"
_VOID = "area|base|br|col|embed|hr|img|input|link|meta|param|source|track|wbr"
_CDATA = re.compile(r"<!--.*?(?:-->|\Z)|<(script|style)\b.*?(?:</\1\s*>|\Z)|<!\[CDATA\[(.*?)(?:\]\]>|\Z)", re.DOTALL)
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

_DESCRIBING = frozenset({"base", "link", "meta", "script", "title"})
_INERT = ("noscript", "template")
_SOUGHT = tuple(sorted({*URL_ATTRIBUTES, "source", *_DESCRIBING}))  # source has a srcset, meta a refresh


class Elements(NamedTuple):
    """The elements of a page that say where it leads and what it is, each list in document order."""

    all: list[tuple[str, Element]]  # (tag, element) of these, and of those that may hold a reference
    describing: defaultdict[str, list[Element]]  # by tag: base, link, meta, script, title


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
        text = _CDATA.sub(_without_section, text)
        text = _EMPTY.sub(r"<\1\2></\1>", text)
    tags, whole = text.count("<"), len(text)
    if tags * _MAX_DEPTH > MAX_NODES and (most := _most_tags(text, tags)) < tags:
        text = "<".join(text.split("<", most + 1)[:-1])
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


def _without_section(match: re.Match[str]) -> str:
    """What XML reads in a section of characters, as HTML. The content of a script has no references there."""
    text = match[0].replace("<![CDATA[", "").replace("]]>", "") if match[1] else match[0]
    return text if match[2] is None else html.escape(match[2], quote=False)


def elements(root: Element) -> Elements:
    """The elements that links and metadata are read from, in one walk: a walk for one tag takes nearly as long."""
    found = [(element.tag, element) for element in root.iter_elements(_SOUGHT)]
    describing = defaultdict[str, list[Element]](list)
    for tag, element in found:
        if tag in _DESCRIBING:
            describing[tag].append(element)
    return Elements(found, describing)


def is_html(element: Element) -> bool:
    """Whether an element is of HTML, not of SVG or MathML."""
    return element.namespace is Namespace.HTML


def _most_tags(text: str, tags: int) -> int:
    """How many of its tags to read of a text."""
    if tags * (1 + _formatting(text)) > MAX_NODES and tags * (2 + _formatting(_CLOSED.sub("", text))) > MAX_NODES:
        tags = _tags_of_nodes(text)
    return min(MAX_TAGS, tags)


def _formatting(text: str) -> int:
    """How many formatting elements may be open at once if the text closes none."""
    counts = Counter(_FORMATTING.findall(text)).items()
    return sum(count if len(tag) > _LONGEST else min(3, count) for tag, count in counts)


def _tags_of_nodes(text: str) -> int:
    """How many tags there are before those that may make more than MAX_NODES nodes; at least, as many as there are."""
    nodes = tags = 0
    open_ = list[tuple[str, object]]()  # formatting elements and barriers, from the outermost; a name and attributes
    formatting = 0  # how many of them are
    for token in turbohtml.tokenize(text, resolve_references=False):
        kind, name = token.type, token.tag or ""
        tags += kind in (TokenType.START_TAG, TokenType.END_TAG)
        if kind == TokenType.START_TAG and name in _BARRIERS:
            open_.append((name, None))
        elif kind == TokenType.START_TAG and name in _FORMATTING_NAMES:
            entry = name, tuple(token.attrs or ())
            if open_[-_LOOKED_BACK:].count(entry) < 3:
                open_.append(entry)
                formatting += 1
        elif kind == TokenType.END_TAG and (name in _FORMATTING_NAMES or name in _BARRIERS):
            for place in range(len(open_) - 1, max(-1, len(open_) - _LOOKED_BACK), -1):
                if open_[place][0] == name:
                    formatting -= open_.pop(place)[1] is not None
                    break
                if name not in _BARRIERS and open_[place][1] is None:
                    break
        elif kind == TokenType.TEXT and "<" in (data := token.data or ""):  # in SVG, these would be tags
            found = _FORMATTING.findall(data)
            open_ += ((f"<{each}", ()) for each in found)
            formatting += len(found)
        if kind in (TokenType.START_TAG, TokenType.TEXT):
            nodes += 1 + min(formatting, _MAX_DEPTH)
        if nodes > MAX_NODES:
            return tags
    return max(tags, text.count("<"))
