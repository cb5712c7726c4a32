"""What a URL promises, as an estimate: properties, and what a trap without end costs whoever believes it."""

import pytest
from hypothesis import given, strategies as st

from beamtrawl.transforms.traps.promise import CLOSED, ENDED, MEMORY, SAMPLE, budget, promise, remember

COUNTS = st.floats(0, 500)
SHARES = st.floats(0, 1)
NUMBERS = st.integers(0, 500)


@given(COUNTS, COUNTS, SHARES, st.floats(0, 50))
def test_good_results_promise_more_and_bad_ones_less(good: float, bad: float, prior: float, more: float) -> None:
    share = promise(good, bad, prior)
    assert 0 <= promise(good, bad + more, prior) <= share <= promise(good + more, bad, prior) <= 1
    assert promise(good, bad, prior / 2) <= share


@given(SHARES, COUNTS, NUMBERS, NUMBERS, st.sampled_from([(56, 16), (16, 6)]))
def test_a_budget_is_never_zero_and_grows_with_the_promise(share, bad, requests, last, kind) -> None:
    asked = budget(share, bad, requests, last, *kind)
    assert 1 <= asked <= max(SAMPLE, 8 * kind[0] + kind[1] * requests, kind[1] * last)
    assert budget(share / 2, bad, requests, last, *kind) <= asked
    assert budget(share, bad + 10, requests, last, *kind) <= asked


@given(COUNTS, COUNTS, NUMBERS, NUMBERS)
def test_what_is_remembered_is_recent(good: float, bad: float, new_good: int, new_bad: int) -> None:
    after = remember(good, bad, new_good, new_bad)
    assert min(after) >= 0
    assert after[0] >= new_good
    if good >= 1:
        assert sum(after) <= max(MEMORY, good + bad, new_good + new_bad) + 1e-6


def spent(results, rounds: int, first: int = 56, growth: int = 16) -> list[int]:
    """Useless requests by round for a template of whose next URLs `results` says how many of so many are good."""
    good, bad, requests, last, useless = 0.0, 0.0, 0, 0, []
    for _ in range(rounds):
        asked = budget(promise(good, bad), bad, requests, last, first, growth)
        last = results(requests, asked)
        good, bad = remember(good, bad, last, asked - last)
        requests += asked
        useless.append(asked - last)
    return useless


@pytest.mark.parametrize("found", [0, 10, 100, 1_000])
def test_a_trap_that_begins_with_good_pages_costs_little_more_than_it_gave(found: int) -> None:
    """The worst that a site can do: exactly `found` pages with news, then nothing for ever."""
    useless = spent(lambda at, asked: max(0, min(found - at, asked)), 40)
    assert sum(useless[:10]) <= 56 + 17 * found + 10 * SAMPLE
    assert max(useless[20:]) == 1, "one a round of what promises nothing, while its host has other pages"


def test_what_is_good_now_and_then_is_visited_whole() -> None:
    rounds, visited = 0, 0
    good = bad = last = 0.0
    while visited < 10_000:
        rounds += 1
        asked = budget(promise(good, bad), bad, visited, last, 56, 16)
        last = asked // 2
        good, bad = remember(good, bad, last, asked - last)
        visited += asked
    assert rounds <= 7


def test_a_template_closes_after_a_few_bad_results_and_ends_after_a_memory_of_them() -> None:
    assert promise(0, 1) > CLOSED >= promise(0, 2)
    assert promise(0, MEMORY - 3) > ENDED >= promise(0, MEMORY)
    assert promise(1, MEMORY) > ENDED
