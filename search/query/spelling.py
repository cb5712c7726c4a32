"""Spelling suggestions: the word of the index that is nearest to one that no page has, or hardly any."""

import functools
from collections.abc import Iterable

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


class Dictionary:
    """The words of an index that can be suggested."""

    def __init__(self, frequencies: Iterable[pa.Table]) -> None:
        """From tables of `term` and `df`. Words with digits and words of unusual length are left out."""
        words = pa.concat_tables(list(frequencies))
        names = words.filter(pc.match_substring_regex(words["term"], r"^_*[^\W_]+(?:_+[^\W_]+)+_*$"))
        self._in_one_piece = {name.replace("_", ""): name for name in names["term"].to_pylist()}
        words = words.filter(pc.match_substring_regex(words["term"], r"^\p{L}{3,24}$"))
        words = words.group_by("term").aggregate([("df", "sum")])
        self._words: list[str] = words["term"].to_pylist()
        self._documents = words["df_sum"].to_numpy()
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
        if not MIN_LENGTH <= len(word) <= MAX_LENGTH:
            return []
        found = extract(word, self._words, scorer=OSA.distance, score_cutoff=1 + (len(word) >= 8), limit=None)
        best = sorted(found, key=lambda match: (match[1], -int(self._documents[match[2]]), match[0]))[:MAX_NEAR]
        return [word for word, distance, _ in best if distance == best[0][1]]

    def _usual(self, word: str, documents: int) -> str | None:
        """The word that one of so many documents may be meant as: another by one letter, USUAL times as frequent.

        >>> words = Dictionary([pa.table({"term": ["seperate", "separate", "desperate"], "df": [1, 76, 10]})])
        >>> words.usual("seperate", 1), words.usual("separate", 76)
        ('separate', None)
        """
        if not MIN_LENGTH <= len(word) <= MAX_LENGTH:
            return None
        found = extract(word, self._words, scorer=OSA.distance, score_cutoff=1, limit=None)
        of_word = {term: int(self._documents[place]) for term, _, place in found if term != word}
        usual = max(of_word, key=lambda term: (of_word[term], term), default="")
        return usual if usual and of_word[usual] >= USUAL * documents else None
