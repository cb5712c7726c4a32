"""Memory that is freed goes back to the system, unless the environment configures an allocator."""

import os
import platform
import subprocess
import sys

import pytest

from beamtrawl.runners.memory import return_memory

SCRIPT = f"""
import os
from pathlib import Path
from {return_memory.__module__} import return_memory
import pyarrow as pa
CALL
def resident():
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE") >> 20
large = bytes(3 << 20)
del large  # from now on, glibc by itself puts such blocks on its heap
before = resident()
kept = []
for _ in range(50):
    block = b"x" * (2 << 20)
    kept.append((block, bytes(2000 + len(kept))))
kept = [small for _, small in kept]
del block
print(resident() - before, pa.default_memory_pool().backend_name)
"""


def measured(call: str, **environment: str) -> tuple[int, str]:
    """The MB that a process keeps of 100 MB that it has freed, and where Arrow allocates."""
    plain = {name: value for name, value in os.environ.items() if not name.startswith(("MALLOC_", "ARROW_"))}
    command = [sys.executable, "-c", SCRIPT.replace("CALL", call)]
    kept, pool = subprocess.run(
        command, check=True, stdout=subprocess.PIPE, text=True, env=plain | environment
    ).stdout.split()
    return int(kept), pool


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="mallopt is of glibc")
def test_freed_memory_is_returned() -> None:
    kept, pool = measured("return_memory()")
    assert (kept < 20, pool) == (True, "system")
    assert measured("")[0] > 50  # glibc by itself


def test_what_the_environment_configures_stays() -> None:
    pools = "mimalloc" if measured("")[1] != "system" else "system"
    assert measured("return_memory()", ARROW_DEFAULT_MEMORY_POOL=pools)[1] == pools


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="mallopt is of glibc")
def test_what_the_environment_configures_of_glibc_stays() -> None:
    assert measured("return_memory()", MALLOC_ARENA_MAX="8")[0] > 50
