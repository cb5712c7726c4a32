"""Lets all threads of a crawl use the memory that one of them has freed.

glibc gives threads arenas of their own, and mimalloc, which Arrow uses by default, keeps memory for each: in a round of
2,000 pages with two workers, a quarter of the memory of all processes was free and of no use. One arena costs no CPU
time that can be measured. Smaller thresholds for trimming and for mappings save no more, and cost 4 % of the CPU time.
"""

import ctypes
import gc
import os

import pyarrow as pa

from .usage import resident

_MUCH = 4 << 20
_ARENA_MAX = -8  # mallopt(3)


def share_memory() -> None:
    """Have Arrow allocate by glibc, and glibc in one arena, unless the environment configures one of them (`MALLOC_…`).

    Best called before threads start.
    """
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)  # of glibc
    if mallopt is not None and not any(name.startswith("MALLOC_") for name in os.environ):
        mallopt(_ARENA_MAX, 1)
    if "ARROW_DEFAULT_MEMORY_POOL" not in os.environ:
        pa.set_memory_pool(pa.system_memory_pool())


def give_back(before: int) -> None:
    """Collect cycles and return free memory to the system, if this process has grown by megabytes since `before`.

    That is its resident size (`usage.resident`). It takes tens of milliseconds. What a step has built refers to itself,
    and glibc returns only what is free at the end of its heap.
    """
    if resident() - before >= _MUCH:
        gc.collect()
        pa.default_memory_pool().release_unused()
