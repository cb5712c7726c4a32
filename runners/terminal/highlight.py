"""Text with marked matches, for terminals: lines that end between words, and coloured matches."""

import re
from collections.abc import Iterator, Mapping, Sequence

from rich.cells import cell_len

MARKED, NORMAL = "\x1b[1;31m", "\x1b[22;39m"
"""Bold and red, as grep marks what it finds."""

_NO_SPACES = "\u2e80-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\uff01-\uff60"  # Han, Kana and their punctuation
_PARTS = re.compile(rf"\s+|[{_NO_SPACES}][、。，．！？：；」』）】]*|[^\s{_NO_SPACES}]+")
"""What a line may end behind: spaces, characters of scripts without spaces between words, and words."""


def is_coloured(environment: Mapping[str, str]) -> bool:
    """Whether a terminal may get control sequences for colours: not if NO_COLOR is set (https://no-color.org).

    >>> is_coloured({"TERM": "xterm"}), is_coloured({"NO_COLOR": "1"}), is_coloured({"TERM": "dumb"})
    (True, False, False)
    """
    return not environment.get("NO_COLOR") and environment.get("TERM") != "dumb"


def wrapped(pieces: Sequence[tuple[str, bool]], columns: int, is_bold: bool) -> Iterator[str]:
    r"""Yield the lines of a text in pieces, each with whether it is a match; a longer line is broken between words.

    >>> list(wrapped([("A ", False), ("polite", True), (" crawler", False)], 10, is_bold=False))
    ['A polite', 'crawler']
    >>> list(wrapped([("A ", False), ("polite", True), (" crawler", False)], 80, is_bold=True))
    ['A \x1b[1;31mpolite\x1b[22;39m crawler']
    """
    text = "".join(piece for piece, _ in pieces)
    marks = [is_match and is_bold for piece, is_match in pieces for _ in piece]
    start = 0
    for line in text.split("\n"):
        for begin, end in _breaks(line, columns):
            yield _marked(line[begin:end], marks[start + begin : start + end])
        start += len(line) + 1


def _breaks(line: str, columns: int) -> Iterator[tuple[int, int]]:
    """Yield where the parts of a line start and end; spaces around a break are left out."""
    start = end = used = 0
    for found in _PARTS.finditer(line):
        width, is_space = cell_len(found[0]), found[0].isspace()
        if not is_space and end > start and used + width > columns:
            yield start, end
            start, used = found.start(), 0
        used += width
        if not is_space:
            end = found.end()
    yield start, end


def _marked(text: str, marks: Sequence[bool]) -> str:
    shown = []
    was_marked = False
    for character, is_marked in zip(text, marks, strict=True):
        if is_marked != was_marked:
            shown.append(MARKED if is_marked else NORMAL)
        shown.append(character)
        was_marked = is_marked
    return "".join([*shown, NORMAL] if was_marked else shown)
