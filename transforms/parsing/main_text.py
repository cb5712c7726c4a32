"""Extracts the main text of a parsed page, without navigation and other boilerplate."""

import functools
import itertools
import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple

from lxml import etree

from ..sections.element_ids import SECTIONED, Ids, settle_ids
from ..sections.section import MAX_SECTIONS, TERM_LEVEL, Section, heading_length, usable_id

MAX_TEXT = 2_000_000
"""Maximum number of characters kept of a page's text. A long novel has 1,500,000."""

MAX_HEADINGS = 500
MAX_HEADING = 500
"""Maximum number of headings kept per page, and of characters per heading."""

_INVISIBLE = "head title script style template noscript"
_SURROUNDINGS = "nav footer aside dialog button select datalist"
_SURROUNDING_ROLES = frozenset({"navigation", "banner", "contentinfo", "complementary", "search", "dialog"})
_SURROUNDING_NAMES = (
    "nav navbar navigation navheader navfooter topbar toolbar menu menubar breadcrumb breadcrumbs pager pagination"
    " sidebar sphinxsidebar related site-header masthead banner footer copyright skiplink"
    " cookie cookies consent newsletter social share ad ads advert advertisement popup"
)
_NAMED = re.compile(rf"(?:^|[\s_-])(?:{'|'.join(_SURROUNDING_NAMES.split())})(?=\s|$)", re.IGNORECASE)
_LONGEST_NAME = 500  # characters; a longer class or id is ignored
_NAMED_TAGS = frozenset({"div", "section", "ul", "ol", "dl", "p", "table", "td", "form"})
_CORES = ("main", "article", "h1")  # elements that are, or begin, the main content
_MAX_CORES = 10
_SHORT = 60  # characters
SENTENCE_ENDS = (".", "!", "?", ":", "。", "！", "？", "：")

_HEADINGS = "h1 h2 h3 h4 h5 h6"
_BLOCKS = (
    "address article blockquote body br caption center dd details dialog dir div dl dt fieldset figcaption"
    " figure footer form header hr legend li main menu nav ol optgroup option p search section summary"
    " table tbody td tfoot th thead tr ul"
)

INVISIBLE, SURROUNDINGS, HEADINGS, BLOCKS = (
    tuple(names.split()) for names in (_INVISIBLE, _SURROUNDINGS, _HEADINGS, _BLOCKS)
)
"""Names of elements: without text, boilerplate, headings, others that begin and end a line of the text."""

CODE = "\t"
"""The first character of a line of preformatted text (`pre`); its indentation follows."""

_MAX_INDENTATION = 32  # spaces

# The stylesheets write these between blocks, at the start of a `pre` and for each `br` in it, and before the level, the
# id and the text of a section. str.split treats all as white space, so that none remains in the text, even if the page
# contains them.
_BLOCK = "\u2029"
_LINE = "\u1680"
_SECTION = "\u2028"
_BEGIN = re.compile(f"{_SECTION}([1-9]){_SECTION}([^{_SECTION}]*){_SECTION}(.*)", re.DOTALL)

_XSLT = """
<xsl:stylesheet version="1.0" xmlns:xsl="http://www.w3.org/1999/XSL/Transform">
  <xsl:output method="text"/>
  <xsl:template match="{blocks}">{block}<xsl:apply-templates/>{block}</xsl:template>
  <xsl:template match="{headings}">
    <xsl:value-of select="concat('{block}{section}', substring(local-name(), 2), '{section}', @id, '{section}')"/>
    <xsl:apply-templates mode="heading"/>
    <xsl:text>{block}</xsl:text>
  </xsl:template>
  <xsl:template match="{invisible}" mode="heading" priority="1"/>
  <xsl:template match="dt">
    <xsl:text>{block}</xsl:text>
    <xsl:if test="@id">
      <xsl:value-of select="concat('{section}', {term} + count(../parent::dd), '{section}', @id, '{section}')"/>
    </xsl:if>
    <xsl:apply-templates/>
    <xsl:text>{block}</xsl:text>
  </xsl:template>
  <xsl:template match="dl">
    <xsl:text>{block}</xsl:text>
    <xsl:apply-templates/>
    <xsl:text>{block}</xsl:text>
    <xsl:if test="dt/@id">
      <xsl:value-of select="concat('{section}', {term} + count(parent::dd), '{section}{section}{block}')"/>
    </xsl:if>
  </xsl:template>
  <xsl:template match="{dropped}" priority="1"/>
  <xsl:template match="pre">{block}{line}<xsl:apply-templates mode="lines"/>{block}</xsl:template>
  <xsl:template match="{dropped}" mode="lines" priority="1"/>
  <xsl:template match="br" mode="lines">{line}</xsl:template>
  {more}
</xsl:stylesheet>
"""
# A header element may hold the title of the page as well as the banner of the site.
_HEADER = '<xsl:template match="header" priority="1"><xsl:apply-templates select=".//h1"/></xsl:template>'


