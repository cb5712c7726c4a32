"""Converts a parsed page to Markdown, in one walk without recursion."""

from collections.abc import Callable, Collection, Iterator
from typing import Any

from . import code, tables
from .containers import Containers
from .escapes import code_block, code_span, heading
from .inline import Inline, one_line, paragraph

Resolve = Callable[[str], str | None]
"""The destination of a reference on the page; None: it leads nowhere that a reader could go."""

_EMPHASIS = {
    **dict.fromkeys(("b", "strong", "dt", "summary"), "strong"),
    **dict.fromkeys(("i", "em", "cite", "dfn", "var"), "em"),
    **dict.fromkeys(("del", "s", "strike"), "del"),
}
_CODE = frozenset({"code", "kbd", "samp", "tt"})
_LISTS = frozenset({"ul", "ol", "menu", "dir"})
_LEVELS = {f"h{level}": level for level in range(1, 7)}
_PERMALINKS = frozenset({"", "¶", "#", "§", "\U0001f517"})
_NOT_IN_LINES = (*_LEVELS, *_LISTS, "li", "pre", "table", "blockquote", "hr", "header")
"""Elements of which a link has no part: it is written as a link in each."""

_LONGEST_ALT = 500
_RULE = "___"  # as the first block of an item, `- ---` would be a line without the item


class Markdown:
    """Collects the blocks of a tree.

    `dropped` are the names of elements that are left out, `blocks` those of elements that begin and end a block. Of a
    `header` only its `h1` is read, unless `whole` is set.
    """

    def __init__(
        self, dropped: Collection[str], blocks: Collection[str], link: Resolve, image: Resolve, whole: bool
    ) -> None:
        self._dropped, self._blocks, self._whole = dropped, blocks, whole
        self._link, self._image = link, image
        self._layout: set[Any] = set()

    def lines(self, root: Any) -> list[str]:
        """The lines of the page in a tree."""
        self._layout = tables.layout_tables(root)
        return _Writer(self, Containers()).walk(root)

    def cell(self, element: Any) -> str:
        """A cell of a table as one line."""
        lines = _Writer(self, None).walk(element)
        return "<br>".join(lines).replace("|", "\\|")

    def is_dropped(self, tag: str) -> bool:
        return tag in self._dropped

    def is_block(self, tag: str) -> bool:
        return tag in self._blocks

    def is_banner(self, tag: str) -> bool:
        return tag == "header" and not self._whole

    def is_table(self, element: Any) -> bool:
        return element not in self._layout

    def code(self, pre: Any) -> list[str]:
        return code.lines_of(code.text_of(pre, self._dropped))

    def link(self, element: Any) -> str | None:
        """The destination of an `a`; None if it has none, or is a permalink of its own place."""
        href = (element.get("href") or "").strip()
        if not href or (href.startswith("#") and "".join(element.itertext()).strip() in _PERMALINKS):
            return None
        return self._link(href)

    def image(self, element: Any) -> tuple[str, str | None]:
        """The alternative text of an `img`, and its URL."""
        names = ("src", "data-src", "data-original", "data-lazy-src")
        found = (element.get(name) or "" for name in names)
        source = next((each.strip() for each in found if each.strip() and not each.startswith("data:")), "")
        is_pixel = element.get("width") in ("0", "1") and element.get("height") in ("0", "1")
        return (element.get("alt") or "")[:_LONGEST_ALT], self._image(source) if source and not is_pixel else None


