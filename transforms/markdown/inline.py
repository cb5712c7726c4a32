"""Builds the text of one block: emphasis, code, links and images within it."""

import re
from typing import NamedTuple

from .escapes import code_span, destination, escape, escape_start

_SPACE = re.compile(r"\s+")
_BREAK = "\\\n"
_MARKS = {"strong": "**", "em": "*", "del": "~~"}


class _Code(str):
    """Text of a code span that may be continued."""

    __slots__ = ()


class _Marked(NamedTuple):
    """Emphasised text, whose marks are written if they would be read as such where they stand."""

    mark: str
    core: str


_Part = str | _Marked


class _Frame:
    """An inline element that is open, with what was read of it."""

    def __init__(self, kind: str, target: str = "") -> None:
        self.kind, self.target = kind, target
        self.parts: list[_Part] = []


class Inline:
    """The inline content of a block. Elements that are open when a block ends are closed there, and opened again."""

    def __init__(self) -> None:
        self._frames = [_Frame("")]
        self._after_space = True

    def text(self, text: str) -> None:
        if text := self._collapsed(text):
            self._add(escape(text))

    def code(self, text: str) -> None:
        if text := self._collapsed(text):
            parts = self._frames[-1].parts
            if parts and isinstance(last := parts[-1], _Code):
                parts[-1] = _Code(last + text)
            else:
                self._add(_Code(text))

    def image(self, alt: str, url: str) -> None:
        self._add(f"![{escape(' '.join(alt.split()))}]({destination(url)})")
        self._after_space = False

    def line_break(self) -> bool:
        """Break the line; False if it was broken just before."""
        if self._frames[-1].parts[-1:] == [_BREAK]:
            return False
        self._add(_BREAK)
        self._after_space = True
        return True

    def open(self, kind: str, target: str = "") -> bool:
        """Open an element of a kind of emphasis, or a link to a target; False if there is one within another."""
        if any(frame.kind == kind for frame in self._frames):
            return False
        self._frames.append(_Frame(kind, target))
        return True

    def close(self) -> None:
        """Close the element that was opened last."""
        frame = self._frames.pop()
        mark = _MARKS.get(frame.kind)
        text = _joined(frame.parts, *((mark, mark) if mark else "[]"))
        core = _stripped(text)
        place = text.find(core) if core else len(text)
        before, after = text[:place], text[place + len(core) :]
        parts = self._frames[-1].parts
        if before:
            parts.append(_BREAK if _BREAK in before else " ")
        if core:
            if mark is None:
                parts.append(f"[{core}]({destination(frame.target)})")
            elif parts and isinstance(last := parts[-1], _Marked) and last.mark == mark:
                parts[-1] = _Marked(mark, last.core + core)
            else:
                parts.append(_Marked(mark, core))
        if core and after:
            parts.append(_BREAK if _BREAK in after else " ")

    def take(self) -> str:
        """The text so far, as the lines of a paragraph whose starts are not escaped; begins anew."""
        kept = [(frame.kind, frame.target) for frame in self._frames[1:]]
        while len(self._frames) > 1:
            self.close()
        text = _stripped(_joined(self._frames[0].parts, "", ""))
        self._frames = [_Frame(""), *(_Frame(*each) for each in kept)]
        self._after_space = True
        return text

    def _collapsed(self, text: str) -> str:
        text = _SPACE.sub(" ", text)
        if self._after_space:
            text = text.lstrip(" ")
        if text:
            self._after_space = text[-1] == " "
        return text

    def _add(self, part: _Part) -> None:
        self._frames[-1].parts.append(part)


def paragraph(text: str) -> list[str]:
    """The lines of a paragraph."""
    lines = [line.strip(" ") for line in text.split(_BREAK)]
    return [escape_start(line) + ("\\" if number < len(lines) else "") for number, line in enumerate(lines, 1)]


def one_line(text: str, separator: str = " ") -> str:
    """A paragraph as one line."""
    return separator.join(line.strip(" ") for line in text.split(_BREAK))


def _stripped(text: str) -> str:
    """The text without spaces and line breaks around it."""
    while (text := text.strip(" ")).startswith(_BREAK):
        text = text[len(_BREAK) :]
    while text.endswith(_BREAK):
        text = text[: -len(_BREAK)].rstrip(" ")
    return text


def _joined(parts: list[_Part], before: str, after: str) -> str:
    """The parts as Markdown, between the characters `before` and `after`."""
    found: list[str] = []
    last = before[-1:]
    for number, part in enumerate(parts):
        if isinstance(part, _Marked):
            text = part.core
            if _flanks(last, text[0]) and _flanks(_first(parts, number + 1) or after[:1], text[-1]):
                text = f"{part.mark}{text}{part.mark}"
        elif isinstance(part, _Code):
            text = code_span(part)
            text = f"{' ' * part.startswith(' ')}{text}{' ' * (part.endswith(' ') and bool(text))}"
        else:
            text = part
        if last == "!" and text.startswith("["):
            found[-1] = found[-1][:-1] + "\\!"
        if text:
            found.append(text)
            last = text[-1]
    return "".join(found)


def _first(parts: list[_Part], number: int) -> str:
    part = parts[number] if number < len(parts) else ""
    return part.mark[0] if isinstance(part, _Marked) else "`" if isinstance(part, _Code) else part[:1]


def _flanks(outside: str, inside: str) -> bool:
    """Whether a mark between two characters can begin or end emphasis (CommonMark 6.2, flanking)."""
    return inside.isalnum() or not outside or not outside.isalnum()
