"""Writes the tombstones of a round (`tombstones`)."""

from collections.abc import Iterator

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
    urls = read_ipc(batch[1], ["url_key", "digest"])
    if (with_content := urls.filter(pc.is_valid(urls["digest"])).select(_KEYS.names)).num_rows:
        yield batch[0], to_ipc(with_content)


def write_tombstones(partition: Partition, root: str, round_: int) -> Iterator[TableFile]:
    """Write the tombstones of a round in a partition of url_key.

    Takes REMOVALS by the round's `visits` and by its `documents`, and what `had_content` makes of `earlier` rows of
    urls, of at least all that were visited.
    """
    sides = partition[1]
    removals = pa.concat_tables(from_ipc(sides[name], REMOVALS) for name in ("visits", "documents"))
    pairs = zip(removals["url_key"].to_pylist(), removals["reason"].to_pylist(), strict=True)
    had_content = from_ipc(sides["earlier"], _KEYS)["url_key"].to_pylist()
    writer = TableWriter(root, "tombstones", round_)
    writer.write_rows(tombstone_rows(pairs, had_content, round_))
    yield from closed(writer)
