"""The section of a page that a query names: by the words of its heading or term, and of its id."""

import bisect
import itertools
from collections.abc import Sequence, Set

from ...transforms.sections.section import Section
from .form_matches import Forms, Text, matches_of

_HEADING = 200  # characters of a heading that are looked at


def named_section(
    sections: Sequence[Section], text: str, forms: Forms, in_title: Set[str], least: int
) -> Section | None:
    """The section whose heading and id have most of the words, if they name what the title does not.

    `sections` are those of `text`, `in_title` the words that its title has. With these, a section must have `least`
    words. Of several, one comes first that has more of the words in its id, then the shortest id, as `#arg` before
    `#arg-2`, then the shortest heading: there the words are most of the name.
    """
    parts = [f"{text[s.offset : s.offset + min(s.length, _HEADING)]}\n{s.id}\n" for s in sections]
    starts = list(itertools.accumulate(map(len, parts), initial=0))
    joined = Text("".join(parts))
    words: dict[int, set[str]] = {}
    in_id: dict[int, set[str]] = {}
    for start, _, word in matches_of(joined, forms.probes, 0, len(joined.text)):
        number = bisect.bisect_right(starts, start) - 1
        words.setdefault(number, set()).add(word)
        if start >= starts[number + 1] - len(sections[number].id) - 1:
            in_id.setdefault(number, set()).add(word)
    candidates = [number for number, found in words.items() if not found <= in_title and len(found | in_title) >= least]
    if not candidates:
        return None
    return sections[
        min(candidates, key=lambda n: (-len(words[n]), -len(in_id.get(n, ())), len(sections[n].id), sections[n].length))
    ]
