"""How many cores this process may use."""

import math
import os
from pathlib import Path

from ..process.cgroups import folders

_CGROUPS = Path("/sys/fs/cgroup")
_OWN = Path("/proc/self/cgroup")


def usable_cores(cgroups: Path = _CGROUPS, own: Path = _OWN) -> int:
    """Return the number of cores: at most those of the process's affinity, and of its container's quota, rounded up."""
    has_affinity = hasattr(os, "sched_getaffinity")  # not on macOS
    cores = len(os.sched_getaffinity(0)) if has_affinity else os.cpu_count() or 1
    limit = quota(cgroups, own)
    return cores if limit == math.inf else max(1, min(cores, math.ceil(limit)))


def quota(cgroups: Path = _CGROUPS, own: Path = _OWN) -> float:
    """Return the least quota in cores of the process's cgroup (version 2 or 1) and those above it; inf without one."""
    least = math.inf
    for folder in folders(cgroups, _text(own), "cpu"):
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
    return _text(path).split()


def _text(path: Path) -> str:
    try:
        return path.read_text()
    except OSError:
        return ""
