"""How many cores this process may use, and how many workers pay."""

import math
import os
from pathlib import Path

from ..process.cgroups import folders, text

_CGROUPS = Path("/sys/fs/cgroup")
_OWN = Path("/proc/self/cgroup")

_WORTH = 0.5
"""Seconds of work from which a worker process pays off, of two or more.

Forking one, and passing it what it works on, takes a tenth of a second of CPU time.
"""


def workers_that_pay(most: int, seconds: float) -> int:
    """Return how many worker processes a step of so much work has, at most so many; 1: none.

    >>> [workers_that_pay(8, seconds) for seconds in (0.1, 0.9, 1.0, 2.2, 100.0)]
    [1, 1, 2, 4, 8]
    """
    return max(1, min(most, int(seconds / _WORTH)))


def usable_cores(cgroups: Path = _CGROUPS, own: Path = _OWN) -> int:
    """Return the number of cores: at most those of the process's affinity, and of its container's quota, rounded up."""
    has_affinity = hasattr(os, "sched_getaffinity")  # not on macOS
    cores = len(os.sched_getaffinity(0)) if has_affinity else os.cpu_count() or 1
    limit = quota(cgroups, own)
    return cores if limit == math.inf else max(1, min(cores, math.ceil(limit)))


def quota(cgroups: Path = _CGROUPS, own: Path = _OWN) -> float:
    """Return the least quota in cores of the process's cgroup (version 2 or 1) and those above it; inf without one."""
    least = math.inf
    for folder in folders(cgroups, text(own), "cpu"):
        if limit := _words(folder / "cpu.max"):
            quota_us, period_us = (limit[0], limit[-1]) if limit[0] != "max" else ("-1", "1")
        else:
            one, other = _words(folder / "cpu.cfs_quota_us"), _words(folder / "cpu.cfs_period_us")
            if not one or not other:
                continue
            quota_us, period_us = one[0], other[0]
        if int(quota_us) > 0 and int(period_us) > 0:
            least = min(least, int(quota_us) / int(period_us))
    return least


def _words(path: Path) -> list[str]:
    return text(path).split()
