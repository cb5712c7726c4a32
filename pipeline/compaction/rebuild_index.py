"""The step that rebuilds the index from table documents: for one of another version, or a damaged one."""

import dataclasses
from collections.abc import Sequence
from functools import partial

import apache_beam as beam

from ...transforms.batches.writers import ReportFiles
from ...transforms.directory.crawl_dir import CrawlDir, Manifest, Step, files_of, next_step
from ...transforms.documents.reindex import Reindex
from ...transforms.indexing.live_segments import live_index
from ...transforms.tables.table_files import TableFile
from ...transforms.urls.index_scope import WHOLE, IndexScope
from ..attempt import Attempt, Engine, OneMachine
from ..work import work_of

_DOCUMENTS_PER_SHARD = 5_000  # as in the update step


@dataclasses.dataclass(frozen=True)
class RebuildStep:
    """The inputs and outputs of such a step; paths are below the crawl directory."""

    root: str
    round: int
    documents: Sequence[TableFile]
    tombstones: Sequence[TableFile]
    shards: int
    korean_morphemes: bool
    index_scope: IndexScope
    report: str


def build(pipeline: beam.Pipeline, step: RebuildStep) -> None:
    """Read the documents that searches find, and index them."""
    reindex = Reindex(step.root, step.round, step.tombstones, step.shards, step.korean_morphemes, step.index_scope)
    pipeline | "Documents" >> beam.Create(step.documents) | "Reindex" >> reindex | "Report" >> ReportFiles(step.report)


def rebuild_index(crawl: CrawlDir, engine: Engine, korean_morphemes: bool, index_scope: IndexScope = WHOLE) -> Manifest:
    """Index the documents of all rounds anew, and commit. The new segments replace all others; none of these is read.

    The manifest records the scope (`IndexScope.record`).

    Link data is not carried over: it needs a `rank` step. Searches as of earlier rounds still use the old segments.
    """
    manifests = crawl.require_manifests()
    attempt = Attempt.after_earlier(crawl, Step("compact", next_step(manifests).round - 1))
    documents, tombstones = (files_of(manifests, table) for table in ("documents", "tombstones"))
    rows = sum(file.rows for file in documents)
    work = work_of("rebuild", documents=rows)
    workers = engine.workers_for(work.seconds) if isinstance(engine, OneMachine) else 1
    plan = RebuildStep(
        crawl.root,
        attempt.step.round,
        documents,
        tombstones,
        max(workers, -(-rows // _DOCUMENTS_PER_SHARD)),
        korean_morphemes,
        index_scope,
        attempt.report,
    )
    engine.run(partial(build, step=plan), work.seconds)
    folders = [segment.folder for segment in live_index(manifests).segments]
    return attempt.commit(replaced=folders, settings=index_scope.record())
