"""Groups hits by host, so that no host fills a page of results."""

from collections import Counter
from collections.abc import Sequence

WINDOW = 100
"""The number of hits that are reordered among themselves."""


def by_host(hosts: Sequence[str], per_host: int) -> list[int]:
    """The new order of hits, given their hosts from the best hit on, with at most `per_host` of a host in each turn.

    In each WINDOW of hits, the best `per_host` of each host come first, then the next `per_host` of each, and so on.
    The hits of a single host keep their order.

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
    """The number of hits that determine the order of the first `hits`."""
    return -(-hits // WINDOW) * WINDOW
