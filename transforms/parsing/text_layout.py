"""Lays out a tree as lines of text: blocks, code, headings, and where sections begin."""

import itertools
import re
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from turbohtml import Element, Node, PlainText, Text

from ..duplicates.digest import CODE
from ..sections.section import TERM_LEVEL

HEADINGS = frozenset({"h1", "h2", "h3", "h4", "h5", "h6"})
_BLOCK_NAMES = (
    "address article aside blockquote body br caption center dd details dialog dir div dl dt fieldset figcaption"
    " figure footer form header hr label legend li main menu nav ol optgroup option p pre search section summary"
    " table tbody td tfoot th thead tr ul"
)
BLOCKS = HEADINGS | frozenset(_BLOCK_NAMES.split())
"""Names of elements that begin and end a line of the text."""

HEADING_TAGS = tuple(sorted(HEADINGS))
BLOCK_TAGS = tuple(sorted(BLOCKS))
_OTHER_BLOCKS = tuple(sorted(BLOCKS - {"br", "div"}))
_SPECIAL = HEADINGS | {"pre", "dl", "dt", "dd"}
_CALL_OUT_NAMES = "admonition alert attention callout caution danger hint important note tip warning"
_CALL_OUTS = frozenset(_CALL_OUT_NAMES.split())
"""Classes of elements in a text, such as DocBook's, whose title is not that of what follows them."""

_LINE_NUMBERS = (
    ".linenos, .lineno, .linenumber, .ln, .line-number, [style*=user-select]"  # Pygments, Doxygen, Hugo, Prism
)
_MAX_INDENTATION = 32  # spaces
_MAX_CODE_BLOCKS = 100_000

# Characters that no parsed text has: around the text of elements with `data-nosnippet`, and around a number.
_HIDE, _SHOW = _HIDE_SHOW = "\ud800\ud801"
_MARKS = re.compile(f"[{_HIDE}{_SHOW}]")
_BEGIN = "\0"
_BEGINS = re.compile(f"{_BEGIN}([0-9]+){_BEGIN}")
_SPACES = tuple(space for space in map(chr, range(0x3001)) if space.isspace() and space not in " \t\n\f\r")
"""White space that the layout leaves as it is."""

LAYOUT = PlainText(layout="strict")


class Lines(NamedTuple):
    """The lines of a text, and the numbers of those that begin with a heading or a section."""

    lines: list[str]
    headings: list[tuple[int, str]]
    begins: list[tuple[int, int, str]]  # of sections, with level and id; a term without id ends a list
    banner: Sequence[str] = ()  # the lines before these that were left out


def read(root: Element, ids: dict[Element, str]) -> Lines:
    """The lines of a tree, which is of use afterwards only if there are none.

    The parser lays out the text: where all blocks are alike, it makes one line of what is between their bounds.
    """
    # Level and id of a section that begins; 0 and lines of code; below 0: a heading that begins none
    marks: list[tuple[int, str]] = []
    nodes: list[Text] = []

    def mark(level: int, text: str) -> Text:
        nodes.append(Text(f"{_BEGIN}{len(marks)}{_BEGIN}"))
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
                inner.insert_before(Text(" "))  # a heading is one line
                inner.insert_after(Text(" "))
                inner.tag = "span"
            if not level and without_marks(text).replace("¶", " ").strip():  # else there may be something to put back
                element.clear()
            is_of_call_out = level and not text and _is_in_call_out(element)
            element.insert(0, mark(-level if is_of_call_out else level, text))
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
    text = root.to_text(LAYOUT)
    for node in nodes:  # the tree is read once more if it has no line
        node.extract()
    return _lines(text, marks)


def _is_in_call_out(heading: Element) -> bool:
    """Whether a heading is directly in a call-out."""
    parent = heading.parent
    return isinstance(parent, Element) and not _CALL_OUTS.isdisjoint((parent.attr("class") or "").split())


def code_text(pre: Element) -> str:
    """The text of a `pre`, with a line for each block in it, of the first _MAX_CODE_BLOCKS; changes the tree."""
    if pre.text.lstrip()[:1].isdigit():
        for number in pre.select(_LINE_NUMBERS):
            number.append(Text(" "))
    for block in list(itertools.islice(pre.iter_elements(BLOCK_TAGS), _MAX_CODE_BLOCKS)):
        block.insert_before(Text("\n"))
        block.insert_after(Text("\n"))
    return pre.text


