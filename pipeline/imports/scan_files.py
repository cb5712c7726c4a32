"""The first pipeline of an import: scans the files, many at once."""

import dataclasses
from collections.abc import Sequence
from datetime import datetime

import apache_beam as beam

from ...transforms.archives.captures import Admission
from ...transforms.archives.scan import scan_file
from ...transforms.archives.sources import Source
from ...transforms.batches.stage_progress import StageProgress
from ...transforms.blocks.files import read_blocks
from ...transforms.directory.crawl_dir import CrawlDir
from ...transforms.files import filesystem
from ...transforms.parsing.crawl_scope import CrawlScope
from ...transforms.parsing.registry import kinds_of


@dataclasses.dataclass(frozen=True)
class ScanStep:
    """The inputs and outputs of a scan."""

    scope: CrawlScope  # of the captures that are imported
    files: Sequence[tuple[Source, str]]  # with the paths of the results, below the crawl directory
    head_bytes: int
    robot: str
    progress: str
    stop_file: str
    now: datetime


class _ScanFn(beam.DoFn):
    def __init__(self, step: ScanStep) -> None:
        self._step = dataclasses.replace(step, files=())

    def setup(self) -> None:
        scope = self._step.scope
        self._admission = Admission(
            scope.url_filter(),
            read_blocks(CrawlDir(scope.root)),
            kinds_of(scope.kinds).media_types,
            self._step.now,
            self._step.head_bytes,
            self._step.robot,
        )
        self._progress = StageProgress(self._step.progress, "scanning archives", 1, 1)

    def process(self, file: tuple[tuple, str]) -> None:
        if not filesystem.exists(self._step.stop_file):
            self._progress.report()
            scan_file(self._step.scope.root, Source(*file[0]), file[1], self._admission)
            self._progress.report(1)


def build(pipeline: beam.Pipeline, step: ScanStep) -> None:
    """Scan each file once; files whose results are complete are not opened."""
    files = [(tuple(source), path) for source, path in step.files]
    _ = pipeline | "Files" >> beam.Create(files, reshuffle=False) | beam.Reshuffle() | beam.ParDo(_ScanFn(step))
