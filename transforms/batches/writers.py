"""Writes tables in a pipeline, and a list of the written files for the driver."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
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
    counts: dict[str, int] = {}
    if count_by is None:
        return counts
    for row in rows:
        name = row[count_by]
        counts[name] = counts.get(name, 0) + (row[weight] if weight else 1)
    return counts


class _WriteRowsFn(beam.DoFn):
    def __init__(self, root: str, table: str, round_: int, count_by: str | None) -> None:
        self._root, self._table, self._round, self._count_by = root, table, round_, count_by

    def process(self, partition: Partition) -> Iterator[TableFile]:
        yield from write_rows(self._root, self._table, self._round, values(partition[1]["rows"]), self._count_by)


class WriteRows(beam.PTransform):
    """Writes (partition, rows) as one file of a table for each partition."""

    def __init__(self, root: str, table: str, round_: int, count_by: str | None = None) -> None:
        super().__init__()
        self._fn = _WriteRowsFn(root, table, round_, count_by)

    def expand(self, rows: beam.PCollection) -> beam.PCollection[TableFile]:
        return {"rows": rows} | "ByPartition" >> beam.CoGroupByKey() | "Write" >> beam.ParDo(self._fn)


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
