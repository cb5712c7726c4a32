"""Merges files of the frontier in tiers, so that their number stays small, and drops the rows that left."""

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ..directory.waiting import Left, Positions, Waiting, groups, parts, read_groups, round_of, with_deferred
from ..memory.bounds import CompactLoad
from ..tables.schemas import FRONTIER, FRONTIER_LEFT
from ..tables.table_files import TableFile, TableWriter, open_parquet, read_table
from .files import GROUP_ROWS, ORDER, frontier_writer, is_sorted

WIDTH = 8
"""The number of files of a tier that are merged into one, and the ratio of the sizes of two tiers."""

_ROWS_AT_A_TIME = 1 << 14  # of each file
_ROW_BYTES = 1_000  # of a row in memory with its copies
_SMALLEST = 10_000  # rows: files below are of one tier, and not rewritten because of rows that left


class Sized(NamedTuple):
    """A file with its number of rows, and of those that are of use."""

    path: str
    rows: int
    live: int


def tier(live: int) -> int:
    """The size class of a file.

    >>> [tier(rows) for rows in (0, 10_000, 10_001, 80_000, 80_001)]
    [0, 0, 1, 1, 2]
    """
    return max(0, math.ceil(round(math.log(max(live, 1) / _SMALLEST, WIDTH), 9)))


def choose_files(files: Sequence[Sized], width: int = WIDTH) -> list[list[str]]:
    """The groups of files that are merged next: tiers of `width` files or more, and large files of mostly dead rows."""
    tiers: dict[int, list[Sized]] = {}
    for file in files:
        tiers.setdefault(tier(file.live), []).append(file)
    chosen = [[file.path for file in some] for _, some in sorted(tiers.items()) if len(some) >= width]
    taken = {path for group in chosen for path in group}
    sparse = [file for file in files if file.rows > max(_SMALLEST, 2 * file.live) and file.path not in taken]
    return chosen + [[file.path] for file in sparse]


def load_of(merged: Sequence[Sequence[str]], rows: Mapping[str, int]) -> CompactLoad:
    """What merging takes, by the paths of each group and the rows of each file: some rows of each file at a time."""
    held = max((sum(min(rows[path], _ROWS_AT_A_TIME) for path in group) for group in merged), default=0)
    return CompactLoad(max(1, len(merged)), 0, _ROW_BYTES * held)


def _sorted_parts(root: str, path: str, left: Positions, last_updated: int) -> Iterator[pa.Table]:
    """The waiting rows of a file in parts that follow one another by `ORDER`, with their reasons of now."""
    with open_parquet(root, path) as file:
        found: Iterator[pa.Table] = (
            read_groups(file, [group.number for group in part], FRONTIER.names).filter(
                pa.array(np.concatenate([group.waits for group in part]))
            )
            for part in parts(groups(file, left), _ROWS_AT_A_TIME)
        )
        if not is_sorted(file):
            found = iter([pa.concat_tables([FRONTIER.empty_table(), *found]).sort_by(list(ORDER))])
        for rows in found:
            if rows.num_rows:
                yield with_deferred(rows) if round_of(path) <= last_updated else rows


def _key(rows: pa.Table, number: int) -> tuple[str, int, float, str]:
    host, depth, priority, url = (rows[name][number].as_py() for name, _ in ORDER)
    return host, depth, -priority, url


def count_up_to(rows: pa.Table, key: tuple[str, int, float, str]) -> int:
    """How many of some sorted rows do not follow a key: host, depth, negative priority and URL."""
    host, depth, priority, url = key
    mask = pc.less_equal(rows["url"], url)
    for name, value, precedes in (
        ("priority", -priority, pc.greater),
        ("depth", depth, pc.less),
        ("host", host, pc.less),
    ):
        mask = pc.or_(precedes(rows[name], value), pc.and_(pc.equal(rows[name], value), mask))
    return int(pc.sum(mask).as_py())


def merge_sorted(runs: Sequence[Iterator[pa.Table]]) -> Iterator[pa.Table]:
    """The rows of sorted runs as one sorted run; holds one part of each."""
    heads = [(next(run, None), run) for run in runs]
    open_ = [(head, run) for head, run in heads if head is not None]
    while open_:
        keys = [_key(head, -1) for head, _ in open_]
        least = min(keys)
        taken, rest = [], []
        for (head, run), key in zip(open_, keys, strict=True):
            count = head.num_rows if key == least else count_up_to(head, least)
            taken.append(head.slice(0, count))
            following = head.slice(count) if count < head.num_rows else next(run, None)
            if following is not None:
                rest.append((following, run))
        open_ = rest
        yield pa.concat_tables(taken).sort_by(list(ORDER))


def merge_frontier(paths: Sequence[str], root: str, round_: int, waiting: Waiting) -> Iterator[TableFile]:
    """Writes the waiting rows of some files as one file."""
    left = Left(root, waiting.left)
    runs = [_sorted_parts(root, path, left.of(path), waiting.last_updated) for path in paths]
    writer, pending = frontier_writer(root, round_), FRONTIER.empty_table()
    for part in merge_sorted(runs):
        pending = pa.concat_tables([pending, part])
        while pending.num_rows >= GROUP_ROWS:
            _write(writer, pending.slice(0, GROUP_ROWS))
            pending = pending.slice(GROUP_ROWS)
    _write(writer, pending)
    if file := writer.close():
        yield file


def _write(writer: TableWriter, rows: pa.Table) -> None:
    writer.write(rows.combine_chunks(), Counter(rows["reason"].to_pylist()))


def merge_left(paths: Sequence[str], root: str, round_: int, in_use: Sequence[str]) -> Iterator[TableFile]:
    """Writes the rows of some files of frontier_left that concern frontier files in use as one file."""
    rows = read_table(root, paths, FRONTIER_LEFT)
    rows = rows.filter(pc.is_in(rows["path"], pa.array(in_use, pa.string())))
    writer = TableWriter(root, "frontier_left", round_)
    writer.write(rows.sort_by([("path", "ascending"), ("number", "ascending")]))
    if file := writer.close():
        yield file
