"""How much memory a step may take: the machine's and the container's."""

import doctest
import gc
import os
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from beamtrawl.runners.process.usage import Peak, memory, used
from beamtrawl.transforms.memory import limits
from beamtrawl.transforms.memory.limits import Group, budget
from tests.support.tables import each_row

MEMINFO = "MemTotal:       24684340 kB\nMemFree:  1 kB\nMemAvailable:    1000000 kB\n"
UNLIMITED = Group("max\n", "700000000\n", "anon 1\ninactive_file 5\n")

# /proc/meminfo, control groups, bytes that the program has; bytes that it may have
BUDGETS = {
    "nothing is known": ("", [], 5, None),
    "no Linux that knows what is available": ("MemFree: 7 kB\n", [], 5, None),
    "the machine": (MEMINFO, [], 5_000, 1_024_005_000),
    "no limit": (MEMINFO, [UNLIMITED], 0, 1_024_000_000),
    "no files": (MEMINFO, [Group("", "", "")], 0, 1_024_000_000),
    "a container": (MEMINFO, [Group("500000000\n", "100000000\n", "")], 100_000_000, 500_000_000),
    "others in it": (MEMINFO, [Group("500000000\n", "300000000\n", "")], 100_000_000, 300_000_000),
    "its cached files": (
        *(MEMINFO, [Group("500000000\n", "300000000\n", "active_file 9\ninactive_file 150000000\n")]),
        *(100_000_000, 450_000_000),
    ),
    "version 1 with groups below": (
        *(MEMINFO, [Group("500000000\n", "300000000\n", "inactive_file 0\ntotal_inactive_file 200000000\n")]),
        *(100_000_000, 500_000_000),
    ),
    "version 1 without a limit": (MEMINFO, [Group("9223372036854771712\n", "300000000\n", "")], 0, 1_024_000_000),
    "the least of several": (MEMINFO, [UNLIMITED, Group("900000", "0", ""), Group("800000", "0", "")], 0, 800_000),
    "more used than the limit": (MEMINFO, [Group("100", "900", "")], 0, 0),
    "only a container": ("", [Group("900000", "", "")], 5, 900_000),
}


@each_row(BUDGETS)
def test_the_least_of_machine_and_containers(meminfo, groups, own, expected):
    assert budget(meminfo, groups, own) == expected


def test_examples():
    assert doctest.testmod(limits).failed == 0


# the text of /proc/self/cgroup, files below /sys/fs/cgroup
GROUPS = {
    "version 2": ("0::/a/b\n", {"a/memory.max": "700000000\n", "a/memory.current": "0\n", "a/b/memory.max": "max\n"}),
    "version 1": (
        "4:memory:/a\n0::/\n",
        {"memory/a/memory.limit_in_bytes": "700000000\n", "memory/a/memory.usage_in_bytes": "0\n"},
    ),
}


@pytest.mark.parametrize(("own", "files"), GROUPS.values(), ids=GROUPS)
def test_files_of_control_groups(own: str, files: dict[str, str], tmp_path: Path) -> None:
    proc, cgroups = tmp_path / "proc", tmp_path / "cgroup"
    for path, text in {proc / "meminfo": MEMINFO, proc / "self/cgroup": own}.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    for name, text in files.items():
        (cgroups / name).parent.mkdir(parents=True, exist_ok=True)
        (cgroups / name).write_text(text)
    assert memory(proc, cgroups).most == 700_000_000


@pytest.mark.skipif(not Path("/proc/self/smaps_rollup").exists(), reason="memory is measured on Linux only")
def test_a_process_that_has_ended_does_not_hide_the_others() -> None:
    child = subprocess.Popen(["true"])
    os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)  # it has ended, and nobody has asked for its status
    try:
        assert (used() or 0) > 10 << 20
    finally:
        child.wait()


@pytest.mark.skipif(not Path("/proc/self/smaps_rollup").exists(), reason="memory is measured on Linux only")
def test_processes_that_a_thread_and_a_child_have_started_count() -> None:
    holds = "held = b'x' * (100 << 20); print(flush=True); input()"
    program = f"import subprocess, sys; subprocess.run([sys.executable, '-S', '-c', {holds!r}])"
    gc.collect()  # or processes that earlier tests have left may end meanwhile
    before = used() or 0
    started, found = list[subprocess.Popen[bytes]](), list[int]()

    def start() -> None:
        words = [sys.executable, "-S", "-c", program]
        started.append(subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE))
        assert started[0].stdout
        started[0].stdout.readline()
        found.append(used() or 0)

    thread = threading.Thread(target=start)
    thread.start()
    thread.join()
    with started[0] as child:
        child.communicate(b"\n")
    assert before + (100 << 20) < found[0] < before + (150 << 20)


@pytest.mark.skipif(not Path("/proc/self/smaps_rollup").exists(), reason="memory is measured on Linux only")
def test_the_peak_of_this_process() -> None:
    with Peak(used()) as peak:
        held = bytearray(os.urandom(1)) * (200 << 20)
        before = used() or 0
        del held
    assert peak.bytes is not None
    assert before >= 200 << 20


def test_a_peak_begins_with_what_was_used_before_and_without_it_nothing_is_watched() -> None:
    with Peak(1 << 50) as known, Peak(None) as unknown:
        pass
    assert known.bytes is not None and known.bytes >= 1 << 50  # more, if this process has grown
    assert unknown.bytes is None
