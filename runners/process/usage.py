"""Memory and CPU time of this process and its descendants, and what the machine or container gives. Linux only."""

import contextlib
import os
import signal
import threading
from collections.abc import Callable, Iterator
from multiprocessing.connection import wait
from pathlib import Path

from ...transforms.memory.limits import Group, Memory, budget
from .cgroups import folders, text

_PROC, _CGROUPS = Path("/proc"), Path("/sys/fs/cgroup")
_TICK_S = 0.2
_END_S = 2.0  # for a killed process
_PIECE = 1 << 16  # bytes; the kernel may give less at once
_GROWN = 1.1  # of the resident size at which the proportional one, which the kernel counts page by page, was read last
_NAMES = (("memory.max", "memory.current"), ("memory.limit_in_bytes", "memory.usage_in_bytes"))


def memory(proc: Path = _PROC, cgroups: Path = _CGROUPS) -> Memory:
    """Return what this process and its descendants have and may have."""
    groups = [
        Group(text(folder / limit), text(folder / usage), text(folder / "memory.stat"))
        for folder in folders(cgroups, text(proc / "self/cgroup"), "memory")
        for limit, usage in _NAMES
    ]
    now = used()
    return Memory(now, budget(text(proc / "meminfo"), groups, now or 0))


def used() -> int | None:
    """Return the bytes of this process and its descendants, what several have divided among them; None if unknown."""
    try:
        return _sum(_proportional)
    except (OSError, ValueError):  # no Linux
        return None


def resident() -> int:
    """Return the bytes of this process in memory, without pages of files; 0 if unknown."""
    try:
        return _resident(os.getpid())
    except OSError:  # no Linux
        return 0


def end_children() -> None:
    """End the processes that this one has started, and wait for them: the CPU time of a child counts only then."""
    for child in _children(os.getpid()):
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)


def kill(pid: int) -> None:
    """Kill a child and its descendants, and wait for the end of each of the latter, two seconds at most."""
    family, ends = list(_family(pid)), list[int]()
    for each in family:
        with contextlib.suppress(OSError):  # it has ended, or Linux is older than 5.3
            ends += [os.pidfd_open(each)] if each != pid else []
        with contextlib.suppress(ProcessLookupError):
            os.kill(each, signal.SIGKILL)
    for end in ends:
        wait([end], _END_S)
        os.close(end)


class Peak:
    """Watches the memory inside `with`: `bytes` is the largest that was seen. `cpu_ms` is the CPU time in the end.

    It begins with what is `used` just before; where that is None, nothing is watched. What processes share is taken
    from their resident sizes, as it was when their proportional sizes were read last.
    """

    def __init__(self, used: int | None) -> None:
        self.bytes = used
        self.cpu_ms: int | None = None
        self._read_at = self._shared = 0
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._watch, name="memory", daemon=True)

    def __enter__(self) -> "Peak":
        if self.bytes is not None:
            self._read_at = _sum(_resident)
            self._shared = self._read_at - self.bytes
            self._cpu_before = _sum(_cpu_ms)
            self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        if self.bytes is not None:
            self._thread.join()
            self.cpu_ms = _sum(_cpu_ms) - self._cpu_before

    def _watch(self) -> None:
        while not self._ended.wait(_TICK_S):
            self._look()
        self._look()

    def _look(self) -> None:
        with contextlib.suppress(OSError, ValueError):
            resident = _sum(_resident)
            if resident > _GROWN * self._read_at:
                self._read_at, self._shared = resident, resident - _sum(_proportional)
            self.bytes = max(self.bytes or 0, resident - self._shared)


def _sum(size: Callable[[int], int]) -> int:
    """The sizes, or times, of this process and its descendants; those that have ended, reaped or not, have none."""
    own, *others = _family(os.getpid())
    total = size(own)
    for pid in others:
        with contextlib.suppress(OSError, ValueError):
            total += size(pid)
    return total


def _family(pid: int) -> Iterator[int]:
    """A process and its descendants."""
    yield pid
    for child in _children(pid):
        yield from _family(child)


def _children(pid: int) -> Iterator[int]:
    with contextlib.suppress(OSError):  # the process has ended in between
        for task in os.listdir(f"/proc/{pid}/task"):  # noqa: PTH208 -- names, no Path for each
            with contextlib.suppress(OSError):
                yield from map(int, _read(f"/proc/{pid}/task/{task}/children").split())


def _resident(pid: int) -> int:
    """Bytes of a process in memory, without pages of files."""
    _, all_, shared, *_ = _read(f"/proc/{pid}/statm").split()
    return (int(all_) - int(shared)) * os.sysconf("SC_PAGE_SIZE")


def _cpu_ms(pid: int) -> int:
    """Milliseconds of CPU time of a process, and of those that it has waited for (proc_pid_stat(5))."""
    fields = _read(f"/proc/{pid}/stat").rpartition(b")")[2].split()
    return 1000 * sum(map(int, fields[11:15])) // os.sysconf("SC_CLK_TCK")


def _proportional(pid: int) -> int:
    """Bytes of a process in memory; what several have is divided among them."""
    lines = _read(f"/proc/{pid}/smaps_rollup").splitlines()
    return next((int(line.split()[1]) * 1024 for line in lines if line.startswith(b"Pss:")), 0)


def _read(path: str) -> bytes:
    """A file of /proc. One of each thread is read at each tick, and a Path takes five times as long."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        return b"".join(iter(lambda: os.read(descriptor, _PIECE), b""))
    finally:
        os.close(descriptor)
