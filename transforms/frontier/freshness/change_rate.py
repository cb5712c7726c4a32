"""Estimates how often pages change from visits that found a change and visits that found none.

Changes of a page are a Poisson process (Cho and Garcia-Molina, "Estimating frequency of change", ACM TOIT 3(3), 2003).
All functions take arrays with one value per page. Times are seconds, rates are changes per second.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

Floats = NDArray[np.float64]

DAY = 86_400.0

DEFAULT_RATE = 1 / (30 * DAY)
"""The expected rate of the pages of a host of which no page was visited twice."""

SPREAD = 1.0
"""Standard deviation of the logarithm of the rates of a host's pages."""

_LOGS = np.log(np.geomspace(1e-5 / DAY, 1e4 / DAY, 160))  # of the rates over which a posterior is summed
_BATCH = 4096


class Observed(NamedTuple):
    """The visits of a page, or of all pages of a host, that were compared with the visit before.

    The interval of a visit is the time since the visit before.
    """

    changed: ArrayLike  # number of visits that found a change
    changed_log_s: ArrayLike  # natural logarithms of their intervals, summed
    unchanged_s: ArrayLike  # intervals of the visits that found no change, summed


class Estimate(NamedTuple):
    """What is known of the change rate of each page."""

    rate: Floats
    spread: Floats  # standard deviation of its logarithm
    faster: Floats  # probability that it is higher than a threshold


def estimate(observed: Observed, expected: ArrayLike, threshold: ArrayLike = np.inf) -> Estimate:
    """The change rate of each page; `expected` is the rate of the host's pages, used as far as little was observed.

    An interval t without a change has the likelihood exp(-rate t), one with a change 1 - exp(-rate t); the latter takes
    the geometric mean of the intervals for each t, so that sums are enough. The result is the mean of log(rate) after
    the observations, for rates that were log-normal around `expected` before. As the bias-corrected estimator
    -log((n - X + 0.5) / (n + 0.5)) / t for X changes in n regular visits, it is finite if all visits found a
    change, and more than 0 if none did.

    >>> eight, none = Observed(8, 8 * np.log(DAY), 2 * DAY), Observed(0, 0, 0)
    >>> [round(float(estimate(one, 1 / DAY).rate[0] * DAY), 2) for one in (eight, none)]
    [1.45, 1.0]
    """
    columns = np.broadcast_arrays(*(np.atleast_1d(np.asarray(v, np.float64)) for v in (*observed, expected, threshold)))
    starts = range(0, len(columns[0]), _BATCH) or (0,)
    parts = [_estimate(*(c[start : start + _BATCH, None] for c in columns)) for start in starts]
    return Estimate(*map(np.concatenate, zip(*parts, strict=True)))


def _estimate(
    changed: Floats, changed_log_s: Floats, unchanged_s: Floats, expected: Floats, threshold: Floats
) -> Estimate:
    interval = np.exp(np.divide(changed_log_s, changed, out=np.zeros_like(changed), where=changed > 0))
    rates = np.exp(_LOGS)
    logs = changed * np.log(-np.expm1(-rates * interval)) - rates * unchanged_s
    logs -= ((_LOGS - np.log(expected)) / SPREAD) ** 2 / 2
    weights = np.exp(logs - logs.max(axis=1, keepdims=True))
    weights /= weights.sum(axis=1, keepdims=True)
    mean = (weights * _LOGS).sum(axis=1)
    spread = np.sqrt((weights * (_LOGS - mean[:, None]) ** 2).sum(axis=1))
    return Estimate(np.exp(mean), spread, (weights * (rates > threshold)).sum(axis=1))
