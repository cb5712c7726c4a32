"""Groups hits by host, so that no host fills a page of results with hits that are no better than those of others."""

from collections import Counter, deque
from collections.abc import Sequence

WINDOW = 100
"""The number of hits that are reordered among themselves."""

NEAR = 0.9
"""The least score of a hit, relative to the best one that is not placed yet, with which it may come before this one."""


def by_host(hosts: Sequence[str], scores: Sequence[float], per_host: int) -> list[int]:
    """The new order of hits, given their hosts and scores from the best hit on.

    In each WINDOW of hits, those that follow `per_host` hits of their host give way to hits of hosts with fewer, then
    those that follow twice as many, and so on; but only to hits that are NEAR in score. The hits of a host keep their
    order.

    >>> by_host(["a", "a", "a", "b", "a"], [5, 5, 5, 5, 5], 2), by_host(["a", "a", "b"], [5, 5, 1], 1)
    ([0, 1, 3, 2, 4], [0, 1, 2])
    """
    order: list[int] = []
    for start in range(0, len(hosts), WINDOW):
        left: dict[str, deque[int]] = {}
        for number in range(start, min(start + WINDOW, len(hosts))):
            left.setdefault(hosts[number], deque()).append(number)
        placed: Counter[str] = Counter()
        while left:
            firsts = [numbers[0] for numbers in left.values()]
            least = NEAR * scores[min(firsts)]
            near = [number for number in firsts if scores[number] >= least]
            chosen = min(near, key=lambda number: (placed[hosts[number]] // per_host, number))
            order.append(chosen)
            host = hosts[chosen]
            placed[host] += 1
            left[host].popleft()
            if not left[host]:
                del left[host]
    return order


def whole_windows(hits: int) -> int:
    """The number of hits that determine the order of the first `hits`."""
    return -(-hits // WINDOW) * WINDOW
