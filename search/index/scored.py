"""The postings of a word or phrase with their scores, and what bounds these scores."""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from .postings import Ints, Postings

TOP = 100
"""The number of best documents that are kept for each word and phrase."""

BLOCK_BITS = 7
"""The number of a document without this many low bits is the number of its block."""

_RARE = 32  # a unit of fewer than one document in so many has neither maxima nor bits: its postings are few

Scores = npt.NDArray[np.float32]
Bytes = npt.NDArray[np.uint8]


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
        places = np.minimum(np.searchsorted(self.postings.docs, docs), len(self.scores) - 1)
        return np.where(self.postings.docs[places] == docs, self.scores[places], np.float32(0))

    def mark(self, mask: npt.NDArray[np.bool_]) -> None:
        """Set a mask to true for its documents."""
        if self.bits is None:
            mask[self.postings.docs] = True
        else:
            mask |= np.unpackbits(self.bits, count=len(mask)).view(bool)


def scored(postings: Postings, scores: npt.NDArray[np.float64], documents: int) -> Scored:
    """Postings with scores, for an index of so many documents."""
    parts = scores.astype(np.float32)
    docs = postings.docs
    top = docs if len(parts) <= TOP else np.sort(docs[np.argpartition(parts, -TOP)[-TOP:]])
    is_rare = len(docs) * _RARE < documents
    return Scored(
        Postings(docs, {field: _smallest(tf) for field, tf in postings.frequencies.items() if tf.any()}),
        parts,
        top,
        float(parts.max(initial=0)),
        None if is_rare else _block_maxima(docs, parts, documents),
        None if is_rare else _bits(docs, documents),
    )


def _smallest(frequencies: Ints) -> Ints:
    """The same numbers in the smallest type that holds them."""
    return frequencies.astype(np.min_scalar_type(int(frequencies.max())))


def _block_maxima(docs: Ints, scores: Scores, documents: int) -> Scores:
    maxima = np.zeros((documents >> BLOCK_BITS) + 1, np.float32)
    if len(docs):
        blocks = docs >> BLOCK_BITS
        starts = np.flatnonzero(np.diff(blocks, prepend=-1))
        maxima[blocks[starts]] = np.maximum.reduceat(scores, starts)
    return maxima


def _bits(docs: Ints, documents: int) -> Bytes:
    mask = np.zeros(documents, bool)
    mask[docs] = True
    return np.packbits(mask)
