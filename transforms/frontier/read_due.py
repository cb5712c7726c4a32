"""Reads from frontier files the rows that a round may visit: of each host, and over all hosts, only the best.

Rows are chosen in columns; only chosen rows become Python objects.
"""

from collections.abc import Iterable, Iterator, Sequence, Set as AbstractSet
from datetime import UTC, datetime
from typing import NamedTuple

import apache_beam as beam
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from ..blocks.rules import NO_BLOCKS, Blocks
from ..directory.waiting import ROWS_AT_A_TIME, Left, Positions, groups, parts, read_groups
from ..settings import Priority
from ..tables.batches import from_ipc, to_ipc
from ..tables.schemas import FRONTIER, TIME
from ..tables.sitemap_terms import EXTERNAL
from ..tables.table_files import open_parquet, statistics
from .excluded import Excluded
from .files import ORDER, is_sorted
from .host_shares import HostShares
from .priority import EQUAL, Quota, UrlClass, allocate, classes
from .selection import Due, group_by_host, settled

_STORED = [name for name in Due._fields if name != "class_"]
_OBJECTS = 1 << 13  # rows that are Python objects at a time: each takes some three kilobytes
_CLASS = ("class_", pa.int8())
_DECIDING = ["host", "due_at", "failures", "depth", "priority", "reason", "kind", "foreign"]
_RANKED = pa.schema(
    [
        *(FRONTIER.field(name) for name in ("depth", "priority", "host")),
        _CLASS,
        ("number", pa.int64()),
        ("path", pa.string()),
    ]
)
_RANKS = (
    ("depth", "ascending"),
    ("priority", "descending"),
    ("host", "ascending"),
    ("number", "ascending"),
    ("path", "ascending"),
)
"""Sort keys over all hosts. URLs need not be read for it: within a host, the rows of a file are sorted by URL."""


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
    at_most: int | None = None  # rows over all hosts, external targets not counted
    hosts_not_due: AbstractSet[str] = frozenset()  # none of their rows are read
    failing: AbstractSet[str] = frozenset()  # hosts whose last request failed
    priority: Priority = Priority()
    quota: Quota = EQUAL  # of the classes in `per_host` and in `at_most`
    blocks: Blocks = NO_BLOCKS  # rows that one matches are not read
    excluded: Excluded | None = None  # nor are those that the settings exclude
    seen_since: datetime | None = None  # `selection.settled`; None: the clock was never ahead
    external: bool | None = None  # whether external targets alone are read, or all rows but these; None: all rows


def is_due(rows: pa.Table, bounds: Bounds) -> pa.ChunkedArray:
    """Whether each row (columns host, due_at, failures and kind, and url if there are blocks) may be visited now."""
    now = pa.scalar(bounds.now.astimezone(UTC), TIME)
    rows = settled(rows, bounds.now, bounds.seen_since) if bounds.seen_since else rows
    mask = pc.fill_null(pc.less_equal(rows["due_at"], now), True)
    if bounds.external is not None:
        mask = pc.and_(mask, pc.equal(pc.fill_null(pc.equal(rows["kind"], EXTERNAL), False), bounds.external))
    if bounds.hosts_not_due:
        hosts = pa.array(sorted(bounds.hosts_not_due), pa.string())
        mask = pc.and_(mask, pc.invert(pc.is_in(rows["host"], hosts)))
    if bounds.blocks:
        mask = pc.and_(mask, pc.invert(bounds.blocks.mask(rows["url"])))
    return mask


def _has_none(file: pq.ParquetFile, group: int, shares: HostShares, bounds: Bounds) -> bool:
    """Whether a row group contains no row that may be chosen, by its statistics."""
    hosts, due = statistics(file, group, "host"), statistics(file, group, "due_at")
    if not bounds.seen_since and due and due.has_min_max and due.null_count == 0 and due.min > bounds.now:
        return True
    if hosts is None or not hosts.has_min_max or hosts.min != hosts.max:
        return False
    return shares.is_full(hosts.min) or hosts.min in bounds.hosts_not_due


def _where(rows: pa.Table, mask: pa.Array | pa.ChunkedArray) -> pa.Table:
    """The rows for which a mask is true; does not copy them if that is all."""
    return rows if pc.all(mask, skip_nulls=False).as_py() else rows.filter(mask)


