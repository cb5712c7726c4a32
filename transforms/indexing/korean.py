"""Korean morphemes as additional index terms, beside the bigrams of `analysis`.

Bigrams cross morpheme boundaries: 생선 (fish) is a bigram of 대학생선교회 (a student mission). And a word of one
syllable with a particle has no bigram of its own: 물 (water) is none of 물을. The dictionary of kiwipiepy, which comes
with the extra `korean`, solves both.

Each word is analysed alone, not in its sentence, so that a document and a query give the same morphemes, and results
are cached by word. Takes half a gigabyte of memory, and about 0.1 ms for a new word.
"""

import functools
import importlib.util
import itertools
import re
import unicodedata
from typing import Any

PREFIX = "ko:"
"""The prefix of morpheme terms, which no other term has: 검색 is a bigram, ko:검색 a noun."""

ANALYSED = PREFIX
"""The term of every document with morphemes: an index that has this term has morphemes."""

HOW_TO_INSTALL = "pip install 'beamtrawl[korean]'"

MAX_WORDS = 20_000
"""Words of a text that are analysed; the others have bigrams only."""

_HANGUL = "\uac00-\ud7a3"
# Hangul after Latin letters is often a particle. A match begins where a word does: long words are read once.
_WORD = re.compile(f"(?<![A-Za-z0-9])[A-Za-z0-9]*+[{_HANGUL}][A-Za-z0-9{_HANGUL}]*")
_MAX_WORD_LENGTH = 24  # characters of a word
# Nouns, names, numerals, verbs, adjectives and roots; not particles, endings and affixes.
_CONTENT_TAGS = frozenset({"NNG", "NNP", "NR", "VV", "VA", "XR"})


def is_korean(text: str) -> bool:
    """Whether a text contains Hangul."""
    return _WORD.search(unicodedata.normalize("NFKC", text)) is not None


def is_available() -> bool:
    """Whether the extra is installed."""
    return importlib.util.find_spec("kiwipiepy") is not None


def morphemes(text: str) -> list[str]:
    """The terms of the content morphemes of a text; of verbs and adjectives, the stems.

    In the order of the words, each as often as it occurs.
    """
    words = _WORD.finditer(unicodedata.normalize("NFKC", text))
    return [term for word in itertools.islice(words, MAX_WORDS) for term in _of_word(word[0])]


@functools.lru_cache(1 << 16)
def _of_word(word: str) -> tuple[str, ...]:
    if len(word) > _MAX_WORD_LENGTH:
        return ()
    return tuple(PREFIX + part.form for part in _kiwi().tokenize(word) if part.tag.partition("-")[0] in _CONTENT_TAGS)


@functools.cache
def _kiwi() -> Any:
    from kiwipiepy import Kiwi

    return Kiwi(num_workers=1)
