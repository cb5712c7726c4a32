"""Reads from frontier files the rows that a round may visit: of each host, and over all hosts, only the best.

Rows are chosen in columns; only chosen rows become Python objects.
"""

from collections.abc import Iterable, Iterator, Sequence
from collections.abc import Set as AbstractSet
from datetime import UTC, datetime
from typing import NamedTuple

import apache_beam as beam
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from numpy.typing import NDArray

from ..blocks.rules import NO_BLOCKS, Blocks
from ..settings import Priority
from ..storage.batches import from_ipc, to_ipc
from ..storage.schemas import FRONTIER, TIME
from ..storage.table_files import open_parquet, statistics
from ..storage.waiting import Left, Positions, groups, read_group
from .files import ORDER, PRECEDENCE, is_sorted
from .priority import EQUAL, Quota, UrlClass, allocate, classes
from .selection import Due, group_by_host

_STORED = [name for name in Due._fields if name != "class_"]
_CLASS = ("class_", pa.int8())
_DUE = pa.schema([*(FRONTIER.field(name) for name in _STORED), _CLASS])
_DECIDING = ["host", "due_at", "depth", "priority", "reason", "kind"]
_RANKED = pa.schema(
    [*(FRONTIER.field(name) for name, _ in PRECEDENCE), _CLASS, ("group", pa.int32()), ("number", pa.int64())]
)


def spare(budget: int) -> int:
    """How many rows of a host are read for a round that visits `budget` of them: the budgets of templates refuse some.

    >>> spare(256)
    2024
    """
    return budget + min(3 * budget, 20_000) + 1_000


class Bounds(NamedTuple):
    """Bounds on the rows that are read for a round."""

    now: datetime  # rows that are due later are not read
    per_host: int  # rows of a host and a file
    at_most: int | None = None  # rows over all hosts
    hosts_not_due: AbstractSet[str] = frozenset()  # none of their rows are read
    failing: AbstractSet[str] = frozenset()  # hosts whose last request failed
    priority: Priority = Priority()
    quota: Quota = EQUAL  # of the classes in `at_most`
    blocks: Blocks = NO_BLOCKS  # rows that one matches are not read


def is_due(rows: pa.Table, bounds: Bounds) -> pa.ChunkedArray:
    """Whether each row (columns host and due_at, and url if there are blocks) may be visited now."""
    now = pa.scalar(bounds.now.astimezone(UTC), TIME)
    mask = pc.fill_null(pc.less_equal(rows["due_at"], now), True)
    if bounds.hosts_not_due:
        hosts = pa.array(sorted(bounds.hosts_not_due), pa.string())
        mask = pc.and_(mask, pc.invert(pc.is_in(rows["host"], hosts)))
    if bounds.blocks:
        mask = pc.and_(mask, pc.invert(bounds.blocks.mask(rows["url"])))
    return mask


def best_of_each_host(hosts: pa.ChunkedArray, count: int, last: tuple[str, int]) -> NDArray[np.bool_]:
    """Whether each row is among the first `count` of its host; `hosts` is the sorted column.

    `last` is the host of the rows before these, and how many of its rows were taken already.
    """
    codes = pc.dictionary_encode(hosts).combine_chunks().indices.to_numpy()
    starts = np.flatnonzero(np.concatenate(([True], codes[1:] != codes[:-1])))
    ranks = np.arange(len(codes)) - np.repeat(starts, np.diff(np.append(starts, len(codes))))
    if hosts[0].as_py() == last[0]:
        ranks[: starts[1] if len(starts) > 1 else len(codes)] += last[1]
    return ranks < count


class _Taken:
    """The host of the last row that was taken from a sorted file, and the number of its rows."""

    def __init__(self) -> None:
        self.last = ("", 0)

    def add(self, hosts: pa.ChunkedArray) -> None:
        host = hosts[-1].as_py()
        count = pc.sum(pc.equal(hosts, host)).as_py()
        self.last = (host, count + (self.last[1] if self.last[0] == host else 0))


