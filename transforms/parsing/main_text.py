"""Extracts the main text of a parsed page, without navigation and other boilerplate."""

import functools
import itertools
import re
from collections.abc import Iterable, Iterator, Sequence, Set
from typing import NamedTuple

from turbohtml import Comment, Element, Namespace, Node, Text as TextNode

from ..sections.element_ids import SECTIONED, Ids, settled_ids
from ..sections.section import MAX_SECTIONS, TERM_LEVEL, Section, heading_length
from .text_layout import BLOCKS, HEADING_TAGS, HEADINGS, Lines, collapse, mark, read, unmarked, without_marks

MAX_TEXT = 2_000_000
"""Maximum number of characters kept of a page's text. A long novel has 1,500,000."""

MAX_HEADINGS = 500
MAX_HEADING = 500
"""Maximum number of headings kept per page, and of characters per heading."""

_INVISIBLE = (
    *("head", "title", "script", "style", "template", "iframe", "textarea", "noframes", "noembed", "audio"),
    *("canvas", "video", "annotation", "annotation-xml", "datalist", "noscript", "rp", "rt", "rtc"),
)
"""Elements whose text a browser with scripts does not show, or only as a value, or above a word (ruby)."""

_SURROUNDINGS = frozenset({"nav", "footer", "aside", "dialog", "button", "select"})
_SURROUNDING_ROLES = frozenset({"navigation", "banner", "contentinfo", "complementary", "search", "dialog"})
_SURROUNDING_NAMES = (
    "nav navbar navigation navheader navfooter topbar toolbar menu menubar breadcrumb breadcrumbs pager pagination"
    " sidebar sphinxsidebar related site-header masthead banner footer copyright skiplink table-of-contents"
    " cookie cookies consent newsletter social share ad ads advert advertisement popup"
)
_NAMED = re.compile(
    rf"(?:^|[\s_-])(?<!has[_-])(?<!with[_-])(?<!card-)(?:{'|'.join(_SURROUNDING_NAMES.split())})(?=\s|$)", re.IGNORECASE
)
_LONGEST_NAME = 500  # characters; a longer class or id is ignored
_MAYBE_NAMED = ":is([class], [id]):is(div, section, ul, ol, dl, p, table, td, form, address)"
_CORES = ("main", "article", "h1")  # elements that are, or begin, the main content
_LOOKED_AT = ("header", *_SURROUNDINGS, *_CORES)
_MAX_CORES = 10
_MAX_ASIDES, _MAX_ASIDE_LINKS = 100, 100  # that are looked at
_MOST_ADVICE = 500  # characters that tell people to turn on scripts
_STREAMED = re.compile("S:[0-9a-f]+")  # the id of what a script of React moves into its place and shows
_NEAR = 3  # siblings of a formula that are looked at
_CONTENT = "main, article, [role=main]"
_INTRODUCED = "section, article, main"  # of which a header is no banner (HTML AAM, header)
_SHORT = 60  # characters
SENTENCE_ENDS = (".", "!", "?", ":", "。", "！", "？", "：")

_SVG = "svg :is(text, tspan[x], foreignObject, desc, metadata)"
_MARKED = f"[data-nosnippet], [hidden], [role], math, [style*=display], sup, span.classifier, {_SVG}"
_SHOWN_AS_BLOCK = re.compile(r"display\s*:\s*(?:block|flex|grid|table|list-item)", re.IGNORECASE)

_PERMALINKS = frozenset("#¶§\u200b")
"""The texts of links of a heading, or of another part of the page, to itself."""

_MAX_PUT_BACK = 10_000  # elements; what stands for one takes five kilobytes


class Text(NamedTuple):
    """The blocks of a page, one per line with white space collapsed, and its headings.

    Lines of `pre` begin with CODE and their indentation.
    """

    text: str
    headings: list[str]
    truncated: bool  # the page has more than MAX_TEXT characters
    nosnippet: list[int]  # start, end, start, end, … in the text, of the passages within `data-nosnippet`
    sections: list[Section]


def main_text(root: Element, is_main: bool = False, ids: Ids | None = None) -> Text:
    """The main text of a page; its whole text if the main text is empty, or with `is_main`.

    `ids` are those of the page if the tree has only a part of it.

    Boilerplate is recognized by its element, its role, or the last word of a class or id (`navbar`, `site-footer`),
    unless it contains a core element: such a name may apply to the whole layout. The lines before the first heading
    are boilerplate too if they are short, hold no sentence, and are at most half of the text. benchmarks/main_text.py
    compares this with article extractors. Changes the tree: what no browser shows is removed.
    """
    settled = settled_ids(root.iter_elements(SECTIONED), ids or Ids(root))
    hidden = seen(root)
    left = [] if is_main else leave_out(root, hidden)
    found = read(root, settled)
    if left and not found.lines:
        put_back(left)
        found = read(root, settled)
    elif not is_main:
        found = without_banner(found)
    marked = "\n".join(found.lines)
    text, nosnippet = unmarked(marked)
    names = [without_marks(heading)[:MAX_HEADING] for _, heading in found.headings[:MAX_HEADINGS]]
    lines = found.lines if len(text) == len(marked) else list(map(without_marks, found.lines))
    return Text(
        text[:MAX_TEXT],
        names,
        len(text) > MAX_TEXT,
        [min(bound, MAX_TEXT) for bound in nosnippet],
        list(_sections(found.begins, lines)),
    )


