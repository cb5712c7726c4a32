"""Writes the table `ranks` and the link data of each index segment, from partitioned links in `Scratch`."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import apache_beam as beam
import numpy as np
import pyarrow as pa

from ..indexing.segment_files import read_file
from ..indexing.write_segment import DOCS
from ..tables.batches import Batch, from_ipc, split, to_ipc
from ..tables.schemas import KEY
from ..tables.table_files import TableFile
from .pagerank_partitioned import Blocks
from .partition_links import ANCHORS, LINKED, read_pages
from .rank_tables import LINK_DATA, PageRanks, add_links, link_data, write_ranks
from .scratch import Scratch

_DOCS = pa.schema([("url_key", KEY), ("row", pa.int64()), ("segment", pa.string())])
_ROWS = LINK_DATA.append(pa.field("row", pa.int64()))


class WriteRanks(beam.PTransform):
    """Writes ranks as of a sweep, and the link data of segments. Takes partitions, returns the files.

    `folders` has the folder of link data for each segment.
    """

    def __init__(
        self, root: str, round_: int, scratch: Scratch, blocks: Blocks, sweeps: int, folders: Mapping[str, str]
    ) -> None:
        super().__init__()
        self._root, self._folders, self._partitions = root, folders, len(blocks.offsets) - 1
        self._write = (root, round_, scratch, sweeps, blocks)

    def expand(self, partitions: beam.PCollection[int]) -> beam.PCollection[TableFile]:
        segments = partitions.pipeline | "Segments" >> beam.Create(list(self._folders))
        documents = segments | "ReadDocuments" >> beam.FlatMap(_read_documents, self._root, self._partitions)
        written = (
            {"partition": partitions | "Keyed" >> beam.Map(lambda element: (element, None)), "documents": documents}
            | "WithDocuments" >> beam.CoGroupByKey()
            | "WriteRows" >> beam.FlatMap(_write, *self._write).with_outputs("files", main="links")
        )
        link_files = (
            {"segment": segments | "KeyedSegments" >> beam.Map(lambda element: (element, None)), "links": written.links}
            | "BySegment" >> beam.CoGroupByKey()
            | "AddLinks" >> beam.FlatMap(_add_links, self._root, self._folders)
        )
        return (written.files, link_files) | "AllFiles" >> beam.Flatten()


def _read_documents(segment: str, root: str, partitions: int) -> Iterator[Batch]:
    keys = read_file(root, f"{segment}/{DOCS}", ["url_key"])["url_key"]
    columns = [keys, pa.array(np.arange(len(keys))), pa.array([segment] * len(keys), pa.string())]
    yield from split(pa.table(columns, schema=_DOCS), "url_key", partitions)


def _write(
    element: tuple[int, dict[str, Iterable[Any]]], root: str, round_: int, scratch: Scratch, sweeps: int, blocks: Blocks
) -> Iterator[Any]:
    partition, grouped = element
    pages = read_pages(scratch, partition)
    ranks = blocks.ranks_of(partition, scratch, sweeps)
    anchors = scratch.read("anchors", partition, ANCHORS)
    linked = scratch.read("linked", partition, LINKED)
    if not linked.num_rows:  # no links to any page of this partition
        linked = pa.table([np.zeros(len(ranks), np.int64)] * 2, schema=LINKED)
    page_ranks = PageRanks(ranks, linked["links"].to_numpy(), linked["hosts"].to_numpy())
    if file := write_ranks(root, round_, pages, page_ranks, anchors):
        yield beam.pvalue.TaggedOutput("files", file)
    for batch in grouped["documents"]:
        documents = from_ipc([batch], _DOCS)
        table = link_data(documents["url_key"], pages, ranks, anchors).append_column("row", documents["row"])
        yield documents["segment"][0].as_py(), to_ipc(table)


def _add_links(element: tuple[str, dict[str, Iterable[Any]]], root: str, folders: Mapping[str, str]) -> list[TableFile]:
    segment, grouped = element
    return add_links(root, segment, folders[segment], from_ipc(grouped["links"], _ROWS).sort_by("row"))
