"""Chooses the files of a table that are merged: fewer files make steps cheaper.

Tiers, as in log-structured merge trees: runs of about one size are merged once there are FAN_IN of them. So a row is
rewritten about once each time its table grows tenfold, and there are few files of each size.
"""

import math
from collections.abc import Iterable, Sequence

from ..tables.table_files import TableFile
from .crawl_dir import Manifest

FAN_IN = 10
"""The number of runs of a tier that are merged."""

SMALL_BYTES = 1 << 20
"""Runs of fewer bytes are the first tier; each further tier holds up to ten times as many."""

MOST_FILES = 32
"""The small files of a run from which on it is merged without others: a reader of a table reads all footers."""

Run = tuple[TableFile, ...]
"""The files of a table that one step wrote."""


def runs_of(manifests: Iterable[Manifest], table: str) -> list[Run]:
    """The runs of a table, oldest first."""
    found = (tuple(file for file in m.files if file.table == table) for m in manifests)
    return [run for run in found if run]


def full_tier(runs: Sequence[Run], most_bytes: float = math.inf) -> list[Run]:
    """The runs to merge now: the oldest of the lowest tier that is full, or its scattered ones, up to `most_bytes`."""
    tiers: dict[int, list[Run]] = {}
    for run in runs:
        if (size := sum(file.bytes for file in run)) <= most_bytes:
            tiers.setdefault(_tier(size), []).append(run)
    for _, tier in sorted(tiers.items()):
        if chosen := tier[:FAN_IN] if len(tier) >= FAN_IN else [run for run in tier if _is_scattered(run)]:
            return chosen
    return []


def _is_scattered(run: Run) -> bool:
    return len(run) >= MOST_FILES and sum(file.bytes for file in run) < SMALL_BYTES * len(run)


def all_runs(runs: Sequence[Run], most_bytes: float = math.inf) -> list[Run]:
    """All runs that are not larger, if they are several."""
    some = [run for run in runs if sum(file.bytes for file in run) <= most_bytes]
    return some if len(some) > 1 else []


def _tier(size: int) -> int:
    return 0 if size < SMALL_BYTES else 1 + math.floor(math.log10(size / SMALL_BYTES))
