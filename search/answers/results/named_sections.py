"""The section of a page that a query names: by the words of its heading or term, and of its id."""

import bisect
import itertools
from collections.abc import Sequence, Set

from ....transforms.sections.section import Section
from .form_matches import Forms, Probe, Text, matches_of

MAX_WORK = 100_000
"""The work of looking for a section, after which those that follow are not looked at: some 5 ms.

It is the number of characters, with _OF_MATCH for each match and _OF_PART for each part of the sections.
"""

_HEADING = 200  # characters of a heading that are looked at
_PART = 16  # sections that are looked at together
_OF_PART, _OF_MATCH = 500, 50


def named_section(
    sections: Sequence[Section], text: str, forms: Forms, in_title: Set[str], least: int
) -> Section | None:
    """The section whose heading and id have most of the words, if they name what the title does not.

    `sections` are those of `text`, `in_title` the words that its title has. With these, a section must have `least`
    words. Of several, one comes first that has more of the words in its id, then the shortest id, as `#arg` before
    `#arg-2`, then the shortest heading: there the words are most of the name. Sections beyond MAX_WORK do not count.
    """
    telling = [probe for probe in forms.probes if not in_title >= {*probe.endings.values()}]
    candidates = list[tuple[int, int, int, int, int]]()
    work = 0
    for start in range(0, len(sections), _PART):
        if work > MAX_WORK:
            break
        part = range(start, min(start + _PART, len(sections)))
        # Words of the title may be in all headings: only sections that have another one are searched for them.
        likely, first = _words(sections, part, text, telling)
        found, second = _words(sections, sorted(likely), text, forms.probes) if likely else ({}, 0)
        work += _OF_PART + first + second
        for number, words in found.items():
            every = {word for word, _ in words}
            if not every <= in_title and len(every | in_title) >= least:
                in_id = sum(is_in_id for _, is_in_id in words)
                section = sections[number]
                candidates.append((-len(every), -in_id, len(section.id), section.length, number))
    return sections[min(candidates)[-1]] if candidates else None


def _words(
    sections: Sequence[Section], numbers: Sequence[int], text: str, probes: Sequence[Probe]
) -> tuple[dict[int, set[tuple[str, bool]]], int]:
    """By the number of a section the words in it, each with whether it is in the id; and the work of looking."""
    names = [sections[number] for number in numbers]
    parts = [f"{text[s.offset : s.offset + min(s.length, _HEADING)]}\n{s.id}\n" for s in names]
    starts = list(itertools.accumulate(map(len, parts), initial=0))
    ids = [end - len(section.id) - 1 for end, section in zip(starts[1:], names, strict=True)]
    joined = Text("".join(parts))
    matches = matches_of(joined, probes, 0, len(joined.text))
    words: dict[int, set[tuple[str, bool]]] = {}
    for start, _, word in matches:
        place = bisect.bisect_right(starts, start) - 1
        words.setdefault(numbers[place], set()).add((word, start >= ids[place]))
    return words, len(joined.text) + _OF_MATCH * len(matches)
