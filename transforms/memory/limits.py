"""The memory that a step may take, from the contents of Linux's files."""

import math
from collections.abc import Iterable
from typing import NamedTuple


class Memory(NamedTuple):
    """Bytes of memory of a program with all its processes; None if they are not known."""

    used: int | None  # now
    most: int | None  # that it may have

    def is_short(self, workers: int) -> bool:
        """Whether less than a gigabyte is left for each of so many workers, which most steps do not need.

        >>> Memory(300_000_000, 4_000_000_000).is_short(2), Memory(300_000_000, 2_000_000_000).is_short(2)
        (False, True)
        """
        return self.used is not None and self.most is not None and self.most - self.used < workers << 30


class Group(NamedTuple):
    """The contents of the files of a control group; empty if there is no such file.

    Of version 2, these are memory.max, memory.current and memory.stat; of version 1, memory.limit_in_bytes,
    memory.usage_in_bytes and memory.stat (https://docs.kernel.org/admin-guide/cgroup-v2.html).
    """

    limit: str
    usage: str
    statistics: str


def budget(meminfo: str, groups: Iterable[Group], own: int) -> int | None:
    """Return the bytes that a program may have in all, of which it has `own`; None if nothing is known.

    That is the least of what the machine still gives (MemAvailable of /proc/meminfo) and what each of the control
    groups does: its limit without what others in it use. Cached files do not count, since the kernel drops them.

    >>> budget("MemAvailable:  1000 kB", [Group("900000", "500000", "inactive_file 100000")], 200_000)
    700000
    """
    found = [_of_group(group, own) for group in groups]
    if (available := _field(meminfo.replace(":", ""), "MemAvailable")) is not None:
        found.append(available * 1024 + own)
    least = min(found, default=math.inf)
    return None if least == math.inf else int(least)


def _of_group(group: Group, own: int) -> float:
    limit, usage = group.limit.strip(), group.usage.strip()
    if not limit.isdigit():  # "max", or no file
        return math.inf
    cached = _field(group.statistics, "total_inactive_file")  # version 1, with the groups below
    if cached is None:
        cached = _field(group.statistics, "inactive_file") or 0
    others = max(0, (int(usage) if usage.isdigit() else own) - cached - own)
    return max(0, int(limit) - others)


def _field(text: str, name: str) -> int | None:
    """The number after a name at the start of a line."""
    for line in text.splitlines():
        words = line.split()
        if len(words) > 1 and words[0] == name and words[1].isdigit():
            return int(words[1])
    return None
