"""Divides the files that ranking reads into parts of like size, which different workers read."""

from collections.abc import Iterator, Sequence
from typing import NamedTuple, TypeVar

import pyarrow as pa

from ..memory.bounds import PARTITION_LINKS
from ..tables.batches import cuts
from ..tables.schemas import LINKS
from ..tables.table_files import conform, open_parquet, present

_BYTES = 64 << 20  # of a part, uncompressed: texts of sections may be much longer than their rows are many
_READS = 64  # of small parts: enough to divide among workers

T = TypeVar("T")


class Part(NamedTuple):
    """Row groups of a file."""

    path: str
    first: int
    groups: int
    votes: int  # links, and sections that they lead to
    size: int  # the same, or more if their texts are long: _BYTES are as many as PARTITION_LINKS


def parts_of(root: str, paths: Sequence[str]) -> list[Part]:
    """Parts of files of the table: PARTITION_LINKS votes each, or _BYTES, unless a single row group has more.

    Read from the ends of the files.
    """
    return [part for path in paths for part in _parts_of(root, path)]


def _parts_of(root: str, path: str) -> Iterator[Part]:
    with open_parquet(root, path) as file:
        found = file.metadata
    names = [found.schema.column(n).path for n in range(found.num_columns)]
    ids = [n for n, name in enumerate(names) if name.startswith("fragments.") and name.endswith(".id")]
    groups = [found.row_group(number) for number in range(found.num_row_groups)]
    # A link without sections is a value, too, which is null.
    chunks = [[group.column(n) for n in ids] for group in groups]
    sections = [sum(c.num_values - (c.statistics.null_count if c.statistics else 0) for c in some) for some in chunks]
    votes = [group.num_rows + more for group, more in zip(groups, sections, strict=True)]
    sizes = [
        max(group.total_byte_size, count * _BYTES // PARTITION_LINKS)
        for group, count in zip(groups, votes, strict=True)
    ]
    for first, count in cuts(sizes, _BYTES):
        size = sum(sizes[first : first + count]) * PARTITION_LINKS // _BYTES
        yield Part(path, first, count, sum(votes[first : first + count]), size)


def together(parts: Sequence[T], sizes: Sequence[int]) -> list[Sequence[T]]:
    """Runs of parts that are read together, of a size of at most PARTITION_LINKS unless a part has more.

    What is read at once sends a batch to each partition, so many small files would send many small ones.

    >>> together(["a", "b", "c", "d"], [100, 900, 90_000, 300_000])
    [['a', 'b'], ['c'], ['d']]
    """
    most = min(PARTITION_LINKS, sum(sizes) // _READS)
    return [parts[start : start + count] for start, count in cuts(sizes, most)]


def read_part(root: str, part: Part, columns: Sequence[str]) -> pa.Table:
    with open_parquet(root, part.path) as file:
        numbers = range(part.first, part.first + part.groups)
        rows = file.read_row_groups(numbers, present(file, columns), use_threads=False)
    return conform(rows, pa.schema([LINKS.field(name) for name in columns]))
