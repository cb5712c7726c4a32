"""Spelling suggestions: the word of the index that is nearest to one that no page has, or hardly any."""

import functools
from collections import Counter
from collections.abc import Iterable
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
from rapidfuzz.distance import OSA
from rapidfuzz.process import extract

MIN_LENGTH = 4
"""The fewest characters of a word that gets a suggestion."""

MAX_LENGTH = 26
"""The most characters of a word that gets a suggestion: two more than the longest words that are suggested."""

MAX_NEAR = 3
"""The most words that are searched for in place of one that no document contains."""


USUAL = 20
"""How many times as many documents have a word as have one that is taken for a misspelling of it."""

RARE = 1_000
"""A word of more than one document in so many is no misspelling."""

_MAX_CACHED = 1_000

_SOME = 1 << 14  # words whose bytes fit into a cache
_BITS = np.uint64(1) << (np.arange(256, dtype=np.uint64) & np.uint64(63))  # of bytes


class _Words(NamedTuple):
    """Words of a segment, with what tells most of those apart that are not alike."""

    terms: pa.Array
    documents: npt.NDArray[np.integer]
    lengths: npt.NDArray[np.integer]
    letters: npt.NDArray[np.uint64]  # a bit for each letter of a word; some letters share one

    @classmethod
    def of(cls, rows: pa.Table) -> "_Words":
        terms = rows["term"].combine_chunks()
        parts = [_letters(terms.slice(first, _SOME)) for first in range(0, len(terms), _SOME)]
        letters = np.concatenate([np.empty(0, np.uint64), *parts])
        return cls(terms, rows["df"].to_numpy(), pc.utf8_length(terms).to_numpy(), letters)

    def alike(self, word: "_Words", most: int) -> npt.NDArray[np.integer]:
        """The numbers of the words that may differ from one by at most so many letters, and others."""
        is_alike = np.bitwise_count(self.letters ^ word.letters) <= 2 * most  # a substitution takes one and adds one
        return np.flatnonzero(is_alike & (np.abs(self.lengths - word.lengths) <= most))


def _letters(terms: pa.StringArray) -> npt.NDArray[np.uint64]:
    """The bits of each word: a letter has that of the lowest six bits of its number, which its last byte has, too."""
    _, starts, data = terms.buffers()
    bounds = np.frombuffer(starts, np.int32)[terms.offset :][: len(terms) + 1]
    codes = np.frombuffer(data, np.uint8)[bounds[0] : bounds[-1]]
    bits = np.take(_BITS, codes)
    bits[:-1][codes[1:] >> 6 == 0b10] = 0  # before a byte that goes on a letter
    return np.bitwise_or.reduceat(bits, bounds[:-1] - bounds[0])


class Dictionary:
    """The words of an index that can be suggested."""

    def __init__(self, frequencies: Iterable[pa.Table]) -> None:
        """From tables of `term` and `df`, of the terms that are `suggestible`; one may be in several."""
        self._parts, self._in_one_piece = list[_Words](), dict[str, str]()
        for rows in frequencies:
            is_name = pc.match_substring(rows["term"], "_")
            self._in_one_piece |= {name.replace("_", ""): name for name in rows["term"].filter(is_name).to_pylist()}
            self._parts.append(_Words.of(rows.filter(pc.invert(is_name))))
        self.usual = functools.lru_cache(_MAX_CACHED)(self._usual)

    def near(self, word: str) -> list[str]:
        """The nearest words, all at the same distance, at most MAX_NEAR, the most frequent ones first.

        An identifier is the nearest one to its letters in one piece: `push_back` to `pushback`.

        Distance counts insertions, deletions, substitutions and transpositions of letters: at most one, or two for
        words of 8 letters and more.

        >>> words = Dictionary([pa.table({"term": ["search", "starch", "sea"], "df": [9, 1, 2]})])
        >>> words.near("serach"), words.near("research"), words.near("starh")
        (['search'], ['search'], ['starch'])
        """
        if name := self._in_one_piece.get(word):
            return [name]
        found = self._within(word, 1 + (len(word) >= 8))
        best = sorted(found, key=lambda match: (match[1], -found[match], match[0]))[:MAX_NEAR]
        return [word for word, distance in best if distance == best[0][1]]

    def _usual(self, word: str, documents: int) -> str | None:
        """The word that one of so many documents may be meant as: another by one letter, USUAL times as frequent.

        >>> words = Dictionary([pa.table({"term": ["seperate", "separate", "desperate"], "df": [1, 76, 10]})])
        >>> words.usual("seperate", 1), words.usual("separate", 76)
        ('separate', None)
        """
        of_word = {term: count for (term, _), count in self._within(word, 1).items() if term != word}
        usual = max(of_word, key=lambda term: (of_word[term], term), default="")
        return usual if usual and of_word[usual] >= USUAL * documents else None

    def _within(self, word: str, most: int) -> Counter[tuple[str, float]]:
        """The documents of each word within a distance, which is at most `most`, by the word and its distance."""
        found = Counter[tuple[str, float]]()
        if MIN_LENGTH <= len(word) <= MAX_LENGTH:
            asked = _Words.of(pa.table({"term": [word], "df": [0]}))
            for part in self._parts:
                numbers = part.alike(asked, most)
                terms = part.terms.take(pa.array(numbers)).to_pylist()
                for term, distance, place in extract(word, terms, scorer=OSA.distance, score_cutoff=most, limit=None):
                    found[term, distance] += int(part.documents[numbers[place]])
        return found
