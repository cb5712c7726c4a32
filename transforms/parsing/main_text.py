"""Extracts the main text of a parsed page, without navigation and other boilerplate."""

import functools
import itertools
import re
from collections.abc import Collection, Iterable, Iterator, Sequence, Set
from typing import NamedTuple

from turbohtml import Axis, Element, Node
from turbohtml import Text as TextNode

from ..sections.element_ids import SECTIONED, Ids, settled_ids
from ..sections.section import MAX_SECTIONS, TERM_LEVEL, Section, heading_length

MAX_TEXT = 2_000_000
"""Maximum number of characters kept of a page's text. A long novel has 1,500,000."""

MAX_HEADINGS = 500
MAX_HEADING = 500
"""Maximum number of headings kept per page, and of characters per heading."""

INVISIBLE = (
    "head, title, script, style, noscript, template, iframe, textarea, noframes, noembed, audio, canvas, video"
    ", annotation, annotation-xml"
)
"""A selector of elements whose text a browser does not show, or only as a value that users change."""

_SURROUNDINGS = "nav, footer, aside, dialog, button, select, datalist"
_SURROUNDING_ROLES = frozenset({"navigation", "banner", "contentinfo", "complementary", "search", "dialog"})
_SURROUNDING_NAMES = (
    "nav navbar navigation navheader navfooter topbar toolbar menu menubar breadcrumb breadcrumbs pager pagination"
    " sidebar sphinxsidebar related site-header masthead banner footer copyright skiplink table-of-contents"
    " cookie cookies consent newsletter social share ad ads advert advertisement popup"
)
_NAMED = re.compile(rf"(?:^|[\s_-])(?<!card-)(?:{'|'.join(_SURROUNDING_NAMES.split())})(?=\s|$)", re.IGNORECASE)
_LONGEST_NAME = 500  # characters; a longer class or id is ignored
_NAMED_TAGS = ("div", "section", "ul", "ol", "dl", "p", "table", "td", "form", "address")
_CORES = ("main", "article", "h1")  # elements that are, or begin, the main content
_MAX_CORES = 10
_MAX_ASIDES, _MAX_ASIDE_LINKS = 100, 100  # that are looked at
_NEAR = 3  # siblings of a formula that are looked at
_CONTENT = "main, article, [role=main]"
_INTRODUCED = "section, article, main"  # of which a header is no banner (HTML AAM, header)
_SHORT = 60  # characters
SENTENCE_ENDS = (".", "!", "?", ":", "。", "！", "？", "：")

_MARKED = "[data-nosnippet], [hidden], [role], math, [style*=display], sup, span.classifier"
_SHOWN_AS_BLOCK = re.compile(r"display\s*:\s*(?:block|flex|grid|table|list-item)", re.IGNORECASE)

HEADINGS = frozenset({"h1", "h2", "h3", "h4", "h5", "h6"})
_BLOCK_NAMES = (
    "address article aside blockquote body br caption center dd details dialog dir div dl dt fieldset figcaption"
    " figure footer form header hr label legend li main menu nav ol optgroup option p pre search section summary"
    " table tbody td tfoot th thead tr ul"
)
BLOCKS = HEADINGS | frozenset(_BLOCK_NAMES.split())
"""Names of elements that begin and end a line of the text."""

_BLOCK_TAGS = tuple(sorted(BLOCKS))
_HEADING_TAGS = tuple(sorted(HEADINGS))

_LINE_NUMBERS = (
    ".linenos, .lineno, .linenumber, .ln, .line-number, [style*=user-select]"  # Pygments, Doxygen, Hugo, Prism
)
_PERMALINKS = frozenset("#¶§\u200b")  # at the end of a line, or the beginning of a heading

CODE = "\t"
"""The first character of a line of preformatted text (`pre`); its indentation follows."""

_MAX_INDENTATION = 32  # spaces

# Put around the text of elements with `data-nosnippet`. Noncharacters: a page that contains them loses them.
_HIDE, _SHOW = _HIDE_SHOW = "\ufdd0\ufdd1"
_MARKS = re.compile(f"[{_HIDE}{_SHOW}]")


class Text(NamedTuple):
    """The blocks of a page, one per line with white space collapsed, and its headings.

    Lines of `pre` begin with CODE and their indentation.
    """

    text: str
    headings: list[str]
    truncated: bool  # the page has more than MAX_TEXT characters
    nosnippet: list[int]  # start, end, start, end, … in the text, of the passages within `data-nosnippet`
    sections: list[Section]


