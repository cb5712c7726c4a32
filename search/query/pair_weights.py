"""Weights of the pairs of a run in a script without spaces, relative to a word.

A word in such a script is several pairs, which overlap. If each had the weight of a word, long words would outweigh
short ones, and all of them the names and numbers in other scripts beside them. So n pairs weigh as the square root of n
words. A run may be a whole sentence, which has several words: a pair weighs LEAST at least. In Japanese, the script
mostly changes where a word or its ending begins, so what is between two changes counts for itself, and pairs across one
have the weight ACROSS. How the numbers were chosen is in docs/decisions/weights.md.
"""

import re
from collections.abc import Sequence

from ...transforms.indexing.analysis import overlapping, runs

LEAST = 1 / 2
"""The least weight of a pair within one script."""

ACROSS = 1 / 3
"""The weight of a pair across two scripts."""

_HIRAGANA, _KATAKANA = "\u3041-\u309f", "\u30a0-\u30ff\u31f0-\u31ff"
_SAME_SCRIPT = re.compile(f"[{_HIRAGANA}]+|[{_KATAKANA}]+|[^{_HIRAGANA}{_KATAKANA}]+")


def pair_weights(text: str) -> dict[str, float]:
    """The weights of the terms of a text in scripts without spaces: of one that is repeated, that of its last place.

    >>> {pair: round(weight, 2) for pair, weight in pair_weights("Qtの日本語 リンク 全文").items()}
    {'の日': 0.33, '日本': 0.71, '本語': 0.71, 'リン': 0.71, 'ンク': 0.71, '全文': 1.0}
    """
    weights: dict[str, float] = {}
    for parts in runs(text):
        weights.update(zip(overlapping(parts), _of_run(parts), strict=True))
    return weights


def _of_run(parts: Sequence[str]) -> list[float]:
    """The weight of each term of a run."""
    weights: list[float] = []
    for same in _SAME_SCRIPT.finditer("".join(part[0] for part in parts)):
        pairs = same.end() - same.start() - 1
        weights += [max(LEAST, max(pairs, 1) ** -0.5)] * pairs + [ACROSS]
    return weights[:-1] or [1.0]
