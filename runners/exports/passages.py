"""Cuts a text into passages at headings."""

import bisect
import itertools
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import NamedTuple

from ...search.answers.results.carriers import without_carriers
from ...transforms.duplicates.digest import CODE
from ...transforms.sections.section import TERM_LEVEL, Place, Section, places

BYTES_PER_TOKEN = 4
"""An estimate for text in UTF-8: about that of English, and not less than that of most other languages."""

_HIGHEST = 2  # levels whose sections no passage crosses
_SENTENCE_END = re.compile(r"[.!?:;。！？](?:\s|(?<=[。！？]))|\n")
_SPACE = re.compile(r"\s")


class Limits(NamedTuple):
    """Sizes of passages in tokens."""

    tokens: int = 400  # at most
    overlap: int = 40  # that a passage has of the one before, if they are of one section


LIMITS = Limits()


class Passage(NamedTuple):
    """A part of a text."""

    text: str
    id: str  # of the section in which it begins, as in `Place`
    headings: tuple[str, ...]  # of the sections that enclose its beginning, outermost first


def estimated_tokens(text: str) -> int:
    """The number of tokens of a text for a language model, estimated.

    >>> estimated_tokens("twelve bytes"), estimated_tokens("")
    (3, 0)
    """
    return -(-len(text.encode("utf-8", "replace")) // BYTES_PER_TOKEN)


def sections_by_headings(text: str, headings: Iterable[str]) -> list[Section]:
    """Sections of a text stored without them: all of one level, at the lines that are headings."""
    wanted, sections, offset = frozenset(headings), list[Section](), 0
    for line in text.split("\n"):
        if line and line in wanted:
            sections.append(Section(offset, len(line), 1, ""))
        offset += len(line) + 1
    return sections


def highest_levels(sections: Sequence[Section]) -> list[int]:
    """The two highest levels of headings, or of pages, that a text has."""
    return sorted({section.level for section in sections if section.level < TERM_LEVEL})[:_HIGHEST]


def passages(
    text: str, sections: Sequence[Section], limits: Limits = LIMITS, nosnippet: Sequence[int] = ()
) -> Iterator[Passage]:
    """The passages of a text in order; none crosses the border of a section of its two highest levels.

    A section that fits is not cut; sections below are joined while they fit. What is larger is cut between lines, then
    between sentences, then between words. `nosnippet` are the bounds of passages that are left out (`main_text.Text`).
    """
    sections = [section for section in sections if bisect.bisect_right(nosnippet, section.offset) % 2 == 0]
    place = places(sections)
    lowest = (highest_levels(sections) or [0])[-1]
    cuts = sorted({section.offset for section in sections if section.level <= lowest} | {0, len(text)})
    softer = sorted({section.offset for section in sections} | set(cuts))
    borders = set(cuts)
    start = 0
    for at, end in itertools.pairwise(softer):
        if at > start and (at in borders or estimated_tokens(text[start:end]) > limits.tokens):
            yield from _cut(text, start, at, place, limits, nosnippet)
            start = at
    yield from _cut(text, start, len(text), place, limits, nosnippet)


def _cut(
    text: str, start: int, end: int, place: Callable[[int], Place], limits: Limits, nosnippet: Sequence[int]
) -> Iterator[Passage]:
    """The passages of a part of a text."""
    first = start
    while start < end:
        stop = _stop(text, start, end, limits.tokens)
        begin = _back(text, first, start, limits.overlap)
        if shown := _shown(text, begin, stop, nosnippet):
            beginning = place(start)
            yield Passage(shown, beginning.id, tuple(_heading(text, section, nosnippet) for section in beginning.path))
        start = stop


def _heading(text: str, section: Section, nosnippet: Sequence[int]) -> str:
    return " ".join(_shown(text, section.offset, section.offset + section.length, nosnippet).split())


def _stop(text: str, start: int, end: int, tokens: int) -> int:
    """Where a passage that begins at `start` ends."""
    room = tokens * BYTES_PER_TOKEN
    last = min(end, start + room)
    while len(text[start:last].encode("utf-8", "replace")) > room:
        last = start + max(1, (last - start) * room // len(text[start:last].encode("utf-8", "replace")))
    if last == end:
        return end
    half = start + (last - start) // 2
    line = text.rfind("\n", half, last)
    if line >= 0:
        return line + 1
    ends = [match.end() for match in _SENTENCE_END.finditer(text, half, last)]
    ends = ends or [match.end() for match in _SPACE.finditer(text, half, last)]
    return ends[-1] if ends else last


def _back(text: str, first: int, start: int, overlap: int) -> int:
    """Where a passage begins that repeats the end of the one before, at a word."""
    if start == first or not overlap:
        return start
    begin = max(first, start - overlap * BYTES_PER_TOKEN)
    while len(text[begin:start].encode("utf-8", "replace")) > overlap * BYTES_PER_TOKEN:
        begin += max(1, (start - begin) // 2)
    ends = next((match.end() for match in _SENTENCE_END.finditer(text, begin, start) if match.end() < start), None)
    if ends is None:
        ends = next((match.end() for match in _SPACE.finditer(text, begin, start)), start)
    return begin if begin == first else ends


def _shown(text: str, start: int, end: int, nosnippet: Sequence[int]) -> str:
    """A part of the text without what must not be shown or nobody sees, and without the marks of code."""
    parts, number = list[str](), bisect.bisect_right(nosnippet, start)
    is_hidden = number % 2 == 1
    for bound in itertools.takewhile(lambda bound: bound < end, itertools.islice(nosnippet, number, None)):
        parts.append("" if is_hidden else text[start:bound])
        start, is_hidden = bound, not is_hidden
    parts.append("" if is_hidden else text[start:end])
    shown = without_carriers("".join(parts))
    return shown.replace(f"\n{CODE}", "\n").removeprefix(CODE).strip("\n").rstrip()
