"""Makes the index anew from table documents: after a change of `[index]`, for another version, or if it is damaged."""

from collections.abc import Sequence
from datetime import UTC, datetime
from functools import partial

import apache_beam as beam

from ...transforms.batches.writers import ReportFiles
from ...transforms.directory.crawl_dir import CrawlDir, Manifest, Step, files_of, last_updated
from ...transforms.directory.index_scopes import scopes_of
from ...transforms.documents.reindex import Reindex
from ...transforms.indexing.live_segments import live_index
from ...transforms.settings import Settings
from ...transforms.tables.schemas import DOCUMENTS
from ...transforms.tables.table_files import TableFile, read_table
from ...transforms.urls.index_scope import WHOLE, IndexScope
from ..attempt import Attempt, Engine, OneMachine
from ..control import Observer
from ..rank import has_lost_ranks, rank
from ..work import work_of

_DOCUMENTS_PER_SHARD = 5_000  # as in the update step


def follow_index_scope(crawl: CrawlDir, settings: Settings, engine: Engine, observer: Observer) -> None:
    """Make the index anew if the settings take documents in or out; nothing is requested for that."""
    if differs(crawl, crawl.manifests(), IndexScope.of(settings.index)):
        observer.busy("making the index anew, because [index] was changed")
        for manifest in (reindex(crawl, settings, engine), *rank_anew(crawl, engine)):
            observer.step_committed(manifest)


def reindex(crawl: CrawlDir, settings: Settings, engine: Engine) -> Manifest:
    """Make the index anew by the settings of now; its segments may be merged before `rank_anew`."""
    return rebuild_index(crawl, engine, settings.documents.korean_morphemes, IndexScope.of(settings.index))


def rank_anew(crawl: CrawlDir, engine: Engine) -> list[Manifest]:
    """Rank the index if it was ranked before it was made anew, also by a program that was killed since."""
    if not has_lost_ranks(crawl.manifests()):
        return []
    return [rank(crawl, engine, datetime.now(UTC))]


def differs(crawl: CrawlDir, manifests: Sequence[Manifest], wanted: IndexScope) -> bool:
    """Whether the index has documents that a scope keeps out, or may lack some that it takes in.

    Only if the index was made by other patterns are the URLs of the documents read.
    """
    others = scopes_of(manifests) - {wanted}
    if not others:
        return False
    for file in files_of(manifests, "documents"):
        urls = read_table(crawl.root, [file.path], DOCUMENTS, ["url"])["url"]
        if any(not other.mask(urls).equals(wanted.mask(urls)) for other in others):
            return True
    return False


def build(pipeline: beam.Pipeline, documents: Sequence[TableFile], reindex: Reindex, report: str) -> None:
    """Read the documents that searches find, and index them."""
    pipeline | "Documents" >> beam.Create(documents) | "Reindex" >> reindex | "Report" >> ReportFiles(report)


def rebuild_index(crawl: CrawlDir, engine: Engine, korean_morphemes: bool, index_scope: IndexScope = WHOLE) -> Manifest:
    """Index the documents of all rounds anew, and commit. The new segments replace all others; none of these is read.

    The manifest records the scope (`IndexScope.record`).

    Link data is not carried over: it needs a `rank` step. Searches as of earlier rounds still use the old segments.
    """
    manifests = crawl.require_manifests()
    attempt = Attempt.after_earlier(crawl, Step("compact", last_updated(manifests)))
    documents, tombstones = (files_of(manifests, table) for table in ("documents", "tombstones"))
    rows = sum(file.rows for file in documents)
    work = work_of("rebuild", documents=rows)
    workers = engine.workers_for(work.seconds) if isinstance(engine, OneMachine) else 1
    shards = max(1, -(-rows // _DOCUMENTS_PER_SHARD))
    reindex = Reindex(crawl.root, attempt.step.round, tombstones, shards, korean_morphemes, index_scope, workers)
    engine.run(partial(build, documents=documents, reindex=reindex, report=attempt.report), work.seconds)
    folders = [segment.folder for segment in live_index(manifests).segments]
    return attempt.commit(replaced=folders, settings=index_scope.record())