class Lines(NamedTuple):
    """The lines of a text, and the numbers of those that begin with a heading or a section."""

    lines: list[str]
    headings: list[tuple[int, str]]
    begins: list[tuple[int, int, str]]  # of sections, with level and id; a term without id ends a list
    sources: list[list[Node]]  # of each line, the nodes that have its text; all lines of a `pre` have that alone
    dropped: Collection[Node] = ()  # what was left out
    is_whole: bool = True  # of headers, not only headings were read


def main_text(root: Element, is_main: bool = False, ids: Ids | None = None) -> Text:
    """The main text of a page; its whole text if the main text is empty, or with `is_main`.

    `ids` are those of the page if the tree has only a part of it.

    Boilerplate is recognized by its element, its role, or the last word of a class or id (`navbar`, `site-footer`),
    unless it contains a core element: such a name may apply to the whole layout. The lines before the first heading
    are boilerplate too if they are short, hold no sentence, and are at most half of the text. benchmarks/main_text.py
    compares this with article extractors. Changes the tree: what no browser shows is removed.
    """
    found = next((lines for lines in readings(root, is_main, ids) if lines.lines), Lines([], [], [], []))
    marked = "\n".join(found.lines)
    text, nosnippet = _unmarked(marked)
    names = [without_marks(heading)[:MAX_HEADING] for _, heading in found.headings[:MAX_HEADINGS]]
    lines = found.lines if len(text) == len(marked) else list(map(without_marks, found.lines))
    return Text(text[:MAX_TEXT], names, len(text) > MAX_TEXT, nosnippet, list(_sections(found.begins, lines)))


def readings(root: Element, is_main: bool = False, ids: Ids | None = None) -> Iterator[Lines]:
    """The lines of the main text, unless `is_main`, and of the whole text; see `main_text`.

    They have marks around what is in `data-nosnippet`.
    """
    settled = settled_ids(root.iter_elements(SECTIONED), ids or Ids(root))
    root.remove(INVISIBLE)
    hidden, twins, as_blocks = set[Element](), set[Element](), set[Element]()
    nosnippet = []
    for element in root.select(_MARKED):
        attr = element.attr
        if attr("data-nosnippet") is not None:
            nosnippet.append(element)
        role = (attr("role") or "").strip().lower()
        if role in _SURROUNDING_ROLES or _is_hidden(attr("hidden"), role):
            hidden.add(element)
        if is_shown_as_block(element):
            as_blocks.add(element)
        tag = element.tag
        if tag == "math":
            twins.update(_twins(element))
        elif tag == "button":  # of tabs
            as_blocks.add(element)
        elif (tag == "span" and attr("class") == "classifier") or (tag == "sup" and _is_reference(element)):
            element.insert_before(TextNode(" "))  # that a style puts there
    _mark(root, nosnippet)
    if not is_main:
        dropped = twins | hidden.union(_surroundings(root))
        yield _without_banner(_read(root, dropped, as_blocks, settled, False))
    yield _read(root, twins, as_blocks, settled, True)


def _is_hidden(hidden: str | None, role: str) -> bool:
    """Whether an element is hidden from readers for good: neither until they search nor as a panel of tabs."""
    return hidden is not None and role != "tabpanel" and hidden.strip().lower() != "until-found"


def _is_reference(sup: Element) -> bool:
    """Whether a superscript is the number of a note."""
    return sup.text.isdigit() and (sup.select_one("a") or sup.closest("a")) is not None


def _twins(math: Element) -> Iterator[Element]:
    """What is beside a formula in MathML, or beside what holds only that, and shows the same but for its readers."""
    holder = math.parent
    for element in (math, *([holder] if isinstance(holder, Element) else [])):
        after, before = (itertools.islice(way, _NEAR) for way in (element.next_siblings, element.previous_siblings))
        for beside in itertools.chain(after, before):
            if isinstance(beside, Element) and beside.attr("aria-hidden") == "true":
                yield beside


def _surroundings(root: Element) -> Iterator[Element]:
    """The elements that are boilerplate by what they are or are called."""
    asides = 0
    for element in root.select(_SURROUNDINGS):
        if element.tag == "aside":
            asides += 1
            if asides <= _MAX_ASIDES and _is_call_out(element):
                continue
        elif element.tag == "button" and element.attr("role") == "tab":
            continue
        yield element
    around_cores = _around(itertools.islice(root.iter_elements(_CORES), _MAX_CORES))
    for element in root.iter_elements(_NAMED_TAGS):
        if _is_named(element) and element not in around_cores:
            yield element


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


