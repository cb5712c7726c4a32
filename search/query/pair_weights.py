"""What the pairs of a run in a script without spaces count for in a query, relative to a word.

A word in such a script is several pairs, which overlap. If each had the weight of a word, long words would outweigh
short ones, and all of them the names and numbers in other scripts beside them. So n pairs weigh as the square root of n
words. A run may be a whole sentence, which has several words: a pair weighs LEAST at least. In Japanese, the script
mostly changes where a word or its ending begins, so what is between two changes counts for itself, and pairs across one
have the weight ACROSS. How the numbers were chosen is in docs/measurements/search.md.
"""

import itertools
import re
from collections import defaultdict
from collections.abc import Iterator, Sequence

from ...transforms.indexing.analysis import overlapping, runs

LEAST = 1 / 2
"""The least weight of a pair within one script."""

ACROSS = 1 / 3
"""The weight of a pair across two scripts."""

_HIRAGANA, _KATAKANA = "\u3041-\u309f", "\u30a0-\u30ff\u31f0-\u31ff"
_HANGUL = "\u1100-\u11ff\u3131-\u318f\ua960-\ua97f\uac00-\ud7ff"
_SCRIPT = re.compile(f"([{_HIRAGANA}])|([{_KATAKANA}])|([{_HANGUL}])")


def pair_weights(text: str) -> dict[str, float]:
    """The weights of the terms of a text in scripts without spaces: each the mean over its occurrences.

    >>> {pair: round(weight, 2) for pair, weight in pair_weights("Qtの日本語 リンク 全文").items()}
    {'の日': 0.33, '日本': 0.71, '本語': 0.71, 'リン': 0.71, 'ンク': 0.71, '全文': 1.0}
    """
    weights: defaultdict[str, list[float]] = defaultdict(list)
    for parts in runs(text):
        for term, weight in _of_run(parts):
            weights[term].append(weight)
    return {term: sum(each) / len(each) for term, each in weights.items()}


def _of_run(parts: Sequence[str]) -> Iterator[tuple[str, float]]:
    """The terms of a run with their weights."""
    scripts = [found.lastindex if (found := _SCRIPT.match(part)) else None for part in parts]
    within: list[float] = []  # by part, the weight of a pair of its script
    for _, same in itertools.groupby(scripts):
        length = sum(1 for _ in same)
        within += [max(LEAST, max(length - 1, 1) ** -0.5)] * length
    for place, term in enumerate(overlapping(parts)):
        yield term, within[place] if len(set(scripts[place : place + 2])) == 1 else ACROSS
