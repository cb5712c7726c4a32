"""How well documents answer a query: BM25F, as pure functions of arrays.

S. Robertson and H. Zaragoza, "The Probabilistic Relevance Framework: BM25 and Beyond", 2009, section 3.6: a
term's frequencies are first summed over the fields, each weighted and divided by the field's relative length;
the sum then saturates, once. So a term in the title is worth several in the body, but never two terms.
"""

import math
from collections.abc import Mapping

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int32]

WEIGHTS: Mapping[str, float] = {"title": 8.0, "body": 1.0, "headings": 2.0, "url": 3.0}
"""What an occurrence in a field counts, against one in the body."""

K1 = 3.0
"""How slowly a term's score saturates; weights above 1 need it larger than plain BM25 does."""

B = 0.75
"""How far a long field is held against its document, 0 to 1."""

# Round values between two aims that pull apart, measured and not fitted: larger ones put a few more of the pages
# first that a query names, and cost nDCG@10 on Cranfield's questions (K1 of 5 with a title's weight of 30: 0.492;
# these: 0.518; K1 of 2 with 5: 0.527).


def inverse_document_frequency(documents: int, document_frequency: int) -> float:
    """The weight of a term that so many of the documents have; always more than 0."""
    return math.log(1 + (documents - document_frequency + 0.5) / (document_frequency + 0.5))


def field_factors(lengths: Mapping[str, Ints], averages: Mapping[str, float]) -> dict[str, Floats]:
    """By field, what one occurrence is worth in each document, given the documents' lengths of the field."""
    return {
        name: weight
        / (1 - B + B * lengths[name].astype(np.float64) / (averages[name] or 1))  # an average of 0 is one of zeros
        for name, weight in WEIGHTS.items()
    }


def term_scores(idf: float, docs: Ints, frequencies: Mapping[str, Ints], factors: Mapping[str, Floats]) -> Floats:
    """The scores of a term for the documents of its postings.

    `frequencies` lie parallel to `docs`; `factors` are those of all documents of the segment.
    """
    weighted = np.zeros(len(docs))
    for field, frequency in frequencies.items():
        weighted += frequency * factors[field][docs]
    return idf * weighted * (K1 + 1) / (K1 + weighted)


def best(scores: Floats, found: npt.NDArray[np.bool_], most: int) -> Ints:
    """The `most` documents found that score best, and all that score the same as the last of them; rising."""
    docs = np.flatnonzero(found).astype(np.int32)
    if most <= 0:
        return docs[:0]
    if len(docs) <= most:
        return docs
    last = np.partition(scores[docs], -most)[-most]
    return docs[scores[docs] >= last]