class _Writer:
    """Writes the blocks of one tree; without `containers`, those of a cell."""

    def __init__(self, page: Markdown, containers: Containers | None) -> None:
        self._page, self._containers = page, containers
        self._cells: list[str] = []  # the blocks of a cell
        self._inline = Inline()
        self._code = 0  # code elements that are open
        self._banner: list[bool] = [False]  # whether the text is that of a header outside its h1
        self._level = 0  # of the heading that is open
        self._lines = 0  # links that are open, in which blocks are joined

    def walk(self, root: Any) -> list[str]:
        stack: list[tuple[Any, Iterator[Any], Callable[[], None]]] = []

        def descend(element: Any) -> None:
            close = self._open(element)
            if close is None:
                if stack:
                    self._text(element.tail)
            else:
                self._text(element.text)
                stack.append((element, iter(element), close))

        descend(root)
        while stack:
            element, children, close = stack[-1]
            child = next(children, None)
            if child is None:
                stack.pop()
                close()
                if stack:
                    self._text(element.tail)
            elif isinstance(child.tag, str):
                descend(child)
            else:
                self._text(child.tail)
        self._flush()
        return self._cells if self._containers is None else self._containers.lines

    def _text(self, text: str | None) -> None:
        if not text or self._banner[-1]:
            return
        if self._code:
            self._inline.code(text)
        else:
            self._inline.text(text)

    def _open(self, element: Any) -> Callable[[], None] | None:
        """Begin an element; returns what ends it, or None if its contents are not to be walked."""
        tag, page = element.tag, self._page
        if self._banner[-1] and tag != "h1":
            return _nothing
        if page.is_dropped(tag):
            return None
        if page.is_banner(tag):
            self._flush()
            self._banner.append(True)
            return self._end_banner
        if tag in _LEVELS:
            return self._heading(_LEVELS[tag])
        if tag == "pre":
            self._pre(element)
            return None
        if tag == "table":
            return self._table(element)
        if tag in _LISTS or tag in ("li", "blockquote"):
            return self._container(element)
        if tag in ("br", "hr", "img"):
            self._void(element)
            return None
        return self._phrase(element)

    def _end_banner(self) -> None:
        self._flush()
        self._banner.pop()

    def _heading(self, level: int) -> Callable[[], None]:
        self._flush()
        self._banner.append(False)
        self._level = level
        return self._end_heading

    def _end_heading(self) -> None:
        self._write_heading()
        self._flush()
        self._banner.pop()

    def _write_heading(self) -> None:
        """End the heading that is open: at its end, or at a list, a table or code within one that nobody closed."""
        if self._level:
            text = one_line(self._inline.take()).rstrip("¶ ")
            if text:
                self._write([heading(self._level, text)] if self._containers else [text])
            self._level = 0

    def _pre(self, element: Any) -> None:
        self._write_heading()
        self._flush()
        lines = self._page.code(element)
        if not lines:
            return
        if self._containers is None:
            self._cells += [span for line in lines if (span := code_span(line))]
        else:
            self._containers.write(code_block(lines, code.language_of(element)))

    def _table(self, element: Any) -> Callable[[], None] | None:
        self._write_heading()
        self._flush()
        rows = tables.rows_of(element) if self._containers and self._page.is_table(element) else None
        if rows is None:
            return self._flush
        for caption in element.iterchildren("caption"):
            if text := self._page.cell(caption):
                self._write(paragraph(text))
        if lines := tables.lines_of(rows, self._page.cell):
            self._write(lines)
        return None

    def _container(self, element: Any) -> Callable[[], None]:
        self._write_heading()
        self._flush()
        containers = self._containers
        if containers is None:
            return self._flush
        if element.tag == "blockquote":
            containers.open_quote()
        elif element.tag == "li":
            containers.open_item()
        else:
            containers.open_list(element.get("start") if element.tag == "ol" else None, element.tag == "ol")

        def close() -> None:
            self._flush()
            containers.close()

        return close

    def _void(self, element: Any) -> None:
        if element.tag == "img":
            alt, url = self._page.image(element)
            if url:
                self._inline.image(alt, url)
            elif alt:
                self._text(f" {alt} ")
        elif element.tag == "br":
            if self._lines:
                self._inline.text(" ")
            elif not self._inline.line_break() and not self._level:
                self._flush()
        else:
            self._flush()
            if self._containers:
                self._containers.write([_RULE])

    def _phrase(self, element: Any) -> Callable[[], None]:
        """Begin an element within a line, or one that only begins and ends a block."""
        tag = element.tag
        if is_block := self._page.is_block(tag):
            self._flush()
        kind, target = _EMPHASIS.get(tag, ""), ""
        if tag == "a" and (url := self._page.link(element)):
            kind, target = "link", url
        is_open = bool(kind) and (kind == "link" or not self._code) and self._inline.open(kind, target)
        is_line = kind == "link" and next(element.iter(*_NOT_IN_LINES), None) is None
        self._code += tag in _CODE
        self._lines += is_line

        def close() -> None:
            self._code -= tag in _CODE
            self._lines -= is_line
            if is_open:
                self._inline.close()
            if is_block:
                self._flush()

        return close

    def _flush(self) -> None:
        """End the block that is open."""
        if self._level or self._lines:
            self._inline.text(" ")
        elif text := self._inline.take():
            self._write(paragraph(text) if self._containers else [one_line(text, "<br>")])

    def _write(self, lines: list[str]) -> None:
        if self._containers is None:
            self._cells += lines
        else:
            self._containers.write(lines)


def _nothing() -> None:
    """Ends an element of which nothing is read."""
