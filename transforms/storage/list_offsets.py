"""Offsets of lists that are concatenated in one array."""

from typing import Any

import numpy as np
import numpy.typing as npt

Longs = npt.NDArray[np.int64]


def offsets(counts: npt.NDArray[Any]) -> Longs:
    """The start of each list and the end of the last one, from the lengths of the lists.

    >>> offsets(np.array([2, 0, 3])).tolist()
    [0, 2, 2, 5]
    """
    return np.concatenate([[0], np.cumsum(counts, dtype=np.int64)])


def ranges(firsts: Longs, lengths: Longs) -> Longs:
    """The concatenated ranges that start at `firsts` and have `lengths` consecutive integers.

    >>> ranges(np.array([7, 0]), np.array([2, 3])).tolist()
    [7, 8, 0, 1, 2]
    """
    ends = np.cumsum(lengths)
    return np.repeat(firsts - (ends - lengths), lengths) + np.arange(int(lengths.sum()))
