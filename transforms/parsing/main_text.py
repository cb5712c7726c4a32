"""Extracts the main text of a parsed page, without navigation and other boilerplate."""

import functools
import itertools
import re
from collections.abc import Iterable, Iterator, Sequence, Set
from typing import NamedTuple

from turbohtml import Comment, Element, Node, PlainText
from turbohtml import Text as TextNode

from ..sections.element_ids import SECTIONED, Ids, settled_ids
from ..sections.section import MAX_SECTIONS, TERM_LEVEL, Section, heading_length

MAX_TEXT = 2_000_000
"""Maximum number of characters kept of a page's text. A long novel has 1,500,000."""

MAX_HEADINGS = 500
MAX_HEADING = 500
"""Maximum number of headings kept per page, and of characters per heading."""

_INVISIBLE = (
    *("head", "title", "script", "style", "template", "iframe", "textarea", "noframes", "noembed", "audio"),
    *("canvas", "video", "annotation", "annotation-xml", "datalist", "rp"),
)
"""Elements whose text a browser does not show, or only as a value that users change."""

_SURROUNDINGS = ("nav", "footer", "aside", "dialog", "button", "select")
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
_NAMED_TAGS = ("div", "section", "ul", "ol", "dl", "p", "table", "td", "form", "address")
_CORES = ("main", "article", "h1")  # elements that are, or begin, the main content
_MAX_CORES = 10
_MAX_ASIDES, _MAX_ASIDE_LINKS = 100, 100  # that are looked at
_MOST_ADVICE = 500  # characters that tell people to turn on scripts
_STREAMED = re.compile("S:[0-9a-f]+")  # the id of what a script of React moves into its place and shows
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
_OTHER_BLOCKS = tuple(sorted(BLOCKS - {"br", "div"}))
_SPECIAL = HEADINGS | {"pre", "dl", "dt", "dd"}
_HEADING_TAGS = tuple(sorted(HEADINGS))

CODE = "\t"
"""The first character of a line of preformatted text (`pre`); its indentation follows."""

_LINE_NUMBERS = (
    ".linenos, .lineno, .linenumber, .ln, .line-number, [style*=user-select]"  # Pygments, Doxygen, Hugo, Prism
)
_PERMALINKS = frozenset("#¶§\u200b")
"""The texts of links of a heading, or of another part of the page, to itself."""

_MAX_INDENTATION = 32  # spaces
_MAX_CODE_BLOCKS = 100_000
_MAX_PUT_BACK = 10_000  # elements; what stands for one takes five kilobytes

# Characters that no parsed text has: around the text of elements with `data-nosnippet`, and around a number.
_HIDE, _SHOW = _HIDE_SHOW = "\ud800\ud801"
_MARKS = re.compile(f"[{_HIDE}{_SHOW}]")
_BEGIN = "\0"
_BEGINS = re.compile(f"{_BEGIN}([0-9]+){_BEGIN}")
_SPACES = tuple(space for space in map(chr, range(0x3001)) if space.isspace() and space not in " \t\n\f\r")
"""White space that the layout leaves as it is."""

_LAYOUT = PlainText(layout="strict")


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
    banner: Sequence[str] = ()  # the lines before these that were left out


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
    text, nosnippet = _unmarked(marked)
    names = [without_marks(heading)[:MAX_HEADING] for _, heading in found.headings[:MAX_HEADINGS]]
    lines = found.lines if len(text) == len(marked) else list(map(without_marks, found.lines))
    return Text(text[:MAX_TEXT], names, len(text) > MAX_TEXT, nosnippet, list(_sections(found.begins, lines)))


def seen(root: Element) -> list[Element]:
    """Remove what a browser does not show; the elements that are hidden for now, or boilerplate by their role.

    Texts that `data-nosnippet` applies to have marks around them afterwards, until `without_marks`.
    """
    for element in list(root.iter_elements(_INVISIBLE)):
        element.extract()
    without_scripts = list(root.iter_elements("noscript"))
    is_the_page = _is_the_page(without_scripts, root)
    for element in without_scripts:
        if is_the_page:
            element.tag = "div"
        else:
            element.extract()
    hidden, twins, nosnippet = list[Element](), list[Element](), list[Element]()
    for element in root.select(_MARKED):
        attr = element.attr
        if attr("data-nosnippet") is not None:
            nosnippet.append(element)
        role = (attr("role") or "").strip().lower()
        if role in _SURROUNDING_ROLES or _is_hidden(element, role):
            hidden.append(element)
        tag = element.tag
        if tag == "math":
            twins += _twins(element)
        elif tag == "button" and role == "tab":
            element.tag = "div"
        elif (tag == "span" and attr("class") == "classifier") or (tag == "sup" and _is_reference(element)):
            element.insert_before(TextNode(" "))  # that a style puts there
        elif tag not in BLOCKS and _SHOWN_AS_BLOCK.search(attr("style") or ""):
            element.tag = "div"
    for link in root.select('a[href^="#"]'):
        if link.text.strip() in _PERMALINKS:
            link.extract()
    _mark(nosnippet)
    for twin in twins:
        twin.extract()
    return hidden


