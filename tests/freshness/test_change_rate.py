"""The estimate of a page's change rate."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from beamtrawl.transforms.freshness.change_rate import DAY, Observed, estimate


def observed(changed: int, unchanged: int, days: float) -> Observed:
    return Observed(changed, changed * np.log(days * DAY), unchanged * days * DAY)


def rate(seen: Observed, expected: float = 1.0) -> float:
    """Changes per day."""
    return float(estimate(seen, expected / DAY)[0]) * DAY


# changed, unchanged, days between visits; expected rate, least and greatest estimate (per day)
CASES = {
    "nothing observed: the rate of the host": ((0, 0, 1.0), 0.2, 0.19, 0.21),
    "half of many visits": ((500, 500, 1.0), 5.0, 0.68, 0.71),  # log 2
    "the same, visited weekly": ((500, 500, 7.0), 5.0, 0.68 / 7, 0.71 / 7),
    "a change at every visit": ((50, 0, 1.0), 1.0, 2.5, 8.0),
    "never a change": ((0, 100, 1.0), 1.0, 0.001, 0.05),
    "one visit tells little": ((1, 0, 1.0), 0.1, 0.1, 0.35),
}


@pytest.mark.parametrize(("seen", "expected", "least", "most"), CASES.values(), ids=CASES)
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
    found = estimate(Observed(changed.sum(axis=1), logs, np.where(changed, 0, days * DAY).sum(axis=1)), 0.2 / DAY)
    errors = np.log(found * DAY / true)
    assert abs(errors.mean()) < 0.15
    assert np.abs(errors).mean() < 0.4
