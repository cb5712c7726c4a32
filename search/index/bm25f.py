"""Scores documents for a query, as pure functions of arrays.

The score of a document is its BM25F score times its boost factors:

- BM25F: S. Robertson and H. Zaragoza, "The Probabilistic Relevance Framework: BM25 and Beyond", 2009, section 3.6. The
  frequencies of a term are first summed over the fields, each weighted and divided by the field's relative length; the
  sum then saturates, once. So an occurrence in the title counts as several in the body, but never as two words.
- The names of a page are its title, headings, URL and anchors. A term in them adds a bonus, which saturates likewise:
  without it, frequent words of a text outweigh the name that somebody asks for.
- Boost factors do not depend on the query. Each is bounded, so that it never ranks a page above one that matches much
  better: N. Craswell and others, "Relevance Weighting for Query Independent Evidence", 2005, for the saturation of
  link rank.

All numbers are round; how they were chosen is in docs/decisions/weights.md.
"""

import functools
import math
from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from .postings import Ints, Postings

Floats = npt.NDArray[np.float64]
Scores = npt.NDArray[np.float32]


class Weighting(NamedTuple):
    """The constants of BM25F."""

    fields: Mapping[str, float]  # the weight of an occurrence in a field, relative to one in the body
    b: Mapping[str, float]  # the degree of length normalization of a field, from 0 (none) to 1 (full)
    k1: float  # the saturation of term frequency: the larger, the slower
    names: float  # the largest bonus of a term in the names of a page, relative to a score of 1
    phrase: float  # the weight of a phrase relative to a word of the same document frequency; its words count too
    pair: float  # the same for two words in a row that are in a row in the title
    url_alone: float  # of a term that a page has in its URL alone: a page about something says so
    section: float  # of words that are the whole name of a section, in links to it, relative to these words


WEIGHTING = Weighting(
    fields={"title": 2.0, "body": 1.0, "headings": 3.0, "url": 3.0, "anchors": 3.0},
    b={"title": 0.75, "body": 0.6, "headings": 0.75, "url": 0.75, "anchors": 0.75},
    k1=1.2,
    names=1.0,
    phrase=0.5,
    pair=0.25,
    url_alone=0.1,
    section=0.6,
)
"""Settled on public test collections and known items: docs/decisions/weights.md."""

LINKS = 0.1
"""The largest boost by links, over a page without links."""

HALF_RANK = 10.0
"""The link rank, relative to the mean, that gets half of the boost."""

SPAM = 0.5
"""The largest reduction by the spam score."""

FRESH = 0.05
"""The boost of a page published today over an undated one; it halves every FRESH_DAYS."""

FRESH_DAYS = 365.0


class BoostFactors(NamedTuple):
    """The factors of each document's score that do not depend on the query."""

    links: Floats
    quality: Floats
    freshness: Floats


def boost_factors(link_ranks: Floats, spam_scores: npt.NDArray[np.floating], ages_days: Floats) -> BoostFactors:
    """The boost factors of documents from link ranks relative to the mean, spam scores from 0 to 1, and ages in days.

    An unknown spam score or age, NaN, gives a factor of 1.
    """
    return BoostFactors(
        1 + LINKS * link_ranks / (link_ranks + HALF_RANK),
        1 - SPAM * np.nan_to_num(np.clip(spam_scores, 0, 1)),
        1 + FRESH * np.nan_to_num(0.5 ** (np.maximum(ages_days, 0) / FRESH_DAYS)),
    )


def inverse_document_frequency(documents: int, document_frequency: int) -> float:
    """The weight of a term by its document frequency among `documents`; always positive."""
    return math.log(1 + (documents - document_frequency + 0.5) / (document_frequency + 0.5))


def field_factors(
    lengths: Mapping[str, Ints], averages: Mapping[str, float], weighting: Weighting = WEIGHTING
) -> dict[str, Scores]:
    """By field, the weight of one occurrence in each document, from field lengths and their averages."""
    factors = {}
    for name, weight in weighting.fields.items():
        norms = lengths[name] / (averages[name] or 1)  # an average of 0: all lengths are 0
        norms *= weighting.b[name]  # in place: there may be millions of documents
        norms += 1 - weighting.b[name]
        factors[name] = (weight / norms).astype(np.float32)
    return factors


def impacts(postings: Postings, factors: Mapping[str, Scores], weighting: Weighting = WEIGHTING) -> Scores:
    """The scores of a term for the documents of its postings, without the term's weight.

    `factors` are the `field_factors` of all documents. A page that is named by a term has a bonus beyond the saturation
    of its frequency.
    """
    docs, frequencies = postings
    in_names = [tf for field, tf in frequencies.items() if field != "body"]
    named = np.flatnonzero(functools.reduce(np.bitwise_or, in_names) != 0) if in_names else np.empty(0, np.int64)
    names = np.zeros(len(named), np.float32)  # of the postings that have the term in a name, which are few
    for field, frequency in frequencies.items():
        if field != "body":
            names += frequency[named] * factors[field][docs[named]]
    scores = of_documents(factors["body"], docs) if "body" in frequencies else np.zeros(len(docs), np.float32)
    scores *= frequencies.get("body", 0)
    scores[named] += names
    k1 = weighting.k1
    scores /= scores + k1  # in place: a term may have millions of postings
    scores *= k1 + 1
    scores[named] += weighting.names * names / (names + k1)
    if "url" in frequencies:
        elsewhere = [tf[named] > 0 for field, tf in frequencies.items() if field != "url"]
        scores[named[~np.any([np.zeros(len(named), bool), *elsewhere], axis=0)]] *= weighting.url_alone
    return scores


def of_documents(values: Scores, docs: Ints) -> Scores:
    """The value of each of some documents, all of which exist: that is not checked, which takes longer."""
    return np.take(values, docs, mode="clip")
