"""Writes the tombstones of a round (`tombstones`)."""

from collections.abc import Iterable, Iterator

import apache_beam as beam
import pyarrow as pa
import pyarrow.compute as pc

from ..storage.batches import Batch, from_ipc, split, to_ipc
from ..storage.schemas import KEY
from ..storage.table_files import TableFile, TableWriter
from .tombstones import REMOVALS, removals_of_visits, tombstone_rows

_KEYS = pa.schema([("url_key", KEY)])


class WriteTombstones(beam.PTransform):
    """Writes the tombstones of a round.

    Takes {"facts": FACTS, "removals": REMOVALS of the round's documents, "earlier": URLS of at least all that were
    visited}, each by partition of url_key.
    """

    def __init__(self, root: str, round_: int, partitions: int) -> None:
        super().__init__()
        self._fn = _WriteTombstonesFn(root, round_)
        self._partitions = partitions

    def expand(self, sides: "dict[str, beam.PCollection[Batch]]") -> beam.PCollection[TableFile]:
        of_visits = sides["facts"] | "RemovalsOfVisits" >> beam.FlatMap(_removals_of_visits, self._partitions)
        removals = (sides["removals"], of_visits) | "Removals" >> beam.Flatten()
        had_content = sides["earlier"] | "HadContent" >> beam.FlatMap(_had_content)
        return (
            {"removals": removals, "had_content": had_content}
            | "WithEarlier" >> beam.CoGroupByKey()
            | "WriteTombstones" >> beam.ParDo(self._fn)
        )


def _removals_of_visits(batch: Batch, count: int) -> Iterator[Batch]:
    yield from split(removals_of_visits(pa.ipc.open_stream(batch[1]).read_all()), "url_key", count)


def _had_content(batch: Batch) -> Iterator[Batch]:
    urls = pa.ipc.open_stream(batch[1]).read_all()
    if (with_content := urls.filter(pc.is_valid(urls["digest"])).select(_KEYS.names)).num_rows:
        yield batch[0], to_ipc(with_content)


class _WriteTombstonesFn(beam.DoFn):
    def __init__(self, root: str, round_: int) -> None:
        self._root, self._round = root, round_

    def process(self, partition: tuple[int, dict[str, Iterable[bytes]]]) -> Iterator[TableFile]:
        _, sides = partition
        removals = from_ipc(sides["removals"], REMOVALS)
        pairs = zip(removals["url_key"].to_pylist(), removals["reason"].to_pylist(), strict=True)
        rows = tombstone_rows(pairs, from_ipc(sides["had_content"], _KEYS)["url_key"].to_pylist(), self._round)
        writer = TableWriter(self._root, "tombstones", self._round)
        writer.write_rows(rows)
        if file := writer.close():
            yield file
