"""Offsets of lists that are concatenated in one array."""

from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

Longs = npt.NDArray[np.int64]
Number = TypeVar("Number", bound=np.integer[Any])


def offsets(counts: npt.NDArray[Any]) -> Longs:
    """The start of each list and the end of the last one, from the lengths of the lists.

    >>> offsets(np.array([2, 0, 3])).tolist()
    [0, 2, 2, 5]
    """
    return np.concatenate([[0], np.cumsum(counts, dtype=np.int64)])


def ranges(firsts: npt.NDArray[Number], lengths: npt.NDArray[Any]) -> npt.NDArray[Number]:
    """The concatenated ranges that start at `firsts` and have `lengths` consecutive integers; all of one type.

    >>> ranges(np.array([7, 0]), np.array([2, 3])).tolist()
    [7, 8, 0, 1, 2]
    """
    ends = np.cumsum(lengths, dtype=firsts.dtype)
    found = np.repeat(firsts - (ends - lengths).astype(firsts.dtype), lengths)
    found += np.arange(len(found), dtype=firsts.dtype)
    return found
