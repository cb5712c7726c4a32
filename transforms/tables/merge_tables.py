"""Merges files of a table into fewer: sorted, with the newest row of each key, or one after the other."""

import itertools
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from ..memory.bounds import CompactLoad
from .layouts import LAYOUTS, Layout, arrange
from .schemas import TABLES
from .table_files import TableFile, TableWriter, conform, open_parquet, present, read_groups, statistics

RANGE_ROWS = 250_000
"""Rows that are sorted at a time, about; they become one file."""

_LOG_ROWS = 16_384  # of a row group of a table that is not sorted
_LOG_BYTES = 16 << 20
_IN_MEMORY = 20  # times the bytes of the files, with the copies that are sorted
_SAMPLED = 250  # rows, of which one tells where a range may begin
_ROW_BYTES = 800  # of them in memory, at least: URLs that differ in a number compress well

_COUNTED = {"urls": "state", "aliases": "state"}  # columns whose values the file of a table counts


class Part(NamedTuple):
    """A part of a merge: the rows of some files between two values of the columns that they are sorted by."""

    table: str
    files: tuple[TableFile, ...]
    first: tuple[Any, ...] | None = None  # inclusive; None: from the start
    end: tuple[Any, ...] | None = None  # exclusive; None: to the end


def load_of(files: Mapping[str, Sequence[TableFile]]) -> CompactLoad:
    """What merging takes, by the files of each table: the largest range of a sorted table, or row groups of others."""
    held = pieces = 0
    for table, some in files.items():
        size, rows = (sum(getattr(file, name) for file in some) for name in ("bytes", "rows"))
        ranges = max(1, -(-rows // RANGE_ROWS)) if table in LAYOUTS else 1
        ranged = max(_IN_MEMORY * size, _ROW_BYTES * rows) // ranges
        held = max(held, ranged if table in LAYOUTS else min(_IN_MEMORY * size, 6 * _LOG_BYTES))
        pieces += ranges
    return CompactLoad(pieces, held)


def parts_of(root: str, table: str, files: Sequence[TableFile], rows: int = RANGE_ROWS) -> list[Part]:
    """The parts in which files are merged, each of about so many rows."""
    if table not in LAYOUTS or sum(file.rows for file in files) <= rows:
        return [Part(table, tuple(files))]
    order = LAYOUTS[table].order[:2]
    starts = sorted(start for file in files for start in _starts(root, file.path, order))
    cuts: list[tuple[Any, ...]] = []
    seen = 0
    for start, count in starts:
        if seen >= rows and start > (cuts[-1] if cuts else ()):
            cuts.append(start)
            seen = 0
        seen += count
    return [Part(table, tuple(files), *pair) for pair in itertools.pairwise([None, *cuts, None])]


def _starts(root: str, path: str, order: Sequence[str]) -> Iterator[tuple[tuple[Any, ...], int]]:
    """(the values of a row, how many rows are from there to the next such row), in any order.

    Statistics of row groups say less: a small file is one, from the first host to the last, as are a hundred others.
    """
    with open_parquet(root, path) as file:
        for group in range(file.num_row_groups if len(present(file, order)) == len(order) else 0):
            rows = file.read_row_group(group, list(order), use_threads=False)
            some = rows.take(pa.array(np.arange(0, rows.num_rows, _SAMPLED)))
            for number, values in enumerate(zip(*(some[name].to_pylist() for name in order), strict=True)):
                if None not in values:
                    yield values, min(_SAMPLED, rows.num_rows - number * _SAMPLED)


def merge(part: Part, root: str, round_: int) -> Iterator[TableFile]:
    """Write the rows of a part to a new file; yields it, or nothing if there are no rows."""
    if layout := LAYOUTS.get(part.table):
        yield from write_arranged(root, part.table, round_, _rows_of(root, part, layout))
        return
    writer = TableWriter(root, part.table, round_, "merged")
    for rows in _groups(root, part):
        writer.write(rows)
    if file := writer.close():
        yield file._replace(counts=dict(sum((Counter(each.counts) for each in part.files), Counter())))


def write_arranged(root: str, table: str, round_: int, rows: pa.Table) -> list[TableFile]:
    """Write the rows that count as one file, in the layout of the table; no file if there are none."""
    layout = LAYOUTS[table]
    rows = arrange(conform(rows, TABLES[table]), layout)
    order = [(name, "ascending") for name in layout.order]
    writer = TableWriter(root, table, round_, "merged", order, (*layout.order, *layout.others))
    for start in range(0, rows.num_rows, layout.group_rows):
        group = rows.slice(start, layout.group_rows)
        writer.write(group, _counts(group, _COUNTED.get(table)))
    file = writer.close()
    return [file] if file else []


def _rows_of(root: str, part: Part, layout: Layout) -> pa.Table:
    """The rows between the bounds of a part."""
    schema, order = TABLES[part.table], layout.order[:2]
    tables = [schema.empty_table()]
    for each in part.files:
        with open_parquet(root, each.path) as file:
            groups = [g for g in range(file.num_row_groups) if _may_hold(file, g, part, order[0])]
            names = present(file, schema.names)
            rows = conform(file.read_row_groups(groups, names, use_threads=False), schema)
        tables.append(rows.filter(_is_between(rows, part, order)) if part.first or part.end else rows)
    return pa.concat_tables(tables)


def _may_hold(file: pq.ParquetFile, group: int, part: Part, column: str) -> bool:
    found = statistics(file, group, column)
    if found is None or not found.has_min_max:
        return True
    return (part.first is None or found.max >= part.first[0]) and (part.end is None or found.min <= part.end[0])


def _is_between(rows: pa.Table, part: Part, order: Sequence[str]) -> pa.ChunkedArray | pa.Array:
    mask = pa.array(np.ones(rows.num_rows, np.bool_))
    if part.first:
        mask = pc.and_(mask, _is_from(rows, part.first, order))
    if part.end:
        mask = pc.and_(mask, pc.invert(_is_from(rows, part.end, order)))
    return mask


def _is_from(rows: pa.Table, bound: tuple[Any, ...], order: Sequence[str]) -> pa.ChunkedArray:
    """Whether each row is not before a bound. Null is before every value."""
    column, value = rows[order[0]], pa.scalar(bound[0], rows[order[0]].type)
    later = pc.greater_equal(column, value)
    if len(bound) > 1:
        second = pc.greater_equal(rows[order[1]], pa.scalar(bound[1], rows[order[1]].type))
        later = pc.or_kleene(pc.greater(column, value), pc.and_kleene(pc.equal(column, value), second))
    return pc.fill_null(later, False)


def _groups(root: str, part: Part) -> Iterator[pa.Table]:
    """The rows of the files, in their order, in tables of the size of a row group."""
    held = [TABLES[part.table].empty_table()]
    for file in part.files:
        for rows in read_groups(root, file):
            held.append(rows)
            if sum(t.num_rows for t in held) >= _LOG_ROWS or sum(t.nbytes for t in held) >= _LOG_BYTES:
                yield pa.concat_tables(held)
                held = held[:1]
    yield pa.concat_tables(held)


def _counts(rows: pa.Table, column: str | None) -> dict[str, int]:
    if column is None:
        return {}
    found = pc.value_counts(rows[column])
    return {each["values"].as_py(): each["counts"].as_py() for each in found}