def seen(root: Element) -> list[Element]:
    """Remove what a browser does not show; the elements that are hidden for now, or boilerplate by their role.

    Texts that `data-nosnippet` applies to have marks around them afterwards, until `without_marks`.
    """
    _drop_invisible(root)
    hidden, nosnippet = list[Element](), list[Element]()
    unread = [link for link in root.select('a[href^="#"]') if link.text.strip() in _PERMALINKS]
    for element in root.select(_MARKED):
        if element.attr("data-nosnippet") is not None:
            nosnippet.append(element)
        role = (element.attr("role") or "").strip().lower()
        if role in _SURROUNDING_ROLES or _is_hidden(element, role):
            hidden.append(element)
        unread += _lay_out(element, role)
    mark(nosnippet)
    for element in unread:
        element.extract()
    return [element for element in hidden if element.parent is not None]


def _drop_invisible(root: Element) -> None:
    """Remove the elements of _INVISIBLE, but for `noscript` of a page that scripts make."""
    without_scripts = list[Element]()
    for element in list(root.iter_elements(_INVISIBLE)):
        if element.tag == "noscript":
            without_scripts.append(element)
        else:
            element.extract()
    is_the_page = _is_the_page(without_scripts, root)
    for element in without_scripts:
        if is_the_page:
            element.tag = "div"
        else:
            element.extract()


def _lay_out(element: Element, role: str) -> Iterable[Element]:
    """Make blocks and spaces where a browser shows them; the elements that repeat it, or are not shown."""
    tag, is_svg = element.tag, element.namespace is Namespace.SVG
    if tag == "math":
        return _twins(element)
    if tag in ("desc", "metadata") and is_svg:
        return [element]
    if tag == "button" and role == "tab":
        element.tag = "div"
    elif (tag == "span" and element.attr("class") == "classifier") or (tag == "sup" and _is_reference(element)):
        element.insert_before(TextNode(" "))  # that a style puts there
    elif tag in ("text", "foreignObject") and is_svg:
        element.wrap(Element("div"))
    elif tag == "tspan" and _is_line(element):
        element.insert_before(TextNode(" "))
    elif tag not in BLOCKS and _SHOWN_AS_BLOCK.search(element.attr("style") or ""):
        element.tag = "div"
    return ()


def leave_out(root: Element, hidden: Iterable[Element]) -> list[tuple[Element, Node]]:
    """Take boilerplate out of a tree, of headers all but the headings; for `put_back`, what is in its place."""
    headers, left = list[Element](), list[tuple[Element, Node]]()
    dropped = dict.fromkeys([*hidden, *_surroundings(root, headers)])
    for header in headers:
        if header not in dropped and header.parent is not None and header.parent.closest("header") is None:
            is_of_section = header.closest(_INTRODUCED) is not None
            if is_of_section and _has_prose(header):
                continue
            names = HEADING_TAGS if is_of_section else "h1"
            left.append((header, Element("div", {}, list(header.iter_elements(names)))))
    left += [(element, Comment("")) for element in itertools.islice(dropped, _MAX_PUT_BACK)]
    for element, place in left:
        element.replace_with(place)
    for element in itertools.islice(dropped, _MAX_PUT_BACK, None):
        element.extract()
    return left


def _has_prose(header: Element) -> bool:
    """Whether there is more in the header of a section than headings and a few words, such as names and dates."""
    beside = (child.text.strip() for child in header if isinstance(child, Element) and child.tag not in HEADINGS)
    return any(text.endswith(SENTENCE_ENDS) for text in beside)


def put_back(left: Sequence[tuple[Element, Node]]) -> None:
    """Undo `leave_out`; the headings of a header are at its end then."""
    for element, place in reversed(left):
        place.replace_with(element)
        element.extend(list(place))


def _is_the_page(without_scripts: Sequence[Element], root: Element) -> bool:
    """Whether what browsers without scripts show is more than half of a page that scripts make, as forums do."""
    length = sum(len(collapse(element.text)) for element in without_scripts)
    return length > _MOST_ADVICE and 2 * length > len(collapse(root.text))


def _is_hidden(element: Element, role: str) -> bool:
    """Whether an element is hidden for good: not until they search, as a panel of tabs, or until a script of React."""
    hidden = element.attr("hidden")
    is_for_now = role == "tabpanel" or _STREAMED.fullmatch(element.attr("id") or "") is not None
    return hidden is not None and not is_for_now and hidden.strip().lower() != "until-found"


