"""Matches: the places of the forms of words in a text, many times faster than to divide the text into words."""

import bisect
import dataclasses
import functools
import itertools
import re
import string
import sys
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from typing import NamedTuple

import numpy as np

from ....transforms.indexing.analysis import (
    CJK,
    UNSEEN,
    clusters,
    is_inside_cluster,
    is_overlapping,
    is_unspaced,
)

MAX_ENDING = 10
"""The most letters of a Korean word before and after a match that are marked with it."""

IN_CJK = re.compile(f"[{CJK}]")
_HANGUL = re.compile("[\uac00-\ud7a3]+")
_SIGNS = re.compile("\uffff+")

Match = tuple[int, int, str]
"""The start and the end of a match, and the word. A text has many: a plain tuple is made several times faster."""

_LETTER_OF_FORM = re.compile("[\u0e48-\u0e4b\u0ec8-\u0ecb]?[\u0e33\u0eb3]|\u0eab[\u0e99\u0ea1]|.", re.DOTALL)
"""A letter of a term of an UNSPACED script; the others than the last are what texts have in another spelling."""

_LETTERS = string.ascii_letters + string.digits
_TO_WORDS = bytes(ord(chr(c).lower() if chr(c) in _LETTERS else " ") for c in range(256))
"""The translation of ASCII to folded letters and spaces."""


UNEVEN = re.compile("[\u00ad\u200c\u200d\u0300-\u036fßİŉǰΐΰև\u1e96-\u1e9e\u1f50-\u1ffc\ufb00-\ufb17\ufef5-\ufefc]")
"""Soft hyphens, joiners, marks apart from their letters, and letters of which terms have several, such as ß."""

SIGN = "\uffff"
"""What `Text.words` has for each of UNEVEN."""


class Text:
    """A text to search. What it is searched in is made as far as it is searched, and kept. Thread-safe."""

    def __init__(self, text: str) -> None:
        self.text = text
        self._words, self._folded = "  ", ""

    def words(self, end: int) -> str:
        """The words of the text up to `end` between spaces: folded letters in their places, one further to the right.

        Every other character, and those of scripts without spaces, is a space, but SIGN for UNEVEN.

        >>> Text("Herring, C++ and 全文x").words(40)
        ' herring  c   and   x '
        """
        words, end = self._words, min(end, len(self.text))
        if len(words) - 2 < end:  # another thread may do the same
            self._words = words = f"{words[:-1]}{_in_spaces(self.text[len(words) - 2 : end])} "
        return words

    def folded(self, end: int) -> str:
        """The text, folded, up to `end` at least."""
        folded = self._folded
        if len(folded) < min(end, len(self.text)):
            self._folded = folded = folded + fold(self.text[len(folded) : end])
        return folded


def _in_spaces(text: str) -> str:
    return text.encode().translate(_TO_WORDS).decode() if text.isascii() else _WORD_LETTERS.of(text)


def fold(text: str) -> str:
    """The text folded as in `analysis`, by character and only one to one, so that positions stay the same."""
    return text.lower() if text.isascii() else _FOLDED_LETTERS.of(text)


def _letter_or_space(character: str) -> str:
    folded = _folded_letter(character)
    return SIGN if UNEVEN.match(character) else folded if _is_letter(folded) else " "


def _folded_letter(letter: str) -> str:
    """A letter folded to one letter, or else its lower case."""
    lower = letter.replace("\u0130", "I").lower()  # the only letter whose lower case is two characters
    folded = unicodedata.normalize("NFKC", lower).casefold()
    return folded if len(folded) == 1 else lower


class _Letters:
    """Replaces each character by one other, by a table: 4 ns a character in any script. Thread-safe."""

    def __init__(self, replaced: Callable[[str], str]) -> None:
        self._replaced = replaced
        self._table = np.zeros(sys.maxunicode + 1, np.uint32)  # 0: not known yet. What is not used takes no memory

    def of(self, text: str) -> str:
        codes = np.frombuffer(text.encode(_CODES, "replace"), np.uint32)
        found = self._table.take(codes, mode="wrap")  # which is twice as fast; all codes are in the table
        if not found.all():
            for code in {*codes[found == 0].tolist()}:  # another thread may do the same
                self._table[code] = ord(self._replaced(chr(code)))
            found = self._table[codes]
        return found.tobytes().decode(_CODES)


_CODES = f"utf-32-{sys.byteorder[0]}e"
_WORD_LETTERS, _FOLDED_LETTERS = _Letters(_letter_or_space), _Letters(_folded_letter)


