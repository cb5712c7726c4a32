"""Joins the rows of a round with those of all earlier rounds, without shuffling all earlier rounds.

A semi-join: a Bloom filter of the round's keys filters the history while it is scanned, and only rows that may match
enter a CoGroupByKey. Of merged files, only the row groups with the hosts (or digests) of the round are scanned. So the
cost depends on the size of the round, not on that of the crawl.
Elements are batches, (partition of the key space, rows as Arrow IPC), which are many times faster to move than rows.
"""

from array import array
from collections.abc import Iterable, Iterator
from functools import partial
from typing import Any

import apache_beam as beam
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ..tables.batches import Batch, read_ipc, split
from ..tables.bloom import Bloom, words
from ..tables.key_scan import Wanted, matching_rows

_Keys = tuple["array[int]", set[Any]]


class _CollectKeysFn(beam.CombineFn):
    """An accumulator has 8 bytes of each key, and values by which files are sorted if these are not keys, too."""

    def __init__(self, key: str, by: str | None) -> None:
        self._key, self._by = key, by

    def create_accumulator(self) -> _Keys:
        return array("Q"), set()

    def add_input(self, keys: _Keys, batch: Batch) -> _Keys:
        rows = read_ipc(batch[1], sorted({self._key, self._by or self._key}))
        keys[0].frombytes(np.unique(words(rows[self._key])[:, 0]).tobytes())
        if self._by and self._by != self._key:
            keys[1].update(pc.unique(rows[self._by]).to_pylist())
        return keys

    def merge_accumulators(self, found: Iterable[_Keys]) -> _Keys:
        merged = self.create_accumulator()
        for some, values in found:
            merged[0].extend(some)
            merged[1].update(values)
        return merged

    def extract_output(self, keys: _Keys) -> Wanted:
        found = np.unique(np.frombuffer(keys[0], np.uint64))
        in_order = np.sort(found.view(">u8").astype(np.uint64))
        values = array("Q", in_order.tobytes()) if self._by == self._key else sorted(keys[1])
        return Wanted(self._by or self._key, values, self._key, Bloom.of(found))


class CollectKeys(beam.PTransform):
    """The keys of all batches as one value, `Wanted`: a Bloom filter of their number.

    It also has the values of column `by`, by which merged files are sorted; None: no file is read by it.
    """

    def __init__(self, key: str, by: str | None) -> None:
        super().__init__()
        self._fn = _CollectKeysFn(key, by)

    def expand(self, batches: beam.PCollection[Batch]) -> beam.PCollection[Wanted]:
        return batches | "CollectKeys" >> beam.CombineGlobally(self._fn)


class CollectSet(beam.PTransform):
    """The distinct values as one list, sorted."""

    def expand(self, values: beam.PCollection) -> beam.PCollection[list]:
        return values | "CollectSet" >> beam.combiners.ToSet() | "Sort" >> beam.Map(sorted)


class CollectHosts(beam.PTransform):
    """All hosts as one value, `Wanted`."""

    def expand(self, hosts: beam.PCollection[str]) -> beam.PCollection[Wanted]:
        return hosts | CollectSet() | "AsWanted" >> beam.Map(partial(Wanted, "host"))


def _read_matching(path: str, wanted: Wanted, root: str, schema: pa.Schema, key: str, count: int) -> Iterator[Batch]:
    for rows in matching_rows(root, path, schema, wanted):
        yield from split(rows, key, count)


class ReadMatching(beam.PTransform):
    """The rows in files of a snapshot table whose key may be among those of `CollectKeys`."""

    def __init__(self, root: str, schema: pa.Schema, key: str, count: int, keys: beam.PCollection) -> None:
        super().__init__()
        self._each = beam.FlatMap(_read_matching, beam.pvalue.AsSingleton(keys), root, schema, key, count)

    def expand(self, paths: beam.PCollection[str]) -> beam.PCollection[Batch]:
        return paths | "ReadMatching" >> self._each
