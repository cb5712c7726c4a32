"""Joins the rows of a round with those of all earlier rounds, without shuffling all earlier rounds.

A semi-join: a Bloom filter of the round's keys filters the history while it is scanned, and only rows that may match
enter a CoGroupByKey. Of merged files, only the row groups with the hosts (or digests) of the round are scanned. So the
cost depends on the size of the round, not on that of the crawl.
Elements are batches, (partition of the key space, rows as Arrow IPC), which are many times faster to move than rows.
"""

from collections.abc import Iterable, Iterator
from typing import Any

import apache_beam as beam
import pyarrow as pa
import pyarrow.compute as pc
from apache_beam.pvalue import TaggedOutput

from ..tables.batches import Batch, read_ipc, split
from ..tables.bloom import Bloom
from ..tables.key_scan import Wanted, matching_rows
from ..tables.schemas import DIGESTS, URLS
from .functions import Output, StageFn
from .summaries import Found, found


class CollectKeysFn(beam.CombineFn):
    """The keys of tables (Arrow IPC) as `Wanted`; arguments as those of `CollectKeys`."""

    def __init__(self, expected: int, key: str, by: str | None) -> None:
        self._expected, self._key, self._by = expected, key, by

    def create_accumulator(self) -> tuple[Bloom, set]:
        return Bloom(self._expected), set()

    def add_input(self, keys: tuple[Bloom, set], batch: bytes) -> tuple[Bloom, set]:
        rows = read_ipc(batch)
        keys[0].add(rows[self._key])
        if self._by:
            keys[1].update(pc.unique(rows[self._by]).to_pylist())
        return keys

    def merge_accumulators(self, found: Iterable[tuple[Bloom, set]]) -> tuple[Bloom, set]:
        bloom, values = self.create_accumulator()
        for each in found:
            bloom |= each[0]
            values |= each[1]
        return bloom, values

    def extract_output(self, keys: tuple[Bloom, set]) -> Wanted:
        return Wanted(self._by or self._key, sorted(keys[1]), self._key, keys[0])


class _CollectKeysOfBatchesFn(CollectKeysFn):
    def add_input(self, keys: tuple[Bloom, set], batch: Batch) -> tuple[Bloom, set]:  # type: ignore[override]
        return super().add_input(keys, batch[1])


class CollectKeys(beam.PTransform):
    """The keys of all batches as one value, `Wanted`: a Bloom filter, sized for about `expected` keys.

    It also has the values of column `by`, by which merged files are sorted; None: no file is read by it.
    """

    def __init__(self, expected: int, key: str, by: str | None) -> None:
        super().__init__()
        self._fn = _CollectKeysOfBatchesFn(expected, key, by)

    def expand(self, batches: beam.PCollection[Batch]) -> beam.PCollection[Wanted]:
        return batches | "CollectKeys" >> beam.CombineGlobally(self._fn)


class _CollectHostsFn(beam.CombineFn):
    def create_accumulator(self) -> set[str]:
        return set()

    def add_input(self, hosts: set[str], host: str) -> set[str]:
        hosts.add(host)
        return hosts

    def merge_accumulators(self, found: Iterable[set[str]]) -> set[str]:
        return set().union(*found)

    def extract_output(self, hosts: set[str]) -> Wanted:
        return Wanted("host", sorted(hosts))


class CollectSetFn(beam.CombineFn):
    """The distinct values of some collections, sorted."""

    def create_accumulator(self) -> set[Any]:
        return set()

    def add_input(self, values: set[Any], some: Iterable[Any]) -> set[Any]:
        values.update(some)
        return values

    def merge_accumulators(self, found: Iterable[set[Any]]) -> set[Any]:
        return set().union(*found)

    def extract_output(self, values: set[Any]) -> list[Any]:
        return sorted(values)


class CollectListFn(beam.CombineFn):
    """The values of some collections."""

    def create_accumulator(self) -> list[Any]:
        return []

    def add_input(self, values: list[Any], some: Iterable[Any]) -> list[Any]:
        values.extend(some)
        return values

    def merge_accumulators(self, found: Iterable[list[Any]]) -> list[Any]:
        return [value for values in found for value in values]

    def extract_output(self, values: list[Any]) -> list[Any]:
        return values


class CollectHosts(beam.PTransform):
    """All hosts as one value, `Wanted`."""

    def expand(self, hosts: beam.PCollection[str]) -> beam.PCollection[Wanted]:
        return hosts | "CollectHosts" >> beam.CombineGlobally(_CollectHostsFn())


class _ReadMatchingFn(beam.DoFn):
    def __init__(self, root: str, schema: pa.Schema, key: str, count: int) -> None:
        self._root, self._schema, self._key, self._count = root, schema, key, count

    def process(self, path: str, wanted: Wanted) -> Iterator[Batch]:
        for rows in matching_rows(self._root, path, self._schema, wanted):
            yield from split(rows, self._key, self._count)


class ReadByNameFn(StageFn):
    """As `ReadMatching`, with the keys of a part of a summary."""

    rows: Output

    def __init__(self, root: str, count: int, part: str) -> None:
        self._read = _ReadMatchingFn(root, self.rows.content, self.rows.key, count)
        self._part = part

    def process(self, path: str, *summaries: Found) -> Iterator[TaggedOutput]:
        if wanted := found(self._part, *summaries):
            yield from self.rows.each(self._read.process(path, wanted))


class ReadDigestsFn(ReadByNameFn):
    """The earlier rows of digests."""

    rows = Output(DIGESTS, key="digest")


class ReadUrlsFn(ReadByNameFn):
    """The earlier rows of urls."""

    rows = Output(URLS, key="url_key")


class ReadMatching(beam.PTransform):
    """The rows in files of a snapshot table whose key may be among those of `CollectKeys`."""

    def __init__(self, root: str, schema: pa.Schema, key: str, count: int, keys: beam.PCollection) -> None:
        super().__init__()
        self._fn = _ReadMatchingFn(root, schema, key, count)
        self._keys = keys

    def expand(self, paths: beam.PCollection[str]) -> beam.PCollection[Batch]:
        return paths | "ReadMatching" >> beam.ParDo(self._fn, beam.pvalue.AsSingleton(self._keys))