class Probe(NamedTuple):
    """Forms that begin alike: a text is searched once for all of them."""

    beginning: str
    endings: Mapping[str, str]  # each with the word of the form
    is_word: bool  # they are of letters alone, and `beginning` has a space before them: `Text.words` has them
    in_chain: bool = False  # it counts only where it overlaps the match of another form


@dataclasses.dataclass(frozen=True, eq=False)
class Forms:
    """The forms of words, prepared for searching texts. Equal only to itself, so that it is fast as a key."""

    words: frozenset[str]
    longest: int
    are_cjk: bool  # any of them
    probes: list[Probe]


@functools.lru_cache(1_000)
def kept(forms: tuple[tuple[str, str], ...]) -> Forms:
    """The same for the same forms, each with its word, as long as it is kept."""
    return prepared(dict(forms))


def prepared(forms: Mapping[str, str]) -> Forms:
    """Forms, each with its word. What several of a probe begin with is at least half of each, or one of them.

    >>> for probe in prepared({"server": "server", "go": "go", "serves": "serve", "gopher": "gopher"}).probes:
    ...     print(probe)
    Probe(beginning=' go', endings={'': 'go'}, is_word=True)
    Probe(beginning=' gopher', endings={'': 'gopher'}, is_word=True)
    Probe(beginning=' serve', endings={'r': 'server', 's': 'serve'}, is_word=True)
    """
    groups = list[tuple[str, dict[str, str], bool]]()
    for form, word in sorted(forms.items()):
        is_word = form.isalnum() and not is_overlapping(form)
        if is_word and groups and groups[-1][2]:
            beginning, alike, _ = groups[-1]
            common = _common_beginning(beginning, form)
            if len(common) > 2 and (common in alike or 2 * len(common) >= len(form)):
                groups[-1] = common, alike | {form: word}, True
                continue
        groups.append((form, {form: word}, is_word))
    chained = _chained(filter(is_unspaced, forms))
    probes = [
        Probe(
            " " * is_word + common,
            {form[len(common) :]: word for form, word in alike.items()},
            is_word,
            common in chained,
        )
        for common, alike, is_word in groups
    ]
    has_cjk = bool(IN_CJK.search("".join(forms)))
    return Forms(frozenset(forms.values()), max(map(len, forms), default=0), has_cjk, probes)


def _chained(forms: Iterable[str]) -> set[str]:
    """Those of some pairs of clusters that overlap another one: parts of a longer run of the query.

    >>> sorted(_chained(["พยา", "ยาบา", "ปลา"]))
    ['พยา', 'ยาบา']
    """
    parts = {form: clusters(form) for form in forms}
    pairs = {form: found for form, found in parts.items() if len(found) > 1}
    firsts, lasts = {found[0] for found in pairs.values()}, {found[-1] for found in pairs.values()}
    return {form for form, (first, *_, last) in pairs.items() if first in lasts or last in firsts}


def _common_beginning(first: str, second: str) -> str:
    length = next((n for n, (a, b) in enumerate(zip(first, second, strict=False)) if a != b), len(first))
    return second[:length]


def matches_of(text: Text, probes: Sequence[Probe], begin: int, end: int) -> list[Match]:
    """The matches of the forms of probes in a part of a text, those of a probe ascending.

    Pairs in scripts without spaces may overlap; other forms match whole words. What matches at `end` may be the
    beginning of a word.
    """
    is_alike = all(is_overlapping(probe.beginning) for probe in probes)  # in these scripts, nothing is UNEVEN
    if is_alike or SIGN not in (words := text.words(end)[begin : end + 2]):
        return _in_even(text, probes, begin, end)
    first = max(0, begin - 1)
    even, places, sources = _even(text.text[first:end], words[first - begin + 1 :])

    def source(place: int) -> int:
        part = bisect.bisect_right(places, place) - 1
        return first + min(sources[part] + place - places[part], sources[part + 1])

    return [
        (source(start), source(stop), word)
        for start, stop, word in _in_even(Text(even), probes, begin - first, len(even))
    ]


def _even(text: str, words: str) -> tuple[str, list[int], list[int]]:
    """A text with the letters that terms have for UNEVEN; where its parts begin, and where in the text."""
    pieces, places, sources, length = [""], [0], [0], 0
    for match in _SIGNS.finditer(words, 0, len(text)):
        start, end = match.span()
        start -= sources[-1] < start and "\u0300" <= text[start] <= "\u036f"  # a mark, after its letter
        joined = " " if "\u0600" <= text[start - 1 : start] <= "\u08ff" else ""  # as in `analysis`
        pieces += text[sources[-1] : start], _even_letters(text[start:end], joined)
        length += start - sources[-1]
        places += length, length + len(pieces[-1])
        sources += start, end
        length = places[-1]
    return "".join([*pieces, text[sources[-1] :]]), places, [*sources, len(text)]


