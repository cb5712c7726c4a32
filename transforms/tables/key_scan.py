"""Scans the Parquet files of a snapshot table for the rows that a round needs."""

import re
from array import array
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from numpy.typing import NDArray

from .batches import cuts
from .bloom import Bloom, shard
from .table_files import column_number, conform, open_parquet, present

_ROWS_AT_A_TIME = 1 << 16  # so many that the number of reads does not matter
_SMALL = 1 << 16  # bytes of a row group, up to which a second read costs more than all columns of the first


class Wanted(NamedTuple):
    """The rows that a round needs of a table.

    These are the rows with one of some values in column `by`, by which merged files are sorted; with keys, those of
    them whose `key` is one of these, or may be in their Bloom filter.
    """

    by: str
    values: Sequence[Any]  # sorted; an array of the first eight bytes of keys, as numbers in the order of keys
    key: str = ""
    keys: Bloom | pa.Array | None = None

    @classmethod
    def of(cls, rows: pa.Table, key: str, by: str) -> "Wanted":
        """The rows with the keys (and the values of `by`) of a table."""
        bloom = Bloom(rows.num_rows)
        bloom.add(rows[key])
        return cls(by, pc.unique(rows[by]).sort().to_pylist(), key, bloom)

    def mask(self, rows: pa.Table) -> NDArray[np.bool_]:
        """Whether each row is wanted."""
        column = rows[self.column]
        if isinstance(self.keys, Bloom):
            return self.keys.mask(column)
        values = pa.array(self.values, column.type) if self.keys is None else self.keys
        found: NDArray[np.bool_] = pc.is_in(column, values).to_numpy()
        return found

    @property
    def column(self) -> str:
        """The column that `mask` reads."""
        return self.key or self.by


def matching_rows(
    root: str,
    path: str,
    schema: pa.Schema,
    wanted: Wanted,
    columns: Sequence[str] | None = None,
    footers: dict[str, pq.FileMetaData] | None = None,
) -> Iterator[pa.Table]:
    """The wanted rows of a file, with all columns of the schema or some.

    Row groups without a wanted value are skipped by their statistics. Of the others, one column is read first, and the
    rest only where it matches. Without keys, that is most of them, so small ones are read once, as a whole. A
    file without that column yields all rows. `footers` as in `open_parquet`.
    """
    if not wanted.values or (wanted.by == "host" and not _may_have_hosts(path, wanted.values)):
        return
    schema = schema if columns is None else pa.schema([schema.field(name) for name in columns])
    with open_parquet(root, path, footers) as file:
        names = present(file, dict.fromkeys([*schema.names, wanted.column]))
        if wanted.column not in names:  # a file of an earlier version
            yield conform(file.read(names, use_threads=False), schema)
            return
        chosen = list(groups_with(file, wanted.by, wanted.values))
        rows_of = [file.metadata.row_group(group).num_rows for group in chosen]
        for start, count in cuts(rows_of, _ROWS_AT_A_TIME):
            groups = chosen[start : start + count]
            size = sum(file.metadata.row_group(group).total_byte_size for group in groups)
            is_once = wanted.keys is None and size <= _SMALL
            found = groups if is_once else _groups_that_match(file, groups, wanted)
            if found:
                rows = file.read_row_groups(found, names, use_threads=False)
                mask = wanted.mask(rows)
                if mask.any():
                    yield conform(rows if mask.all() else rows.filter(pa.array(mask)), schema)


def shard_stem(number: int, shards: int) -> str:
    """The beginning of the name of a file with the pages of a shard of hosts (`bloom.shard`)."""
    return f"part-{number:04d}-of-{shards:04d}"


def _may_have_hosts(path: str, hosts: Sequence[str]) -> bool:
    """Whether a file may have pages of any of some hosts, by its `shard_stem`."""
    found = re.search(r"/part-(\d+)-of-(\d+)-[^/]*$", path)
    return found is None or any(shard(host, int(found[2])) == int(found[1]) for host in hosts)


def groups_with(file: pq.ParquetFile, column: str, values: Sequence[Any]) -> Iterator[int]:
    """The row groups that may hold one of the sorted values (`Wanted.values`) in a column, by its statistics."""
    number = column_number(file, column)
    for group in range(file.num_row_groups):
        found = None if number is None else file.metadata.row_group(group).column(number).statistics
        if found is None or not found.has_min_max or _is_any_between(values, found.min, found.max):
            yield group


def _is_any_between(values: Sequence[Any], least: Any, most: Any) -> bool:
    if isinstance(values, array):
        least, most = (int.from_bytes(key[:8]) for key in (least, most))
    place = bisect_left(values, least)
    return place < len(values) and values[place] <= most


def _groups_that_match(file: pq.ParquetFile, groups: Sequence[int], wanted: Wanted) -> list[int]:
    """The row groups with a wanted row."""
    mask = wanted.mask(file.read_row_groups(groups, [wanted.column], use_threads=False))
    found, start = [], 0
    for group in groups:
        end = start + file.metadata.row_group(group).num_rows
        if mask[start:end].any():
            found.append(group)
        start = end
    return found
