"""The intervals that make the best of a budget of visits, and how near a crawl comes to them."""

import itertools

import numpy as np
import pytest

from beamtrawl.transforms.frontier.freshness.allocation import Bounds, bucket, freshness, intervals, solve
from beamtrawl.transforms.frontier.freshness.change_rate import DAY, Floats
from tests.support.freshness import NutchAdaptive, Ours, Simulation, Uniform, log_uniform, optimum, simulate

BOUNDS = Bounds(DAY / 24, 100 * DAY)
RATES = np.geomspace(0.01, 100, 60) / DAY
EQUAL = np.ones(60)


def histogram(rates: Floats, weights: Floats) -> dict[tuple[int, int], int]:
    pages: dict[tuple[int, int], int] = {}
    for key in zip(*(numbers.tolist() for numbers in bucket(rates, weights)), strict=True):
        pages[key] = pages.get(key, 0) + 1
    return pages


def chosen(per_day: float, weights: Floats = EQUAL) -> Floats:
    return intervals(RATES, weights, solve(histogram(RATES, weights), per_day / DAY, BOUNDS), BOUNDS) / DAY


@pytest.mark.parametrize("per_day", [2, 10, 60, 600])
def test_the_budget_is_used_and_not_exceeded(per_day: float) -> None:
    assert (1 / chosen(per_day)).sum() == pytest.approx(per_day, rel=0.1)


def test_pages_that_change_too_fast_are_visited_least() -> None:
    found = chosen(10)
    assert found.argmin() in range(20, 45)  # neither the slowest nor the fastest
    assert found[-1] == 100
    assert found[0] > found[10] > found[20]


def test_the_intervals_are_better_than_any_small_shift_between_two_pages() -> None:
    found = chosen(30) * DAY
    free = np.flatnonzero((found > BOUNDS.shortest * 1.1) & (found < BOUNDS.longest / 1.1))
    total = freshness(RATES, found).sum()
    for one, other in itertools.pairwise(free):
        visits = 1 / found
        visits[one] += visits[other] * 0.05
        visits[other] *= 0.95
        assert freshness(RATES, 1 / visits).sum() < total


def test_heavier_pages_are_visited_more_often() -> None:
    weights = np.where(np.arange(60) % 2, 1.0, 0.25)
    found = chosen(10, weights)
    assert (found[1:32:2] < found[0:32:2]).all()


@pytest.mark.parametrize(("per_day", "interval"), [(1e9, 1 / 24), (0.01, 100)])
def test_budgets_beyond_the_bounds(per_day: float, interval: float) -> None:
    assert chosen(per_day) == pytest.approx(np.full(60, interval))


def test_no_pages() -> None:
    assert solve({}, 1.0, BOUNDS) > 0


def test_fewer_pages_than_none_need_no_visits() -> None:
    """As where a page was taken out of a bucket that does not have it."""
    assert solve({(0, 0): 10, (8, 0): -5}, 10 / DAY, BOUNDS) == solve({(0, 0): 10}, 10 / DAY, BOUNDS)


def test_rates_and_weights_beyond_the_buckets_are_in_the_last_ones() -> None:
    rates, weights = bucket(np.array([1e9, 1e-9, 1]) / DAY, [1e9, 1e-9, 1])
    assert (rates.tolist(), weights.tolist()) == ([48, -48, 0], [24, -24, 0])


def test_one_hot_page_of_a_large_site_is_visited_most_and_costs_little() -> None:
    pages = {(-32, 0): 100_000, (8, 0): 1}  # every 256 days; four times a day
    mu = solve(pages, 20_000 / DAY, BOUNDS)
    hot, cold = intervals(np.array([4, 1 / 256]) / DAY, np.ones(2), mu, BOUNDS) / DAY
    assert hot < 0.5
    assert cold == pytest.approx(100_000 / 20_000, rel=0.1)


@pytest.mark.parametrize(("per_day", "days"), [(240, 100), (96, 200)])
def test_learned_rates_reach_95_percent_of_the_optimum_and_are_ahead_of_uniform_and_of_nutch(
    per_day: int, days: int
) -> None:
    """With a tenth of the pages per day, that takes trials."""
    random = np.random.default_rng(1)
    web = Simulation(log_uniform(1000, 5.0, 3.0, random), np.ones(1000), per_day, days, steps_per_day=12)
    ours, uniform, nutch = (
        float(np.mean(simulate(web, schedule(web), np.random.default_rng(2)))) / optimum(web)
        for schedule in (Ours, Uniform, NutchAdaptive)
    )
    assert ours >= 0.95
    assert ours > uniform + 0.01
    assert ours > nutch + 0.01