@functools.lru_cache(10_000)
def _even_letters(uneven: str, joined: str) -> str:
    uneven = uneven.replace("\u00ad", "").replace("\u200d", "").replace("\u200c", joined)
    return unicodedata.normalize("NFKC", uneven).casefold()


def _in_even(text: Text, probes: Iterable[Probe], begin: int, end: int) -> list[Match]:
    """`matches_of` a text without UNEVEN."""
    found, words, unspaced, chained = list[Match](), "", list[Match](), set[str]()
    for probe in probes:
        if is_unspaced(probe.beginning):
            unspaced += _clusters_of(text.folded(end), begin, end, probe)
            chained.update(probe.endings.values() if probe.in_chain else ())
            continue
        if not probe.is_word:
            found += _parts_of(text.folded(end), begin, end, probe)
            continue
        words = words or text.words(end)[begin : end + 2]
        beginning, endings, *_ = probe
        # To divide a text once is faster than to search it often.
        first, *gaps = words.split(beginning)
        start, length = begin + len(first), len(beginning)
        for gap in gaps:
            ending = gap.partition(" ")[0]
            if ending in endings:
                found.append((start, start + length - 1 + len(ending), endings[ending]))
            start += length + len(gap)
    return found + _in_chains(unspaced, chained) if unspaced else found


def _in_chains(matches: list[Match], chained: Set[str]) -> list[Match]:
    """The matches of pairs of clusters, without those of `chained` words that overlap no other: they are chance."""
    matches.sort()
    ends = [0, *itertools.accumulate((end for _, end, _ in matches), max)]  # of all matches before
    starts = [*(start for start, _, _ in matches[1:]), sys.maxsize]
    return [
        match
        for match, before, following in zip(matches, ends, starts, strict=False)
        if match[2] not in chained or match[0] < before or following < match[1]
    ]


def _clusters_of(folded: str, begin: int, end: int, probe: Probe) -> Iterator[Match]:
    """The matches of a form of an UNSPACED script in a part of a folded text: at whole clusters."""
    ((_, word),) = probe.endings.items()
    for match in _as_written(probe.beginning).finditer(folded, begin, end):
        if not (is_inside_cluster(folded, match.start()) or is_inside_cluster(folded, match.end())):
            yield match.start(), match.end(), word


@functools.lru_cache(1_000)
def _as_written(form: str) -> re.Pattern[str]:
    """What matches a form in a folded text, which is not normalized, since that would change the places of letters."""
    return re.compile(f"{UNSEEN}?".join(map(_spellings, _LETTER_OF_FORM.findall(form))))


def _spellings(letter: str) -> str:
    """The spellings of a letter that the analysis makes one: am with its tone, and the composed ho of Lao."""
    if letter[-1] in "\u0e33\u0eb3":
        tone, parts = letter[:-1], unicodedata.normalize("NFKC", letter[-1])
        return f"(?:{letter}|{parts[0]}{tone}{parts[1]}|{tone}{parts})"
    if len(letter) == 2:
        composed = "\u0edc" if letter[1] == "\u0e99" else "\u0edd"
        return f"(?:{letter}|{composed})"
    return re.escape(letter)


def _parts_of(folded: str, begin: int, end: int, probe: Probe) -> list[Match]:
    """The matches of a form that is not one word of `Text.words` in a part of a folded text."""
    form, word = probe.beginning, probe.endings[""]
    length, places = len(form), []
    start = folded.find(form, begin, end)
    while start >= 0:
        places.append(start)
        start = folded.find(form, start + 1, end)
    if _HANGUL.match(form):  # the whole word: endings are written in one piece with it
        return [(*_hangul_around(folded, start, start + length), word) for start in places]
    if IN_CJK.match(form):
        return [(start, start + length, word) for start in places]
    return [
        (start, start + length, word)
        for start in places
        if not start or not _is_letter(folded[start - 1])
        if not _is_letter(folded[start + length : start + length + 1])
    ]


def _is_letter(character: str) -> bool:
    """Whether it is a letter or digit that words are made of; those of scripts without spaces are not."""
    return character.isalnum() and character not in "\u02bb\u02bc" and not is_overlapping(character)


def _hangul_around(folded: str, start: int, end: int) -> tuple[int, int]:
    """The bounds of the Korean word that a match is in, as far as MAX_ENDING letters before and after the match."""
    before, after = folded[max(0, start - MAX_ENDING) : start], folded[end : end + MAX_ENDING]
    letters_before, letters_after = _HANGUL.match(before[::-1]), _HANGUL.match(after)
    return start - len(letters_before[0] if letters_before else ""), end + len(
        letters_after[0] if letters_after else ""
    )
