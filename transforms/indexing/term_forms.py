"""Groups the terms of an index that are forms of one word.

The index holds exact forms, for phrases and so that nothing is indexed twice. A query word matches all forms with the
same `analysis.word_class` in the language of the document: "gift" matches "gifts" in English documents, and "Gifte" in
German ones.
"""

import itertools
from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from .analysis import STEMMERS, is_further, word_classes
from .invert import Inverted
from .light_stems import STEMS

_STEMMED = STEMMERS.keys() | STEMS.keys()


class Forms(NamedTuple):
    """The forms of a word in the documents of a language."""

    word_class: str
    language: str  # as `stemmed_as` gives it
    forms: list[str]  # sorted


def stemmed_as(language: str | None) -> str:
    """The stemming language of a document, by its language: itself if it has a stemmer, else "" (no stemming)."""
    return language if language in _STEMMED else ""


class Languages(NamedTuple):
    """The stemming languages of some documents."""

    names: list[str]
    codes: npt.NDArray[np.signedinteger]  # of each document, the place of its language in `names`


def languages_of(documents: Sequence[str | None]) -> Languages:
    """The stemming languages of documents of these languages.

    >>> languages_of(["en", None, "en"])
    Languages(names=['', 'en'], codes=array([1, 0, 1]))
    """
    names, codes = np.unique(np.array(list(map(stemmed_as, documents)), np.str_), return_inverse=True)
    return Languages(names.tolist(), codes)


def terms_by_language(index: Inverted, languages: Languages) -> dict[str, list[str]]:
    """The terms of the documents of each stemming language, sorted."""
    terms = np.repeat(np.arange(len(index.terms)), np.diff(index.starts))
    language_of = languages.codes[index.docs]
    found = {}
    for code, language in enumerate(languages.names):
        is_used = np.zeros(len(index.terms), bool)
        is_used[terms[language_of == code]] = True
        found[language] = list(itertools.compress(index.terms, is_used.tolist()))
    return found


def forms_of(terms: Mapping[str, Sequence[str]]) -> list[Forms]:
    """The forms of all words, sorted, without words whose only form is the class itself.

    `terms` are those of each language, sorted.
    """
    found = []
    for language, of_language in terms.items():
        used = [term for term in of_language if not is_further(term)]  # identifiers have one form, pairs are classes
        class_of = dict(zip(used, word_classes(used, language), strict=True))
        by_class: defaultdict[str, list[str]] = defaultdict(list)
        for term, word_class in class_of.items():
            if term != word_class:
                by_class[word_class].append(term)
        for word_class, forms in by_class.items():
            itself = [word_class] if class_of.get(word_class) == word_class else []
            found.append(Forms(word_class, language, sorted(itself + forms)))
    return sorted(found)
