"""Sections of a text: where each begins, and what a place in the text leads to.

A section begins with a heading, or with another element that a URL can lead to, and ends where the next one begins.
"""

import bisect
import itertools
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import NamedTuple
from urllib.parse import quote

MAX_SECTIONS = 10_000
"""Maximum number of sections kept per page."""

MAX_ID = 200
"""Maximum number of characters of an id. A section with a longer one is kept without id."""

MAX_HEADING = 500
"""Maximum number of characters of a heading."""

TERM_LEVEL = 7
"""The level of a term of a list (`dt`) that has an id, below all headings; lists within lists have the next ones."""

_PERMALINKS = " ¶§🔗\u200b"
"""What documentation generators append to a heading: the text of a link to itself."""

_ENCODED = re.compile(r"[^!#-;=?-_a-~]")
"""What the fragment percent-encode set has: https://url.spec.whatwg.org/#fragment-percent-encode-set."""


class Section(NamedTuple):
    """A section of a text.

    Without heading (`length` is 0), it ends the sections of its level and below: it is a page of a PDF, a section whose
    heading was removed as boilerplate or, without id, what follows a list of terms.
    """

    offset: int  # of its first character in the text
    length: int  # characters of its heading, which begins the section; 0: it has none
    level: int  # 1 to 6: of the heading; TERM_LEVEL and more: of a term
    id: str  # without "#"; "": nothing leads to it

    def heading(self, text: str) -> str:
        """The heading, as the text of the page has it."""
        return " ".join(text[self.offset : self.offset + self.length].split())


class Place(NamedTuple):
    """What a place in a text leads to."""

    id: str  # of the nearest preceding section that has one, or ""
    path: tuple[Section, ...]  # the sections with headings that enclose the place, outermost first


TOP = Place("", ())
"""The top of a page."""


def place(sections: Sequence[Section], offset: int) -> Place:
    """What a character of the text leads to; `sections` ascend.

    >>> from itertools import starmap
    >>> page = list(starmap(Section, [(0, 5, 1, "intro"), (50, 5, 2, "use"), (90, 7, 7, "run"), (120, 0, 7, "")]))
    >>> [(found.id, [s.offset for s in found.path]) for found in (place(page, n) for n in (10, 60, 100, 130))]
    [('intro', [0]), ('use', [0, 50]), ('run', [0, 50, 90]), ('use', [0, 50])]
    """
    return places(sections)(offset)


def places(sections: Sequence[Section]) -> Callable[[int], Place]:
    """`place` for offsets that ascend: each section is looked at once."""
    enclosing, nearest, number = list[tuple[Section, str]](), "", 0  # with the id of each

    def at(offset: int) -> Place:
        nonlocal nearest, number
        while number < len(sections) and sections[number].offset <= offset:
            section = sections[number]
            number += 1
            while enclosing and enclosing[-1][0].level >= section.level:
                enclosing.pop()
            is_end = not (section.length or section.id)
            nearest = (enclosing[-1][1] if enclosing else "") if is_end else section.id or nearest
            if not is_end:
                enclosing.append((section, nearest))
        return Place(nearest, tuple(section for section, _ in enclosing if section.length))

    return at


def url_of(url: str, id_: str) -> str:
    """The URL of a page with an id of it as fragment, percent-encoded as the URL standard does; without id the URL.

    >>> url_of("https://example.org/a", "größe <1>"), url_of("https://example.org/a", "")
    ('https://example.org/a#gr%C3%B6%C3%9Fe%20%3C1%3E', 'https://example.org/a')
    """
    return f"{url}#{_ENCODED.sub(lambda match: quote(match[0], safe=''), id_)}" if id_ else url


def without_passages(sections: Iterable[Section], bounds: Sequence[int]) -> Iterator[Section]:
    """The sections of a text from which passages are removed (start, end, start, end, …); theirs are removed, too.

    >>> [s.offset for s in without_passages([Section(n, 1, 2, "") for n in (0, 15, 30)], [10, 20])]
    [0, 20]
    """
    if not bounds:  # nearly always
        yield from sections
        return
    starts, ends = bounds[::2], bounds[1::2]
    removed = list(itertools.accumulate((end - start for start, end in zip(starts, ends, strict=True)), initial=0))
    for section in sections:
        before = bisect.bisect_right(starts, section.offset)  # passages that begin before it, or with it
        if not before or ends[before - 1] <= section.offset:
            after = bisect.bisect_right(ends, section.offset + section.length)  # passages that end in the heading
            within = removed[max(after, before)] - removed[before]
            yield section._replace(offset=section.offset - removed[before], length=section.length - within)


def to_text(sections: Iterable[Section]) -> str:
    """Sections in one string, for the index: a line each, with the difference to the offset before, and the id last."""
    lines, before = list[str](), 0
    for offset, length, level, id_ in sections:
        lines.append(f"{offset - before} {length} {level} {id_}")
        before = offset
    return "\n".join(lines)


def from_text(text: str) -> list[Section]:
    """The inverse of `to_text`.

    >>> from_text(to_text([Section(5, 3, 2, "a b"), Section(9, 0, 7, "")]))
    [Section(offset=5, length=3, level=2, id='a b'), Section(offset=9, length=0, level=7, id='')]
    """
    sections, offset = list[Section](), 0
    for line in text.split("\n") if text else ():
        gap, length, level, id_ = line.split(" ", 3)
        offset += int(gap)
        sections.append(Section(offset, int(length), int(level), id_))
    return sections


def usable_id(id_: str) -> str:
    """The id if a URL can lead to it, or else "".

    A browser removes what follows ":~:" from a fragment (https://wicg.github.io/scroll-to-text-fragment/).
    """
    return id_ if len(id_) <= MAX_ID and id_.isprintable() and ":~:" not in id_ else ""


def heading_length(line: str) -> int:
    """The length of the heading in a line of text, without the permalink that follows it.

    >>> [heading_length(line) for line in ("Use¶", "Fields§", "C#", "Install #", "#")]
    [3, 6, 2, 7, 1]
    """
    line = line[:MAX_HEADING]
    return len(line.rstrip(_PERMALINKS).removesuffix(" #").rstrip()) or len(line)
