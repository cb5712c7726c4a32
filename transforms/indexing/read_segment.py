"""Reads and decodes index folders that `write_segment` and `link_folders` have written."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.parquet as pq

from ..tables.list_offsets import offsets
from ..tables.table_files import open_parquet
from .invert import PHRASE_FIELDS, Inverted, Longs
from .packing import undo_gaps, unpack
from .segment_files import require_version
from .write_segment import DOCS, POSTINGS, ROW_GROUP_POSTINGS

BLOCK = 65_536 // ROW_GROUP_POSTINGS
"""The number of row groups that are decoded at a time."""


def read_parts(root: str, path: str, block: int = BLOCK) -> Iterator[pa.Table]:
    """A file of the index, so many row groups at a time: at least one table, maybe empty. Errors as in `read_file`."""
    with open_parquet(root, path) as file:
        require_version(root, path, file.metadata)
        groups = range(file.num_row_groups)
        for start in range(0, max(1, len(groups)), block):
            yield file.read_row_groups(groups[start : start + block]).combine_chunks()


def read_blocks(root: str, folder: str, fields: Sequence[str], block: int = BLOCK) -> Iterator[Inverted]:
    """The inverted index in a folder, which has these fields, in blocks of whole terms, without lengths.

    A block has about `block` row groups. A term is repeated for each of its rows.
    """
    for postings in whole_terms(read_parts(root, f"{folder}/{POSTINGS}", block)):
        index = decode(postings, fields)
        if "positions" in postings.column_names:
            starts, differences = lists(postings["positions"])
            counts = np.add.reduce([index.frequencies[field] for field in PHRASE_FIELDS])
            index = index._replace(position_starts=starts, positions=undo_gaps(differences, counts))
        yield index


def whole_terms(tables: Iterable[pa.Table]) -> Iterator[pa.Table]:
    """Consecutive tables of postings, at least one, divided so that all rows of a term are in the same table."""
    tables = iter(tables)
    rows = next(tables)
    for table in tables:
        whole = len(rows)  # of these rows; the last term may go on in the next table
        while whole and rows["term"][whole - 1] == table["term"][0]:
            whole -= 1
        if whole:
            yield rows.slice(0, whole).combine_chunks()
        rows = pa.concat_tables([rows.slice(whole), table]) if whole < len(rows) else table
    yield rows.combine_chunks()


def decode(postings: pa.Table, fields: Sequence[str]) -> Inverted:
    """The inverted index in a table of postings, a term for each row, without positions and lengths."""
    starts, differences = lists(postings["docs"])
    found = undo_gaps(differences, np.diff(starts).astype(np.int32))
    frequencies = unpack(lists(postings["tf"])[1], fields)
    return Inverted(postings["term"].to_pylist(), starts, found, frequencies, np.zeros_like(starts), found[:0], {})


def read_rows(root: str, path: str, picked: Iterable[Longs]) -> Iterator[pa.Table]:
    """Rows of a file, a table for each array of ascending numbers; only their row groups are decoded.

    The footer, which takes as long to read as many row groups, is read once. Errors as in `read_file`.
    """
    with open_parquet(root, path) as file:
        require_version(root, path, file.metadata)
        sizes = np.array([file.metadata.row_group(number).num_rows for number in range(file.num_row_groups)])
        starts = np.cumsum(sizes) - sizes
        for rows in picked:
            group_of = np.searchsorted(starts, rows, "right") - 1
            groups, place = np.unique(group_of, return_inverse=True)
            read_starts = np.cumsum(sizes[groups]) - sizes[groups]
            found = file.read_row_groups(groups.tolist()).replace_schema_metadata()
            yield found.take(read_starts[place] + rows - starts[group_of])


def read_footer(root: str, path: str) -> pq.FileMetaData:
    """The footer of a file of the index; errors as in `read_file`."""
    with open_parquet(root, path) as file:
        require_version(root, path, file.metadata)
        return file.metadata


def count_documents(root: str, folder: str) -> int:
    """The number of documents of a segment, dead ones included."""
    return int(read_footer(root, f"{folder}/{DOCS}").num_rows)


def lists(column: pa.ChunkedArray) -> tuple[Longs, npt.NDArray[Any]]:
    """The offsets of the lists of a column (one more than lists), and their concatenated values."""
    array = column.combine_chunks()
    return offsets(array.value_lengths().to_numpy()), array.flatten().to_numpy()
