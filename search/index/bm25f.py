"""How well documents answer a query, as pure functions of arrays.

The score of a document is its BM25F score times its standing:

- BM25F: S. Robertson and H. Zaragoza, "The Probabilistic Relevance Framework: BM25 and Beyond", 2009, section 3.6. A
  term's frequencies are first summed over the fields, each weighted and divided by the field's relative length; the
  sum then saturates, once. So a word in the title is worth several in the body, but never two words.
- Standing: what speaks for a document whatever is asked, each part within bounds, so that no page is lifted above one
  that answers much better: N. Craswell and others, "Relevance Weighting for Query Independent Evidence", 2005, for the
  saturation of link rank.

All numbers here are round, and none was fitted to a collection (docs/search.md).
"""

import math
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from .postings import Ints, Postings

Floats = npt.NDArray[np.float64]

WEIGHTS: Mapping[str, float] = {"title": 8.0, "body": 1.0, "headings": 3.0, "url": 3.0, "anchors": 3.0}
"""What an occurrence in a field counts, against one in the body: names of the page more than its text."""

K1 = 3.0
"""How slowly a term's score saturates; weights above 1 need it larger than plain BM25 does."""

B = 0.75
"""How far a long field is held against its document, 0 to 1."""

PHRASE = 0.5
"""What a phrase counts against a word as rare; its words count already."""

LINKS = 0.1
"""By how much the best linked page is lifted over one without links."""

HALF_RANK = 10.0
"""The link rank, relative to the mean, that gets half of it."""

SPAM = 0.5
"""By how much a page that is surely spam is pushed down."""

FRESH = 0.05
"""By how much a page of today is lifted over an old or undated one; half of it is left after FRESH_DAYS."""

FRESH_DAYS = 365.0


class BoostFactors(NamedTuple):
    """What each document is multiplied by, whatever is asked."""

    links: Floats
    quality: Floats
    freshness: Floats


def boost_factors(link_ranks: Floats, spam_scores: Floats, ages: Floats) -> BoostFactors:
    """The standing of documents: of link ranks relative to the mean, spam scores from 0 to 1, and ages in days.

    What is not known of a document, NaN, neither lifts it nor pushes it down.
    """
    return BoostFactors(
        1 + LINKS * link_ranks / (link_ranks + HALF_RANK),
        1 - SPAM * np.nan_to_num(np.clip(spam_scores, 0, 1)),
        1 + FRESH * np.nan_to_num(0.5 ** (np.maximum(ages, 0) / FRESH_DAYS)),
    )


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


def impacts(postings: Postings, factors: Mapping[str, Floats]) -> Floats:
    """The scores of a term for the documents of its postings, before the term's own weight.

    `factors` are those of all documents of the segment.
    """
    weighted = np.zeros(len(postings.docs))
    for field, frequency in postings.frequencies.items():
        weighted += frequency * factors[field][postings.docs]
    return weighted * (K1 + 1) / (K1 + weighted)


def best(scores: Floats, found: npt.NDArray[np.bool_], most: int, likely: Sequence[Ints]) -> Ints:
    """The `most` documents found that score best, and all that score the same as the last of them; rising.

    `likely` are some documents that may be among them: the better the guess, the less there is to look through.
    """
    if most <= 0:
        return np.empty(0, np.int32)
    # Of any documents found, the last but `most` scores no better than the last that is wanted.
    least = 0.0
    for docs in likely:
        guess = scores[docs[found[docs]]]
        if len(guess) >= most:
            least = max(least, np.partition(guess, -most)[-most])
    docs = np.flatnonzero(found & (scores >= least)).astype(np.int32)
    if len(docs) <= most:
        return docs
    last = np.partition(scores[docs], -most)[-most]
    return docs[scores[docs] >= last]
