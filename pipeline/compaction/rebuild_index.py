"""The step that rebuilds the index from table documents: for one of another version, or a damaged one."""

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


def build(pipeline: beam.Pipeline, documents: Sequence[TableFile], reindex: Reindex, report: str) -> None:
    """Read the documents that searches find, and index them."""
    pipeline | "Documents" >> beam.Create(documents) | "Reindex" >> reindex | "Report" >> ReportFiles(report)


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
    shards = max(1, -(-rows // _DOCUMENTS_PER_SHARD))
    reindex = Reindex(crawl.root, attempt.step.round, tombstones, shards, korean_morphemes, index_scope, workers)
    engine.run(partial(build, documents=documents, reindex=reindex, report=attempt.report), work.seconds)
    folders = [segment.folder for segment in live_index(manifests).segments]
    return attempt.commit(replaced=folders, settings=index_scope.record())
