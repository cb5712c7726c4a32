"""Priority classes: each has a share of a round in which not all due URLs have room (docs/selection.md).

These are the front queues of Mercator (Heydon and Najork, 1999). Within a class, URLs keep their order.
"""

import enum
from collections.abc import Sequence, Set as AbstractSet
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from ..settings import Priority
from ..tables.sitemap_terms import REQUISITE

_STEP = (5**0.5 - 1) / 2  # of a sequence that is spread evenly over 0 to 1, whatever part of it is taken


class UrlClass(enum.IntEnum):
    """The classes, in the order of the shares."""

    HIGH = 0
    NORMAL = 1
    REVISIT = 2
    LOW = 3
    FOREIGN = 4


SHARES = (4.0, 4.0, 1.0, 1.0, 1.0)
"""The weights of the classes."""


class Quota(NamedTuple):
    """How the rooms of a round are shared: the weights of the classes, and the number of the round."""

    shares: tuple[float, ...] = (1.0,) * len(UrlClass)
    round: int = 0


EQUAL = Quota()
"""Equal shares, as in round 0."""


def classes(rows: pa.Table, settings: Priority, failing: AbstractSet[str] = frozenset()) -> NDArray[np.int8]:
    """The class of each row of the frontier (columns host, depth, priority, reason, kind, foreign).

    Pages to be revisited are a class of their own, and so are URLs that only other sites link. Seeds, sitemaps, and
    URLs of little depth or with a high score are of the highest class; requisites of pages, URLs that failed, and those
    of hosts in backoff (`failing`) of the lowest.
    """
    is_high = pc.or_(pc.less_equal(rows["depth"], settings.high_depth), pc.is_valid(rows["kind"]))
    if settings.high_score is not None:
        is_high = pc.or_(is_high, pc.greater_equal(rows["priority"], settings.high_score))
    is_low = pc.or_(pc.equal(rows["reason"], "retry"), pc.fill_null(pc.equal(rows["kind"], REQUISITE), False))
    if failing:
        is_low = pc.or_(is_low, pc.is_in(rows["host"], pa.array(sorted(failing), pa.string())))
    is_revisit = pc.equal(rows["reason"], "recrawl")
    masks = [np.asarray(pc.fill_null(mask, False)) for mask in (is_revisit, rows["foreign"], is_low, is_high)]
    of_masks = [UrlClass.REVISIT, UrlClass.FOREIGN, UrlClass.LOW, UrlClass.HIGH]
    return np.select(masks, of_masks, UrlClass.NORMAL).astype(np.int8)


def _slots(weights: Sequence[float], first: int, count: int) -> list[int]:
    """How many of `count` consecutive slots, from number `first` on, belong to each of some classes.

    Slot n belongs to the class whose part of 0 to 1 contains the fraction of n times the golden ratio: any run of slots
    is shared in proportion, within about the logarithm of its length, so that many rounds with few slots are fair too.
    """
    bounds = np.cumsum(weights) / sum(weights)
    places = (np.arange(first, first + count) * _STEP) % 1.0
    return np.bincount(np.searchsorted(bounds[:-1], places, "right"), minlength=len(weights)).tolist()


def allocate(waiting: Sequence[int], count: int, quota: Quota) -> list[int]:
    """How many URLs of each class a round takes, of `waiting` of each, if there is room for `count`.

    No room stays empty while a URL waits: what a class does not need is shared by the others.

    >>> allocate([100, 100, 0, 2], 50, Quota((0.4, 0.4, 0.1, 0.1), 7))
    [24, 24, 0, 2]
    """
    taken = [0] * len(waiting)
    left = min(count, sum(waiting))
    while left:
        open_ = [n for n, known in enumerate(waiting) if taken[n] < known]
        slots = _slots([quota.shares[n] for n in open_], quota.round * count, left)
        for n, slot in zip(open_, slots, strict=True):
            given = min(slot, waiting[n] - taken[n])
            taken[n] += given
            left -= given
    return taken


def pick(kinds: Sequence[int] | NDArray[np.int8], count: int, quota: Quota) -> list[int]:
    """The positions of the URLs that a round takes, ascending: the first of each class; `kinds` are the classes."""
    of_each = np.asarray(kinds, np.int8)
    positions = [np.flatnonzero(of_each == kind) for kind in UrlClass]
    counts = allocate([len(some) for some in positions], count, quota)
    chosen = [some[:n] for some, n in zip(positions, counts, strict=True)]
    return np.sort(np.concatenate(chosen)).tolist()
