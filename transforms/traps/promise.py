"""What a URL promises: how likely it has something new, by the results of URLs that share its shape or its source.

Pure functions of counts of good and bad results (the mean of a Beta distribution). Nothing here knows what a page is.
"""

import math

MEMORY = 24.0
"""Results that are remembered while any of them is good; a run of bad ones is remembered whole."""

CLOSED, HELD = 1 / 4, 1 / 24
"""Promises up to which URLs earn nothing, and up to which they are held when their host has nothing else."""

PRIOR = 1 / 2
"""The promise of what nothing is known about."""

LEAST = 8
"""Requests of a round for URLs that promise little, at least."""

BONUS = 1 / 2
"""Of a good result, that is hoped for."""

_FIRST, _MORE = 24, 6  # the credit of a new host, and by how much each doubling of its useful results raises it
_ENDED = 1 / 16, 1 / 48  # promises up to which a host has nothing else: if few URLs wait, and if many do
_STRENGTH = 2.0  # results that the prior counts for


def remember(good: float, bad: float, new_good: float, new_bad: float) -> tuple[float, float]:
    """The counts of good and bad results after a round."""
    known, new = good + bad, new_good + new_bad
    kept = min(1.0, max(0.0, MEMORY - new) / known) if known and good >= 1 else 1.0
    return (good * kept if good * kept >= 1 else 0.0) + new_good, bad * kept + new_bad


def promise(good: float, bad: float, prior: float = PRIOR) -> float:
    """The share of good results to expect; `prior` is that of what is alike."""
    return (good + prior * _STRENGTH) / (good + bad + _STRENGTH)


def hope(share: float, results: float, chosen: int, bonus: float = BONUS) -> float:
    """An upper bound of the promise `share`, learned from so many results, if all that a round has `chosen` are bad.

    That makes what is alike take turns, and what was hardly tried comes before what is known to promise little. Without
    `bonus` it is what is left of the promise then.
    """
    known = results + _STRENGTH
    return (share * known + bonus) / (known + chosen)


def earned(share: float, useful: float, growth: int) -> int:
    """How many URLs the next round may visit for so many useful results of URLs that are alike."""
    return int(growth * share**2 * useful)


def credit(useful: float, useless: float) -> int:
    """How many URLs that have earned nothing the next round may visit on a host.

    It grows with the logarithm of what is useful, less what was useless, and is never less than a third of that, or
    than `LEAST`: while a host has other pages, a trap that would be held costs so much each round.
    """
    allowed = _FIRST + _MORE * math.log2(1 + useful)
    return int(max(LEAST, (allowed - _FIRST) / 3, allowed - useless))


def ended(waiting: int) -> float:
    """The promise up to which so many URLs are held: about one good page among them, within bounds."""
    return min(_ENDED[0], max(_ENDED[1], 1 / max(1, waiting)))
