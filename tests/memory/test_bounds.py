"""The bound of a step's memory, and the parts that fit."""

import doctest

import pytest

from beamtrawl.transforms.documents.finish_pages import SEGMENT_TEXT
from beamtrawl.transforms.memory import bounds
from beamtrawl.transforms.memory.bounds import (
    MB,
    FetchLoad,
    Fit,
    Parts,
    RankLoad,
    UpdateLoad,
    fetch_bound,
    fit,
    partitioned_bound,
    rank_bound,
    update_bound,
)


def by_parts(parts: Parts) -> int:
    """100 MB, 100 more for each worker, and 50 for each megabyte of a shard in a worker."""
    return MB * (100 + parts.workers * (100 + 50 * (parts.shard_bytes >> 20)))


# workers, bytes that the machine gives; workers, MB of a shard and MB of the bound afterwards; words of the line
FITS = {
    "it fits": (4, 1_300, (4, 4, 1_300), ""),
    "nothing is known": (4, None, (4, 4, 1_300), ""),
    "fewer workers": (
        4,
        1_299,
        (3, 4, 1_000),
        "may take 1,300 MB of memory, and 1,299 MB are available: it runs with 3",
    ),
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


def test_a_segment_is_that_of_the_index_unless_memory_is_short():
    assert Parts(1).segment_text == SEGMENT_TEXT


# what grows; the bound must grow with it
GROWTH = {
    "URLs": (fetch_bound, FetchLoad(10, 10), {"urls": 9_000}),
    "the frontier of a fetch": (fetch_bound, FetchLoad(10, 10), {"waiting": 9_000}),
    "what is there": (fetch_bound, FetchLoad(10, 10), {"used": 900 * MB}),
    "visits": (update_bound, UpdateLoad(10, 90_000, 90_000), {"visits": 9_000}),
    "bodies": (update_bound, UpdateLoad(10, 90_000, 90_000), {"body_bytes": 9 * MB}),
    "row groups": (update_bound, UpdateLoad(10, 90 * MB, 9 * MB), {"group_bytes": 18 * MB}),
    "the frontier of an update": (update_bound, UpdateLoad(10, 90_000, 90_000), {"waiting": 9_000}),
    "links": (rank_bound, RankLoad(10, 10), {"links": 9_000}),
    "links of partitions": (partitioned_bound, RankLoad(10, 10), {"links": 9_000}),
    "documents": (rank_bound, RankLoad(10, 10), {"documents": 9_000}),
}


@pytest.mark.parametrize(("bound", "load", "more"), GROWTH.values(), ids=GROWTH)
def test_a_bound_grows_with_what_is_read(bound, load, more):
    assert bound(load._replace(**more), Parts(2)) > bound(load, Parts(2))


def test_smaller_parts_of_an_update_need_less():
    load = UpdateLoad(20_000, 1_000 * MB, 17 * MB)
    sizes = [update_bound(load, parts) for parts in (Parts(4), Parts(2), Parts(1), Parts(1, 1 << 20))]
    assert sizes == sorted(sizes, reverse=True)
    assert len(set(sizes)) == 4
