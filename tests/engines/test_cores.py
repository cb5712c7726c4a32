"""How many cores a process may use: those of its affinity, within the quota of its container."""

import math
import os
from pathlib import Path

import pytest

from beamtrawl.runners.engines.cores import quota, usable_cores

# files below /sys/fs/cgroup, the text of /proc/self/cgroup, cores
QUOTAS = {
    "no cgroups": ({}, "", math.inf),
    "version 2, no limit": ({"cpu.max": "max 100000\n"}, "0::/\n", math.inf),
    "version 2": ({"cpu.max": "150000 100000\n"}, "0::/\n", 1.5),
    "a group inside": ({"a/b/cpu.max": "50000 100000\n"}, "0::/a/b\n", 0.5),
    "the least of those above": ({"a/cpu.max": "200000 100000\n", "a/b/cpu.max": "max 100000\n"}, "0::/a/b\n", 2.0),
    "version 1": ({"cpu/cpu.cfs_quota_us": "300000\n", "cpu/cpu.cfs_period_us": "100000\n"}, "4:cpu,cpuacct:/\n", 3.0),
    "version 1, no limit": ({"cpu/cpu.cfs_quota_us": "-1\n", "cpu/cpu.cfs_period_us": "100000\n"}, "", math.inf),
}


def at(folder: Path, files: dict[str, str], own: str) -> tuple[Path, Path]:
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    (folder / "own").write_text(own)
    return folder, folder / "own"


@pytest.mark.parametrize(("files", "own", "cores"), QUOTAS.values(), ids=QUOTAS)
def test_the_quota_of_a_container(files: dict[str, str], own: str, cores: float, tmp_path: Path) -> None:
    assert quota(*at(tmp_path, files, own)) == cores


def test_a_quota_is_rounded_up_and_the_affinity_bounds_it(tmp_path: Path) -> None:
    assert usable_cores(*at(tmp_path, {"cpu.max": "10000 100000"}, "0::/")) == 1
    assert usable_cores(*at(tmp_path, {"cpu.max": "max 100000"}, "0::/")) == len(os.sched_getaffinity(0))
