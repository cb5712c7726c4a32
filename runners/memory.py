"""Returns freed memory to the system while a crawl runs.

By default, mimalloc, which Arrow uses, and glibc keep what was freed. glibc raises the size from which a block is a
mapping of its own to 32 MB as soon as such a block was freed, and gives threads arenas of their own. In a round of
2,000 pages with two workers, that was a quarter of the memory of all processes.
"""

import ctypes
import os

import pyarrow as pa

_TRIM_THRESHOLD, _MMAP_THRESHOLD, _ARENA_MAX = -1, -3, -8  # mallopt(3)
_BLOCK_BYTES = 1 << 20


def return_memory() -> None:
    """Have Arrow and glibc return what is freed, unless the environment configures one of them (`MALLOC_…`).

    Best called before threads start: then there is one arena.
    """
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)  # of glibc
    if mallopt is not None and not any(name.startswith("MALLOC_") for name in os.environ):
        mallopt(_ARENA_MAX, 1)
        mallopt(_TRIM_THRESHOLD, _BLOCK_BYTES)
        mallopt(_MMAP_THRESHOLD, _BLOCK_BYTES)
    if "ARROW_DEFAULT_MEMORY_POOL" not in os.environ:
        pa.set_memory_pool(pa.system_memory_pool())
