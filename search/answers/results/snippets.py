"""Snippets: the passage of a text with the best matches, and the marking of matches."""

import bisect
import re
from collections.abc import Iterator, Mapping, Sequence, Set
from typing import NamedTuple

from ....transforms.indexing.analysis import is_inside_cluster
from .carriers import without_carriers
from .form_matches import IN_CJK, MAX_ENDING, Forms, Match, Text, matches_of, prepared

WIDTH = 220
"""The approximate length of a snippet in characters; CJK characters count twice."""

MAX_SCANNED_CHARACTERS = 50_000
"""The number of characters of a text that are searched for a passage with any of the words."""

MAX_FURTHER_WORK = 4_000_000
"""The work of searching a text beyond MAX_SCANNED_CHARACTERS for words that are not before: some 5 ms.

To search a character for one of `Forms.probes` is 1, to fold it FOLDING, and a match is MATCHING.
"""

FOLDING, MATCHING = 4, 500

MAX_SEARCHED = MAX_SCANNED_CHARACTERS + MAX_FURTHER_WORK // FOLDING
"""The number of characters of a text that are searched at all."""

CODE = "\t"
"""The first character of a line of code in a text (`transforms/duplicates/digest.py`)."""

MAX_LINES = 8
"""The most lines of a snippet."""

_SENTENCE_END = re.compile(r"(?:(?<!\n\d)[.!?]['\")\]]?\s|[。！？]|\n)\s*(?=\S)")

_SEARCHED_FIRST = (2_000, 10_000)
"""The numbers of characters of a text that are searched first, and alone if they have a passage with all words."""

_FURTHER = 10_000
"""The number of characters that are searched at once beyond MAX_SCANNED_CHARACTERS."""


class Snippet(tuple[tuple[str, bool], ...]):
    """Pieces of text in their order, each with whether it is a match; `str` gives the text."""

    def __str__(self) -> str:
        return "".join(piece for piece, _ in self)


_UNEVEN_SPACES = re.compile(r"\s(?:\s+|(?<! ))")
"""White space that is not shown as it is: all but single spaces."""


def searchable(text: str) -> Text:
    """The part of a text of which a passage may be shown."""
    return Text(text[:MAX_SEARCHED].strip())


class Passage(NamedTuple):
    """A passage of a text."""

    snippet: Snippet
    matches: list[Match]  # in it, in order; places are of the text


