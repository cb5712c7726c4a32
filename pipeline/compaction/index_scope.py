"""Makes the index follow `[index]` after a change of it, from the stored documents."""

from collections.abc import Sequence
from datetime import UTC, datetime

from ...transforms.directory.crawl_dir import CrawlDir, Manifest, files_of
from ...transforms.directory.index_scopes import scopes_of
from ...transforms.settings import Settings
from ...transforms.tables.schemas import DOCUMENTS
from ...transforms.tables.table_files import read_table
from ...transforms.urls.index_scope import IndexScope
from ..attempt import Engine
from ..control import Observer
from ..rank import has_lost_ranks, rank
from .rebuild_index import rebuild_index


def follow_index_scope(crawl: CrawlDir, settings: Settings, engine: Engine, observer: Observer) -> None:
    """Make the index anew if the settings take documents in or out; nothing is requested for that."""
    if differs(crawl, crawl.manifests(), IndexScope.of(settings.index)):
        observer.busy("making the index anew, because [index] was changed")
        for manifest in reindex(crawl, settings, engine):
            observer.step_committed(manifest)


def reindex(crawl: CrawlDir, settings: Settings, engine: Engine) -> list[Manifest]:
    """Make the index anew by the settings of now, and rank it if it was ranked; the manifests of both steps."""
    scope, korean = IndexScope.of(settings.index), settings.documents.korean_morphemes
    made = rebuild_index(crawl, engine, korean, scope)
    return [made, *rank_anew(crawl, settings, engine)]


def rank_anew(crawl: CrawlDir, settings: Settings, engine: Engine) -> list[Manifest]:
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