def mark(elements: Iterable[Element]) -> None:
    """Put marks around the text of elements, until `unmarked` or `without_marks`."""
    for element in elements:  # of a header, headings are read alone
        parent = element.parent if element.tag == "header" else None
        is_outermost = parent is not None and parent.closest("header[data-nosnippet]") is None
        for marked in (element, *(list(element.iter_elements(HEADING_TAGS)) if is_outermost else ())):
            marked.insert(0, Text(_HIDE))
            marked.append(Text(_SHOW))


def unmarked(text: str) -> tuple[str, list[int]]:
    """The text without marks, and the bounds of what was between them; what is not closed ends with the text."""
    if _HIDE not in text and _SHOW not in text:
        return text, []
    pieces, bounds, length, depth = list[str](), list[int](), 0, 0
    for piece in re.split(f"([{_HIDE}{_SHOW}])", text):
        if piece in (_HIDE, _SHOW):
            was_hidden, depth = depth > 0, max(0, depth + (1 if piece == _HIDE else -1))
            if was_hidden != (depth > 0):
                bounds.append(length)
        else:
            pieces.append(piece)
            length += len(piece)
    return "".join(pieces), [*bounds, *([length] if depth else [])]


def without_marks(text: str) -> str:
    """The text without the marks that `mark` has put into the tree."""
    return _MARKS.sub("", text) if _HIDE in text or _SHOW in text else text


def collapse(text: str) -> str:
    """The text in one line, white space collapsed."""
    return " ".join(text.split())


def beginning(pieces: Iterable[str], most: int) -> str:
    """The first characters of a text, at most so many: elements that are nested share one long text."""
    read = list[str]()
    for piece in pieces:
        read.append(piece[:most])
        most -= len(piece)
        if most <= 0:
            break
    return "".join(read)


def line_of(text: str) -> str:
    """A line of the main text: white space collapsed, without the permalink that Sphinx appends to headings."""
    return collapse(text).rstrip(" ¶")


def _lines(text: str, begins: Sequence[tuple[int, str]]) -> Lines:
    """The lines of a text in which marks have the numbers of what begins."""
    reader = _Reader(text)
    first, *rest = _BEGINS.split(text)
    reader.add_all(first)
    for number, after in zip(rest[::2], rest[1::2], strict=True):
        piece = after
        level, begun = begins[int(number)]
        if not level:
            reader.add_all(begun, is_code=True)
        elif level >= TERM_LEVEL:
            reader.begins = level, begun
        else:
            first, _, piece = piece.partition("\n")
            if without_marks(heading := line_of(first)):
                reader.begins = (level, begun) if level > 0 else reader.begins
                reader.found.headings.append((len(reader.found.lines), heading))
            reader.add(heading)
        reader.add_all(piece)
    if reader.found.lines:
        reader.found.lines[-1] += reader.marks
    return reader.found


class _Reader:
    """Collects lines."""

    def __init__(self, text: str) -> None:
        self.found = Lines([], [], [])
        self.begins: tuple[int, str] | None = None  # a section, with the next line that there is
        self.marks = ""  # around lines that are empty without them: these belong to the next line
        self._spaces = [space for space in _SPACES if space in text]

    def add_all(self, text: str, is_code: bool = False) -> None:
        lines = [line for line in text.split("\n") if line and not line.isspace()]
        is_plain, place = not ("¶" in text or _HIDE in text or _SHOW in text), 0
        while place < len(lines) and (not is_plain or self.begins or self.marks):
            self.add(lines[place], is_code)
            place += 1
        lines = lines[place:] if place else lines
        if is_code:
            lines = [_indentation(line) + collapse(line) for line in lines]
        for space in () if is_code else self._spaces:
            lines = [collapse(line) if space in line else line for line in lines]
        self.found.lines.extend(lines)

    def add(self, line: str, is_code: bool = False) -> None:
        start = _indentation(without_marks(line)) if is_code else ""
        line = collapse(line)
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
    """What a line of code without marks begins with."""
    spaces = line[: len(line) - len(line.lstrip())]
    return CODE + " " * min(len(spaces.expandtabs()), _MAX_INDENTATION) if spaces else CODE
