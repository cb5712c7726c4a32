"""A fetch step has as many workers as its hosts and their delays keep busy, whatever earlier steps waited for."""

from beamtrawl.pipeline.fetch_round import fetch_work
from beamtrawl.transforms.memory.bounds import FetchLoad


def workers(urls, hosts, delay):
    """How many workers it could keep busy, at most 8."""
    return min(8, fetch_work(FetchLoad(urls, urls, hosts, urls), delay, factor=1.0).pieces)


def test_hosts_are_the_pieces_where_nothing_waits():
    assert [workers(3_000, hosts, 0.0) for hosts in (0, 1, 3, 1_000)] == [1, 1, 3, 8]


def test_a_process_that_only_waits_stays_alone():
    assert [workers(10_000, hosts, 1.0) for hosts in (1, 100, 300, 1_000, 5_000)] == [1, 1, 1, 3, 8]
