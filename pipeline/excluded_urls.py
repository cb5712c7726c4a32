"""The waiting URLs that a change of the settings excludes: they stay in the frontier, and no round reads them."""

from collections.abc import Sequence

from ..transforms.blocks.files import read_blocks
from ..transforms.directory.crawl_dir import CrawlDir, Manifest, paths_of
from ..transforms.directory.waiting import Waiting, read_waiting
from ..transforms.frontier.excluded import Excluded, NotRequested, has_changed
from ..transforms.parsing.crawl_scope import CrawlScope
from ..transforms.settings import Settings


def excluded_urls(crawl: CrawlDir, manifests: Sequence[Manifest], settings: Settings) -> Excluded | None:
    """Return what the settings exclude; None, which costs nothing, if all links were judged by the same scope."""
    if not has_changed(settings, manifests):
        return None
    return Excluded(CrawlScope.of(crawl.root, settings.scope, settings.documents, paths_of(manifests, "seeds")))


def count_excluded(crawl: CrawlDir, manifests: Sequence[Manifest], excluded: Excluded | None) -> int:
    """Return the number of waiting URLs that the settings exclude and no block matches."""
    if excluded is None:
        return 0
    closed = NotRequested(read_blocks(crawl), excluded)
    for rows in read_waiting(crawl.root, Waiting.of(manifests), closed.columns):
        closed.without(rows)
    return closed.excluded
