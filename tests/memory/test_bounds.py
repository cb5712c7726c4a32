"""The bound of a step's memory, and the parts that fit."""

import doctest

from beamtrawl.transforms.documents.finish_pages import SEGMENT_TEXT
from beamtrawl.transforms.memory import bounds
from beamtrawl.transforms.memory.bounds import (
    MB,
    PARTITION_LINKS,
    CompactLoad,
    FetchLoad,
    Fit,
    Parts,
    RankLoad,
    UpdateLoad,
    compact_bound,
    fetch_bound,
    fit,
    rank_bound,
    rank_partitions,
    update_bound,
)
from tests.support.tables import each_row


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


@each_row(FITS)
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
    "URLs": (fetch_bound, FetchLoad(10, 10, 10, 10), {"urls": 9_000}),
    "hosts": (fetch_bound, FetchLoad(9_000, 9_000, 10, 10), {"hosts": 9_000}),
    "URLs of a host": (fetch_bound, FetchLoad(9_000, 9_000, 10, 10), {"of_host": 9_000}),
    "the frontier of a fetch": (fetch_bound, FetchLoad(10, 10, 10, 10), {"waiting": 9_000}),
    "what is there": (fetch_bound, FetchLoad(10, 10, 10, 10), {"used": 900 * MB}),
    "visits": (update_bound, UpdateLoad(10, 90_000, 90_000), {"visits": 9_000}),
    "bodies": (update_bound, UpdateLoad(10, 90_000, 90_000), {"body_bytes": 9 * MB}),
    "row groups": (update_bound, UpdateLoad(10, 90 * MB, 9 * MB), {"group_bytes": 18 * MB}),
    "the frontier of an update": (update_bound, UpdateLoad(10, 90_000, 90_000), {"waiting": 9_000}),
    "links": (rank_bound, RankLoad(10, 10, 10), {"links": 9_000}),
    "pieces of a compaction": (compact_bound, CompactLoad(1, 9 * MB), {"pieces": 2}),
    "what is merged": (compact_bound, CompactLoad(2, 9 * MB), {"held": 10 * MB}),
    "what is kept": (compact_bound, CompactLoad(2, 9 * MB), {"kept": MB}),
    "a segment": (rank_bound, RankLoad(9_000_000, 9_000, 10), {"segment": 9_000}),
}


@each_row(GROWTH)
def test_a_bound_grows_with_what_is_read(bound, load, more):
    assert bound(load._replace(**more), Parts(2)) > bound(load, Parts(2))


def test_smaller_parts_of_an_update_need_less():
    load = UpdateLoad(20_000, 1_000 * MB, 17 * MB)
    sizes = [update_bound(load, parts) for parts in (Parts(4), Parts(2), Parts(1), Parts(1, 1 << 20))]
    assert sizes == sorted(sizes, reverse=True)
    assert len(set(sizes)) == 4


def test_smaller_parts_of_a_compaction_need_less():
    load = CompactLoad(9, 280 * MB, 30 * MB)
    sizes = [compact_bound(load, parts) for parts in (Parts(4), Parts(2), Parts(1), Parts(1, 1 << 20))]
    assert sizes == sorted(sizes, reverse=True)
    assert sizes[2] - sizes[3] == 210 * MB


def test_the_driver_has_no_more_of_a_round_that_is_ten_times_as_large():
    """What stages send to one another is in a file: only what is counted by page grows."""
    small, large = UpdateLoad(100_000, 1_000 * MB, 17 * MB), UpdateLoad(1_000_000, 10_000 * MB, 17 * MB)
    assert update_bound(large, Parts(2)) - update_bound(small, Parts(2)) == 900_000 * 300


# links; their partitions
PARTITIONS = {
    "none": (0, 1),
    "as many as one has": (PARTITION_LINKS, 1),
    "one more": (PARTITION_LINKS + 1, 2),
    "so many that each sends each little": (4_000 * PARTITION_LINKS, 1_000),
}


@each_row(PARTITIONS)
def test_links_are_divided_into_few_partitions(links, expected):
    assert rank_partitions(links) == expected


def test_a_worker_has_a_partition_of_the_links():
    small, large = (rank_bound(RankLoad(count * PARTITION_LINKS, 1, 0), Parts(2)) for count in (1, 100))
    assert large - small < 30 * MB
