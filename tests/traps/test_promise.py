"""What a URL promises, as an estimate: properties, and what a trap without end costs whoever believes it."""

import math

import pytest
from hypothesis import given, strategies as st

from beamtrawl.transforms.traps.promise import CLOSED, LEAST, MEMORY, credit, earned, ended, hope, promise, remember

COUNTS = st.floats(0, 500)
SHARES = st.floats(0, 1)
NUMBERS = st.integers(0, 500)


@given(COUNTS, COUNTS, SHARES, st.floats(0, 50))
def test_good_results_promise_more_and_bad_ones_less(good: float, bad: float, prior: float, more: float) -> None:
    share = promise(good, bad, prior)
    assert 0 <= promise(good, bad + more, prior) <= share <= promise(good + more, bad, prior) <= 1
    assert promise(good, bad, prior / 2) <= share


@given(COUNTS, COUNTS, NUMBERS, NUMBERS)
def test_what_is_remembered_is_recent(good: float, bad: float, new_good: int, new_bad: int) -> None:
    after = remember(good, bad, new_good, new_bad)
    assert min(after) >= 0
    assert after[0] >= new_good
    if good >= 1:
        assert sum(after) <= max(MEMORY, good + bad, new_good + new_bad) + 1e-6


@given(SHARES, COUNTS, NUMBERS)
def test_hope_is_more_than_the_promise_until_others_that_are_alike_are_chosen(share, results, chosen) -> None:
    assert share < hope(share, results, 0)
    assert hope(share, results, chosen + 1) < hope(share, results, chosen)
    assert hope(share, results + 10, 0) < hope(share, results, 0), "what was hardly tried comes first"


@given(NUMBERS, NUMBERS)
def test_credit_grows_with_the_logarithm_of_what_is_useful_and_never_ends(useful: int, useless: int) -> None:
    allowed = credit(useful, useless)
    assert LEAST <= allowed <= credit(0, 0) + 6 * math.log2(1 + useful)
    assert credit(useful, useless + 1) <= allowed <= credit(useful + 1, useless)


def spent(results, rounds: int) -> list[int]:
    """Useless requests by round on a host of whose next URLs `results` says how many of so many are good.

    All are of one template, and as many wait as may be requested.
    """
    good, bad, useful, useless = 0.0, 0.0, 0, [0]
    for _ in range(rounds):
        share = promise(good, bad)
        asked = (earned(share, useful, 12) if share > CLOSED else 0) + credit(useful, sum(useless))
        found = results(useful + sum(useless), asked)
        good, bad = remember(good, bad, found, asked - found)
        useful, useless = useful + found, [*useless, asked - found]
    return useless


@pytest.mark.parametrize("found", [0, 10, 100, 1_000])
def test_a_trap_that_begins_with_good_pages_costs_little_more_than_it_gave(found: int) -> None:
    """The worst that a site can do: exactly `found` pages with news, then nothing for ever."""
    useless = spent(lambda at, asked: max(0, min(found - at, asked)), 40)
    assert sum(useless[:10]) <= 13 * found + 100
    assert max(useless[20:]) == max(LEAST, int(2 * math.log2(1 + found))), "while its host has other pages"


def test_what_is_good_now_and_then_is_visited_whole() -> None:
    visited = list[int]()

    def half(at: int, asked: int) -> int:
        visited.append(at)
        return asked // 2

    spent(half, 10)
    assert next(number for number, at in enumerate(visited) if at >= 10_000) <= 9


def test_a_host_ends_when_about_one_good_page_may_wait_within_bounds() -> None:
    assert [ended(waiting) for waiting in (0, 16, 20, 48, 10_000)] == [1 / 16, 1 / 16, 1 / 20, 1 / 48, 1 / 48]
