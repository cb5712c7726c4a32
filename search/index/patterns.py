"""Patterns of words: dja* for all words that begin so.

In scripts without spaces the user writes no patterns, since terms are parts of runs. A single cluster is one: น้ำ* for
all pairs of clusters that begin with น้ำ.
"""

import re
import unicodedata

from ...transforms.indexing.analysis import CJK, MAX_TERM_LENGTH, UNSPACED, clusters, is_further, is_unspaced

MAX_WORDS = 200
"""The most words that a pattern stands for: the most frequent ones."""

_HAN_OR_KANA = re.compile(rf"(?![\u1100-\u11ff\u3131-\u318f\uac00-\ud7ff])[{CJK}]")
_PATTERN = re.compile(rf"_*[^\W_{CJK}{UNSPACED}]{{2}}(?:[^\W{CJK}{UNSPACED}]|\*)*")


def pattern(text: str) -> str | None:
    """The pattern that a token is, in the form of terms; None if it is none.

    A pattern begins with two letters or digits at least, after underscores or none, and has an asterisk for any number
    of letters and digits; for underscores, too, if the pattern has one, and so is of an identifier.

    >>> pattern("Dja*"), pattern("py*on"), pattern("__sl*"), pattern("d*"), pattern("django"), pattern("*args")
    ('dja*', 'py*on', '__sl*', None, None, None)
    """
    if "*" not in text or not _PATTERN.fullmatch(text):
        return None
    folded = unicodedata.normalize("NFKC", text).casefold()
    return folded if _PATTERN.fullmatch(folded) and len(folded) <= MAX_TERM_LENGTH else None


def with_beginnings(term: str, is_alone: bool) -> str:
    """The term; of a single cluster, or of a character alone that is no Hangul, the pattern of all that begin so.

    >>> [with_beginnings(term, True) for term in ("น้ำ", "ไทย", "水", "물", "water")], with_beginnings("の", False)
    (['น้ำ*', 'ไทย', '水*', '물', 'water'], 'の')
    """
    is_single = len(clusters(term)) == 1 if is_unspaced(term) else is_alone and bool(_HAN_OR_KANA.fullmatch(term))
    return f"{term}*" if is_single else term


def is_pattern(term: str) -> bool:
    """Whether a unit is a pattern: words have no asterisks, URLs may."""
    return "*" in term and "://" not in term


def prefix(pattern: str) -> str:
    """The letters before the first asterisk."""
    return pattern.partition("*")[0]


def expression(pattern: str) -> str:
    """The regular expression, of RE2, of the words that a pattern matches."""
    some = "[^ ]*" if is_further(pattern) else "[^_]*"  # neither has pairs
    return f"^{some.join(map(re.escape, pattern.split('*')))}$"
