"""Matches: the places of the forms of words in a text, many times faster than to divide the text into words."""

import functools
import re
import unicodedata
from typing import NamedTuple

from ...transforms.indexing.analysis import CJK

MAX_ENDING = 10
"""The most letters of a Korean word before and after a match that are marked with it."""

IN_CJK = re.compile(f"[{CJK}]")
_HANGUL = re.compile("[\uac00-\ud7a3]+")

Match = tuple[int, int, str]
"""The start and the end of a match, and the word. A text has many: a plain tuple is made several times faster."""

_ASCII = bytes(range(128))


def fold(text: str) -> str:
    """The text folded as in `analysis`, by character and only one to one, so that positions stay the same."""
    if text.isascii():
        return text.lower()
    # By bytes, which is many times faster than to look at each character.
    data = text.encode("utf-8", "replace")
    folds = {c: folded for c in {*data.translate(None, _ASCII).decode()} if (folded := _folded_letter(c)) != c}
    text = data.lower().decode()
    for character, folded in folds.items():
        text = text.replace(character, folded)
    return text


@functools.lru_cache(10_000)
def _folded_letter(letter: str) -> str:
    """A letter folded to one letter, or else its lower case."""
    lower = letter.replace("\u0130", "I").lower()  # the only letter whose lower case is two characters
    folded = unicodedata.normalize("NFKC", lower).casefold()
    return folded if len(folded) == 1 else lower


class Probe(NamedTuple):
    """Forms that begin alike: a text is searched once for all of them."""

    beginning: str
    endings: tuple[tuple[str, str], ...]  # each with the word of the form


@functools.lru_cache(1_000)
def probes_of(forms: tuple[tuple[str, str], ...]) -> list[Probe]:
    """The probes of forms, each with its word. What several begin with is at least half of each, or one of them.

    >>> for probe in probes_of((("server", "server"), ("go", "go"), ("serves", "serve"), ("gopher", "gopher"))):
    ...     print(probe.beginning, *probe.endings)
    go ('', 'go')
    gopher ('', 'gopher')
    serve ('r', 'server') ('s', 'serve')
    """
    groups = list[tuple[str, list[tuple[str, str]]]]()
    for form, word in sorted(forms):
        if groups and not IN_CJK.match(form):
            beginning, alike = groups[-1]
            common = _common_beginning(beginning, form)
            if len(common) > 2 and (common == alike[0][0] or 2 * len(common) >= len(form)):
                groups[-1] = common, [*alike, (form, word)]
                continue
        groups.append((form, [(form, word)]))
    return [Probe(common, tuple((form[len(common) :], word) for form, word in alike)) for common, alike in groups]


def _common_beginning(first: str, second: str) -> str:
    length = next((n for n, (a, b) in enumerate(zip(first, second, strict=False)) if a != b), len(first))
    return second[:length]


def matches_of(folded: str, probe: Probe, begin: int = 0) -> list[Match]:
    """The matches of the forms of a probe from a place on. Pairs of CJK may overlap; other forms match whole words."""
    (beginning, endings), length = probe, len(probe.beginning)
    places, word = _places(folded, beginning, begin), endings[0][1]
    if _HANGUL.match(beginning):  # the whole word: endings are written in one piece with it
        return [(*_hangul_around(folded, start, start + length), word) for start in places]
    if IN_CJK.match(beginning):
        return [(start, start + length, word) for start in places]
    return [
        (start, end, word)
        for start in places
        if not start or not (before := folded[start - 1]).isalnum() or IN_CJK.match(before)
        for ending, word in endings
        if folded.startswith(ending, start + length)
        if not _is_letter(folded[(end := start + length + len(ending)) : end + 1])
    ]


def _places(folded: str, beginning: str, begin: int) -> list[int]:
    """The places of letters in a text. Those of a single letter within words of Latin letters may be left out."""
    if len(beginning) == 1:  # most places of a letter are within words
        return [match.start() for match in _single(beginning).finditer(folded, begin)]
    places = []
    start = folded.find(beginning, begin)
    while start >= 0:
        places.append(start)
        start = folded.find(beginning, start + 1)
    return places


@functools.lru_cache(1_000)
def _single(letter: str) -> re.Pattern[str]:
    """A letter without a Latin letter or digit beside it. The letter comes first, so that the search is for it."""
    letter = re.escape(letter)
    return re.compile(f"{letter}(?![a-z0-9])(?<![a-z0-9]{letter})")


def _is_letter(character: str) -> bool:
    """Whether it is a letter or digit that words are made of; those of CJK scripts are not."""
    return character.isalnum() and not IN_CJK.match(character)


def _hangul_around(folded: str, start: int, end: int) -> tuple[int, int]:
    """The bounds of the Korean word that a match is in, as far as MAX_ENDING letters before and after the match."""
    before, after = folded[max(0, start - MAX_ENDING) : start], folded[end : end + MAX_ENDING]
    letters_before, letters_after = _HANGUL.match(before[::-1]), _HANGUL.match(after)
    return start - len(letters_before[0] if letters_before else ""), end + len(
        letters_after[0] if letters_after else ""
    )
