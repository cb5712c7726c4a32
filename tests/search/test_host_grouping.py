"""The order of hits of several hosts."""

import pytest

from beamtrawl.search.answers.results.host_grouping import WINDOW, by_host

# hosts and scores from the best hit on, hits of a host before it gives way: the new order
ORDERS = {
    "one host": ("aaa", [3, 2, 1], 1, [0, 1, 2]),
    "others come between": ("aaab", [5, 5, 5, 5], 2, [0, 1, 3, 2]),
    "but none that is much worse": ("aaab", [5, 5, 5, 4], 2, [0, 1, 2, 3]),
    "a worse one is that to the best hit left": ("abbba", [10, 9.5, 9.4, 9.3, 1], 1, [0, 1, 2, 3, 4]),
    "each after the same number": ("aaabbb", [5] * 6, 1, [0, 3, 1, 4, 2, 5]),
}


@pytest.mark.parametrize("name", ORDERS)
def test_a_host_gives_way_to_others_that_are_as_good(name: str) -> None:
    hosts, scores, per_host, order = ORDERS[name]
    assert by_host(hosts, scores, per_host) == order


def test_hits_move_within_their_window() -> None:
    hosts, scores = ["a"] * WINDOW + ["b"], [1.0] * (WINDOW + 1)
    assert by_host(hosts, scores, 1) == [*range(WINDOW + 1)]
