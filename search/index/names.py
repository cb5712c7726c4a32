"""Scores the names of sections that a query may have in it: each as its words, and for a document one of them.

A name that one page has is rare, whoever gave it. By its own document frequency, and with all that overlap added up,
the links of one site would lift its page above those that the words name.
"""

from collections.abc import Mapping, Sequence

import numpy as np

from ...transforms.indexing.analysis import words_of
from .bm25f import inverse_document_frequency
from .postings import Unit
from .scored import Scored, scored


def words_of_names(names: Sequence[str]) -> list[str]:
    """The words of names, each once."""
    return list(dict.fromkeys(word for name in names for word in words_of(name)))


def of_each(names: Sequence[str], found: Mapping[Unit, Scored], documents: int, size: int) -> dict[Unit, Scored]:
    """The names with the scores that count: of each document the highest score of a name, the first of equal ones.

    A name has the weight of all its words, by their frequency among `documents`. `found` has the names, with scores
    without that weight, and their words; `size` counts the documents that have a number. Names that no document has
    are left out.
    """
    names = [name for name in names if len(found[name].scores)]
    if not names:
        return {}
    weights = [
        sum(inverse_document_frequency(documents, len(found[word].scores)) for word in words_of(name)) for name in names
    ]
    parts = [found[name].scores * np.float32(weight) for name, weight in zip(names, weights, strict=True)]
    docs = np.concatenate([found[name].postings.docs for name in names])
    scores = np.concatenate(parts)
    order = np.lexsort((-scores, docs))
    is_best = np.zeros(len(docs), bool)
    is_best[order] = np.diff(docs[order], prepend=-1) > 0
    counted = np.split(scores * is_best, np.cumsum(list(map(len, parts)))[:-1])
    return {name: scored(found[name].postings, part, size) for name, part in zip(names, counted, strict=True)}
