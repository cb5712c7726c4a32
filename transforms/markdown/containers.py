"""Writes blocks within lists and block quotes (CommonMark 5)."""

MAX_DEPTH = 20
"""Maximum number of containers around a block; those within them are written as if they were not there."""

_LARGEST = 999_999_999  # number of an item


class _Container:
    """A block quote, a list or an item of one."""

    def __init__(self, indent: str, marker: str = "") -> None:
        self.indent = indent  # before each line
        self.marker = marker  # instead of it before the first line; "": there is none, or it is written
        self.last_list = ""  # the mark of the list that ended just before


class _List(_Container):
    def __init__(self, indent: str, mark: str, number: int | None) -> None:
        super().__init__(indent)
        self.mark, self.number = mark, number
        self.items = 0


class Containers:
    """The lines of a page, and the containers that are open."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self._open: list[_Container] = [_Container("")]
        self._ignored = 0  # containers that are too deep

    def open_quote(self) -> None:
        if not self._is_too_deep():
            self._open.append(_Container("> ", "> "))

    def open_list(self, start: str | None, is_ordered: bool) -> None:
        if self._is_too_deep():
            return
        parent = self._open[-1]
        # A list within a list, not in an item, belongs to the item before.
        indent = _indent(parent) if isinstance(parent, _List) and parent.items else ""
        number = _number(start) if is_ordered else None
        marks = ".)" if is_ordered else "-*"
        self._open.append(_List(indent, marks[parent.last_list == marks[0]], number))

    def open_item(self) -> None:
        if self._is_too_deep():
            return
        if not isinstance(self._open[-1], _List):
            self._open.append(_Container(""))  # an item outside of any list is a paragraph
            return
        marker = _marker(self._open[-1])
        self._open.append(_Container(" " * len(marker), marker))

    def close(self) -> None:
        if self._ignored:
            self._ignored -= 1
            return
        closed = self._open.pop()
        if isinstance(closed, _List):
            self._open[-1].last_list = closed.mark if closed.items else ""

    def write(self, lines: list[str]) -> None:
        """Write a block."""
        if self.lines and not self._is_tight():
            self.lines.append("".join(each.indent for each in self._open if not each.marker).rstrip())
        first = "".join(each.marker or each.indent for each in self._open)
        self._begin_items()
        rest = "".join(each.indent for each in self._open)
        self.lines.append(first + lines[0])
        self.lines += [f"{rest}{line}" if line else rest.rstrip() for line in lines[1:]]
        self._open[-1].last_list = ""

    def _begin_items(self) -> None:
        for parent, child in zip(self._open, self._open[1:], strict=False):
            if child.marker and isinstance(parent, _List):
                parent.items += 1
                if parent.number is not None:
                    parent.number = min(parent.number + 1, _LARGEST)
            child.marker = ""

    def _is_tight(self) -> bool:
        """Whether a block begins an item that needs no empty line before it."""
        place = next((number for number, each in enumerate(self._open) if each.marker), None)
        if place is None:
            return False
        list_, item = self._open[place - 1], self._open[place]
        if not isinstance(list_, _List):
            return False
        return list_.items > 0 or (place > 2 and item.marker in ("- ", "1. ") and bool(self._open[place - 2].indent))

    def _is_too_deep(self) -> bool:
        is_too_deep = self._ignored > 0 or len(self._open) > MAX_DEPTH
        self._ignored += is_too_deep
        return is_too_deep


def _number(start: str | None) -> int:
    start = (start or "").strip()
    return int(start) if start.isascii() and start.isdecimal() and len(start) < 9 else 1


def _marker(list_: _List) -> str:
    return f"{list_.mark} " if list_.number is None else f"{list_.number}{list_.mark} "


def _indent(list_: _List) -> str:
    return " " * len(_marker(list_))