# Mark the text of elements with `data-nosnippet`. Noncharacters: a page that contains them loses them.
_HIDE, _SHOW = _HIDE_SHOW = "\ufdd0\ufdd1"
_MARKS = re.compile(f"[{_HIDE}{_SHOW}]")

# One by one: for a union, libxml2 numbers all elements of the page, so as to sort what it has found.
_NOSNIPPET, _HIDDEN, _ROLES = (
    etree.XPath(f"descendant-or-self::*/@{name}") for name in ("data-nosnippet", "hidden", "role")
)


class Text(NamedTuple):
    """The blocks of a page, one per line with white space collapsed, and its headings.

    Lines of `pre` begin with CODE and their indentation.
    """

    text: str
    headings: list[str]
    truncated: bool  # the page has more than MAX_TEXT characters
    nosnippet: list[int]  # start, end, start, end, … in the text, of the passages within `data-nosnippet`
    sections: list[Section]


class _Lines(NamedTuple):
    """The lines of a text, and the numbers of those that begin with a heading or a section."""

    lines: list[str]
    headings: list[tuple[int, str]]
    begins: list[tuple[int, int, str]]  # of sections, with level and id; a term without id ends a list


def main_text(root: Any, is_main: bool = False, ids: Ids | None = None) -> Text:
    """The main text of a page; its whole text if the main text is empty, or with `is_main`.

    `ids` are those of the page if the tree has only a part of it.

    Boilerplate is recognized by its element, its role, or the last word of a class or id (`navbar`, `site-footer`),
    unless it contains a core element: such a name may apply to the whole layout. The lines before the first heading
    are boilerplate too if they are short, hold no sentence, and are at most half of the text. benchmarks/main_text.py
    compares this with article extractors. Changes the tree: elements that are left out are renamed.
    """
    for attribute in _NOSNIPPET(root):
        _mark(attribute.getparent())
    # Patterns in the stylesheet would test each role on each element: five times slower.
    surroundings = (role for role in _ROLES(root) if role.strip().lower() in _SURROUNDING_ROLES)
    for attribute in itertools.chain(_HIDDEN(root), surroundings):
        attribute.getparent().tag = "nav"
    settle_ids(root.iter(*SECTIONED), ids or Ids(root))
    found = _Lines([], [], []) if is_main else _recognised(root)
    if not found.lines:
        found = _read(_WHOLE, root)
    marked = "\n".join(found.lines)
    text, nosnippet = _unmarked(marked)
    names = [without_marks(heading)[:MAX_HEADING] for _, heading in found.headings[:MAX_HEADINGS]]
    lines = found.lines if len(text) == len(marked) else list(map(without_marks, found.lines))
    return Text(text[:MAX_TEXT], names, len(text) > MAX_TEXT, nosnippet, list(_sections(found.begins, lines)))


def _recognised(root: Any) -> _Lines:
    """The lines of the main text."""
    around_cores = _around(itertools.islice(root.iter(*_CORES), _MAX_CORES))
    for element in list(filter(_is_named, root.iter(*_NAMED_TAGS))):
        if element not in around_cores:
            element.tag = "nav"
    return _without_banner(_read(_MAIN, root))


def _sections(begins: Sequence[tuple[int, int, str]], lines: Sequence[str]) -> Iterator[Section]:
    """The sections of a text of which the first MAX_TEXT characters are kept."""
    lengths = list(itertools.accumulate(map(len, lines), initial=0)) if begins else []
    for line, level, id_ in begins[:MAX_SECTIONS]:
        offset = lengths[line] + line  # with the line ends
        if offset >= MAX_TEXT:
            return
        is_end = level >= TERM_LEVEL and not id_
        yield Section(offset, 0 if is_end else min(heading_length(lines[line]), MAX_TEXT - offset), level, id_)


