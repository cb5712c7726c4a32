"""The part of a guarded process that its programs share: bodies from stdin, results to stdout, within limits."""

import contextlib
import json
import math
import resource
import sys
import time
from collections.abc import Callable
from typing import Any

from .guarded import BOUNDS, LENGTH

_MAX_MEMORY = 1 << 30  # bytes
_RSS_UNIT = 1 if sys.platform == "darwin" else 1024  # bytes, of ru_maxrss

Reader = Callable[[bytes, float, int], dict[str, Any]]
"""Reads a body for some CPU seconds and up to a number of characters of text, and returns what JSON can hold."""


def serve(read: Reader) -> None:
    """Process bodies until stdin ends; the result for an unreadable one is an `error`.

    `guarded.py` is the client. A result with `is_worn` is the last: the memory that a large file took may stay taken.
    """
    with contextlib.suppress(ValueError, OSError):  # systems without this limit
        resource.setrlimit(resource.RLIMIT_AS, (_MAX_MEMORY, _MAX_MEMORY))
    source, sink = sys.stdin.buffer, sys.stdout.buffer
    while head := source.read(BOUNDS.size):
        length, seconds, patience, max_text = BOUNDS.unpack(head)
        body = source.read(length)
        _end_after(patience)
        try:
            found = read(body, seconds, max_text)
        except Exception as error:
            found = {"error": f"{type(error).__name__}: {error}"}
        found["is_worn"] = 2 * _memory() > _MAX_MEMORY
        answer = json.dumps(found).encode()
        sink.write(LENGTH.pack(len(answer)) + answer)
        sink.flush()


def _memory() -> int:
    """The bytes of this process that count towards its limit; without /proc, the most that were ever in memory.

    Linux counts the latter from before the program was started: a large worker would wear each of its processes out.
    """
    try:
        with open("/proc/self/statm", encoding="ascii") as sizes:
            return int(sizes.read().split()[0]) * resource.getpagesize()
    except OSError:
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * _RSS_UNIT


def _end_after(seconds: float) -> None:
    """Let the system end this process after so many seconds of CPU time from now; they are rounded up."""
    with contextlib.suppress(ValueError, OSError):  # systems without this limit
        _, hard = resource.getrlimit(resource.RLIMIT_CPU)
        resource.setrlimit(resource.RLIMIT_CPU, (math.ceil(time.process_time() + seconds), hard))
