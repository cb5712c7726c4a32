"""Estimates the CPU time of a step from what it reads, corrected by what earlier steps of the crawl have taken."""

import math
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from ..transforms.directory.crawl_dir import Manifest

SECONDS: Mapping[str, Mapping[str, float]] = {
    "fetch": {"urls": 0.002},
    "update": {"visits": 0.0015, "body_bytes": 1.2e-7},
    "revisits": {"pages": 1e-4},
    "scan": {"bytes": 1.5e-8},
    "read": {"bytes": 3e-8},
    "rebuild": {"documents": 0.004},
    "merge": {"documents": 1.2e-3, "rows": 5e-6, "waiting": 1e-5},
    "drop": {"rows": 2e-6},
    "rank": {"links": 1e-5},
}
"""CPU seconds of a unit, by kind of work: sites of documentation, on cores of 2026 (docs/measurements/pages.md)."""

_PRIOR_S = 20.0  # of work that took what was estimated, to begin with: small steps say little
_LATEST = 8  # steps that count: what a crawl meets changes
_FACTORS = (0.25, 8.0)
_FULL = 0.7  # of a core that one process can use while it waits for servers, too


class Work(NamedTuple):
    """What a step has to compute."""

    expected: float  # CPU seconds, by its units alone
    factor: float = 1.0  # of earlier steps
    pieces: int = 1 << 30  # that different workers may do at the same time, at most

    @property
    def seconds(self) -> float:
        """The estimate of its CPU time."""
        return self.expected * self.factor


def work_of(kind: str, **amounts: float) -> Work:
    """Return the work of so many units.

    >>> work_of("update", visits=1_000, body_bytes=50e6).seconds
    7.5
    """
    return Work(round(sum(SECONDS[kind][name] * amount for name, amount in amounts.items()), 6))


def learned(manifests: Sequence[Manifest], kind: str) -> float:
    """Return how many times as long as `expected` the last steps of a kind took."""
    costs = [m.cpu for m in manifests if m.step == kind and m.cpu][-_LATEST:]
    taken, expected = (_PRIOR_S + sum(cost[name] for cost in costs) / 1000 for name in ("taken", "expected"))
    return min(max(taken / expected, _FACTORS[0]), _FACTORS[1])


def kept_busy(seconds: float, waited: float) -> int:
    """Return how many workers a step of so much CPU time keeps busy that waits for so many seconds, at least.

    >>> [kept_busy(2.0, waited) for waited in (0.0, 1.0, 60.0)] == [Work(0).pieces, 3, 1]
    True
    """
    return max(1, math.ceil(seconds / waited / _FULL)) if waited else Work(0).pieces