def _has_none(file: pq.ParquetFile, group: int, taken: _Taken, bounds: Bounds) -> bool:
    """Whether a row group contains no row that may be chosen, by its statistics."""
    hosts, due = statistics(file, group, "host"), statistics(file, group, "due_at")
    if due is not None and due.has_min_max and due.null_count == 0 and due.min > bounds.now:
        return True
    if hosts is None or not hosts.has_min_max or hosts.min != hosts.max:
        return False
    is_full = is_sorted(file) and taken.last[0] == hosts.min and taken.last[1] >= bounds.per_host
    return is_full or hosts.min in bounds.hosts_not_due


def candidates(file: pq.ParquetFile, left: Positions, bounds: Bounds) -> Iterator[tuple[int, pa.Table]]:
    """(row group, its waiting and due rows, at most `bounds.per_host` of each host).

    Columns are host, depth, priority, `class_` and `number`, of the row in its group. In files that are not sorted the
    limit holds for each row group.
    """
    taken, is_ordered = _Taken(), is_sorted(file)
    columns = _DECIDING if is_ordered and not bounds.blocks else [*_DECIDING, "url"]
    for group, _, waits in groups(file, left):
        if _has_none(file, group, taken, bounds):
            continue
        rows = read_group(file, group, columns)
        rows = rows.append_column("number", pa.array(np.arange(rows.num_rows)))
        rows = rows.filter(pc.and_(is_due(rows, bounds), pa.array(waits)))
        if not rows.num_rows:
            continue
        if not is_ordered:
            rows, taken = rows.sort_by(list(ORDER)), _Taken()
        rows = rows.filter(pa.array(best_of_each_host(rows["host"], bounds.per_host, taken.last)))
        if rows.num_rows:
            taken.add(rows["host"])
            kinds = pa.array(classes(rows, bounds.priority, bounds.failing))
            yield group, rows.select(["host", "depth", "priority", "number"]).append_column("class_", kinds)


def _take(file: pq.ParquetFile, group: int, rows: pa.Table) -> pa.Table:
    """Rows of a row group as `_DUE`; `rows` has columns number and class_."""
    return read_group(file, group, _STORED).take(rows["number"]).append_column("class_", rows["class_"])


def first_rows(rows: pa.Table, count: int) -> pa.Table:
    """The `count` rows that come first by `PRECEDENCE`, in any order."""
    if rows.num_rows <= count:
        return rows
    return rows.take(pc.select_k_unstable(rows, count, list(PRECEDENCE)))


def _may_precede(rows: pa.Table, depth: int, priority: float) -> pa.ChunkedArray:
    """Whether each row does not come after those of a depth and priority."""
    is_lower = pc.and_(pc.equal(rows["depth"], depth), pc.less(rows["priority"], priority))
    return pc.invert(pc.or_(pc.greater(rows["depth"], depth), is_lower))


class _First:
    """The first rows of a class: collects `_RANKED`; holds about 2 `count` rows."""

    def __init__(self, count: int) -> None:
        self._count = count
        self._best, self._waiting = _RANKED.empty_table(), list[pa.Table]()
        self._worst: tuple[int, float] | None = None  # of the best, once there are enough

    def may_be(self, rows: pa.Table) -> pa.Table:
        """The rows that are not surely preceded by `count` others."""
        return rows if self._worst is None else rows.filter(_may_precede(rows, *self._worst))

    def add(self, rows: pa.Table) -> None:
        self._waiting.append(rows)
        if sum(table.num_rows for table in self._waiting) >= self._count:
            best = self.rows()
            self._best, self._waiting = best, []
            if best.num_rows == self._count:
                depth = pc.max(best["depth"]).as_py()
                deepest = best.filter(pc.equal(best["depth"], depth))
                self._worst = (depth, pc.min(deepest["priority"]).as_py())

    def rows(self) -> pa.Table:
        return first_rows(pa.concat_tables([self._best, *self._waiting]), self._count)


def _of_class(rows: pa.Table, kind: int) -> pa.Table:
    return rows.filter(pc.equal(rows["class_"], kind))


