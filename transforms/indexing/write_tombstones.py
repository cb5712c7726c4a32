"""Writes the tombstones of a round (`tombstones`)."""

from collections.abc import Iterator

import apache_beam as beam
import pyarrow as pa
import pyarrow.compute as pc

from ..batches.partitions import Partition
from ..batches.writers import closed
from ..tables.batches import Batch, from_ipc, read_ipc, to_ipc
from ..tables.schemas import KEY
from ..tables.table_files import TableFile, TableWriter
from .tombstones import REMOVALS, removals_of_visits, tombstone_rows

_KEYS = pa.schema([("url_key", KEY)])


def removals_by_key(batch: Batch) -> Iterator[Batch]:
    """REMOVALS of a batch of FACTS, in the same partition."""
    removals = removals_of_visits(read_ipc(batch[1]))
    if removals.num_rows:
        yield batch[0], to_ipc(removals)


def had_content(batch: Batch) -> Iterator[Batch]:
    """The keys of a batch of URLS that have content."""
    urls = read_ipc(batch[1])
    if (with_content := urls.filter(pc.is_valid(urls["digest"])).select(_KEYS.names)).num_rows:
        yield batch[0], to_ipc(with_content)


class _WriteFn(beam.DoFn):
    def __init__(self, root: str, round_: int) -> None:
        self._root, self._round = root, round_

    def process(self, partition: Partition) -> Iterator[TableFile]:
        sides = partition[1]
        removals = pa.concat_tables(from_ipc(sides[name], REMOVALS) for name in ("visits", "documents"))
        pairs = zip(removals["url_key"].to_pylist(), removals["reason"].to_pylist(), strict=True)
        had_content = from_ipc(sides["earlier"], _KEYS)["url_key"].to_pylist()
        writer = TableWriter(self._root, "tombstones", self._round)
        writer.write_rows(tombstone_rows(pairs, had_content, self._round))
        yield from closed(writer)


class WriteTombstones(beam.PTransform):
    """Writes the tombstones of a round, a file for each partition of url_key.

    Takes REMOVALS by the round's `visits` and by its `documents`, and what `had_content` makes of `earlier` rows of
    urls, of at least all that were visited.
    """

    def __init__(self, root: str, round_: int) -> None:
        super().__init__()
        self._fn = _WriteFn(root, round_)

    def expand(self, found: "dict[str, beam.PCollection[Batch]]") -> "beam.PCollection[TableFile]":
        return found | "ByUrl" >> beam.CoGroupByKey() | "Write" >> beam.ParDo(self._fn)
