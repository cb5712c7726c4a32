"""Let no host fill a page of results."""

from collections import Counter
from collections.abc import Sequence

WINDOW = 100
"""Hits that change places with one another: how far down a hit may be brought up from."""


def by_host(hosts: Sequence[str], per_host: int) -> list[int]:
    """An order of hits, given their hosts from the best hit on, in which hosts take turns.

    In each WINDOW of hits, first come the best `per_host` of each host, then the next so many of each. None is lost,
    and if all are of one host nothing changes.

    >>> by_host(["a", "a", "a", "b", "a"], 2)
    [0, 1, 3, 2, 4]
    """
    order: list[int] = []
    for start in range(0, len(hosts), WINDOW):
        seen: Counter[str] = Counter()
        turns = []
        for number in range(start, min(start + WINDOW, len(hosts))):
            turns.append((seen[hosts[number]] // per_host, number))
            seen[hosts[number]] += 1
        order += [number for _, number in sorted(turns)]
    return order


def whole_windows(hits: int) -> int:
    """How many hits must be known to tell the order of the first so many."""
    return -(-hits // WINDOW) * WINDOW
