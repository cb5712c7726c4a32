"""Spelling suggestions: the word of the index that is nearest to one that it does not contain."""

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


class Dictionary:
    """The words of an index that can be suggested."""

    def __init__(self, frequencies: Iterable[pa.Table]) -> None:
        """From tables of `term` and `df`. Words with digits and words of unusual length are left out."""
        words = pa.concat_tables(list(frequencies))
        words = words.filter(pc.match_substring_regex(words["term"], r"^\p{L}{3,24}$"))
        words = words.group_by("term").aggregate([("df", "sum")])
        self._words: list[str] = words["term"].to_pylist()
        self._documents = words["df_sum"].to_numpy()

    def near(self, word: str) -> list[str]:
        """The nearest words, all at the same distance, at most MAX_NEAR, the most frequent ones first.

        Distance counts insertions, deletions, substitutions and transpositions of letters: at most one, or two for
        words of 8 letters and more.

        >>> words = Dictionary([pa.table({"term": ["search", "starch", "sea"], "df": [9, 1, 2]})])
        >>> words.near("serach"), words.near("research"), words.near("starh")
        (['search'], ['search'], ['starch'])
        """
        if not MIN_LENGTH <= len(word) <= MAX_LENGTH:
            return []
        found = extract(word, self._words, scorer=OSA.distance, score_cutoff=1 + (len(word) >= 8), limit=None)
        best = sorted(found, key=lambda match: (match[1], -int(self._documents[match[2]]), match[0]))[:MAX_NEAR]
        return [word for word, distance, _ in best if distance == best[0][1]]
