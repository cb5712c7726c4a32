"""The waiting URLs that a change of the settings excludes: they stay in the frontier, and no round reads them."""

from collections.abc import Sequence

from ..transforms.blocks.files import read_blocks
from ..transforms.directory.crawl_dir import CrawlDir, Manifest, paths_of
from ..transforms.directory.waiting import Waiting, read_waiting
from ..transforms.frontier.excluded import Excluded, NotRequested, has_changed
from ..transforms.parsing.registry import kinds_of
from ..transforms.settings import Settings


def excluded_urls(crawl: CrawlDir, settings: Settings, manifests: Sequence[Manifest]) -> Excluded | None:
    """Return what the settings exclude; None, which costs nothing, if all links were judged with these settings."""
    if not has_changed(settings, manifests):
        return None
    extensions = kinds_of(tuple(settings.documents.kinds)).extensions
    return Excluded(crawl.root, settings.scope, extensions, paths_of(manifests, "seeds"))


def count_excluded(crawl: CrawlDir, settings: Settings, manifests: Sequence[Manifest]) -> int:
    """Return the number of waiting URLs that the settings exclude and no block matches."""
    if (excluded := excluded_urls(crawl, settings, manifests)) is None:
        return 0
    closed = NotRequested(read_blocks(crawl), excluded)
    for rows in read_waiting(crawl.root, Waiting.of(manifests), closed.columns):
        closed.without(rows)
    return closed.excluded