def passage(searched: Text, forms: Forms, width: int = WIDTH) -> Passage:
    """A passage of a `searchable` text of about `width` characters, with the forms of words marked in it.

    It is the passage with the most distinct words, of these the one with the most matches, of these the first; without
    a match it is the beginning. It begins with a sentence or a line where one begins shortly before. Lines of code stay
    lines, up to MAX_LINES. `forms` are terms of `analysis.tokens`. Where the beginning of a long text has a passage
    with all words, the rest is not searched. Beyond MAX_SCANNED_CHARACTERS are only passages with words that the text
    before does not have, as far as MAX_FURTHER_WORK.

    >>> forms = prepared({"polite": "polite", "crawler": "crawl"})
    >>> passage(searchable("Nothing here. A crawler is polite."), forms).snippet
    (('Nothing here. A ', False), ('crawler', True), (' is ', False), ('polite', True), ('.', False))
    """
    text = searched.text
    if forms.are_cjk or IN_CJK.match(text):
        width //= 2
    best, matches = _best_passage(searched, forms, width)
    last = max((end for begin, end, _ in matches if best.start <= begin < best.start + width * 3 // 4), default=0)
    sentence = _sentence_before(text, best.start, min(width // 2, width - (last - best.start)))
    is_sentence = sentence is not None and len(text) - sentence > width // 2
    if sentence is not None and is_sentence:
        start, end = sentence, _whole_words(text, sentence, width)[1] if sentence + width < len(text) else len(text)
    else:
        start, end = _whole_words(text, max(0, best.start - width // 5), width)
    shown = [match for match in matches if start <= match[0] and match[1] <= end]
    has_code = CODE in text[start:end] or text.startswith(CODE, text.rfind("\n", 0, start) + 1)
    pieces = [("… ", False)] if start and not is_sentence else []
    for match_start, match_end in _merged(matches, start, end):
        if start < match_start:
            pieces.append((_shown(text, start, match_start, has_code), False))
        pieces.append((text[match_start:match_end], True))
        start = match_end
    if start < end:
        pieces.append((_shown(text, start, end, has_code), False))
    if end < len(text):
        pieces.append((" …", False))
    lines = _few_lines(pieces) if has_code else pieces
    return Passage(Snippet((without_carriers(piece), is_match) for piece, is_match in lines), shown)


def _best_passage(searched: Text, forms: Forms, width: int) -> tuple["_Passage", list[Match]]:
    """The best passage of a text, with all matches in it and around it."""
    best, searched_to, begin, final, matches = _NOTHING, 0, 0, 0, list[Match]()
    for most in (*_SEARCHED_FIRST, MAX_SCANNED_CHARACTERS):
        end = most + 2 * width  # so far a passage reaches
        found = matches_of(searched, forms.probes, begin, end)
        if final:
            matches = [match for match in matches if match[1] <= final]
            found = [match for match in found if match[1] > final]
        matches += found
        matches.sort()
        # Passages that end before are compared already.
        first = bisect.bisect_left(matches, (searched_to - width,))
        passage = _best([match for match in matches[first:] if match[1] <= most], width)
        if passage[:2] > best[:2]:
            best = passage
        if best.words == len(forms.words) or most >= len(searched.text):
            return best, matches
        searched_to = most
        final = end - MAX_ENDING - 1  # what ends here does not depend on the text that follows
        begin = max(0, final - forms.longest - MAX_ENDING)
    lacking = forms.words.difference(word for _, end, word in matches if end <= MAX_SCANNED_CHARACTERS)
    return _further(searched.text, forms, lacking, width, best, matches) if lacking else (best, matches)


def _further(
    text: str, forms: Forms, lacking: Set[str], width: int, best: "_Passage", around: list[Match]
) -> tuple["_Passage", list[Match]]:
    """The best passage, as `_best_passage` returns it, of those with words that the beginning lacks, or else `best`."""
    probes = [probe for probe in forms.probes if not lacking.isdisjoint(probe.endings.values())]
    others = [probe for probe in forms.probes if probe not in probes]
    begin, work = MAX_SCANNED_CHARACTERS, 0
    while begin < len(text) and best.words < len(forms.words) and work < MAX_FURTHER_WORK:
        first, end = begin - 2 * width, begin + _FURTHER
        part = Text(text[first : end + 2 * width])  # which is not kept
        found = matches_of(part, probes, 0, len(part.text))
        if found:
            found += matches_of(part, others, 0, len(part.text))
        # What begins a part may be the end of a word.
        matches = sorted((start + first, stop + first, word) for start, stop, word in found if start > MAX_ENDING)
        passage = _best([match for match in matches if match[1] <= end], width)
        if passage[:2] > best[:2]:
            best, around = passage, matches
        work += len(part.text) * (FOLDING + len(forms.probes if found else probes)) + MATCHING * len(found)
        begin = end
    return best, around


def _shown(text: str, start: int, end: int, has_code: bool) -> str:
    """A part of a text with white space collapsed, but for the line breaks and the indentation of code."""
    part = text[start:end]
    if part.isprintable() and "  " not in part:  # no white space but single spaces
        return part
    if not has_code:
        return _UNEVEN_SPACES.sub(" ", part)

    def shown(space: re.Match[str]) -> str:
        _, line_break, indentation = space[0].rpartition("\n")
        if not line_break:
            return " "
        if indentation.startswith(CODE):
            return "\n" + indentation.removeprefix(CODE)
        last_line = text.rfind("\n", 0, start + space.start()) + 1
        return "\n" if text[last_line] == CODE else " "

    return _UNEVEN_SPACES.sub(shown, part)


def _few_lines(pieces: Sequence[tuple[str, bool]]) -> Iterator[tuple[str, bool]]:
    """The pieces with the first line breaks of them, so that there are at most MAX_LINES lines."""
    left = MAX_LINES - 1
    for piece, is_match in pieces:
        if "\n" not in piece:
            yield piece, is_match
            continue
        lines = piece.split("\n")
        yield " ".join(["\n".join(lines[: left + 1]), *map(str.lstrip, lines[left + 1 :])]), is_match
        left = max(0, left - len(lines) + 1)


def cut(found: Snippet, characters: int) -> Snippet:
    """The beginning of a snippet, of at most so many characters.

    >>> cut((("A ", False), ("crawler", True), (" is", False)), 5)
    (('A ', False), ('cra', True))
    """
    pieces, left = list[tuple[str, bool]](), characters
    for piece, is_match in found:
        if left > 0:
            pieces.append((piece[:left], is_match))
        left -= len(piece)
    return Snippet(pieces)


def marked(text: str, forms: Mapping[str, str]) -> Snippet:
    """The whole text, with the forms of words marked in it.

    >>> marked("A crawler is polite.", {"polite": "polite"})
    (('A crawler is ', False), ('polite', True), ('.', False))
    """
    searched, end, pieces, start = Text(text), len(text), list[tuple[str, bool]](), 0
    matches = matches_of(searched, prepared(forms).probes, 0, end)
    for match_start, match_end in _merged(sorted(matches), 0, end):
        pieces += [(text[start:match_start], False), (text[match_start:match_end], True)]
        start = match_end
    return Snippet(piece for piece in (*pieces, (text[start:], False)) if piece[0])


def _sentence_before(text: str, place: int, reach: int) -> int | None:
    """The beginning of the last sentence or line that begins at most `reach` characters before a place, or there."""
    first = max(0, place - reach)
    begins = [match.end() for match in _SENTENCE_END.finditer(text, max(0, first - 1), place + 1)]
    return begins[-1] if begins else 0 if place <= reach else None


class _Passage(NamedTuple):
    words: int  # distinct ones
    matches: int
    start: int  # of the first match


_NOTHING = _Passage(0, 0, 0)


def _best(matches: Sequence[Match], width: int) -> _Passage:
    inside, reach = dict[str, int](), width * 3 // 4
    first, words, most, start = 0, 0, 0, 0
    for last, (_, end, word) in enumerate(matches):
        inside[word] = inside.get(word, 0) + 1
        begin = end - reach
        while first < last and matches[first][0] < begin:
            leaving = matches[first][2]
            if inside[leaving] > 1:
                inside[leaving] -= 1
            else:
                del inside[leaving]
            first += 1
        found = len(inside)
        if found > words or (found == words and last - first >= most):
            words, most, start = found, last - first + 1, matches[first][0]
    return _Passage(words, most, start)


def _whole_words(text: str, start: int, width: int) -> tuple[int, int]:
    """The bounds of a passage from about `start` on, moved inwards to the nearest spaces, or else to whole clusters."""
    reach = width // 8
    start = max(0, min(start, len(text) - width))
    end = min(len(text), start + width)
    if start and (space := re.search(r"\s+", text[start - 1 : start + reach])):
        start += space.end() - 1
    else:
        start = _cluster_start(text, start, reach)
    if end < len(text) and (space := re.search(r"\s+\S*$", text[end - reach : end + 1])):
        end += space.start() - reach
    else:
        end = _cluster_start(text, end, reach)
    return start, end


def _cluster_start(text: str, place: int, reach: int) -> int:
    """The place, or the beginning of the cluster that it is in; at most `reach` characters before it."""
    return next((before for before in range(place, place - reach, -1) if not is_inside_cluster(text, before)), place)


def _merged(matches: Sequence[Match], start: int, end: int) -> list[tuple[int, int]]:
    """The ranges of sorted matches between two places, with overlapping and adjacent ones joined."""
    merged: list[tuple[int, int]] = []
    for match in matches[bisect.bisect_left(matches, (start,)) :]:
        if match[0] >= end:
            break
        if match[1] > end:
            continue
        if merged and match[0] <= merged[-1][1]:
            merged[-1] = (merged[-1][0], max(match[1], merged[-1][1]))
        else:
            merged.append(match[:2])
    return merged
