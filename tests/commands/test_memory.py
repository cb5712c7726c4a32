"""Threads use what others have freed, unless the environment configures an allocator."""

import os
import platform
import subprocess
import sys

import pytest

from beamtrawl.runners.process.memory import share_memory

SCRIPT = f"""
import os, threading
from pathlib import Path
from {share_memory.__module__} import share_memory
import pyarrow as pa
CALL
def resident():
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE") >> 20
before = resident()
kept = []
def work():
    blocks = [b"x" * 20_000 for _ in range(1_000)]
    kept.append(b"x" * 19_000)  # above the blocks, which therefore stay in the arena
steps = [(threading.Event(), threading.Event(), threading.Event()) for _ in range(6)]
def wait_and_work(start, done, end):
    start.wait()
    work()
    done.set()
    end.wait()  # an arena of a thread that has ended is another thread's
threads = [threading.Thread(target=wait_and_work, args=step) for step in steps]
for thread, (start, done, _) in zip(threads, steps):
    thread.start()
    start.set()
    done.wait()
for _, _, end in steps:
    end.set()
print(resident() - before, pa.default_memory_pool().backend_name)
"""


def measured(call: str, **environment: str) -> tuple[int, str]:
    """The MB that stay resident after six threads in turn have freed 20 MB each, and where Arrow allocates."""
    plain = {name: value for name, value in os.environ.items() if not name.startswith(("MALLOC_", "ARROW_"))}
    command = [sys.executable, "-c", SCRIPT.replace("CALL", call)]
    kept, pool = subprocess.run(
        command, check=True, stdout=subprocess.PIPE, text=True, env=plain | environment
    ).stdout.split()
    return int(kept), pool


@pytest.mark.slow("processes")
@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="mallopt is of glibc")
def test_threads_share_what_was_freed() -> None:
    kept, pool = measured("share_memory()")
    assert (kept < 40, pool) == (True, "system")
    assert measured("")[0] > 80  # glibc by itself


@pytest.mark.slow("processes")
def test_what_was_freed_before_a_step_is_returned_when_it_starts() -> None:
    lines = """
from beamtrawl.runners.process.memory import give_back, share_memory
from beamtrawl.runners.process.usage import resident
share_memory()
before = resident()
rows, kept = [], []
for number in range(200_000):
    rows.append(bytes(600))
    kept.append(bytes(600)) if number % 2_000 == 0 else None
rows.append(rows)
del rows
held = resident() - before
give_back()
print(held >> 20, resident() - before >> 20)
"""
    printed = subprocess.run([sys.executable, "-c", lines], capture_output=True, check=True).stdout
    held, left = map(int, printed.split())
    assert held > 60
    assert left < 10


def test_what_the_environment_configures_stays() -> None:
    pools = "mimalloc" if measured("")[1] != "system" else "system"
    assert measured("share_memory()", ARROW_DEFAULT_MEMORY_POOL=pools)[1] == pools


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="mallopt is of glibc")
def test_what_the_environment_configures_of_glibc_stays() -> None:
    assert measured("share_memory()", MALLOC_ARENA_MAX="8")[0] > 80