def _mark(element: Any) -> None:
    """Put marks around the text of an element, which stay in the output of the stylesheets."""
    for marked in (element, *(element.iter("h1") if element.tag == "header" else ())):  # a header's h1 is read alone
        for part in marked.iter():  # without marks that the page contains: they would end the passage
            part.text = _MARKS.sub("", part.text or "")
            if part is not marked:
                part.tail = _MARKS.sub("", part.tail or "")
        marked.text = _HIDE + (marked.text or "")
        if len(marked):
            marked[-1].tail = (marked[-1].tail or "") + _SHOW
        else:
            marked.text += _SHOW


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


def _around(cores: Iterable[Any]) -> set[Any]:
    """All ancestors of the elements."""
    found: set[Any] = set()
    for core in cores:
        for ancestor in core.iterancestors():
            if ancestor in found:
                break
            found.add(ancestor)
    return found


def _is_named(element: Any) -> bool:
    classes, identifier = element.get("class"), element.get("id")
    if classes and len(classes) <= _LONGEST_NAME and _is_surrounding(classes):
        return True
    if not identifier or len(identifier) > _LONGEST_NAME or not _is_surrounding(identifier):
        return False
    return element.tag != "section" and "section" not in (classes or "").split()  # that id repeats the heading


@functools.lru_cache(maxsize=2**13)
def _is_surrounding(name: str) -> bool:
    return _NAMED.search(name) is not None


def _without_banner(found: _Lines) -> _Lines:
    lines, headings, begins = found
    banner = lines[: headings[0][0]] if headings else []
    is_small = 2 * sum(map(len, banner)) <= sum(map(len, lines))
    has_prose = any(len(line) > _SHORT or line.endswith(SENTENCE_ENDS) for line in banner)
    if not banner or has_prose or not is_small:
        return found
    removed = len(banner)
    kept = [(line - removed, level, id_) for line, level, id_ in begins if line >= removed]
    return _Lines(lines[removed:], [(line - removed, heading) for line, heading in headings], kept)


def _stylesheet(dropped: list[str], more: str) -> etree.XSLT:
    return etree.XSLT(
        etree.XML(
            _XSLT.format(
                blocks="|".join(_BLOCKS.split()),
                headings="|".join(_HEADINGS.split()),
                invisible="|".join(_INVISIBLE.split()),
                dropped="|".join(dropped),
                block=_BLOCK,
                line=_LINE,
                section=_SECTION,
                term=TERM_LEVEL,
                more=more,
            )
        )
    )


# A stylesheet walks the tree in C: four times faster than Python.
_WHOLE = _stylesheet(_INVISIBLE.split(), "")
_MAIN = _stylesheet([*_INVISIBLE.split(), *_SURROUNDINGS.split()], _HEADER)


def _blocks(text: str) -> Iterator[tuple[str, bool]]:
    """The blocks that are not blank, in lines if they are of `pre`, each with whether it is such a line."""
    for block in itertools.filterfalse(str.isspace, filter(None, text.split(_BLOCK))):
        if block[0] == _LINE:
            for line in block[1:].replace("\n", _LINE).split(_LINE):
                yield line, True
        else:
            yield block, False


def _indentation(line: str) -> str:
    line = without_marks(line).expandtabs()
    return " " * min(len(line) - len(line.lstrip()), _MAX_INDENTATION)


def _read(stylesheet: etree.XSLT, root: Any) -> _Lines:
    found = _Lines([], [], [])
    lines, headings, begins = found
    marks, waiting = "", None  # what ends a list begins with the next line; a term may have its text in blocks
    for block, is_code in _blocks(str(stylesheet(root))):
        begin = _BEGIN.match(block) if block[:1] == _SECTION and not is_code else None
        line, level = line_of(begin[3] if begin else block), int(begin[1]) if begin else 0
        if begin and (level >= TERM_LEVEL or without_marks(line)):
            waiting = (level, usable_id(begin[2]))  # a page may have what looks like the stylesheet's
        if not line or (line[-1] in _HIDE_SHOW and not without_marks(line)):
            marks += line  # around blocks: the marks belong to the next line
            continue
        if waiting:
            if 0 < level < TERM_LEVEL:
                headings.append((len(lines), line))
            begins.append((len(lines), *waiting))
            waiting = None
        lines.append(f"{CODE}{_indentation(block)}{marks}{line}" if is_code else marks + line)
        marks = ""
    if lines:
        lines[-1] += marks
    return found