def _mark(root: Element, elements: Sequence[Element]) -> None:
    """Put marks around the text of elements."""
    if not elements:
        return
    for node in root.descendants:  # without marks that the page contains: they would end the passage
        if isinstance(node, TextNode) and _MARKS.search(data := node.data):
            node.data = _MARKS.sub("", data)
    for element in elements:  # of a header, headings are read alone
        parent = element.parent if element.tag == "header" else None
        is_outermost = parent is not None and parent.closest("header[data-nosnippet]") is None
        for marked in (element, *(list(element.iter_elements(_HEADING_TAGS)) if is_outermost else ())):
            marked.insert(0, TextNode(_HIDE))
            marked.append(TextNode(_SHOW))


def _unmarked(text: str) -> tuple[str, list[int]]:
    """The text without marks, and the bounds of what was between them; what is not closed ends with the text."""
    if _HIDE not in text:
        return without_marks(text), []
    pieces, bounds, length, depth = list[str](), list[int](), 0, 0
    for piece in re.split(f"([{_HIDE}{_SHOW}])", text):
        if piece in (_HIDE, _SHOW):
            was_hidden, depth = depth > 0, max(0, depth + (1 if piece == _HIDE else -1))
            if was_hidden != (depth > 0):
                bounds.append(length)
        else:
            pieces.append(piece)
            length += len(piece)
    if depth:
        bounds.append(length)
    return "".join(pieces), [min(bound, MAX_TEXT) for bound in bounds]


def collapse(text: str) -> str:
    """The text in one line, white space collapsed."""
    return " ".join(text.split())


def is_shown_as_block(element: Element) -> bool:
    """Whether the style of an element makes it a block."""
    return _SHOWN_AS_BLOCK.search(element.attr("style") or "") is not None


def line_of(text: str) -> str:
    """A line of the main text: white space collapsed, without the permalink that Sphinx appends to headings."""
    return collapse(text).rstrip(" ¶")


def without_marks(text: str) -> str:
    """The text without the marks that `main_text` leaves in the tree."""
    return _MARKS.sub("", text) if _HIDE in text or _SHOW in text else text


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


def _without_banner(found: Lines) -> Lines:
    lines, headings, begins, sources, *_ = found
    banner = lines[: headings[0][0]] if headings else []
    is_small = 2 * sum(map(len, banner)) <= sum(map(len, lines))
    has_prose = any(len(line) > _SHORT or line.endswith(SENTENCE_ENDS) for line in banner)
    if not banner or has_prose or not is_small:
        return found
    removed = len(banner)
    kept = [(line - removed, level, id_) for line, level, id_ in begins if line >= removed]
    moved = [(line - removed, heading) for line, heading in headings]
    dropped = [*found.dropped, *itertools.chain.from_iterable(sources[:removed])]
    return Lines(lines[removed:], moved, kept, sources[removed:], dropped, found.is_whole)


def _read(
    root: Element, dropped: Collection[Element], as_blocks: Collection[Element], ids: dict[Element, str], whole: bool
) -> Lines:
    """The lines of a tree without the elements that are dropped; of headers only headings, unless `whole`.

    What has no block in it is read in one piece, by the parser. Without recursion: elements nest in hundreds.
    """
    reader = _Reader(ids, Lines([], [], [], [], dropped, whole))
    inner = _with_blocks(itertools.chain(root.iter_elements(_BLOCK_TAGS), dropped, as_blocks))
    pieces: list[Node] = []
    stack: list[tuple[Iterator[Node], Element | None]] = []
    children, ending = iter(root), None  # what is read now, and the block that ends with it
    while True:
        for node in children:
            if isinstance(node, TextNode):
                if pieces or not node.data.isspace():
                    pieces.append(node)
                continue
            if not isinstance(node, Element) or node in dropped:
                continue
            tag = node.tag
            if tag not in BLOCKS and node not in as_blocks:
                if node not in inner:
                    pieces.append(node)
                    continue
                stack.append((children, ending))
                children, ending = iter(node.children), None
                break
            if pieces:
                reader.add("".join([piece.text for piece in pieces]), pieces)
                pieces = []
            if tag in HEADINGS:
                reader.heading(node, code_text(node, dropped, as_blocks) if node in inner else None)
            elif tag == "pre":
                reader.code(node, code_text(node, dropped, as_blocks) if node in inner else node.text)
            elif tag == "header" and not whole:
                introduces = node.closest(_INTRODUCED)
                if introduces and _has_prose(node):
                    stack.append((children, ending))
                    children, ending = iter(node.children), node
                    break
                for heading in node.iter_elements(HEADINGS if introduces else ("h1",)):
                    reader.heading(heading)
            else:
                if tag == "dt" and node in ids:
                    reader.begin(TERM_LEVEL + _is_in_dd(node.parent), ids[node])
                if node in inner:
                    stack.append((children, ending))
                    children, ending = iter(node.children), node
                    break
                reader.add(node.text, [node])
        else:
            if ending is not None:
                if pieces:
                    reader.add("".join([piece.text for piece in pieces]), pieces)
                    pieces = []
                if ending.tag == "dl" and any(child in ids for child in ending.find_all("dt", axis=Axis.CHILDREN)):
                    reader.begin(TERM_LEVEL + _is_in_dd(ending), "")
            if not stack:
                break
            children, ending = stack.pop()
    if pieces:
        reader.add("".join([piece.text for piece in pieces]), pieces)
    return reader.found()


