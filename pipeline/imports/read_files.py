"""The second pipeline of an import: reads the chosen captures, and writes visits as a fetch step does."""

import dataclasses
from collections.abc import Iterator, Sequence
from typing import Any

import apache_beam as beam

from ...transforms.archives.answers import reply_of
from ...transforms.archives.reader import Record, read_records
from ...transforms.archives.sources import Source
from ...transforms.archives.visits import robots_of, visit_of
from ...transforms.batches.stage_progress import StageProgress
from ...transforms.directory.crawl_dir import CrawlDir
from ...transforms.directory.pieces import find_leftovers
from ...transforms.http.reply import Reply
from ...transforms.politeness.workers.keeper import Keeper
from ...transforms.politeness.workers.progress import Watch
from ...transforms.tables.table_files import open_parquet
from .read_before import keys_read
from .stored_payloads import read_stored

_WATCH_S = 0.5
_PLANNED = 2_000  # rows of a plan in memory


@dataclasses.dataclass(frozen=True)
class ReadStep:
    """The inputs and outputs of reading; a file is an archive, or the path of one of table visits."""

    root: str
    round: int
    attempt: str  # the name of its durable pieces
    groups: Sequence[Sequence[tuple[Source | str, str]]]  # files that one worker reads, with the paths of their plans
    body_bytes: int
    head_bytes: int
    robot: str
    piece_seconds: float
    progress: str
    stop_file: str


class _ReadFn(beam.DoFn):
    """Reads files while the bundle runs; writes durable pieces, the last at its end."""

    def __init__(self, step: ReadStep) -> None:
        self._step = dataclasses.replace(step, groups=())

    def start_bundle(self) -> None:
        step = self._step
        self._crawl = CrawlDir(step.root)
        # A runner may repeat a bundle, whose pieces count all the same.
        self._known = keys_read(self._crawl, find_leftovers(self._crawl, step.attempt))
        self._keeper = Keeper(self._crawl, step.attempt, step.round, step.piece_seconds)
        self._watch = Watch(step.stop_file, None, _WATCH_S)
        self._progress = StageProgress(step.progress, "reading captures", 1, 1)

    def process(self, group: list[tuple[tuple | str, str]]) -> None:
        for source, plan in group:
            if isinstance(source, str):
                self._read_stored(source, plan)
            else:
                self._read(Source(*source), plan)

    def finish_bundle(self) -> None:
        self._watch.close()
        self._keeper.close(())

    def _read(self, source: Source, plan: str) -> None:
        rows = _planned(self._step.root, plan)
        row = next(rows, None)
        while row is not None and row["number"] is None:
            self._keep(row, None)
            row = next(rows, None)
        if row is None:
            return
        for record in read_records(source):
            if self._watch.is_stopped or row is None:
                return
            if not isinstance(record, Record) or record.number < row["number"]:
                continue
            reply = reply_of(record, row["digest"], self._step.body_bytes, self._step.head_bytes)
            compared = row["digest"]
            while row is not None and row["number"] == record.number:
                self._keep(row if row["digest"] == compared else row | {"digest": None}, reply)
                row = next(rows, None)

    def _read_stored(self, path: str, plan: str) -> None:
        for row, reply in read_stored(self._step.root, path, _planned(self._step.root, plan)):
            if self._watch.is_stopped:
                return
            self._keep(row, reply)

    def _keep(self, row: dict[str, Any], reply: Reply | None) -> None:
        if row["url_key"] in self._known:
            return
        if row["is_robots"]:
            self._keeper.add("robots", robots_of(row, reply or Reply(), self._step.round, self._step.robot))
        else:
            self._keeper.add("visits", visit_of(row, reply, self._step.round))
            self._progress.report(1)
        if self._keeper.is_due:
            self._keeper.cut(())


def _planned(root: str, path: str) -> Iterator[dict[str, Any]]:
    with open_parquet(root, path) as file:
        for batch in file.iter_batches(_PLANNED):
            yield from batch.to_pylist()


def build(pipeline: beam.Pipeline, step: ReadStep) -> None:
    """Read the groups of files; bodies are written where they are read."""
    groups = [
        [(source if isinstance(source, str) else tuple(source), plan) for source, plan in group]
        for group in step.groups
    ]
    _ = pipeline | "Groups" >> beam.Create(groups, reshuffle=False) | beam.Reshuffle() | beam.ParDo(_ReadFn(step))
