"""Joins the rows of a round with those of all earlier rounds, without shuffling all earlier rounds.

A semi-join: a Bloom filter of the round's keys filters the history while it is scanned, and only rows that may match
enter a CoGroupByKey. The cost of the shuffle depends on the size of the round, not on that of the crawl.
Elements are batches, (partition of the key space, rows as Arrow IPC), which are many times faster to move than rows.
"""

from collections.abc import Iterable, Iterator

import apache_beam as beam
import pyarrow as pa

from .batches import Batch, split
from .bloom import Bloom
from .key_scan import matching_rows


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
    """The keys of all batches as one Bloom filter, sized for about `expected` keys."""

    def __init__(self, expected: int, key: str) -> None:
        super().__init__()
        self._fn = _CollectKeysFn(expected, key)

    def expand(self, batches: beam.PCollection[Batch]) -> beam.PCollection[Bloom]:
        return batches | "CollectKeys" >> beam.CombineGlobally(self._fn)


class _ReadMatchingFn(beam.DoFn):
    def __init__(self, root: str, schema: pa.Schema, key: str, count: int) -> None:
        self._root, self._schema, self._key, self._count = root, schema, key, count

    def process(self, path: str, bloom: Bloom) -> Iterator[Batch]:
        for rows in matching_rows(self._root, path, self._schema, self._key, bloom):
            yield from split(rows, self._key, self._count)


class ReadMatching(beam.PTransform):
    """The rows in files of a snapshot table whose key may be in the Bloom filter."""

    def __init__(self, root: str, schema: pa.Schema, key: str, count: int, keys: beam.PCollection) -> None:
        super().__init__()
        self._fn = _ReadMatchingFn(root, schema, key, count)
        self._keys = keys

    def expand(self, paths: beam.PCollection[str]) -> beam.PCollection[Batch]:
        return paths | "ReadMatching" >> beam.ParDo(self._fn, beam.pvalue.AsSingleton(self._keys))
