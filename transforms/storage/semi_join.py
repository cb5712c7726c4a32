"""Meet the rows of a round with those of all earlier rounds, without shuffling all earlier rounds.

A semi-join: the keys of the round become a Bloom filter, the history is reduced to the rows that may match while it is
scanned, and only those go into a CoGroupByKey. So a round costs what the round holds, not what the crawl holds.
Elements are batches, (partition of the key space, rows as Arrow IPC), because they move many times faster than rows.
"""

from collections.abc import Iterable, Iterator

import apache_beam as beam
import pyarrow as pa
import pyarrow.compute as pc

from .batches import to_ipc
from .bloom import Bloom, partitions
from .table_files import conform, open_parquet

Batch = tuple[int, bytes]


def split(table: pa.Table, key: str, count: int) -> Iterator[Batch]:
    """The rows of each partition, as elements."""
    for number, rows in split_by(table, partitions(table[key], count)):
        yield number, to_ipc(rows)


def split_by(table: pa.Table, numbers: Iterable[int]) -> Iterator[tuple[int, pa.Table]]:
    """The rows of a table by the number that each one has; rows keep their order."""
    column = pa.array(numbers, pa.int64())
    for number in pc.unique(column).to_pylist():
        yield number, table.filter(pc.equal(column, number))


class _CollectKeysFn(beam.CombineFn):
    def __init__(self, expected: int, key: str) -> None:
        self._expected, self._key = expected, key

    def create_accumulator(self) -> Bloom:
        return Bloom(self._expected)

    def add_input(self, bloom: Bloom, batch: Batch) -> Bloom:
        bloom.add(pa.ipc.open_stream(batch[1]).read_all()[self._key])
        return bloom

    def merge_accumulators(self, blooms: Iterable[Bloom]) -> Bloom:
        merged = self.create_accumulator()
        for bloom in blooms:
            merged |= bloom
        return merged

    def extract_output(self, bloom: Bloom) -> Bloom:
        return bloom


class CollectKeys(beam.PTransform):
    """The keys of all batches, as one Bloom filter made for about `expected` of them."""

    def __init__(self, expected: int, key: str) -> None:
        super().__init__()
        self._fn = _CollectKeysFn(expected, key)

    def expand(self, batches: beam.PCollection[Batch]) -> beam.PCollection[Bloom]:
        return batches | "CollectKeys" >> beam.CombineGlobally(self._fn)


def matching_rows(root: str, path: str, schema: pa.Schema, key: str, bloom: Bloom) -> Iterator[pa.Table]:
    """The rows of a file whose key may be in the filter; other columns are read only where there are any."""
    if bloom.is_empty:
        return
    with open_parquet(root, path) as file:
        for group in range(file.num_row_groups):
            mask = bloom.mask(file.read_row_group(group, [key])[key])
            if mask.any():
                yield conform(file.read_row_group(group).filter(pa.array(mask)), schema)


class _ReadMatchingFn(beam.DoFn):
    def __init__(self, root: str, schema: pa.Schema, key: str, count: int) -> None:
        self._root, self._schema, self._key, self._count = root, schema, key, count

    def process(self, path: str, bloom: Bloom) -> Iterator[Batch]:
        for rows in matching_rows(self._root, path, self._schema, self._key, bloom):
            yield from split(rows, self._key, self._count)


class ReadMatching(beam.PTransform):
    """Of the files of a snapshot table, the rows whose key may be among those collected."""

    def __init__(self, root: str, schema: pa.Schema, key: str, count: int, keys: beam.PCollection) -> None:
        super().__init__()
        self._fn = _ReadMatchingFn(root, schema, key, count)
        self._keys = keys

    def expand(self, paths: beam.PCollection[str]) -> beam.PCollection[Batch]:
        return paths | "ReadMatching" >> beam.ParDo(self._fn, beam.pvalue.AsSingleton(self._keys))
