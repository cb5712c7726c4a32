"""What Korean words are made of, to be found by beside the bigrams of `analysis`.

Bigrams run over the seams of words: 생선 (fish) stands in 대학생선교회 (a student mission). And they hide words of one
syllable behind their particles: 물 (water) does not stand in 물을. A dictionary knows better, kiwipiepy's, which comes
with the extra `korean`.

A word is taken apart by itself and not in its sentence, so that a document and a query come to the same morphemes, and
a word that was met before costs nothing. Takes half a gigabyte of memory, and about 0.1 ms for a new word.
"""

import functools
import importlib.util
import itertools
import re
import unicodedata
from typing import Any

PREFIX = "ko:"
"""What the terms of morphemes begin with, and others cannot: 검색 is a bigram, ko:검색 a noun."""

ANALYSED = PREFIX
"""The term of every document whose words were taken apart: an index says by it that it knows morphemes."""

HOW_TO_INSTALL = "pip install 'beamtrawl[korean]'"

MAX_WORDS = 20_000
"""Words of a text that are taken apart; bigrams find the others."""

_HANGUL = "\uac00-\ud7a3"
_WORD = re.compile(f"[A-Za-z0-9]*[{_HANGUL}][A-Za-z0-9{_HANGUL}]*")  # what follows Latin letters is often a particle
_LONGEST = 24  # characters of a word
# Nouns, names, numerals, verbs, adjectives and roots. What is left out are particles, endings, affixes and their like.
_TELLING = frozenset({"NNG", "NNP", "NR", "VV", "VA", "XR"})


def is_korean(text: str) -> bool:
    """Whether there is Hangul in a text."""
    return _WORD.search(unicodedata.normalize("NFKC", text)) is not None


def is_available() -> bool:
    """Whether the extra is installed."""
    return importlib.util.find_spec("kiwipiepy") is not None


def morphemes(text: str) -> list[str]:
    """The terms of a text's Korean morphemes that tell what it is about; of verbs and adjectives, the stems.

    In the order of the words, each as often as it occurs.
    """
    words = _WORD.finditer(unicodedata.normalize("NFKC", text))
    return [term for word in itertools.islice(words, MAX_WORDS) for term in _of_word(word[0])]


@functools.lru_cache(1 << 16)
def _of_word(word: str) -> tuple[str, ...]:
    if len(word) > _LONGEST:
        return ()
    return tuple(PREFIX + part.form for part in _kiwi().tokenize(word) if part.tag.partition("-")[0] in _TELLING)


@functools.cache
def _kiwi() -> Any:
    from kiwipiepy import Kiwi

    return Kiwi(num_workers=1)
