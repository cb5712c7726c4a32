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

_resident_after = 0  # when `give_back` last did something, or since `share_memory`


def share_memory() -> None:
    """Have Arrow allocate by glibc, and glibc in one arena, unless the environment configures one of them (`MALLOC_…`).

    Best called before threads start.
    """
    global _resident_after  # noqa: PLW0603  # the memory of a process is one
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)  # of glibc
    if mallopt is not None and not any(name.startswith("MALLOC_") for name in os.environ):
        mallopt(_ARENA_MAX, 1)
    if "ARROW_DEFAULT_MEMORY_POOL" not in os.environ:
        pa.set_memory_pool(pa.system_memory_pool())
    _resident_after = resident()


def give_back() -> None:
    """Collect cycles and return free memory to the system, if this process has grown by megabytes since it last did so.

    That is its resident size (`usage.resident`). It takes tens of milliseconds. What a step has built refers to itself,
    and glibc returns only what is free at the end of its heap.
    """
    global _resident_after  # noqa: PLW0603
    if resident() - _resident_after >= _MUCH:
        gc.collect()
        pa.default_memory_pool().release_unused()
        _resident_after = resident()
