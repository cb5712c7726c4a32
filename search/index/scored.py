"""The postings of a word or phrase with their scores, and what bounds these scores."""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from .postings import Ints, Postings, smallest

TOP = 100
"""The number of best documents that are kept for each word and phrase."""

BLOCK_BITS = 7
"""The number of a document without this many low bits is the number of its block."""

_RARE = 32  # a unit of fewer than one document in so many has neither maxima nor bits: its postings are few

Scores = npt.NDArray[np.float32]
Bytes = npt.NDArray[np.uint8]
Longs = npt.NDArray[np.int64]


class Scored(NamedTuple):
    """The postings of a word or phrase, with scores."""

    postings: Postings
    scores: Scores  # parallel to the postings: the part of each document's score
    top: Ints  # the TOP best of the documents, or all if there are fewer; ascending
    most: float  # the largest score; 0 without postings
    maxima: Scores | None  # the largest score in each block of documents; None for a rare unit
    bits: Bytes | None  # for each document one bit, as `numpy.packbits` has them; None for a rare unit

    @property
    def nbytes(self) -> int:
        """The memory of its arrays, in bytes."""
        arrays = [self.postings.docs, *self.postings.frequencies.values(), self.scores, self.top]
        return sum(array.nbytes for array in (*arrays, self.maxima, self.bits) if array is not None)

    def at(self, docs: npt.NDArray[np.signedinteger]) -> Scores:
        """The part of the score of each of some documents; 0 where a document has none. Fast if they ascend."""
        if not len(self.scores):
            return np.zeros(len(docs), np.float32)
        places = self.postings.docs.searchsorted(docs)
        is_there = self.postings.docs.take(places, mode="clip") == docs
        return self.scores.take(places, mode="clip") * is_there

    def mark(self, mask: npt.NDArray[np.bool_]) -> None:
        """Set a mask to true for its documents."""
        if self.bits is None:
            mask[self.postings.docs] = True
        else:
            mask |= np.unpackbits(self.bits, count=len(mask)).view(bool)


def scored(postings: Postings, scores: Scores, documents: int) -> Scored:
    """Postings with scores, for an index of so many documents."""
    docs = postings.docs
    maxima = None if len(docs) * _RARE < documents else _block_maxima(docs, scores, documents)
    return Scored(
        Postings(docs, {field: smallest(tf) for field, tf in postings.frequencies.items() if tf.any()}),
        scores,
        docs[_highest(scores, maxima)],
        float(scores.max(initial=0)),
        maxima,
        None if maxima is None else _bits(docs, documents),
    )


def _highest(scores: Scores, maxima: Scores | None) -> Longs:
    """The places of the TOP highest scores, ascending."""
    if maxima is not None and len(maxima) > TOP:  # as many scores as blocks, at least, reach the TOP-th of the maxima
        places = np.flatnonzero(scores >= np.partition(maxima, -TOP)[-TOP])
    else:
        places = np.arange(len(scores))
    if len(places) > TOP:
        places = np.sort(places[np.argpartition(scores[places], -TOP)[-TOP:]])
    return places


def _block_maxima(docs: Ints, scores: Scores, documents: int) -> Scores:
    maxima = np.zeros((documents >> BLOCK_BITS) + 1, np.float32)
    ends = np.searchsorted(docs, np.arange(1, len(maxima) + 1, dtype=docs.dtype) << BLOCK_BITS)
    blocks = np.flatnonzero(np.diff(ends, prepend=0))  # those that have postings
    if len(blocks):
        maxima[blocks] = np.maximum.reduceat(scores, np.concatenate([[0], ends[blocks[:-1]]]))
    return maxima


def _bits(docs: Ints, documents: int) -> Bytes:
    mask = np.zeros(documents, bool)
    mask[docs] = True
    return np.packbits(mask)
