"""Writes the tombstones of a round (`tombstones`)."""

from collections.abc import Iterator
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from apache_beam.pvalue import TaggedOutput

from ..exchange.functions import Partition, Side, WriteFn
from ..tables.batches import Batch, read_ipc, to_ipc
from ..tables.schemas import KEY
from ..tables.table_files import TableWriter
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


class WriteTombstonesFn(WriteFn):
    """Writes the tombstones of a round, for a partition of url_key."""

    visits, documents = Side(REMOVALS), Side(REMOVALS)  # by the round's visits, and by its documents
    earlier = Side(_KEYS)  # of URLs that had content, of at least all that were visited

    def __init__(self, root: str, round_: int) -> None:
        self._root, self._round = root, round_

    def process(self, partition: Partition, *_: Any) -> Iterator[TaggedOutput]:
        removals = pa.concat_tables(side.table(partition[1]) for side in (self.visits, self.documents))
        pairs = zip(removals["url_key"].to_pylist(), removals["reason"].to_pylist(), strict=True)
        rows = tombstone_rows(pairs, self.earlier.table(partition[1])["url_key"].to_pylist(), self._round)
        writer = TableWriter(self._root, "tombstones", self._round)
        writer.write_rows(rows)
        yield from self.files.if_any(writer.close())
