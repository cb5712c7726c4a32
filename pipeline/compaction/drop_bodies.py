"""The `compact` step that removes the bodies of old visits (`storage.body_rounds`)."""

import dataclasses
from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from typing import Any

import apache_beam as beam
import numpy as np
from numpy.typing import NDArray

from ...transforms.batches.writers import ReportFiles
from ...transforms.directory.crawl_dir import CrawlDir, Manifest, Step, files_of, last_updated
from ...transforms.outcomes import CrawlDirError, DiskError
from ...transforms.tables.damage import DAMAGED, damaged
from ...transforms.tables.old_bodies import read_keys, removable_in, without_bodies
from ...transforms.tables.table_files import TableFile
from ..attempt import Attempt, Engine
from ..work import work_of
from .damage import Damage

EVERY = 10
"""Rounds after which a running crawl looks for old bodies: each time, it reads the keys of all visits."""

WORTH_WRITING = 0.1
"""Share of the bodies of a file from which a running crawl writes it anew."""

_ROWS_PER_PARTITION = 500_000


@dataclasses.dataclass(frozen=True)
class DropBodiesStep:
    """The files of visits, the round before which bodies may go, and where the step writes."""

    root: str
    visits: Sequence[TableFile]
    before: int
    least_share: float
    partitions: int
    report: str


def build(pipeline: beam.Pipeline, step: DropBodiesStep) -> None:
    """Find the newest body of each page, and write the files anew that hold others; report both files.

    Reports damaged files, which are not written anew.
    """
    keys = (
        pipeline
        | "Files" >> beam.Create(list(enumerate(step.visits)))
        | "SpreadFiles" >> beam.Reshuffle()
        | "ReadKeys" >> beam.FlatMap(_keys, step.root, step.partitions).with_outputs(DAMAGED, main="keys")
    )
    written = (
        keys["keys"]
        | "GroupByPartition" >> beam.GroupByKey()
        | "Removable" >> beam.FlatMap(lambda keys, before: removable_in(keys[1], before), step.before)
        | "GroupByFile" >> beam.GroupByKey()
        | "WriteAnew" >> beam.FlatMap(_write, step.visits, step.root, step.least_share)
    )
    (keys[DAMAGED], written) | "Written" >> beam.Flatten() | "Report" >> ReportFiles(step.report)


def drop_bodies(
    crawl: CrawlDir, engine: Engine, rounds: int, least_share: float = 0.0, damage: Damage | None = None
) -> Manifest | None:
    """Remove the bodies of visits more than `rounds` rounds ago, but for the newest of each page, and commit.

    The rows stay. None if nothing is removed. Files of which less than a share would be removed stay as they are. The
    replaced files stay until they are dropped (`fold_history`): a reader may have opened them. A damaged file stays as
    it is; it is an error without `damage`.
    """
    manifests, damage = crawl.manifests(), damage or Damage(crawl)
    last = last_updated(manifests)  # a round that waits for its update is newer
    visits = [file for file in files_of(manifests, "visits") if not damage.is_in([file])]
    rows = sum(file.rows for file in visits)
    if last <= rounds or not rows:
        return None
    attempt = Attempt.after_earlier(crawl, Step("compact", last))
    partitions = -(-rows // _ROWS_PER_PARTITION)
    plan = DropBodiesStep(crawl.root, visits, last - rounds, least_share, partitions, attempt.report)
    engine.run(partial(build, step=plan), work_of("drop", rows=rows).seconds)
    damage.note(attempt.files())
    reported = [file for file in attempt.files() if file.table != DAMAGED]
    before = {file.path for file in visits}
    old = [file for file in reported if file.path in before]
    if not old:
        attempt.clear()
        return None
    new = [file for file in reported if file.path not in before]
    freed = sum(file.bytes for file in old) - sum(file.bytes for file in new)
    counters = {"bodies_removed_bytes": freed}
    return attempt.commit(files=new, merged=old, counters=counters)


def _keys(file: tuple[int, TableFile], root: str, partitions: int) -> Iterator[Any]:
    try:
        yield from read_keys(file, root, partitions)
    except DiskError:
        raise
    except CrawlDirError:
        if not (found := list(damaged(file[1], root))):
            raise
        yield beam.pvalue.TaggedOutput(DAMAGED, found[0])


def _write(
    element: tuple[int, Iterable[NDArray[np.int64]]], visits: Sequence[TableFile], root: str, least_share: float
) -> Iterator[TableFile]:
    number, rows = element
    return without_bodies(visits[number], list(rows), root, least_share)
