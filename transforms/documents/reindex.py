"""Indexes stored documents again, as when they were found, for an index in a new format."""

from collections.abc import Iterable, Iterator, Sequence

import apache_beam as beam
import pyarrow as pa
import pyarrow.compute as pc

from ..indexing.tombstones import REPLACED, read_tombstones
from ..indexing.write_segment import in_order
from ..tables.batches import Batch, by_host, cuts, from_ipc, read_ipc
from ..tables.damage import require_whole
from ..tables.schemas import DOCUMENTS
from ..tables.table_files import TableFile, read_groups
from ..urls.index_scope import WHOLE, IndexScope
from .finish_pages import index_shard, removals_of_pages
from .mark_pages import part_bytes


def findable(documents: pa.Table, tombstones: pa.Table, index_scope: IndexScope = WHOLE) -> pa.Table:
    """The documents that an index of this scope has of their round, and that no tombstone of a later round masks."""
    pages = documents.append_column("is_document", pa.array([True] * documents.num_rows, pa.bool_()))
    is_indexed = pc.equal(removals_of_pages(pages, index_scope)["reason"], REPLACED)
    last = tombstones.group_by("url_key").aggregate([("round", "max")])
    places = pc.index_in(documents["url_key"], value_set=last["url_key"])
    masked_at = pc.fill_null(last["round_max"].take(places), -1)
    return documents.filter(pc.and_(is_indexed, pc.less_equal(masked_at, documents["round"])))


class Reindex(beam.PTransform):
    """Writes index segments of the findable documents in files of table documents; emits the files of the index.

    CrawlDirError if a file is not as it was written.

    A shard of hosts is divided into parts for so many `workers`; the documents of a part are in the memory of one.
    """

    def __init__(
        self,
        root: str,
        round_: int,
        tombstones: Sequence[TableFile],
        shards: int,
        korean_morphemes: bool = False,
        index_scope: IndexScope = WHOLE,
        workers: int = 1,
    ) -> None:
        super().__init__()
        self._workers = workers
        self._read = (root, tombstones, shards, index_scope)
        self._write = (root, round_, korean_morphemes)

    def expand(self, files: beam.PCollection[TableFile]) -> beam.PCollection[TableFile]:
        return (
            files
            | "Spread" >> beam.Reshuffle()
            | "ReadFindable" >> beam.FlatMap(_read, *self._read)
            | "GroupByShard" >> beam.GroupByKey()
            | "Parts" >> beam.FlatMap(_parts, self._workers)
            | "SpreadParts" >> beam.Reshuffle()
            | "IndexPart" >> beam.FlatMap(_index, *self._write)
        )


def _read(
    file: TableFile, root: str, tombstones: Sequence[TableFile], shards: int, index_scope: IndexScope
) -> Iterator[Batch]:
    require_whole(root, [file, *tombstones])
    masks = read_tombstones(root, [each.path for each in tombstones])
    for documents in read_groups(root, file):
        yield from by_host(findable(documents, masks, index_scope), shards)


def _parts(shard: tuple[int, Iterable[bytes]], workers: int) -> Iterator[tuple[int, list[bytes]]]:
    """The batches of a shard in parts: one of a single site is the work of several workers, too."""
    batches = sorted(shard[1])
    sizes = [pc.sum(pc.binary_length(read_ipc(batch, ["text"])["text"])).as_py() or 0 for batch in batches]
    for first, count in cuts(sizes, part_bytes(sum(sizes), workers)):
        yield shard[0], batches[first : first + count]


def _index(element: tuple[int, Iterable[bytes]], root: str, round_: int, korean_morphemes: bool) -> list[TableFile]:
    number, batches = element
    documents = from_ipc(batches, DOCUMENTS)
    return index_shard(root, round_, number, documents.take(in_order(documents)), korean_morphemes)
