"""Which terms of an index are forms of one word.

The index holds exact forms, for phrases and so that nothing is indexed twice. What a word matches beyond its exact
form is looked up here: all forms with the same `analysis.word_class` in the language of the document that has them.
So "gift" finds "gifts" in English documents, and in German ones it finds "Gifte".
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from .analysis import STEMMERS, word_classes
from .invert import Inverted


class Forms(NamedTuple):
    """The forms of a word in the documents of a language."""

    word_class: str
    language: str  # as `stemmed_as` gives it
    forms: list[str]  # sorted


def stemmed_as(language: str | None) -> str:
    """How the words of a document are stemmed, by its language: one with a stemmer, or "" for not at all."""
    return language if language in STEMMERS else ""


def terms_by_language(index: Inverted, languages: Sequence[str]) -> dict[str, list[str]]:
    """The terms that documents of each language have, sorted; `languages` has how each document is stemmed."""
    names, codes = np.unique(np.array(languages, dtype=np.str_), return_inverse=True)
    terms = np.repeat(np.arange(len(index.terms)), np.diff(index.starts))
    pairs = np.unique(codes[index.docs] * np.int64(len(index.terms)) + terms)
    found = {}
    for code, language in enumerate(names.tolist()):
        first, last = np.searchsorted(pairs, [code * len(index.terms), (code + 1) * len(index.terms)])
        found[language] = [index.terms[number] for number in pairs[first:last] - code * len(index.terms)]
    return found


def forms_of(terms: Mapping[str, Sequence[str]]) -> list[Forms]:
    """The forms of all words, sorted, but for those that have one form which is the class itself.

    `terms` are those of each language, sorted.
    """
    found = []
    for language, used in terms.items():
        class_of = dict(zip(used, word_classes(used, language), strict=True))
        by_class: defaultdict[str, list[str]] = defaultdict(list)
        for term, word_class in class_of.items():
            if term != word_class:
                by_class[word_class].append(term)
        for word_class, forms in by_class.items():
            itself = [word_class] if class_of.get(word_class) == word_class else []
            found.append(Forms(word_class, language, sorted(itself + forms)))
    return sorted(found)