def _has_prose(header: Element) -> bool:
    """Whether there is more in the header of a section than headings and a few words, such as names and dates."""
    beside = (child.text.strip() for child in header if isinstance(child, Element) and child.tag not in HEADINGS)
    return any(text.endswith(SENTENCE_ENDS) for text in beside)


def _with_blocks(blocks: Iterable[Element]) -> Set[Node]:
    """All ancestors of elements."""
    found = set[Node]()
    for block in blocks:
        parent: Node | None = block.parent
        while parent is not None and parent not in found:
            found.add(parent)
            parent = parent.parent
    return found


def _is_in_dd(element: Node | None) -> bool:
    """Whether a list of terms is directly in the text of a term."""
    parent = element.parent if element is not None else None
    return isinstance(parent, Element) and parent.tag == "dd"


def code_text(pre: Element, dropped: Collection[Element] = (), as_blocks: Collection[Element] = ()) -> str:
    """The text of a `pre`, with a line for each block in it."""
    parts, stack = list[str](), list[tuple[Iterator[Node], bool]]()
    children, is_block = iter(pre), False
    while True:
        for node in children:
            if isinstance(node, TextNode):
                parts.append(node.data)
            elif isinstance(node, Element) and node not in dropped:
                stack.append((children, is_block))
                children, is_block = iter(node), node.tag in BLOCKS or node in as_blocks
                parts.append("\n" if is_block else "")
                break
        else:
            if is_block:
                parts.append("\n")
            if not stack:
                return "".join(parts)
            children, is_block = stack.pop()


class _Reader:
    """Collects lines."""

    def __init__(self, ids: dict[Element, str], found: Lines) -> None:
        self._ids, self._found = ids, found
        self._marks = ""  # around lines that are empty without them: these belong to the next line
        self._waiting: tuple[int, str] | None = None  # a section that begins with the next line

    def found(self) -> Lines:
        if self._found.lines:
            self._found.lines[-1] += self._marks
        return self._found

    def begin(self, level: int, id_: str) -> None:
        """Begin a section, with the next line that there is."""
        self._waiting = level, id_

    def heading(self, element: Element, text: str | None = None) -> None:
        line = line_of(element.text if text is None else text)
        if line and (line[0] in _PERMALINKS or line[-1] in _PERMALINKS):
            line = _without_permalinks(element, line)
        if line and without_marks(line):
            self._waiting = int(element.tag[1]), self._ids.get(element, "")
            self._found.headings.append((len(self._found.lines), line))
        self.add(line, [element])

    def code(self, pre: Element, text: str) -> None:
        if text.lstrip()[:1].isdigit() and (numbers := pre.select(_LINE_NUMBERS)):
            for number in numbers:
                number.append(TextNode(" "))
            text = code_text(pre)
        for line in text.split("\n"):
            if line and not line.isspace():
                self.add(line, [pre], CODE + _indentation(line))

    def add(self, text: str, nodes: list[Node], start: str = "") -> None:
        """Add a line, which begins with `start`. It is called for each line, so that it calls little itself."""
        line = " ".join(text.split())
        if line[-1:] in _PERMALINKS:
            line = _without_permalinks(nodes[-1], line)
        if not line:
            return
        if line[-1] in _HIDE_SHOW and not without_marks(line):
            self._marks += line
            return
        found = self._found
        if self._waiting:
            found.begins.append((len(found.lines), *self._waiting))
            self._waiting = None
        found.lines.append(f"{start}{self._marks}{line}" if start or self._marks else line)
        self._marks = ""
        found.sources.append(nodes)


def _without_permalinks(node: Node, line: str) -> str:
    """The line of an element without the links to itself that have no word, before or after it."""
    line = line.strip(" ¶\u200b")
    links = node.iter_elements("a") if isinstance(node, Element) else ()
    for link in itertools.chain(links, [node]):
        mark = link.text.strip()
        if mark in ("#", "§") and isinstance(link, Element) and (link.attr("href") or "").startswith("#"):
            line = line.removeprefix(mark).removesuffix(mark).strip()
    return line


def _indentation(line: str) -> str:
    line = without_marks(line).expandtabs()
    return " " * min(len(line) - len(line.lstrip()), _MAX_INDENTATION)
