"""The main content of an HTML page as Markdown: the elements that its main text is read of."""

import copy
import itertools
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import NamedTuple

import turbohtml
from turbohtml import Element, Node, Text

from ....search.answers.results.carriers import without_carriers
from ....transforms.http import media_types
from ....transforms.parsing import charsets, html_links, html_tree, main_text, page_rules, text_layout
from ....transforms.parsing.page_rules import NO_RULES, PageRules
from ....transforms.parsing.source import MAX_MARKUP
from ....transforms.urls.canonical import resolve
from . import code, tables

_UNSEEN = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\xa0\u061c\u200e\u200f\u2028-\u202e\u2066-\u206f\ufeff\ud800-\ud802]")
"""Control characters, no-break spaces (else `&#160;` in headings), overrides of direction, marks of `main_text`."""

_SCHEMES = ("http:", "https:", "mailto:", "tel:", "ftp:")
_PERMALINKS = frozenset({"", "¶", "#", "§", "\U0001f517"})
_IMAGES = ("src", "data-src", "data-original", "data-lazy-src")
_LONGEST_ALT = 500
_BLOCKS_IN_LINK = ", ".join(f"a[href]:has({name})" for name in ("h1,h2,h3,h4,h5,h6", "ul,ol,pre,table,blockquote"))
_BLOCKS = tuple(sorted(text_layout.BLOCKS))
_CODE = ("code", "kbd", "samp", "tt")

FORM = turbohtml.Markdown(
    document=turbohtml.Markdown.Document(line_break="backslash"),
    links=turbohtml.Markdown.Links(autolink=False),
    tables=turbohtml.Markdown.Tables(header="detect", cell_blocks="text"),
)


class Content(NamedTuple):
    """The main content of a page as a tree."""

    root: Element
    base: str  # of its references


def content(body: bytes, content_type: str | None, url: str, text: str | None, rules: PageRules = NO_RULES) -> Content:
    """The elements that the main text of an HTML page is read of, without those whose text `text` lacks.

    `text` is the stored text, from which boilerplate was removed by the evidence of other pages; None: it is not
    stored. `rules` are those of a crawl.
    """
    media_type, charset = media_types.parse(content_type)
    decoded, _ = charsets.decode(body[:MAX_MARKUP], charset, True)
    root, _ = html_tree.parse(decoded, media_type)
    elements = html_tree.elements(root)
    base = html_links.base_url(elements, url)
    tree = page_rules.main_tree(root, rules.of(url))
    root, stored = tree.root, None if text is None else text.split("\n")
    hidden = main_text.seen(root)
    left = [] if tree.is_main else main_text.leave_out(root, hidden)
    lines = _lines(root, not tree.is_main)
    removed = _removed(root, lines, stored)
    if left and (not lines.lines or removed is None):
        main_text.put_back(left)
        whole = _lines(root, False)
        removed = _removed(root, whole, stored)
        if lines.lines and removed is None:
            main_text.leave_out(root, hidden)
    _prune(removed or [])
    return Content(root, base)


def _lines(root: Element, has_banner: bool) -> text_layout.Lines:
    lines = text_layout.read(copy.deepcopy(root), {})
    return main_text.without_banner(lines) if has_banner else lines


def _removed(root: Element, shown: text_layout.Lines, stored: Sequence[str] | None) -> list[Node] | None:
    """The nodes of lines that are not among the stored ones; None if the tree does not have all of those."""
    lines, is_kept = [*shown.banner, *shown.lines], [False] * len(shown.banner)
    if stored is None or stored == shown.lines:  # the most common case, without a look at each line
        is_kept += [True] * len(shown.lines)
    else:
        wanted, place = [_line(line) for line in stored if line.strip()], 0
        for line in shown.lines:
            is_kept.append(place < len(wanted) and _line(line) == wanted[place])
            place += is_kept[-1]
        is_cut = sum(map(len, stored)) + len(stored) > main_text.MAX_TEXT  # then the last line may be a part of one
        if place < len(wanted) - is_cut:
            return None
    last = max((number for number, keep in enumerate(is_kept) if not keep), default=-1)
    removed, kept = list[Node](), set[Node]()
    for keep, nodes in zip(is_kept, _nodes(root, lines[: last + 2]), strict=False):  # the next may share a node with it
        if keep:
            kept.update(nodes)
        else:
            removed += nodes
    return [node for node in removed if node not in kept]


def _nodes(root: Element, lines: Iterable[str]) -> Iterator[list[Node]]:
    """The nodes that have the text of each line, of code the `pre`. Of both, the visible characters are the same."""
    texts = (node for node in root.descendants if isinstance(node, Text))
    node: Text | None = None
    left = 0  # visible characters of the node that the next lines have
    for line in lines:
        nodes, missing = list[Node](), _ink(_line(line))
        while missing:
            if node and left:
                nodes.append(node.closest("pre:not(pre pre)") or node)
                missing, left = max(0, missing - left), max(0, left - missing)
            elif node := next(texts, None):
                left = _ink(node.data)
            else:
                break
        yield nodes


