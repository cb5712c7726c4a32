"""The main content of an HTML page as Markdown: the elements that its main text is read of."""

import re
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

from .. import urls
from ..http import media_types
from ..parsing import charsets, html_links, html_tree, main_text, page_rules
from ..parsing.page_rules import NO_RULES, PageRules
from ..parsing.source import MAX_MARKUP
from . import code
from .convert import Markdown

_UNSEEN = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u206f\ufeff\ufdd0\ufdd1]")
"""Control characters, marks and overrides of the direction of text, and the marks of `main_text`."""

_SCHEMES = ("http:", "https:", "mailto:", "tel:", "ftp:")


class Content(NamedTuple):
    """The main content of a page as a tree."""

    root: Any
    base: str  # of its references
    dropped: frozenset[str]  # names of elements that are left out
    whole: bool  # a header is read whole, not only its h1
    licence: str = ""  # URL that the page names as its licence


def content(body: bytes, content_type: str | None, url: str, text: str | None, rules: PageRules = NO_RULES) -> Content:
    """The elements that the main text of an HTML page is read of, without those whose text `text` lacks.

    `text` is the stored text, from which boilerplate was removed by the evidence of other pages; None: it is not
    stored. `rules` are those of a crawl.
    """
    decoded, _ = charsets.decode(body[:MAX_MARKUP], media_types.parse(content_type)[1], True)
    root, _ = html_tree.parse(decoded)
    elements = html_tree.elements(root)
    base = html_links.base_url(elements, url)
    licence = _licence(elements, base)
    tree = page_rules.main_tree(root, rules.of(url))
    main = main_text.main_text(tree.root, tree.is_main)
    invisible = frozenset(main_text.INVISIBLE)
    whole = Content(tree.root, base, invisible, True, licence)
    choices = (
        [whole]
        if tree.is_main
        else [whole._replace(dropped=invisible.union(main_text.SURROUNDINGS), whole=False), whole]
    )
    for lines in ([] if text is None else [text.split("\n")]) + [main.text.split("\n")]:
        for found in choices:
            if _keep(found, lines):
                return found
    return choices[0]


def _licence(elements: html_tree.Elements, base: str) -> str:
    """The target of the first link with `rel=license` (HTML, 4.6.7.9)."""
    for tag, element in elements.linking:
        if tag in ("a", "area", "link") and "license" in (element.get("rel") or "").lower().split():
            return urls.resolve(element.get("href") or "", base) or ""
    return ""


def markdown(found: Content, link: Callable[[str], str] = str) -> str:
    """The content as Markdown; `link` is given absolute URLs of links."""
    for element in found.root.iter():  # before anything is escaped: without them other characters may be markup
        if (text := element.text) and _UNSEEN.search(text):
            element.text = without_unseen(text)
        if (tail := element.tail) and _UNSEEN.search(tail):
            element.tail = without_unseen(tail)
        if (alt := element.get("alt")) and _UNSEEN.search(alt):
            element.set("alt", without_unseen(alt))

    def destination(reference: str) -> str | None:
        if reference.startswith("#"):
            return reference
        target = urls.resolve(reference, found.base)
        return link(target) if target and target.startswith(_SCHEMES) else None

    def image(reference: str) -> str | None:
        target = urls.resolve(reference, found.base)
        return target if target and target.startswith(("http:", "https:")) else None

    page = Markdown(found.dropped, main_text.BLOCKS, destination, image, found.whole)
    return _UNSEEN.sub("", "\n".join(page.lines(found.root)))


def without_unseen(text: str) -> str:
    """A text without characters that nobody sees; those that are white space become a space or a line feed."""
    return _UNSEEN.sub(lambda match: ("\n" if match[0] == "\r" else " ") if match[0].isspace() else "", text)


class _Run(NamedTuple):
    """A line of the main text, as it lies in the tree."""

    line: str  # white space collapsed; of a `pre`, all its lines
    places: list[tuple[Any, bool]]  # elements, and whether the text is that after them
    elements: list[Any]  # images, and a `pre`


def _keep(found: Content, lines: Sequence[str]) -> bool:
    """Remove the text that is not among the lines; False, and nothing is removed, if the tree has not all of them."""
    runs = list(_runs(found))
    wanted = [line.lstrip(main_text.CODE + " ") for line in lines if line.strip()]
    removed: list[_Run] = []
    place = 0
    for run in runs:
        parts = run.line.split("\n")
        if wanted[place : place + len(parts)] == parts:
            place += len(parts)
        elif len(parts) > 1 and (kept := _common(parts, wanted, place)):
            place += kept
        else:
            removed.append(run)
    is_cut = sum(map(len, lines)) + len(lines) > main_text.MAX_TEXT  # then the last line may be a part of one
    if place < len(wanted) - is_cut:
        return False
    for run in removed:
        for element, is_tail in run.places:
            if is_tail:
                element.tail = " "
            else:
                element.text = " "
        for element in run.elements:
            element.tag = "template"
    return True


def _common(parts: Sequence[str], wanted: Sequence[str], place: int) -> int:
    """How many lines of a `pre`, of which some were removed, are wanted next."""
    count = 0
    for part in parts:
        count += place + count < len(wanted) and wanted[place + count] == part
    return count


def _runs(found: Content) -> Iterator[_Run]:
    """The lines of the text in document order, as the stylesheets of `main_text` separate them."""
    run = _Run("", [], [])
    texts: list[str] = []

    def ended() -> Iterator[_Run]:
        nonlocal run, texts
        if line := _line("".join(texts)):
            yield run._replace(line=line)
        run, texts = _Run("", [], []), []

    def add(element: Any, is_tail: bool, is_read: bool) -> None:
        text = element.tail if is_tail else element.text
        if text and is_read:
            texts.append(text)
            run.places.append((element, is_tail))

    stack: list[tuple[Any, Iterator[Any], bool]] = [(found.root, iter(found.root), True)]
    while stack:
        element, children, is_read = stack[-1]
        child = next(children, None)
        if child is None:
            stack.pop()
            if is_read and element.tag in _BOUNDS:
                yield from ended()
            if stack:
                add(element, True, stack[-1][2])
        elif child.tag in main_text.HEADINGS and (is_read or child.tag == "h1"):
            yield from ended()
            yield from _heading(child)
            add(child, True, is_read)
        elif is_read and child.tag in found.dropped:
            add(child, True, True)
        elif is_read and child.tag == "pre":
            yield from ended()
            lines = map(_line, code.text_of(child, found.dropped).split("\n"))
            if line := "\n".join(filter(None, lines)):
                yield _Run(line, [], [child])
            add(child, True, True)
        else:
            is_within = is_read and (child.tag != "header" or found.whole)
            if is_within and child.tag in _BOUNDS:
                yield from ended()
            if is_within and child.tag == "img":
                run.elements.append(child)
            add(child, False, is_within)
            stack.append((child, iter(child), is_within))
    yield from ended()


def _heading(element: Any) -> Iterator[_Run]:
    """The line of a heading, which has all text within it."""
    if line := _line("".join(element.itertext())):
        inside = [each for each in element.iter() if each is not element]
        yield _Run(line, [(element, False), *((each, is_tail) for each in inside for is_tail in (False, True))], [])


def _line(text: str) -> str:
    return main_text.line_of(main_text.without_marks(text))


_BOUNDS = frozenset(main_text.BLOCKS)