def _first_of_file(file: pq.ParquetFile, left: Positions, bounds: Bounds, count: int) -> pa.Table:
    """The first `count` rows of each class in a file over all hosts, as `_DUE`."""
    firsts = {kind: _First(count) for kind in UrlClass}
    for group, found in candidates(file, left, bounds):
        rows = pa.concat_tables(first.may_be(_of_class(found, kind)) for kind, first in firsts.items())
        if not rows.num_rows:
            continue
        urls = read_group(file, group, ["url"])["url"].take(rows["number"])
        ranked = rows.append_column("url", urls).append_column("group", pa.array([group] * rows.num_rows, pa.int32()))
        ranked = ranked.select(_RANKED.names).cast(_RANKED)
        for kind, first in firsts.items():
            first.add(_of_class(ranked, kind))
    best = pa.concat_tables(first.rows() for first in firsts.values())
    tables = [
        _take(file, group, best.filter(pc.equal(best["group"], group)))
        for group in sorted(pc.unique(best["group"]).to_pylist())
    ]
    return pa.concat_tables([_DUE.empty_table(), *tables])


def share_out(rows: pa.Table, count: int, quota: Quota) -> pa.Table:
    """The `count` rows that a round takes: the first ones of each class, according to its share."""
    by_class = [_of_class(rows, kind) for kind in UrlClass]
    counts = allocate([some.num_rows for some in by_class], count, quota)
    return pa.concat_tables(first_rows(some, n) for some, n in zip(by_class, counts, strict=True))


def _tuples(rows: pa.Table) -> Iterator[Due]:
    return map(Due._make, zip(*(rows[name].to_pylist() for name in Due._fields), strict=True))


class _ReadDueFn(beam.DoFn):
    def __init__(self, root: str, left: Sequence[str], bounds: Bounds) -> None:
        self._root, self._bounds = root, bounds
        self._left = Left(root, left)

    def process(self, path: str) -> Iterator[tuple[str, list[tuple]]]:
        with open_parquet(self._root, path) as file:
            for group, rows in candidates(file, self._left.of(path), self._bounds):
                yield from group_by_host(_tuples(_take(file, group, rows))).items()


class _ReadFirstFn(beam.DoFn):
    def __init__(self, root: str, left: Sequence[str], bounds: Bounds, count: int) -> None:
        self._root, self._bounds, self._count = root, bounds, count
        self._left = Left(root, left)

    def process(self, path: str) -> Iterator[bytes]:
        with open_parquet(self._root, path) as file:
            yield to_ipc(_first_of_file(file, self._left.of(path), self._bounds, self._count))


class _FirstOfAllFn(beam.CombineFn):
    """The rows of a round; an accumulator is a table of at most `count` rows of each class."""

    def __init__(self, count: int, quota: Quota) -> None:
        self._count, self._quota = count, quota

    def create_accumulator(self) -> bytes:
        return to_ipc(_DUE.empty_table())

    def add_input(self, first: bytes, rows: bytes) -> bytes:
        return self.merge_accumulators([first, rows])

    def merge_accumulators(self, tables: Iterable[bytes]) -> bytes:
        rows = from_ipc(tables, _DUE)
        return to_ipc(pa.concat_tables(first_rows(_of_class(rows, kind), self._count) for kind in UrlClass))

    def extract_output(self, first: bytes) -> bytes:
        return to_ipc(share_out(from_ipc([first], _DUE), self._count, self._quota))


def _by_host(rows: bytes) -> Iterator[tuple[str, list[tuple]]]:
    yield from group_by_host(_tuples(from_ipc([rows], _DUE))).items()


class ReadDue(beam.PTransform):
    """The due URLs in frontier files whose hosts are due, within bounds, as (host, rows of Due as tuples).

    `left` are the paths of the files of frontier_left.
    """

    def __init__(self, root: str, left: Sequence[str], bounds: Bounds) -> None:
        super().__init__()
        self._root, self._left, self._bounds = root, left, bounds

    def expand(self, paths: beam.PCollection[str]) -> beam.PCollection[tuple[str, list[tuple]]]:
        count = self._bounds.at_most
        if count is None:
            return paths | "ReadDue" >> beam.ParDo(_ReadDueFn(self._root, self._left, self._bounds))
        return (
            paths
            | "ReadFirst" >> beam.ParDo(_ReadFirstFn(self._root, self._left, self._bounds, count))
            | "FirstOfAll" >> beam.CombineGlobally(_FirstOfAllFn(count, self._bounds.quota))
            | "ByHost" >> beam.FlatMap(_by_host)
        )
