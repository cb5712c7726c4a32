"""Early visits of pages that may change too fast."""

import numpy as np
import pytest

from beamtrawl.transforms.frontier.freshness.allocation import Bounds
from beamtrawl.transforms.frontier.freshness.change_rate import DAY, Estimate
from beamtrawl.transforms.frontier.freshness.trials import with_trials

BOUNDS = Bounds(0.1 * DAY, 90 * DAY)

# interval, threshold (per day), probability to be faster, spread, number of the visit; interval then. Days.
CASES = {
    "undecided, and its turn": (10.0, 0.5, 0.5, 1.0, 3, 3.2),
    "not its turn": (10.0, 0.5, 0.5, 1.0, 4, 10.0),
    "nor then": (10.0, 0.5, 0.5, 1.0, 5, 10.0),
    "its turn again": (10.0, 0.5, 0.5, 1.0, 6, 3.2),
    "surely slower": (10.0, 0.5, 0.2, 1.0, 3, 10.0),
    "surely faster": (90.0, 0.5, 0.8, 1.0, 3, 90.0),
    "known well": (10.0, 0.5, 0.5, 0.4, 3, 10.0),
    "never later than planned": (2.0, 0.5, 0.5, 1.0, 3, 2.0),
    "not before the shortest interval": (10.0, 100.0, 0.5, 1.0, 3, 0.1),
}


@pytest.mark.parametrize(("interval", "threshold", "faster", "spread", "number", "expected"), CASES.values(), ids=CASES)
def test_intervals(
    interval: float, threshold: float, faster: float, spread: float, number: int, expected: float
) -> None:
    found = Estimate(np.array([threshold / DAY]), np.array([spread]), np.array([faster]))
    chosen = with_trials(np.array([interval * DAY]), found, np.array([threshold / DAY]), np.array([number]), BOUNDS)
    assert chosen.tolist() == pytest.approx([expected * DAY])
