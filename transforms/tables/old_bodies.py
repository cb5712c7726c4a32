"""Bodies of old visits: which may be removed, and files of table visits without them.

A page keeps its newest body, so that its content can always be exported and parsed again.
"""

from collections.abc import Iterable, Iterator, Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from ..outcomes import Outcome
from .batches import Batch, from_ipc, split
from .bloom import words
from .damage import damaged
from .schemas import KEY, TIME, VISITS
from .table_files import TableFile, TableWriter, conform, read_groups, read_table, round_of, with_columns

KEYS = pa.schema(
    [
        ("url_key", KEY),
        ("is_page", pa.bool_()),  # the outcome is `fetched`
        ("round", pa.int32()),
        ("fetched_at", TIME),
        ("file", pa.int64()),  # its number
        ("row", pa.int64()),  # its number in the file
    ]
)
"""Where the bodies of visits lie."""

Place = tuple[int, NDArray[np.int64]]
"""(number of a file, numbers of rows in it)"""


def has_body(visits: pa.Table) -> pa.ChunkedArray:
    """Whether each visit has a body that is not empty; from columns status, body_bytes and body_removed."""
    is_there = pc.and_(pc.is_valid(visits["status"]), pc.invert(pc.fill_null(visits["body_removed"], False)))
    return pc.and_(is_there, pc.fill_null(pc.greater(visits["body_bytes"], 0), False))


def read_keys(file: tuple[int, TableFile], root: str, partitions: int) -> Iterator[Batch]:
    """The rows of KEYS of a file of visits, by partition of the URL."""
    number, each = file
    columns = ["url_key", "outcome", "round", "fetched_at", "status", "body_bytes", "body_removed"]
    visits = read_table(root, [each.path], VISITS, columns)
    rows = visits.append_column("is_page", pc.equal(visits["outcome"], Outcome.FETCHED.value))
    rows = rows.append_column("file", pa.repeat(pa.scalar(number, pa.int64()), rows.num_rows))
    rows = rows.append_column("row", pa.array(np.arange(rows.num_rows)))
    yield from split(conform(rows.filter(has_body(visits)), KEYS), "url_key", partitions)


def removable(keys: pa.Table, before: int) -> Iterator[Place]:
    """The places of the bodies of rounds before `before`, without the newest of each page; all of a URL are in `keys`.

    Bodies of errors and redirects are those of no page.
    """
    order = ("url_key", "is_page", "round", "fetched_at")
    rows = keys.sort_by([(name, "ascending") for name in order]).combine_chunks()
    if not rows.num_rows:
        return
    url = words(rows["url_key"])
    is_last = np.append((url[1:] != url[:-1]).any(axis=1), True)
    is_newest = is_last & rows["is_page"].to_numpy()
    found = rows.filter(pa.array((rows["round"].to_numpy() < before) & ~is_newest))
    files, numbers = found["file"].to_numpy(), found["row"].to_numpy()
    for file in np.unique(files).tolist():
        yield file, numbers[files == file]


def removable_in(batches: Iterable[bytes], before: int) -> Iterator[Place]:
    """`removable` of a partition."""
    return removable(from_ipc(batches, KEYS), before)


def without_bodies(
    file: TableFile, rows: Sequence[NDArray[np.int64]], root: str, least_share: float
) -> Iterator[TableFile]:
    """Write a file of visits anew, without the bodies of some rows; yields the file and then the new one.

    Yields nothing if these bodies are less than a share of the bytes of all bodies in the file, and a file of `DAMAGED`
    if the file is not as it was written.
    """
    numbers = np.concatenate(rows)
    sizes = read_table(root, [file.path], VISITS, ["status", "body_bytes", "body_removed"])
    sizes_now = np.where(has_body(sizes).to_numpy(), pc.fill_null(sizes["body_bytes"], 0).to_numpy(), 0)
    if sizes_now[numbers].sum() < least_share * sizes_now.sum():
        return
    if found := list(damaged(file, root)):
        yield from found
        return
    is_removed = np.zeros(sizes.num_rows, np.bool_)
    is_removed[numbers] = True
    writer, start = TableWriter(root, "visits", round_of(file.path), "kept"), 0
    for group in read_groups(root, file):
        writer.write(_without(group, is_removed[start : start + group.num_rows]))
        start += group.num_rows
    if new := writer.close():
        yield file
        yield new._replace(counts=file.counts)


def _without(visits: pa.Table, is_removed: NDArray[np.bool_]) -> pa.Table:
    mask = pa.array(is_removed)
    body = pc.if_else(mask, pa.scalar(None, pa.large_binary()), visits["body"])
    removed = pc.if_else(mask, True, visits["body_removed"])
    return with_columns(visits, body=body, body_removed=removed)
