"""Divides a budget of revisits among pages, so that as many of them as possible are up to date (by weight).

The freshness of a page that changes at rate r and is visited at intervals T is (1 - exp(-r T)) / (r T). The intervals
that maximize the weighted sum under a budget satisfy weight (1 - (1 + r T) exp(-r T)) / r = mu for all pages (Cho and
Garcia-Molina, "Effective page refresh policies for web crawlers", ACM TODS 28(4), 2003). Pages that change too fast for
the budget get the longest interval. `mu` is found from a histogram of pages, so its cost does not depend on their
number.
"""

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .change_rate import DAY, Floats

_STEPS = 4  # of a bucket per factor of 2
_EXTREME = 12 * _STEPS  # bucket of the highest rate: 4,096 changes per day
_LIGHTEST = -6 * _STEPS

_PRODUCTS = np.geomspace(1e-9, 40.0, 4096)  # r T
_GAINS = -np.expm1(-_PRODUCTS) - _PRODUCTS * np.exp(-_PRODUCTS)
_GAINS[:1600] = _PRODUCTS[:1600] ** 2 / 2  # the difference of nearly equal numbers has no digits left
_LOG_PRODUCTS, _LOG_GAINS = np.log(_PRODUCTS), np.log(_GAINS)

Bucket = tuple[int, int]
"""Of rate and weight: multiples of a quarter of log2 of changes per day, and of the weight."""

Histogram = Mapping[Bucket, int]
"""The number of pages in each bucket."""


class Bounds(NamedTuple):
    """Bounds of the intervals between two visits of a page, in seconds."""

    shortest: float
    longest: float


def bucket(rate: ArrayLike, weight: ArrayLike) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The bucket of each page."""
    of_rate = np.rint(_STEPS * np.log2(np.asarray(rate) * DAY))
    of_weight = np.rint(_STEPS * np.log2(np.asarray(weight)))
    return (
        np.clip(of_rate, -_EXTREME, _EXTREME).astype(np.int64),
        np.clip(of_weight, _LIGHTEST, -_LIGHTEST).astype(np.int64),
    )


def intervals(rate: Floats, weight: Floats, mu: float, bounds: Bounds) -> Floats:
    """The seconds between two visits of each page."""
    with np.errstate(divide="ignore"):
        gain = np.log(mu * rate / weight)
    product = np.exp(np.interp(gain, _LOG_GAINS, _LOG_PRODUCTS))
    return np.clip(np.where(gain < 0, product / rate, np.inf), bounds.shortest, bounds.longest)


def solve(pages: Histogram, per_second: float, bounds: Bounds) -> float:
    """The `mu` with which the pages need so many visits per second, as far as the bounds permit.

    >>> hour, week = Bounds(3600, 7 * DAY)
    >>> one_a_day = solve({(0, 0): 10}, 10 / DAY, Bounds(hour, week))
    >>> float(intervals(np.array([1 / DAY]), np.array([1.0]), one_a_day, Bounds(hour, week))[0] / DAY)
    1.0...
    """
    rates = np.array([2.0 ** (rate / _STEPS) / DAY for rate, _ in pages])
    weights = np.array([2.0 ** (weight / _STEPS) for _, weight in pages])
    counts = np.array([max(count, 0) for count in pages.values()], np.float64)
    low, high = np.log(1e-9), np.log(1e13)
    for _ in range(60):
        middle = (low + high) / 2
        needed = (counts / intervals(rates, weights, float(np.exp(middle)), bounds)).sum()
        low, high = (middle, high) if needed > per_second else (low, middle)
    return float(np.exp((low + high) / 2))


def freshness(rate: Floats, interval: Floats) -> Floats:
    """The part of the time that the last copy of each page is up to date."""
    product = rate * interval
    return np.divide(-np.expm1(-product), product, out=np.ones_like(product), where=product > 0)
