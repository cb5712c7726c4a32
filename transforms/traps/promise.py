"""What a URL promises: how likely it has something new, by the results of URLs that share its shape or its source.

Pure functions of counts of good and bad results (the mean of a Beta distribution). Nothing here knows what a page is.
"""

MEMORY = 24.0
"""Results that are remembered while any of them is good; a run of bad ones is remembered whole."""

CLOSED, ENDED = 1 / 4, 1 / 24
"""Promises up to which URLs are only sampled, and up to which they are held when their host has nothing else."""

PRIOR = 1 / 2
"""The promise of what nothing is known about."""

SAMPLE = 8
"""Requests of a round for URLs that promise little, until `MEMORY` were bad; then ever less, and at least one."""

_STRENGTH = 2.0  # results that the prior counts for


def remember(good: float, bad: float, new_good: float, new_bad: float) -> tuple[float, float]:
    """The counts of good and bad results after a round."""
    known, new = good + bad, new_good + new_bad
    kept = min(1.0, max(0.0, MEMORY - new) / known) if known and good >= 1 else 1.0
    return good * kept + new_good, bad * kept + new_bad


def promise(good: float, bad: float, prior: float = PRIOR) -> float:
    """The share of good results to expect; `prior` is that of what is alike."""
    return (good + prior * _STRENGTH) / (good + bad + _STRENGTH)


def budget(share: float, bad: float, requests: int, last: float, first: int, growth: int) -> int:
    """How many URLs with the promise `share` the next round may request, at least one.

    Of so many `requests` so far, `last` were good ones of the last round. It is `first` without any, and at most
    `growth` times as many as so far: ever less with the third power of the promise. While no more than `MEMORY` results
    were bad, it is SAMPLE at least.
    """
    if not requests:
        return first
    grown = int(share**3 * (8 * first + growth * requests))
    sampled = int(SAMPLE * 2 ** (-max(0.0, bad - MEMORY) / SAMPLE))
    return max(1, grown, int(growth / 2 * last), sampled)
