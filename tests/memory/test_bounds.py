"""The bound of a step's memory, and the parts that fit."""

import doctest

import pytest

from beamtrawl.transforms.memory import bounds
from beamtrawl.transforms.memory.bounds import MB, Fit, Parts, fit


def by_parts(parts: Parts) -> int:
    """100 MB, 100 more for each worker, and 50 for each megabyte of a shard in a worker."""
    return MB * (100 + parts.workers * (100 + 50 * (parts.shard_bytes >> 20)))


# workers, bytes that the machine gives; workers, MB of a shard and MB of the bound afterwards; words of the line
FITS = {
    "it fits": (4, 1_300, (4, 4, 1_300), ""),
    "nothing is known": (4, None, (4, 4, 1_300), ""),
    "fewer workers": (4, 1_299, (3, 4, 1_000), "may take 1,300 MB of memory, and 1,299 MB are free: it runs with 3"),
    "one worker": (4, 450, (1, 4, 400), "it runs with 1 worker, in at most 400 MB"),
    "smaller shards": (2, 390, (1, 2, 300), "it runs with 1 worker and shards of 2 MB, in at most 300 MB"),
    "the smallest parts": (2, 250, (1, 1, 250), "it runs with 1 worker and shards of 1 MB"),
    "too little": (2, 249, (1, 1, 250), "in its smallest parts still 250 MB: it may be ended by the system"),
}


@pytest.mark.parametrize(("workers", "most", "expected", "words"), FITS.values(), ids=FITS)
def test_the_largest_parts_that_fit(workers, most, expected, words):
    found = fit(by_parts, Parts(workers), most and most * MB)
    assert (found.parts.workers, found.parts.shard_bytes >> 20, found.bound // MB) == expected
    line = found.line("round 2 update")
    assert (line.startswith("round 2 update may take ") if words else not line) and words in line


def test_parts_that_make_no_difference_stay_as_wanted():
    assert fit(lambda _: 7, Parts(3), 5) == Fit(Parts(3), 7, 5, 7)


def test_examples():
    assert doctest.testmod(bounds).failed == 0
