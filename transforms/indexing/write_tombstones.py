"""Writes the tombstones of a round (`tombstones`)."""

from collections.abc import Iterable, Iterator
from typing import Any

import apache_beam as beam
import pyarrow as pa
import pyarrow.compute as pc

from ..tables.batches import Batch, from_ipc, read_ipc, to_ipc
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


class WriteTombstonesFn(beam.DoFn):
    """Writes the tombstones of a round.

    Takes a partition of url_key with {"visits": REMOVALS of the round's visits, "documents": REMOVALS of its documents,
    "earlier": the keys of URLs that had content, of at least all that were visited}.
    """

    def __init__(self, root: str, round_: int) -> None:
        self._root, self._round = root, round_

    def process(self, partition: tuple[int, dict[str, Iterable[bytes]]], *_: Any) -> Iterator[Any]:
        sides = partition[1]
        removals = from_ipc([*sides["visits"], *sides["documents"]], REMOVALS)
        pairs = zip(removals["url_key"].to_pylist(), removals["reason"].to_pylist(), strict=True)
        rows = tombstone_rows(pairs, from_ipc(sides["earlier"], _KEYS)["url_key"].to_pylist(), self._round)
        writer = TableWriter(self._root, "tombstones", self._round)
        writer.write_rows(rows)
        if file := writer.close():
            yield beam.pvalue.TaggedOutput("files", (0, file))
