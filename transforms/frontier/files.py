"""The files of table frontier: sorted by host, and within a host in the order of its visits."""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from ..tables.schemas import FRONTIER
from ..tables.table_files import TableFile, TableWriter

ORDER = (("host", "ascending"), ("depth", "ascending"), ("priority", "descending"), ("url", "ascending"))
"""Sort keys of the rows of a file: within a host, as `selection.order`."""

GROUP_ROWS = 2_048
"""Rows of a row group: the least that a reader reads."""

_STATISTICS = ("host", "due_at")


def frontier_writer(root: str, round_: int, stem: str = "part") -> TableWriter:
    """A writer of a frontier file; its batches must be sorted by `ORDER`."""
    return TableWriter(root, "frontier", round_, stem, ORDER, _STATISTICS)


def write_frontier(
    root: str, round_: int, rows: pa.Table | Sequence[Mapping[str, Any]], stem: str = "part"
) -> TableFile | None:
    """Writes rows as one file of the frontier, sorted, with their number by reason; None if there are no rows."""
    table = rows if isinstance(rows, pa.Table) else pa.Table.from_pylist(list(rows), schema=FRONTIER)
    table = table.sort_by(list(ORDER))
    writer = frontier_writer(root, round_, stem)
    for start in range(0, table.num_rows, GROUP_ROWS):
        group = table.slice(start, GROUP_ROWS)
        writer.write(group, Counter(group["reason"].to_pylist()))
    return writer.close()


def is_sorted(file: pq.ParquetFile) -> bool:
    """Whether the rows of a frontier file are sorted by `ORDER`; files of versions before 0.2 are not."""
    return bool(file.num_row_groups and file.metadata.row_group(0).sorting_columns)
