"""Scorers: functions of installed packages that raise or lower the score that a link passes to its target."""

import math
from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

from .. import plugins

MAX_FACTOR = 1000.0
"""Maximum of the product of all factors of a link, so that scores stay finite along a path."""


class ScoredLink(NamedTuple):
    """What a scorer knows of a link that the scope accepts; both URLs are canonical."""

    url: str  # of the target
    anchor: str  # "" without text
    source_url: str  # of the page with the link
    depth: int  # of the target: links from a seed


class Factor(NamedTuple):
    """What a scorer makes of a link."""

    value: float
    fault: str  # why it is 1 instead of what the scorer returned; else empty


Scorer = Callable[[ScoredLink], float]
"""The object of an entry point of `beamtrawl.scorers`: the factor of the score that a link passes on.

It is a pure function of the link, called on every worker, again if a step is repeated.
"""


def load_scorers(names: Sequence[str]) -> list[Scorer]:
    """The scorers of these names; PluginError if one cannot be loaded."""
    return [plugins.load(plugins.SCORERS, name) for name in names]


def factors(scorers: Sequence[Scorer], links: Iterable[ScoredLink]) -> list[float]:
    """The product of all factors for each link, at most `MAX_FACTOR`.

    A scorer that raises, or returns something else than a finite number of at least 0, has the factor 1: the order of
    a crawl is not worth a failed bundle, and no URL is lost by it.
    """
    return [product(factor_of(scorer, link).value for scorer in scorers) for link in links]


def product(values: Iterable[float]) -> float:
    """The product of the factors of a link, at most `MAX_FACTOR`."""
    return min(math.prod(values), MAX_FACTOR)


def factor_of(scorer: Scorer, link: ScoredLink) -> Factor:
    """The factor of one scorer; 1 with the fault if it has none."""
    try:
        factor = float(scorer(link))
    except Exception as error:
        return Factor(1.0, type(error).__name__)
    is_valid = math.isfinite(factor) and factor >= 0
    return Factor(factor, "") if is_valid else Factor(1.0, f"it returned {factor}")
