"""Finds the best documents of a query without the score of every document.

MaxScore (H. Turtle and J. Flood, "Query Evaluation: Strategies and Optimizations", 1995) with maxima by block of
documents (S. Ding and T. Suel, "Faster Top-k Document Retrieval Using Block-Max Indexes", 2011; blocks of equal ranges
of document numbers: C. Dimopoulos, S. Nepomnyachiy and T. Suel, "A Candidate Filtering Mechanism for Fast Top-k Query
Processing on Modern CPUs", 2013), on whole arrays instead of document by document:

- The best documents of each unit, which are cached with it, give a first threshold: the score that the `most`-th best
  of them has.
- With the units in the order of their largest scores, a document's highest unit is the last one that it contains. Its
  score there, plus the maxima of all units before, bounds its score. Documents whose bound is below the threshold are
  left out; for the others, the exact parts replace the maxima, one unit after the other.

The result is that of scoring all documents, to the last bit: scores that are returned are sums of the same numbers in
the same order. Bounds include the boost factors, since the scores of postings do.
"""

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from .deadline import Deadline
from .postings import Ints
from .scored import BLOCK_BITS, Scored

Floats = npt.NDArray[np.float64]
Mask = npt.NDArray[np.bool_]

_SLACK = 1 - 1e-6  # of a threshold, for sums that are rounded in another order

MAX_UNITS = 16
"""The most units for which pruning pays off: the bounds of many units add up to more than any document has."""


class Weighted(NamedTuple):
    """A unit of a query, with the factor of its scores."""

    unit: Scored
    weight: float

    @property
    def most(self) -> float:
        """The largest part of a score."""
        return self.unit.most * self.weight

    def at(self, docs: Ints) -> Floats:
        """The part of the score of each of some documents."""
        return (self.unit.at(docs) * self.weight).astype(np.float64)

    def parts(self) -> npt.NDArray[np.float32]:
        """The part of the score of each posting."""
        return self.unit.scores * self.weight if self.weight != 1 else self.unit.scores


def scores_of(units: Sequence[Weighted], docs: Ints) -> Floats:
    """The scores of some documents, ascending."""
    scores = np.zeros(len(docs))
    for unit in units:
        scores += unit.at(docs)
    return scores


def all_scores(units: Sequence[Weighted], documents: int, deadline: Deadline) -> Floats:
    """The scores of all documents, without the parts of the units for which no time is left."""
    scores = np.zeros(documents)
    for unit in units:
        if deadline.cuts():
            break
        scores[unit.unit.postings.docs] += unit.parts()
    return scores


def best(units: Sequence[Weighted], found: Mask, most: int, deadline: Deadline) -> tuple[Ints, Floats]:
    """The `most` documents found of the highest scores and all with the same score as the last of them; their scores.

    Ascending by document. If the time runs out, some may be missing, with others in their place.
    """
    ascending = sorted((unit for unit in units if unit.most), key=lambda unit: unit.most)
    docs = _likely(ascending, found, most)
    scores = scores_of(units, docs)
    least = threshold(scores, most)
    if least <= 0 or len(ascending) > MAX_UNITS:
        docs = highest(all_scores(units, len(found), deadline), found, most)
        return docs, scores_of(units, docs)
    before = _bounds_before(ascending)
    for number in reversed(range(len(ascending))):
        if ascending[number].most + before[number].most < least * _SLACK or deadline.cuts():
            break  # for the units before, too: documents with these alone are not among the best
        further = _without(docs, _candidates(ascending, number, before, found, least * _SLACK))
        if not len(further):
            continue
        docs, scores = np.concatenate([docs, further]), np.concatenate([scores, scores_of(units, further)])
        least = threshold(scores, most)
        docs, scores = docs[scores >= least], scores[scores >= least]
    order = np.flatnonzero(scores >= least)
    order = order[np.argsort(docs[order])]
    return docs[order], scores[order]


def highest(scores: Floats, found: Mask, most: int) -> Ints:
    """The `most` documents found of the highest scores, and all with the same score as the last of them; ascending."""
    docs = np.flatnonzero(found).astype(np.int32)
    return docs[scores[docs] >= threshold(scores[docs], most)]


def threshold(scores: Floats, most: int) -> float:
    """The `most`-th highest of some scores; if there are fewer, one that all reach."""
    if most <= 0:
        return float("inf")
    return float(np.partition(scores, -most)[-most]) if len(scores) >= most else float("-inf")


def _likely(ascending: Sequence[Weighted], found: Mask, most: int) -> Ints:
    """Documents found that are likely among the best: at least `most`, unless fewer contain any of the units."""
    docs = _distinct([unit.unit.top[found[unit.unit.top]] for unit in ascending])
    if len(docs) >= most:
        return docs
    parts = [docs]
    for unit in reversed(ascending):
        is_found = found[unit.unit.postings.docs]
        if np.count_nonzero(is_found) >= most:
            of_unit = unit.unit.scores[is_found]
            chosen = np.argpartition(of_unit, -most)[-most:]
            return _distinct([*parts, unit.unit.postings.docs[is_found][chosen]])
        parts.append(unit.unit.postings.docs[is_found])
    return _distinct(parts)


def _distinct(parts: Sequence[Ints]) -> Ints:
    return np.unique(np.concatenate([np.empty(0, np.int32), *parts]))


class _Bound(NamedTuple):
    """An upper bound of the scores by some units."""

    most: float  # of all documents
    by_block: Callable[[Ints], Floats | float]  # of the blocks of some documents


def _bounds_before(units: Sequence[Weighted]) -> list[_Bound]:
    bounds, most, constant, blocks = [], 0.0, 0.0, None
    for unit in units:
        bounds.append(_Bound(most, _by_block(constant, blocks)))
        most += unit.most
        if unit.unit.maxima is None:
            constant += unit.most
        else:
            blocks = unit.unit.maxima * np.float64(unit.weight) + (0 if blocks is None else blocks)
    return bounds


def _by_block(constant: float, blocks: Floats | None) -> Callable[[Ints], Floats | float]:
    if blocks is None:
        return lambda docs: constant
    return lambda docs: blocks[docs >> BLOCK_BITS] + constant


def _candidates(units: Sequence[Weighted], number: int, before: Sequence[_Bound], found: Mask, least: float) -> Ints:
    """The documents found with a unit, and perhaps those before it, whose score by these may reach `least`."""
    parts = units[number].parts()
    chosen = np.flatnonzero(parts >= least - before[number].most)
    docs, scores = units[number].unit.postings.docs[chosen], parts[chosen].astype(np.float64)
    is_candidate = (scores + before[number].by_block(docs) >= least) & found[docs]
    docs, scores = docs[is_candidate], scores[is_candidate]
    for lower in reversed(range(number)):
        if not len(docs):
            break
        scores += units[lower].at(docs)
        docs, scores = _within(docs, scores, before[lower], least)
    return docs


def _without(docs: Ints, candidates: Ints) -> Ints:
    """The candidates, which ascend, that are not among the documents."""
    if not len(candidates):
        return candidates
    places = candidates.searchsorted(docs)
    is_new = np.ones(len(candidates), bool)
    is_new[places[candidates.take(places, mode="clip") == docs]] = False
    return candidates[is_new]


def _within(docs: Ints, scores: Floats, rest: _Bound, least: float) -> tuple[Ints, Floats]:
    """The documents, with their scores so far, that may reach `least` by what is left."""
    may_reach = scores + rest.by_block(docs) >= least
    return docs[may_reach], scores[may_reach]
