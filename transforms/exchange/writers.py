"""Writes tables in a pipeline, and a list of the written files for the driver."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import apache_beam as beam

from ..files import filesystem
from ..tables.schemas import Row
from ..tables.table_files import TableFile, TableWriter, render_report
from .functions import Partition, Side, StageFn, TaggedOutput, WriteFn

_BATCH_ROWS = 256


def write_rows(
    root: str,
    table: str,
    round_: int,
    rows: Sequence[Mapping[str, Any]],
    count_by: str | None = None,
    weight: str | None = None,
) -> TableFile | None:
    """Write rows as one file; None if there are no rows.

    `count_by` names a column whose values are counted in the TableFile; `weight` a column with the weight of a row.
    """
    writer = TableWriter(root, table, round_)
    for start in range(0, len(rows), _BATCH_ROWS):
        part = rows[start : start + _BATCH_ROWS]
        writer.write_rows(part, _counts(part, count_by, weight))
    return writer.close()


def _counts(rows: Iterable[Mapping[str, Any]], count_by: str | None, weight: str | None) -> dict[str, int]:
    counts: dict[str, int] = {}
    if count_by is None:
        return counts
    for row in rows:
        name = row[count_by]
        counts[name] = counts.get(name, 0) + (row[weight] if weight else 1)
    return counts


class WriteAlertsFn(WriteFn):
    """Writes the alerts of a shard of hosts as one file."""

    rows = Side(list[Row])  # of table alerts

    def __init__(self, root: str, round_: int) -> None:
        self._root, self._round = root, round_

    def process(self, partition: Partition) -> Iterator[TaggedOutput]:
        rows = self.rows.values(partition[1])
        yield from self.files.if_any(write_rows(self._root, "alerts", self._round, rows, "kind"))


class WriteGoneFn(WriteFn):
    """Writes the documents that are gone from a shard of hosts, as one file of table near."""

    rows = Side(list[Row])  # of table near

    def __init__(self, root: str, round_: int) -> None:
        self._root, self._round = root, round_

    def process(self, partition: Partition) -> Iterator[TaggedOutput]:
        rows = self.rows.values(partition[1])
        yield from self.files.if_any(write_rows(self._root, "near", self._round, rows))


def _write_text(text: str, path: str) -> None:
    filesystem.write_bytes(path, text.encode(), durable=False)


class MarkFn(WriteFn):
    """Yields one element for the report of files, which is written even if there are none."""

    def process(self, _: str) -> Iterator[TaggedOutput]:
        yield self.files.once(None)


class ReportFn(StageFn):
    """Writes the list of the files that a step has written, as `ReportFiles`."""

    files = Side(TableFile, in_one_place=True)

    def __init__(self, path: str) -> None:
        self._path = path

    def process(self, partition: Partition) -> None:
        _write_text(render_report(file for file in partition[1]["files"] if file is not None), self._path)


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
