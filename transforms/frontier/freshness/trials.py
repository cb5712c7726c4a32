"""Trials: early visits of pages of which it is not known whether they change too fast to be kept up to date.

A page that has changed at each visit may change a little or much more often than it is visited, and visits at the same
interval never tell. If it changes faster than weight / mu (`allocation`), its visits are lost to pages that they would
keep up to date; if not, it is worth them. A visit after 1.6 / rate tells most about a rate: that is where the Fisher
information about its logarithm, x^2 / (exp(x) - 1) for x = rate * interval, has its maximum.
"""

import numpy as np
from numpy.typing import NDArray

from .allocation import Bounds
from .change_rate import Estimate, Floats

_TELLS_MOST = 1.6
_LEAST, _MOST = 0.25, 0.75  # probability of a rate over weight / mu, between which a page is tried
_KNOWN = 0.5  # spread of a rate that is known well enough
_EVERY = 3  # visits of a page of which one is early: so trials take no more than a small part of the budget


def with_trials(
    interval: Floats, found: Estimate, threshold: Floats, number: NDArray[np.int64], bounds: Bounds
) -> Floats:
    """The intervals of pages, shorter for those that are tried.

    `threshold` is weight / mu of each page, that of `found.faster`; `number` grows by 1 with each visit of a page, and
    starts anywhere, so that the pages are not tried all at once.
    """
    is_open = (found.faster > _LEAST) & (found.faster < _MOST) & (found.spread > _KNOWN)
    early = np.clip(_TELLS_MOST / threshold, bounds.shortest, bounds.longest)
    return np.where(is_open & (number % _EVERY == 0), np.minimum(interval, early), interval)
