"""Merges files in a pipeline, but for damaged ones; apart from `damage`, which commands read without Beam."""

from collections.abc import Callable, Collection, Iterable, Iterator

import apache_beam as beam

from ..tables.batches import release_freed
from ..tables.damage import damaged
from ..tables.table_files import TableFile
from .writers import ReportFiles

Task = Callable[[], Iterable[TableFile]]
"""Writes files, and returns them."""


def _run(task: Task) -> Iterator[TableFile]:
    written = 0
    for file in task():
        written += file.bytes
        yield file
    release_freed(written)


def merge_whole(
    pipeline: beam.Pipeline,
    root: str,
    files: Collection[TableFile],
    items: Collection[Callable[[], Iterable[Task]]],
    report: str,
) -> None:
    """Compare files with what was written, then run the tasks into which the items divide, and report.

    Different workers run the tasks, which may be of several kinds, side by side. If a file is damaged, nothing is
    divided or run, and the damaged files are reported, as files of table `DAMAGED`.
    """
    found = (
        pipeline
        | "Files" >> beam.Create(list(files))
        | "SpreadFiles" >> beam.Reshuffle()
        | "Compare" >> beam.FlatMap(damaged, root)
    )
    written = (
        pipeline
        | "Items" >> beam.Create(list(items))
        | "Split" >> beam.FlatMap(lambda item, found: [] if found else item(), beam.pvalue.AsList(found))
        | "Spread" >> beam.Reshuffle()
        | "Run" >> beam.FlatMap(_run)
    )
    (found, written) | "Written" >> beam.Flatten() | "Report" >> ReportFiles(report)
