"""One index segment, opened for reading: terms to postings, documents to facts and text."""

import bisect
import contextlib
import functools
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from apache_beam.io.filesystem import BeamIOError
from apache_beam.io.filesystems import FileSystems

from transforms.crawl_dir import CrawlDirError
from transforms.index import DOCS, DOCSTORE, POSITIONS, POSTINGS, undo_gaps
from transforms.index_invert import FIELDS, PHRASE_FIELDS

CACHED_TERMS = 256
"""Terms of a segment whose decoded postings are kept at hand."""

Ints = npt.NDArray[np.int32]


class Postings(NamedTuple):
    """A term's documents, rising, and parallel to them how often each has it, by field."""

    docs: Ints
    frequencies: Mapping[str, Ints]
    row: tuple[int, int]  # the row group, and the row in it


class Positions(NamedTuple):
    """Where a term stands: parallel arrays, sorted by document and then position."""

    docs: Ints
    positions: Ints


_NO_POSTINGS = Postings(np.empty(0, np.int32), dict.fromkeys(FIELDS, np.empty(0, np.int32)), (0, 0))
_NO_POSITIONS = Positions(np.empty(0, np.int32), np.empty(0, np.int32))


class Segment:
    """An immutable segment; opening it reads the footers of its files and the facts of its documents.

    Files are opened for each read and closed again, so that any number of segments and threads can share a
    process. What cannot be read is a CrawlDirError.
    """

    def __init__(self, root: str, folder: str) -> None:
        self._root, self._folder = root, folder
        self._footers = {name: self._footer(name) for name in (POSTINGS, POSITIONS, DOCS, DOCSTORE)}
        footer = self._footers[POSTINGS]
        self._last_terms = [footer.row_group(i).column(0).statistics.max for i in range(footer.num_row_groups)]
        footer = self._footers[DOCSTORE]
        self._shown_ends = np.cumsum([footer.row_group(i).num_rows for i in range(footer.num_row_groups)])
        with self._open(DOCS) as file:
            self.facts: pa.Table = file.read()
        self.lengths: Mapping[str, Ints] = {field: self.facts[f"length_{field}"].to_numpy() for field in FIELDS}
        self.postings = functools.lru_cache(CACHED_TERMS)(self._postings)
        self.positions = functools.lru_cache(CACHED_TERMS)(self._positions)

    @property
    def documents(self) -> int:
        """How many documents are in the segment."""
        return int(self.facts.num_rows)

    def shown(self, docs: Iterable[int]) -> dict[int, dict[str, Any]]:
        """What may be shown of documents, by number: `title`, `description`, `text`, each possibly None."""
        result: dict[int, dict[str, Any]] = {}
        by_group: dict[int, list[int]] = {}
        for doc in docs:
            by_group.setdefault(int(np.searchsorted(self._shown_ends, doc, "right")), []).append(doc)
        for group, members in by_group.items():
            with self._open(DOCSTORE) as file:
                rows = file.read_row_group(group, use_threads=False)
            first = self._shown_ends[group] - len(rows)
            result |= {doc: rows.slice(doc - first, 1).to_pylist()[0] for doc in members}
        return result

    def _postings(self, term: str) -> Postings:
        """The postings of a term; none when no document has it."""
        group = bisect.bisect_left(self._last_terms, term)
        if group == len(self._last_terms):
            return _NO_POSTINGS
        with self._open(POSTINGS) as file:
            rows = file.read_row_group(group, use_threads=False)
        row = pc.index(rows["term"], term).as_py()
        if row < 0:
            return _NO_POSTINGS
        docs = np.cumsum(rows["docs"][row].values.to_numpy(), dtype=np.int32)
        # Copied, or what is kept of one term would hold on to its whole row group.
        frequencies = {field: rows[f"tf_{field}"][row].values.to_numpy().copy() for field in FIELDS}
        return Postings(docs, frequencies, (group, row))

    def _positions(self, term: str) -> Positions:
        """Where a term stands in the PHRASE_FIELDS of its documents."""
        docs, frequencies, (group, row) = self.postings(term)
        if not len(docs):
            return _NO_POSITIONS
        with self._open(POSITIONS) as file:
            rows = file.read_row_group(group, columns=["positions"], use_threads=False)
        counts = np.add.reduce([frequencies[field] for field in PHRASE_FIELDS])
        return Positions(np.repeat(docs, counts), undo_gaps(rows["positions"][row].values.to_numpy(), counts))

    def _footer(self, name: str) -> pq.FileMetaData:
        with self._source(name) as source, pq.ParquetFile(source) as file:
            return file.metadata

    @contextlib.contextmanager
    def _open(self, name: str) -> Iterator[pq.ParquetFile]:
        # pre_buffer fetches all columns of a row group in one read: 1.1 ms instead of 2.6 on a local disk.
        with (
            self._source(name) as source,
            pq.ParquetFile(source, metadata=self._footers[name], pre_buffer=True) as file,
        ):
            yield file

    @contextlib.contextmanager
    def _source(self, name: str) -> Iterator[Any]:
        path = f"{self._folder}/{name}"
        try:
            with FileSystems.open(
                FileSystems.join(self._root, *path.split("/")), compression_type="uncompressed"
            ) as file:
                yield file
        except (OSError, BeamIOError, pa.ArrowInvalid) as error:
            reason = (str(error) or type(error).__name__).splitlines()[0]
            raise CrawlDirError(f"{path} cannot be read: {reason}; restore it from a copy") from error
