"""From what lies in `Scratch` to the table `ranks`, and to what links say of the documents of each index segment."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import apache_beam as beam
import numpy as np
import pyarrow as pa

from ..storage.batches import Batch, from_ipc, split, to_ipc
from ..storage.schemas import KEY
from ..storage.table_files import TableFile
from .pagerank_partitioned import read_ranks
from .partition_links import LINKED, TALLY, read_pages
from .rank_tables import FOUND, PageRanks, add_links, doc_keys, found, write_ranks
from .scratch import Scratch

_DOCS = pa.schema([("url_key", KEY), ("row", pa.int64()), ("segment", pa.string())])
_FOUND = FOUND.append(pa.field("row", pa.int64()))


class WriteRanks(beam.PTransform):
    """Write all that links say, with the ranks after so many sweeps. Takes partitions, gives the files of `ranks`.

    `folders` has the folder for each segment.
    """

    def __init__(
        self,
        root: str,
        round_: int,
        scratch: Scratch,
        sizes: Sequence[int],
        sweeps: int,
        folders: Mapping[str, str],
    ) -> None:
        super().__init__()
        self._root, self._folders, self._sizes = root, folders, sizes
        self._write = (root, round_, scratch, sweeps, sizes)

    def expand(self, partitions: beam.PCollection[int]) -> beam.PCollection[TableFile]:
        segments = partitions.pipeline | "Segments" >> beam.Create(list(self._folders))
        documents = segments | "ReadDocuments" >> beam.FlatMap(_read_documents, self._root, len(self._sizes))
        written = (
            {"partition": partitions | "Keyed" >> beam.Map(_keyed), "documents": documents}
            | "WithDocuments" >> beam.CoGroupByKey()
            | "WriteRows" >> beam.FlatMap(_write, *self._write).with_outputs("files", main="found")
        )
        (
            {"segment": segments | "KeyedSegments" >> beam.Map(_keyed), "found": written.found}
            | "BySegment" >> beam.CoGroupByKey()
            | "AddLinks" >> beam.Map(_add_links, self._root, self._folders)
        )
        return written.files


def _keyed(element: Any) -> tuple[Any, None]:
    return element, None


def _read_documents(segment: str, root: str, partitions: int) -> Iterator[Batch]:
    keys = doc_keys(root, segment)
    columns = [keys, pa.array(np.arange(len(keys))), pa.array([segment] * len(keys), pa.string())]
    yield from split(pa.table(columns, schema=_DOCS), "url_key", partitions)


def _write(
    element: tuple[int, dict[str, Iterable[Any]]],
    root: str,
    round_: int,
    scratch: Scratch,
    sweeps: int,
    sizes: Sequence[int],
) -> Iterator[Any]:
    partition, grouped = element
    pages = read_pages(scratch, partition)
    _, ranks = read_ranks(partition, scratch, sweeps, sizes)
    tally = scratch.read("tally", partition, TALLY)
    linked = scratch.read("linked", partition, LINKED)
    if not linked.num_rows:  # no link leads to any page of this partition
        linked = pa.table([np.zeros(len(ranks), np.int64)] * 2, schema=LINKED)
    standing = PageRanks(ranks, linked["links"].to_numpy(), linked["hosts"].to_numpy())
    if file := write_ranks(root, round_, pages, standing, tally):
        yield beam.pvalue.TaggedOutput("files", file)
    for batch in grouped["documents"]:
        documents = from_ipc([batch], _DOCS)
        table = found(documents["url_key"], pages, ranks, tally).append_column("row", documents["row"])
        yield documents["segment"][0].as_py(), to_ipc(table)


def _add_links(element: tuple[str, dict[str, Iterable[Any]]], root: str, folders: Mapping[str, str]) -> None:
    segment, grouped = element
    add_links(root, segment, folders[segment], from_ipc(grouped["found"], _FOUND).sort_by("row"))