def leave_out(root: Element, hidden: Iterable[Element]) -> list[tuple[Element, Node]]:
    """Take boilerplate out of a tree, of headers all but the headings; for `put_back`, what is in its place."""
    dropped = dict.fromkeys([*hidden, *_surroundings(root)])
    left = list[tuple[Element, Node]]()
    for header in list(root.iter_elements("header")):
        if header not in dropped and header.parent is not None and header.parent.closest("header") is None:
            is_of_section = header.closest(_INTRODUCED) is not None
            if is_of_section and _has_prose(header):
                continue
            names = _HEADING_TAGS if is_of_section else "h1"
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
    for element in root.iter_elements(_SURROUNDINGS):
        if element.tag == "aside":
            asides += 1
            if asides <= _MAX_ASIDES and _is_call_out(element):
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


def _mark(elements: Iterable[Element]) -> None:
    """Put marks around the text of elements."""
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


def read(root: Element, ids: dict[Element, str]) -> Lines:
    """The lines of a tree, which is of use afterwards only if there are none.

    The parser lays out the text: where all blocks are alike, it makes one line of what is between their bounds.
    """
    marks: list[tuple[int, str]] = []  # level and id of a section that begins; 0 and lines of code
    nodes: list[TextNode] = []

    def mark(level: int, text: str) -> TextNode:
        nodes.append(TextNode(f"{_BEGIN}{len(marks)}{_BEGIN}"))
        marks.append((level, text))
        return nodes[-1]

    special, definitions, lists = list[tuple[str, Element]](), set[Node](), set[Node]()
    for element in list(root.iter_elements(_OTHER_BLOCKS)):
        if (tag := element.tag) in _SPECIAL:
            special.append((tag, element))
        element.tag = "div"
    for tag, element in special:
        if element.tag != "div":
            continue  # it is in a heading, or in code
        if tag == "pre" or tag in HEADINGS:
            level, text = (0, code_text(element)) if tag == "pre" else (int(tag[1]), ids.get(element, ""))
            for inner in list(element.iter_elements(("br", "div"))):
                inner.insert_before(TextNode(" "))  # a heading is one line
                inner.insert_after(TextNode(" "))
                inner.tag = "span"
            if not level:
                element.clear()
            element.insert(0, mark(level, text))
        elif tag != "dt":
            (lists if tag == "dl" else definitions).add(element)
        elif element in ids:
            parent = element.parent
            level = TERM_LEVEL + (parent is not None and parent.parent in definitions)
            element.insert(0, mark(level, ids[element]))
            if isinstance(parent, Element) and parent in lists:
                lists.remove(parent)
                parent.append(Element("div", {}, [mark(level, "")]))
    for block in root.select(":not(div) > div"):  # in a phrase, the layout has no line end after a block
        block.insert_after(Element("br"))
    text = root.to_text(_LAYOUT)
    for node in nodes:  # the tree is read once more if it has no line
        node.extract()
    return _lines(text, marks)


def code_text(pre: Element) -> str:
    """The text of a `pre`, with a line for each block in it, of the first _MAX_CODE_BLOCKS; changes the tree."""
    if pre.text.lstrip()[:1].isdigit():
        for number in pre.select(_LINE_NUMBERS):
            number.append(TextNode(" "))
    for block in list(itertools.islice(pre.iter_elements(_BLOCK_TAGS), _MAX_CODE_BLOCKS)):
        block.insert_before(TextNode("\n"))
        block.insert_after(TextNode("\n"))
    return pre.text


def _lines(text: str, begins: Sequence[tuple[int, str]]) -> Lines:
    """The lines of a text in which marks have the numbers of what begins."""
    if any(space in text for space in _SPACES):
        text = "\n".join([collapse(line) for line in text.split("\n")])
    reader = _Reader(has_marks=_HIDE in text or _SHOW in text)
    first, *rest = _BEGINS.split(text)
    reader.add_all(first)
    for number, after in zip(rest[::2], rest[1::2], strict=True):
        piece = after
        level, begun = begins[int(number)]
        if not level:
            for line in begun.split("\n"):
                if line and not line.isspace():
                    reader.add(collapse(line), CODE + _indentation(line))
        elif level >= TERM_LEVEL:
            reader.begins = level, begun
        else:
            first, _, piece = piece.partition("\n")
            if without_marks(heading := line_of(first)):
                reader.begins = level, begun
                reader.found.headings.append((len(reader.found.lines), heading))
            reader.add(heading)
        reader.add_all(piece)
    if reader.found.lines:
        reader.found.lines[-1] += reader.marks
    return reader.found


class _Reader:
    """Collects lines."""

    def __init__(self, has_marks: bool) -> None:
        self.found = Lines([], [], [])
        self.begins: tuple[int, str] | None = None  # a section, with the next line that there is
        self.marks = ""  # around lines that are empty without them: these belong to the next line
        self._has_marks = has_marks

    def add_all(self, text: str) -> None:
        lines = [line for line in text.split("\n") if line]
        if not (self._has_marks or self.begins or "¶" in text):
            self.found.lines.extend(lines)
        else:
            for line in lines:
                self.add(line.strip())

    def add(self, line: str, start: str = "") -> None:
        """Add a line without spaces around it, which begins with `start`."""
        if line[-1:] == "¶":
            line = line.rstrip(" ¶")
        if not line:
            return
        if line[-1] in _HIDE_SHOW and not without_marks(line):
            self.marks += line
            return
        if self.begins:
            self.found.begins.append((len(self.found.lines), *self.begins))
            self.begins = None
        self.found.lines.append(f"{start}{self.marks}{line}" if start or self.marks else line)
        self.marks = ""


def _indentation(line: str) -> str:
    line = without_marks(line).expandtabs()
    return " " * min(len(line) - len(line.lstrip()), _MAX_INDENTATION)