def candidates(
    file: pq.ParquetFile, left: Positions, bounds: Bounds, rows_at_a_time: int = ROWS_AT_A_TIME
) -> Iterator[pa.Table]:
    """The waiting and due rows of a file, at most `bounds.per_host` of each host, shared by its classes, in parts.

    Columns are host, depth, priority, `class_` and `number`, of the row in the file. In files that are not sorted the
    limit holds for each part.
    """
    shares, is_ordered = HostShares(bounds.per_host, bounds.quota), is_sorted(file)
    more = [*([] if is_ordered and not bounds.blocks else ["url"]), *(Excluded.COLUMNS if bounds.excluded else ())]
    columns = list(dict.fromkeys([*_DECIDING, *more]))
    unread = (group for group in groups(file, left) if not _has_none(file, group.number, shares, bounds))
    for part in parts(unread, rows_at_a_time):
        rows = read_groups(file, [group.number for group in part], columns)
        rows = rows.append_column("number", pa.array(np.concatenate([group.numbers for group in part])))
        waits = pa.array(np.concatenate([group.waits for group in part]))
        rows = _where(rows, pc.and_(is_due(rows, bounds), waits))
        if bounds.excluded and rows.num_rows:
            rows = _where(rows, pc.invert(bounds.excluded.mask(rows)))
        if not rows.num_rows:
            continue
        if not is_ordered:
            rows = rows.sort_by(list(ORDER))
        kinds = pa.array(classes(rows, bounds.priority, bounds.failing))
        rows = rows.select(["host", "depth", "priority", "number"])
        yield shares.add(rows.append_column("class_", kinds))
        if not is_ordered and (held := shares.finish()) is not None:
            yield held
    if (held := shares.finish()) is not None:
        yield held


def _take(file: pq.ParquetFile, rows: pa.Table) -> Iterator[pa.Table]:
    """Rows of a file with columns _STORED and class_, in parts; `rows` has columns number and class_."""
    wanted = rows.select(["number", "class_"]).sort_by("number")
    numbers = wanted["number"].to_numpy()
    chosen = (group for group in groups(file, np.empty(0, np.int64)) if group.is_any(numbers))
    for part in parts(chosen, ROWS_AT_A_TIME):
        held = np.concatenate([group.numbers for group in part])
        own = wanted.filter(
            pc.and_(pc.greater_equal(wanted["number"], held[0]), pc.less_equal(wanted["number"], held[-1]))
        )
        places = pa.array(np.searchsorted(held, own["number"].to_numpy()))
        stored = read_groups(file, [group.number for group in part], _STORED)
        yield stored.take(places).append_column("class_", own["class_"])


def first_rows(rows: pa.Table, count: int) -> pa.Table:
    """The `count` rows that come first by `_RANKS`, in any order."""
    return rows if rows.num_rows <= count else rows.take(pc.select_k_unstable(rows, count, list(_RANKS)))


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

    def may_be(self, rows: pa.Table, kind: int) -> pa.Table:
        """The rows of a class that are not surely preceded by `count` others."""
        mask = pc.equal(rows["class_"], kind)
        return rows.filter(mask if self._worst is None else pc.and_(mask, _may_precede(rows, *self._worst)))

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


def _first_of_file(file: pq.ParquetFile, path: str, left: Positions, bounds: Bounds, count: int) -> pa.Table:
    """The first `count` rows of each class in a file over all hosts, as `_RANKED`."""
    firsts = {kind: _First(count) for kind in UrlClass}
    for found in candidates(file, left, bounds):
        for kind, first in firsts.items():
            rows = first.may_be(found, kind)
            if rows.num_rows:
                first.add(
                    rows.append_column("path", pa.array([path] * rows.num_rows)).select(_RANKED.names).cast(_RANKED)
                )
    return pa.concat_tables(first.rows() for first in firsts.values())


def share_out(rows: pa.Table, count: int, quota: Quota) -> pa.Table:
    """The `count` rows that a round takes: the first ones of each class, according to its share."""
    by_class = [_of_class(rows, kind) for kind in UrlClass]
    counts = allocate([some.num_rows for some in by_class], count, quota)
    return pa.concat_tables(first_rows(some, n) for some, n in zip(by_class, counts, strict=True))


