"""Finds phrases in texts, ignoring letter case, character width and white space."""

import re
import unicodedata
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from ..indexing.analysis import CJK

_CONTEXT = 60  # characters before and after a phrase

# Scripts without spaces (CJK) have no word boundaries: a phrase may start and end within a run of letters.
_LETTER = rf"[^\W{CJK}]"


class PhraseMatch(NamedTuple):
    """A phrase found in a text."""

    phrase: str  # as configured
    times: int
    context: str  # text around the first occurrence, folded


class Phrases:
    """Phrases to find, as whole words."""

    def __init__(self, phrases: Iterable[str]) -> None:
        self._phrases = [(phrase, key, _pattern(key)) for phrase in phrases if (key := fold(phrase))]

    def find(self, text: str) -> Iterator[PhraseMatch]:
        """The phrases in a text, in configured order."""
        folded = fold(text) if self._phrases else ""
        for phrase, key, pattern in self._phrases:
            # Most texts hold none of the phrases; the substring test takes a hundredth of the time of the pattern.
            if key in folded and (matches := list(pattern.finditer(folded))):
                start, end = matches[0].span()
                yield PhraseMatch(phrase, len(matches), folded[max(0, start - _CONTEXT) : end + _CONTEXT].strip())


def fold(text: str) -> str:
    """The text in NFKC, case-folded, without soft hyphens, white space collapsed.

    >>> fold("ＡＣＭＥ  Straße\\n Co.")
    'acme strasse co.'
    """
    return " ".join(unicodedata.normalize("NFKC", text).replace("\u00ad", "").casefold().split())


def _pattern(key: str) -> re.Pattern[str]:
    before = f"(?<!{_LETTER})" if re.match(_LETTER, key[0]) else ""
    after = f"(?!{_LETTER})" if re.match(_LETTER, key[-1]) else ""
    return re.compile(before + re.escape(key) + after)
