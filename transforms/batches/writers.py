"""Writes tables in a pipeline, and a list of the written files for the driver."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

import apache_beam as beam

from ..files import filesystem
from ..tables.table_files import TableFile, TableWriter, render_report
from .partitions import Partition, values

_BATCH_ROWS = 256


def write_rows(
    root: str,
    table: str,
    round_: int,
    rows: Sequence[Mapping[str, Any]],
    count_by: str | None = None,
    weight: str | None = None,
) -> Iterator[TableFile]:
    """Write rows as one file, and yield it; nothing if there are no rows.

    `count_by` names a column whose values are counted in the TableFile; `weight` a column with the weight of a row.
    """
    writer = TableWriter(root, table, round_)
    for start in range(0, len(rows), _BATCH_ROWS):
        part = rows[start : start + _BATCH_ROWS]
        writer.write_rows(part, _counts(part, count_by, weight))
    yield from closed(writer)


def closed(writer: TableWriter) -> Iterator[TableFile]:
    """Close a writer, and yield its file, if it has written rows."""
    if file := writer.close():
        yield file


def _counts(rows: Iterable[Mapping[str, Any]], count_by: str | None, weight: str | None) -> dict[str, int]:
    counts = Counter[str]()
    if count_by is not None:
        for row in rows:
            counts[row[count_by]] += row[weight] if weight else 1
    return counts


class ByPartition(beam.PTransform):
    """Joins batches by partition, and yields what a function makes of each `Partition`, given further arguments.

    Takes batches by tag, or those of the only tag, `rows`.
    """

    def __init__(self, fn: Callable[..., Iterable[Any]], *arguments: Any) -> None:
        super().__init__()
        self._each = beam.FlatMap(fn, *arguments)

    def expand(self, batches: "beam.PCollection | dict[str, beam.PCollection]") -> beam.PCollection:
        sides = batches if isinstance(batches, dict) else {"rows": batches}
        return sides | "Join" >> beam.CoGroupByKey() | "Each" >> self._each


def write_partition(
    partition: Partition, root: str, table: str, round_: int, count_by: str | None = None
) -> Iterator[TableFile]:
    """Write the rows of a partition as one file of a table (`write_rows`)."""
    yield from write_rows(root, table, round_, values(partition[1]["rows"]), count_by)


def _write_text(text: str, path: str) -> None:
    filesystem.write_bytes(path, text.encode(), durable=False)


class ReportFiles(beam.PTransform):
    """Writes the list of a step's files, for the driver that commits them (`parse_report` reads it).

    Runners do not return PCollections to the driver; a file works with every runner.
    """

    def __init__(self, path: str) -> None:
        super().__init__()
        self._path = path

    def expand(self, files: beam.PCollection[TableFile]) -> beam.PCollection[None]:
        return (
            files
            | "AllFiles" >> beam.combiners.ToList()
            | "Render" >> beam.Map(render_report)
            | "WriteReport" >> beam.Map(_write_text, self._path)
        )
