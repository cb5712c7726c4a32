"""Snippets: the passage of a text with the best matches, and the marking of matches."""

import re
import unicodedata
from collections import Counter
from collections.abc import Mapping
from typing import NamedTuple

from ...transforms.indexing.analysis import CJK

WIDTH = 220
"""The approximate length of a snippet in characters; CJK characters count twice."""

MAX_SCANNED_CHARACTERS = 50_000
"""The number of characters of a text that are searched for a passage."""

MAX_ENDING = 10
"""The most letters of a Korean word before and after a match that are marked with it."""


class Snippet(tuple[tuple[str, bool], ...]):
    """Pieces of text in their order, each with whether it is a match; `str` gives the text."""

    def __str__(self) -> str:
        return "".join(piece for piece, _ in self)


_SPACES = re.compile(r"\s+")
_CJK = re.compile(f"[{CJK}]")
_HANGUL = re.compile("[\uac00-\ud7a3]+")
_LETTER = re.compile(rf"[^\W_{CJK}]")


class _Match(NamedTuple):
    start: int
    end: int
    word: str


def snippet(text: str, forms: Mapping[str, str], width: int = WIDTH) -> Snippet:
    """A passage of the text of about `width` characters, with the forms of words marked in it.

    It is the passage with the most distinct words, of these the one with the most matches, of these the first; without
    a match it is the beginning. `forms` are terms of `analysis.tokens`, each with the word that it is a form of.

    >>> snippet("Nothing here. A crawler is polite.", {"polite": "polite", "crawler": "crawl"})
    (('Nothing here. A ', False), ('crawler', True), (' is ', False), ('polite', True), ('.', False))
    """
    text = text[:MAX_SCANNED_CHARACTERS].strip()
    matches = _matches(_folded(text), forms)
    if _CJK.match(text) or any(_CJK.match(form) for form in forms):
        width //= 2
    start, end = _whole_words(text, _best_start(matches, width), width)
    pieces = [("… ", False)] if start else []
    for match_start, match_end in _merged(matches):
        if start <= match_start and match_end <= end:
            pieces += [(text[start:match_start], False), (text[match_start:match_end], True)]
            start = match_end
    pieces.append((text[start:end], False))
    if end < len(text):
        pieces.append((" …", False))
    return Snippet((_SPACES.sub(" ", piece), marked) for piece, marked in pieces if piece)


def without_title(text: str, title: str) -> str:
    """The text without a first line that repeats the title or its beginning or end, if there are further lines.

    >>> without_title("Herring\\nA fish.", "Herring – Fish of the sea"), without_title("Herring", "Herring")
    ('A fish.', 'Herring')
    """
    line, _, rest = text.lstrip().partition("\n")
    name, whole = (" ".join(words.split()).casefold() for words in (line, title))
    repeats = bool(name) and (f"{whole} ".startswith(f"{name} ") or f" {whole}".endswith(f" {name}"))
    return rest.lstrip() if repeats and rest.strip() else text


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
    pieces, start = list[tuple[str, bool]](), 0
    for match_start, match_end in _merged(_matches(_folded(text), forms)):
        pieces += [(text[start:match_start], False), (text[match_start:match_end], True)]
        start = match_end
    return Snippet(piece for piece in (*pieces, (text[start:], False)) if piece[0])


# Characters outside these ranges may fold; none of the CJK ones listed does.
_MAY_FOLD = re.compile("[^\x00-\x7f\u3041-\u30fe\u4e00-\u9fff\uac00-\ud7a3]+")


def _folded(text: str) -> str:
    """The text folded as in `analysis`, by character and only one to one, so that positions stay the same."""
    text = text.replace("\u0130", "I").lower()  # the only letter whose lower case is two characters
    for character in set("".join(_MAY_FOLD.findall(text))):
        folded = unicodedata.normalize("NFKC", character).casefold()
        if len(folded) == 1 and folded != character:
            text = text.replace(character, folded)
    return text


def _matches(folded: str, forms: Mapping[str, str]) -> list[_Match]:
    """The matches of forms, in order. CJK bigrams may overlap; other forms match whole words."""
    found = []
    for form, word in forms.items():
        is_pair = _CJK.match(form)
        start = folded.find(form)
        while start >= 0:
            end = start + len(form)
            if _HANGUL.match(form):  # the whole word: endings are written in one piece with it
                begin, end = _hangul_around(folded, start, end)
                found.append(_Match(begin, end, word))
            elif is_pair or not (_LETTER.match(folded, end) or (start and _LETTER.match(folded, start - 1))):
                found.append(_Match(start, end, word))
            start = folded.find(form, start + 1)
    return sorted(found)


def _hangul_around(folded: str, start: int, end: int) -> tuple[int, int]:
    """The bounds of the Korean word that a match is in, as far as MAX_ENDING letters before and after the match."""
    before, after = folded[max(0, start - MAX_ENDING) : start], folded[end : end + MAX_ENDING]
    letters_before, letters_after = _HANGUL.match(before[::-1]), _HANGUL.match(after)
    return start - len(letters_before[0] if letters_before else ""), end + len(
        letters_after[0] if letters_after else ""
    )


def _best_start(matches: list[_Match], width: int) -> int:
    """The start of the passage: a little before the best group of matches."""
    inside: Counter[str] = Counter()
    first, best, best_start = 0, (0, 0), 0
    for last, match in enumerate(matches):
        inside[match.word] += 1
        while first < last and match.end - matches[first].start > width * 3 // 4:
            leaving = matches[first].word
            inside[leaving] -= 1
            if not inside[leaving]:
                del inside[leaving]
            first += 1
        worth = (len(inside), last - first)
        if worth > best:
            best, best_start = worth, matches[first].start
    return max(0, best_start - width // 5)


def _whole_words(text: str, start: int, width: int) -> tuple[int, int]:
    """The bounds of a passage from about `start` on, moved inwards to the nearest spaces."""
    reach = width // 8
    start = max(0, min(start, len(text) - width))
    end = min(len(text), start + width)
    if start and (space := re.search(r"\s+", text[start - 1 : start + reach])):
        start += space.end() - 1
    if end < len(text) and (space := re.search(r"\s+\S*$", text[end - reach : end + 1])):
        end += space.start() - reach
    return start, end


def _merged(matches: list[_Match]) -> list[tuple[int, int]]:
    """The ranges of the matches, with overlapping and adjacent ones joined."""
    merged: list[tuple[int, int]] = []
    for start, end, _ in matches:
        if merged and start <= merged[-1][1]:
            merged[-1] = (merged[-1][0], max(end, merged[-1][1]))
        else:
            merged.append((start, end))
    return merged