def _is_reference(sup: Element) -> bool:
    """Whether a superscript is a link or of links, as to notes (`2,4`, `3–5`, `a`), and no part of a longer one."""
    return (link := sup.select_one("a") or sup.closest("a")) is not None and link.text.strip() in sup.text


def _is_line(tspan: Element) -> bool:
    """Whether a part of a text in SVG begins a line: others with a place of their own are often parts of a word."""
    before = next((each for each in tspan.previous_siblings if isinstance(each, Element)), tspan.parent)
    return bool(tspan.attr("dy")) or (isinstance(before, Element) and tspan.attr("y") != before.attr("y"))


def _twins(math: Element) -> Iterator[Element]:
    """What is beside a formula in MathML, or beside what holds only that, and shows the same but for its readers."""
    holder = math.parent
    for element in (math, *([holder] if isinstance(holder, Element) else [])):
        after, before = (itertools.islice(way, _NEAR) for way in (element.next_siblings, element.previous_siblings))
        for beside in itertools.chain(after, before):
            if isinstance(beside, Element) and beside.attr("aria-hidden") == "true":
                yield beside


def _surroundings(root: Element, headers: list[Element]) -> Iterator[Element]:
    """The elements that are boilerplate by what they are or are called; puts all headers into the list."""
    cores, beside, asides = list[Element](), list[Element](), 0
    for element in root.iter_elements(_LOOKED_AT):  # few are kept: a page may have a million
        tag = element.tag
        if tag in _SURROUNDINGS:
            asides += tag == "aside"
            if tag != "aside" or asides > _MAX_ASIDES or not _is_call_out(element):
                beside.append(element)
        elif tag == "header":
            headers.append(element)
        elif len(cores) < _MAX_CORES:
            cores.append(element)
    layout = _around(core for core in cores if core.tag == "main")  # an end tag may be missing (HTML, 4.4.14)
    yield from (element for element in beside if element not in layout)
    named = [element for element in root.select(_MAYBE_NAMED) if _is_named(element)]
    around_cores = _around(cores) if named else ()
    yield from (element for element in named if element not in around_cores)


def _is_call_out(aside: Element) -> bool:
    """Whether an `aside` is a part of the text around it, such as a note: it is in it, and mostly not of links."""
    if _is_named(aside) or aside.closest(_CONTENT) is None:
        return False
    links = itertools.islice(aside.iter_elements("a"), _MAX_ASIDE_LINKS)
    return 2 * sum(len(link.text) for link in links) < len(aside.text)


def _sections(begins: Sequence[tuple[int, int, str]], lines: Sequence[str]) -> Iterator[Section]:
    """The sections of a text of which the first MAX_TEXT characters are kept."""
    lengths = list(itertools.accumulate(map(len, lines), initial=0)) if begins else []
    for line, level, id_ in begins[:MAX_SECTIONS]:
        offset = lengths[line] + line  # with the line ends
        if offset >= MAX_TEXT:
            return
        is_end = level >= TERM_LEVEL and not id_
        yield Section(offset, 0 if is_end else min(heading_length(lines[line]), MAX_TEXT - offset), level, id_)


def _around(cores: Iterable[Element]) -> Set[Node]:
    """All ancestors of the elements."""
    found = set[Node]()
    for core in cores:
        for ancestor in core.ancestors:
            if ancestor in found:
                break
            found.add(ancestor)
    return found


def _is_named(element: Element) -> bool:
    classes, identifier = element.attr("class"), element.attr("id")
    if classes and len(classes) <= _LONGEST_NAME and _is_surrounding(classes):
        first = next((child for child in element if isinstance(child, Element)), None)
        return first is None or first.attr("class") != "sidebar-title" or first.tag != "p"  # a note of docutils
    if not identifier or len(identifier) > _LONGEST_NAME or not _is_surrounding(identifier):
        return False
    return element.tag != "section" and "section" not in (classes or "").split()  # that id repeats the heading


@functools.lru_cache(maxsize=2**13)
def _is_surrounding(name: str) -> bool:
    return _NAMED.search(name) is not None


def without_banner(found: Lines) -> Lines:
    """The lines without short ones before the first heading; see `main_text`."""
    lines, headings, begins, _ = found
    banner = lines[: headings[0][0]] if headings else []
    is_small = 2 * sum(map(len, banner)) <= sum(map(len, lines))
    has_prose = any(len(line) > _SHORT or line.endswith(SENTENCE_ENDS) for line in banner)
    if not banner or has_prose or not is_small:
        return found
    removed = len(banner)
    kept = [(line - removed, level, id_) for line, level, id_ in begins if line >= removed]
    return Lines(lines[removed:], [(line - removed, heading) for line, heading in headings], kept, banner)
