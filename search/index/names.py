"""Scores the names of sections that a query may have in it: each as its words, and for a document one of them.

A name that one page has is rare, whoever gave it. By its own document frequency, and with all that overlap added up,
the links of one site would lift its page above those that the words name. So would a name that is a part of the query:
"lint group" is more than a section on lints. It counts by what it is of the query, as its words weigh there.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from ...transforms.indexing.analysis import words_of
from .bm25f import inverse_document_frequency
from .postings import NO_POSTINGS, Postings, Unit
from .scored import Scored, scored


def words_of_names(names: Sequence[str]) -> list[str]:
    """The words of names, each once."""
    return list(dict.fromkeys(word for name in names for word in words_of(name)))


class Named(NamedTuple):
    """The documents that have a name of the query for a section, with the score of the best one of each."""

    scored: Scored  # without frequencies
    names: Sequence[str]
    best: npt.NDArray[np.int64]  # the number of the best name, parallel to the postings

    def best_of(self, doc: int) -> str | None:
        """The best name of a document."""
        docs = self.scored.postings.docs
        place = int(docs.searchsorted(docs.dtype.type(doc)))
        return self.names[self.best[place]] if place < len(docs) and docs[place] == doc else None


def named(
    names: Sequence[str], found: Mapping[Unit, Scored], weight: Callable[[str], float], documents: int, size: int
) -> Named:
    """The documents with one of the names, each with the highest score of one, the first of equal ones.

    A name has the weight of all its words, by their frequency among `documents`, times their share in that of the words
    of all names. `found` has the names, with scores without that weight, and their words; a word has its `weight` in
    the query, but counts once. `size` counts the documents that have a number.
    """
    given = [name for name in names if len(found[name].scores)]
    if not given:
        return Named(scored(NO_POSTINGS, np.empty(0, np.float32), size), (), np.empty(0, np.int64))
    of_words = {
        word: inverse_document_frequency(documents, len(found[word].scores)) * min(1, weight(word))
        for word in words_of_names(names)
    }
    sums = [sum(of_words[word] for word in words_of(name)) for name in given]
    weights = [sum_ * min(1.0, sum_ / sum(of_words.values())) for sum_ in sums]  # a name may have a word twice
    docs = np.concatenate([found[name].postings.docs for name in given])
    scores = np.concatenate([found[name].scores * np.float32(of) for name, of in zip(given, weights, strict=True)])
    order = np.lexsort((-scores, docs))
    ascending = docs[order]
    best = order[np.append(True, ascending[1:] != ascending[:-1])]
    ends = np.cumsum([len(found[name].scores) for name in given])
    return Named(scored(Postings(docs[best], {}), scores[best], size), given, np.searchsorted(ends, best, "right"))
