"""Tables as elements of a PCollection: Arrow IPC bytes, so that rows travel in batches."""

import itertools
from collections.abc import Iterable, Iterator, Sequence

import numpy as np
import pyarrow as pa

from .bloom import partitions, shards

Batch = tuple[int, bytes]
"""(partition of the key space, rows as Arrow IPC)"""

# Arrow would compress and decompress the columns of a batch in several threads: six times the CPU time for a few rows.
# zstd needs four times the CPU time of lz4, for two thirds of the bytes.
_WRITE = pa.ipc.IpcWriteOptions(compression="lz4", use_threads=False)
_READ = pa.ipc.IpcReadOptions(use_threads=False)

_MUCH = 4 << 20


def to_ipc(table: pa.Table) -> bytes:
    """A table as one element of a PCollection: Arrow IPC, so that rows travel in batches."""
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema, options=_WRITE) as writer:
        writer.write_table(table)
    return sink.getvalue().to_pybytes()


def from_ipc(batches: Iterable[bytes], schema: pa.Schema) -> pa.Table:
    """The concatenated tables of `to_ipc`; an empty table if there are none."""
    return pa.concat_tables([schema.empty_table(), *map(read_ipc, batches)])


def read_ipc(batch: bytes, columns: Sequence[str] | None = None) -> pa.Table:
    """The table of `to_ipc`; with `columns`, only these, in their order there, and the others are not decompressed."""
    if columns is None:
        return pa.ipc.open_stream(batch, options=_READ).read_all()
    names = pa.ipc.read_schema(pa.py_buffer(batch)).names
    options = pa.ipc.IpcReadOptions(use_threads=False, included_fields=[names.index(name) for name in columns])
    return pa.ipc.open_stream(batch, options=options).read_all()


def cuts(sizes: Sequence[int], most: int) -> Iterator[tuple[int, int]]:
    """Cut a sequence into parts of at most so much together, or of one element: (start, length) of each.

    >>> list(cuts([3, 3, 9, 1, 1], 6))
    [(0, 2), (2, 1), (3, 2)]
    """
    start = total = 0
    for number, size in enumerate(sizes):
        if number > start and total + size > most:
            yield start, number - start
            start, total = number, 0
        total += size
    if sizes:
        yield start, len(sizes) - start


def split(table: pa.Table, key: str, count: int) -> Iterator[Batch]:
    """The rows of each partition as a Batch."""
    return batches_by(table, partitions(table[key], count))


def batches_by(table: pa.Table, numbers: Iterable[int]) -> Iterator[Batch]:
    """The rows with each number as a Batch."""
    return ((number, to_ipc(rows)) for number, rows in split_by(table, numbers))


def split_by(table: pa.Table, numbers: Iterable[int]) -> Iterator[tuple[int, pa.Table]]:
    """The rows of a table grouped by their numbers, in their order; rows keep theirs."""
    column = np.asarray(numbers, np.int64)
    order = np.argsort(column, kind="stable")
    column = column[order]
    starts = np.flatnonzero(np.diff(column, prepend=column[:1] - 1))
    if len(starts) > 1:  # one pass over the rows, however many groups there are
        table = table.take(pa.array(order))
    for start, end in itertools.pairwise([*starts.tolist(), len(column)]):
        yield int(column[start]), table.slice(start, end - start)


def release_freed(worked_on: int) -> None:
    """Return memory that is free in this process to the system, after work on so many bytes, if they are megabytes.

    It takes some 10 ms. glibc by itself returns only what is free at the end of its heap.
    """
    if worked_on >= _MUCH:
        pa.default_memory_pool().release_unused()


def by_host(rows: pa.Table, count: int) -> Iterator[Batch]:
    return batches_by(rows, shards(rows["host"], count))
