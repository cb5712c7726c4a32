"""What a URL promises: how likely it has something new, by the results of the URLs that share its shape or its source.

Pure functions of counts of good and bad results (a Beta estimate). Nothing here knows what a page or a template is.
"""

MEMORY = 32.0
"""Results that are remembered while any of them is good; a run of bad ones is remembered whole."""

CLOSED, ENDED = 1 / 8, 1 / 32
"""Promises up to which URLs are only sampled, and up to which they are held when their host has nothing else."""

SAMPLE = 8
"""Requests of a round for URLs that promise little, until `MEMORY` of them were bad; then ever less, and at least one."""

_VOUCHED = 8  # requests of the next round for each good result of the last one
_STRENGTH = 2.0  # results that the prior counts for


def remember(good: float, bad: float, new_good: float, new_bad: float) -> tuple[float, float]:
    """The counts of good and bad results after a round."""
    known, new = good + bad, new_good + new_bad
    kept = min(1.0, max(0.0, MEMORY - new) / known) if known and good >= 1 else 1.0
    return good * kept + new_good, bad * kept + new_bad


def promise(good: float, bad: float, prior: float = 1 / 2) -> float:
    """The share of good results to expect: the mean of the estimate, whose prior counts for two results."""
    return (good + prior * _STRENGTH) / (good + bad + _STRENGTH)


def budget(share: float, bad: float, requests: int, last: float, first: int, growth: int) -> int:
    """How many URLs the next round may request, at least one.

    Of so many `requests` so far, `last` were good ones of the last round; `first` is the budget without any. What
    promises most has `growth` times as many; it falls with the square of the promise.
    """
    grown = int(growth * share * share * (first * 4 / growth + requests))
    explored = int(SAMPLE * 2 ** (-max(0.0, bad - MEMORY) / SAMPLE)) if requests else 0
    return max(1, grown if requests else min(first, grown), int(_VOUCHED * last), explored)