def _ink(text: str) -> int:
    """The number of characters that are neither white space nor permalinks."""
    return len("".join(text_layout.without_marks(text).replace("¶", "").split()))


def _line(line: str) -> str:
    return text_layout.line_of(text_layout.without_marks(line))


def _prune(removed: Iterable[Node]) -> None:
    """Take nodes out of the tree, and blocks that have no text then."""
    for node in removed:
        block = next(
            (ancestor for ancestor in node.ancestors if isinstance(ancestor, Element) and ancestor.tag in _BLOCKS), None
        )
        if isinstance(node, Text):
            node.data = " "
        else:
            node.extract()
        if block is not None and not _ink(block.text):
            block.extract()


def markdown(page: Content, link: Callable[[str], str] = str) -> str:
    """The content as Markdown; `link` is given absolute URLs of links. Changes the tree."""
    root = page.root
    if _UNSEEN.search(root.text):
        for node in root.descendants:  # before anything is escaped: without them other characters may be markup
            if isinstance(node, Text) and _UNSEEN.search(data := node.data):
                node.data = without_unseen(data)
    _write_images(root, page.base)
    _write_links(root, page.base, link)
    for term in root.find_all(["dt", "summary"]):
        if next(term.iter_elements(_BLOCKS), None) is None:
            term.wrap_children(Element("strong"))
    for pre in root.find_all("pre"):
        lines = [line.rstrip() for line in text_layout.code_text(pre).split("\n")]
        code.write(pre, "\n".join(lines).strip("\n"))
    tables.write(root)
    return without_carriers(_UNSEEN.sub("", root.to_markdown(FORM).replace("\xa0", " ")))


def _write_links(root: Element, base: str, link: Callable[[str], str]) -> None:
    for element in root.select(_BLOCKS_IN_LINK):  # a heading is more than the link around it
        for heading in element.find_all(list(text_layout.HEADINGS)):
            heading.wrap_children(Element("a", {"href": element.attr("href") or ""}))
        element.unwrap()
    for element in {
        code: None for inner in root.select("code a, kbd a, samp a, tt a") if (code := _code_around(inner))
    }:
        _divide(element)
    for element in root.find_all("a"):
        href = (element.attr("href") or "").strip()
        is_empty = not element.text.strip() and element.find("img") is None
        if is_empty or (href.startswith("#") and element.text.strip() in _PERMALINKS):
            element.extract()
            continue
        target = href if href.startswith("#") else resolve(href, base) if href else None
        if target and target.startswith(_SCHEMES):
            element.attrs["href"] = link(target)
        elif not target or not target.startswith("#"):
            element.unwrap()


def _code_around(link: Element) -> Element | None:
    """The outermost code of a line around a link."""
    around = [ancestor for ancestor in link.ancestors if isinstance(ancestor, Element)]
    if any(ancestor.tag == "pre" for ancestor in around):
        return None
    return next((ancestor for ancestor in reversed(around) if ancestor.tag in _CODE), None)


def _divide(element: Element) -> None:
    """Make the text and the links of code elements of their own: within code, Markdown has no links."""
    texts = [node for node in element.descendants if isinstance(node, Text)]
    for link, parts in itertools.groupby(texts, lambda node: node.closest("a")):
        inner = Element("code", {}, [Text("".join(part.data for part in parts))])
        element.insert_before(Element("a", {"href": link.attr("href") or ""}, [inner]) if link else inner)
    element.extract()


def _write_images(root: Element, base: str) -> None:
    for element in root.find_all("img"):
        sources = ((element.attr(name) or "").strip() for name in _IMAGES)
        source = next((reference for reference in sources if reference and not reference.startswith("data:")), "")
        is_pixel = element.attr("width") in ("0", "1") and element.attr("height") in ("0", "1")
        target = resolve(source, base) if source and not is_pixel else None
        alt = " ".join(without_unseen(element.attr("alt") or "")[:_LONGEST_ALT].split())
        if target and target.startswith(("http:", "https:")):
            element.replace_with(Element("img", {"src": target, "alt": alt}))
        else:
            element.replace_with(Text(f" {alt} " if alt else ""))


def without_unseen(text: str) -> str:
    """A text without characters that nobody sees; those that are white space become a space or a line feed."""
    text = _UNSEEN.sub(lambda match: ("\n" if match[0] == "\r" else " ") if match[0].isspace() else "", text)
    return without_carriers(text)
