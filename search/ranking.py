"""How well documents answer a query: BM25F, as pure functions of arrays.

S. Robertson and H. Zaragoza, "The Probabilistic Relevance Framework: BM25 and Beyond", 2009, section 3.6: a term's
frequencies are first summed over the fields, each weighted and divided by the field's relative length; the sum then
saturates once. So a term in the title is worth several in the body, but never two terms.
"""

import math
from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int32]

K1 = 1.2
"""How slowly a term's score saturates with its frequency."""


class Field(NamedTuple):
    """How a field counts."""

    weight: float  # of an occurrence, against one in the body
    b: float  # how far a long field is held against its document, 0 to 1


FIELDS: Mapping[str, Field] = {
    "title": Field(5.0, 0.5),
    "body": Field(1.0, 0.75),
    "headings": Field(2.0, 0.5),
    "url": Field(1.5, 0.5),
}
"""Customary values, not tuned on anything."""


def inverse_document_frequency(documents: int, document_frequency: int) -> float:
    """The weight of a term that so many of the documents have; always more than 0."""
    return math.log(1 + (documents - document_frequency + 0.5) / (document_frequency + 0.5))


def field_factors(lengths: Mapping[str, Ints], averages: Mapping[str, float]) -> dict[str, Floats]:
    """By field, what one occurrence is worth in each document, given the documents' lengths of the field."""
    factors = {}
    for name, field in FIELDS.items():
        relative = lengths[name] / (
            averages[name] or 1
        )  # an average of 0 is one of zeros: no term is in the field
        factors[name] = field.weight / (1 - field.b + field.b * relative)
    return factors


def term_scores(
    idf: float, docs: Ints, frequencies: Mapping[str, Ints], factors: Mapping[str, Floats]
) -> Floats:
    """The scores of a term for the documents of its postings.

    `frequencies` lie parallel to `docs`; `factors` are those of all documents of the segment.
    """
    weighted = np.zeros(len(docs))
    for field, frequency in frequencies.items():
        weighted += frequency * factors[field][docs]
    return idf * weighted * (K1 + 1) / (K1 + weighted)


def best(scores: Floats, found: npt.NDArray[np.bool_], most: int) -> Ints:
    """The documents found that can be among the `most` best: those, and all that score the same as the last."""
    docs = np.flatnonzero(found).astype(np.int32)
    if most <= 0:
        return docs[:0]
    if len(docs) <= most:
        return docs
    last = np.partition(scores[docs], -most)[-most]
    return docs[scores[docs] >= last]