def _by_host(rows: pa.Table) -> Iterator[tuple[str, list[tuple]]]:
    for some in rows.to_batches(_OBJECTS):
        columns = (some[name].to_pylist() for name in Due._fields)
        yield from group_by_host(map(Due._make, zip(*columns, strict=True))).items()


def _read_due(path: str, root: str, left: Left, bounds: Bounds) -> Iterator[tuple[str, list[tuple]]]:
    with open_parquet(root, path) as file:
        for rows in candidates(file, left.of(path), bounds):
            for found in _take(file, rows):
                yield from _by_host(found)


def _rank(path: str, root: str, left: Left, bounds: Bounds, count: int) -> Iterator[bytes]:
    with open_parquet(root, path) as file:
        yield to_ipc(_first_of_file(file, path, left.of(path), bounds, count))


def _take_chosen(chosen: tuple[str, bytes], root: str) -> Iterator[tuple[str, list[tuple]]]:
    path, rows = chosen
    with open_parquet(root, path) as file:
        for found in _take(file, from_ipc([rows], _RANKED)):
            yield from _by_host(found)


class _FirstOfAllFn(beam.CombineFn):
    """The rows of a round; an accumulator is a table of at most `count` rows of each class."""

    def __init__(self, count: int, quota: Quota) -> None:
        self._count, self._quota = count, quota

    def create_accumulator(self) -> bytes:
        return to_ipc(_RANKED.empty_table())

    def add_input(self, first: bytes, rows: bytes) -> bytes:
        return self.merge_accumulators([first, rows])

    def merge_accumulators(self, tables: Iterable[bytes]) -> bytes:
        rows = from_ipc(tables, _RANKED)
        return to_ipc(pa.concat_tables(first_rows(_of_class(rows, kind), self._count) for kind in UrlClass))

    def extract_output(self, first: bytes) -> bytes:
        return to_ipc(share_out(from_ipc([first], _RANKED), self._count, self._quota))


def _by_path(rows: bytes) -> Iterator[tuple[str, bytes]]:
    table = from_ipc([rows], _RANKED)
    for path in sorted(pc.unique(table["path"]).to_pylist()):
        yield path, to_ipc(table.filter(pc.equal(table["path"], path)))


class ReadDue(beam.PTransform):
    """The due URLs in frontier files whose hosts are due, within bounds, as (host, rows of Due as tuples).

    `left` are the paths of the files of frontier_left. With `with_external`, external targets may wait: `at_most` does
    not count them.
    """

    def __init__(self, root: str, left: Sequence[str], bounds: Bounds, with_external: bool = False) -> None:
        super().__init__()
        self._root, self._left, self._bounds, self._with_external = root, Left(root, left), bounds, with_external

    def expand(self, paths: beam.PCollection[str]) -> beam.PCollection[tuple[str, list[tuple]]]:
        count = self._bounds.at_most
        if count is None:
            return paths | "ReadDue" >> beam.FlatMap(_read_due, self._root, self._left, self._bounds)
        if not self._with_external:
            return self._first_of_all(paths, self._bounds, count)
        external = self._bounds._replace(external=True, at_most=None)
        found = paths | "ReadExternal" >> beam.FlatMap(_read_due, self._root, self._left, external)
        if not count:
            return found
        pages = self._first_of_all(paths, self._bounds._replace(external=False), count)
        return (pages, found) | "WithExternal" >> beam.Flatten()

    def _first_of_all(
        self, paths: beam.PCollection[str], bounds: Bounds, count: int
    ) -> beam.PCollection[tuple[str, list[tuple]]]:
        """The first rows over all hosts."""
        return (
            paths
            | "Rank" >> beam.FlatMap(_rank, self._root, self._left, bounds, count)
            | "FirstOfAll" >> beam.CombineGlobally(_FirstOfAllFn(count, bounds.quota))
            | "ByPath" >> beam.FlatMap(_by_path)
            | "Spread" >> beam.Reshuffle()
            | "Take" >> beam.FlatMap(_take_chosen, self._root)
        )
