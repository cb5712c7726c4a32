"""Which documents of a segment a query lets through, apart from how well they answer it."""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import pyarrow.compute as pc

from search.query import Phrase, Query
from search.segment import Ints, Positions, Segment

Mask = npt.NDArray[np.bool_]


def matching(segment: Segment, query: Query) -> Mask:
    """Whether each of a segment's documents matches.

    It has all the phrases or, when there are none, any of the terms; a query of sites alone asks for all that
    they have.
    """
    if query.phrases:
        found = np.logical_and.reduce([_with(segment, phrase) for phrase in query.phrases])
    elif query.terms:
        found = np.logical_or.reduce([_with(segment, (term,)) for term in query.terms])
    else:
        found = np.full(segment.documents, bool(query.sites))
    for phrase in query.excluded:
        found &= ~_with(segment, phrase)
    if query.sites:
        found &= np.logical_or.reduce([_on(segment, site) for site in query.sites])
    return found


def in_a_row(words: Sequence[Positions]) -> Ints:
    """The documents in which the words stand one right after another, in this order; rising.

    >>> first = Positions(np.array([3, 3, 8]), np.array([0, 7, 2]))
    >>> second = Positions(np.array([3, 8]), np.array([8, 1]))
    >>> in_a_row([first, second]).tolist()
    [3]
    """
    # Where the phrase would begin, by each of its words. Positions are far below 2**32: documents do not mix.
    begins = [(word.docs.astype(np.int64) << 32) + word.positions - place for place, word in enumerate(words)]
    begins.sort(key=len)
    common = begins[0]
    for other in begins[1:]:
        common = np.intersect1d(common, other, assume_unique=True)
    return np.unique(common >> 32).astype(np.int32)


def _with(segment: Segment, phrase: Phrase) -> Mask:
    """A single word may stand in any field, a longer phrase in the title or the body."""
    postings = [segment.postings(term) for term in phrase]
    docs = postings[0].docs
    if len(phrase) > 1:
        missing = any(not len(posting.docs) for posting in postings)
        docs = docs[:0] if missing else in_a_row([segment.positions(term) for term in phrase])
    mask = np.zeros(segment.documents, bool)
    mask[docs] = True
    return mask


def _on(segment: Segment, site: str) -> Mask:
    """Documents of a host, or of a host below it."""
    hosts = segment.facts["host"]
    return pc.or_(pc.equal(hosts, site), pc.ends_with(hosts, f".{site}")).to_numpy()
