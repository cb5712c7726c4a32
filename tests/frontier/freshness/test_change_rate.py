"""The estimate of a page's change rate."""

import numpy as np
import pytest
from hypothesis import given, strategies as st

from beamtrawl.transforms.frontier.freshness.change_rate import DAY, Observed, estimate
from tests.support.tables import each_row


def observed(changed: int, unchanged: int, days: float) -> Observed:
    return Observed(changed, changed * np.log(days * DAY), unchanged * days * DAY)


def rate(seen: Observed, expected: float = 1.0) -> float:
    """Changes per day."""
    return float(estimate(seen, expected / DAY).rate[0]) * DAY


# changed, unchanged, days between visits; expected rate, least and greatest estimate (per day)
CASES = {
    "nothing observed: the rate of the host": ((0, 0, 1.0), 0.2, 0.19, 0.21),
    "half of many visits": ((500, 500, 1.0), 5.0, 0.68, 0.71),  # log 2
    "the same, visited weekly": ((500, 500, 7.0), 5.0, 0.68 / 7, 0.71 / 7),
    "a change at every visit": ((50, 0, 1.0), 1.0, 2.5, 8.0),
    "never a change": ((0, 100, 1.0), 1.0, 0.001, 0.05),
    "one visit tells little": ((1, 0, 1.0), 0.1, 0.1, 0.35),
}


@each_row(CASES)
def test_estimates(seen: tuple, expected: float, least: float, most: float) -> None:
    assert least <= rate(observed(*seen), expected) <= most


@given(st.integers(0, 300), st.integers(0, 300), st.floats(1e-4, 300), st.floats(1e-3, 100))
def test_more_changes_are_a_higher_rate_and_every_estimate_is_finite(x: int, u: int, days: float, prior: float) -> None:
    here = rate(observed(x, u, days), prior)
    assert 1e-5 * 0.99 <= here <= 1e4 * 1.01
    assert rate(observed(x + 1, u, days), prior) >= here * (1 - 1e-9)
    assert rate(observed(x, u + 1, days), prior) <= here * (1 + 1e-9)


def test_irregular_visits_are_no_worse_than_regular_ones() -> None:
    """Intervals from an hour to 30 days, rates from 0.02 to 2 per day: 40 visits tell the rate."""
    random = np.random.default_rng(1)
    true = np.geomspace(0.02, 2, 400)
    days = 10 ** random.uniform(np.log10(1 / 24), np.log10(30), (400, 40))
    changed = random.random(days.shape) < -np.expm1(-true[:, None] * days)
    logs = np.where(changed, np.log(days * DAY), 0).sum(axis=1)
    found = estimate(Observed(changed.sum(axis=1), logs, np.where(changed, 0, days * DAY).sum(axis=1)), 0.2 / DAY).rate
    errors = np.log(found * DAY / true)
    assert abs(errors.mean()) < 0.15
    assert np.abs(errors).mean() < 0.4


# changed, unchanged, days between visits; expected rate; bounds of the probability that the rate is over 0.5 per day
FASTER = {
    "nothing observed, the host is as fast": ((0, 0, 1.0), 0.5, 0.45, 0.55),
    "nothing observed, the host is one standard deviation slower": ((0, 0, 1.0), 0.5 / np.e, 0.13, 0.18),
    "never a change": ((0, 50, 1.0), 0.5, 0.0, 1e-6),
    "changes at visits of every hour": ((20, 0, 1 / 24), 0.5, 0.99, 1.0),
    "changes at visits too rare to tell": ((20, 0, 10.0), 0.5, 0.5, 0.8),
}


@each_row(FASTER)
def test_the_probability_of_a_rate_over_a_threshold(seen: tuple, expected: float, least: float, most: float) -> None:
    assert least <= float(estimate(observed(*seen), expected / DAY, 0.5 / DAY).faster[0]) <= most


def test_the_spread_falls_with_each_visit() -> None:
    spreads = [float(estimate(observed(n, n, 1.0), 1 / DAY).spread[0]) for n in range(20)]
    assert spreads[0] == pytest.approx(1.0, abs=0.01)  # that of the prior
    assert spreads == sorted(spreads, reverse=True)
    assert spreads[-1] < 0.3
