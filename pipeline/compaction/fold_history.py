"""Folds the manifests of a crawl into a checkpoint, and removes files that later steps have replaced or consumed."""

import contextlib
from datetime import datetime, timedelta

from ...transforms.directory.checkpoints import MOST_LOOSE, MOST_WASTED, fold, is_checkpoint, wasted
from ...transforms.directory.crawl_dir import CrawlDir
from ...transforms.directory.own_files import remove

KEPT_FOR = timedelta(hours=1)
"""The time for which files stay that no step needs any more, for readers that have opened them."""


def fold_history(crawl: CrawlDir, now: datetime, most: int = MOST_LOOSE, kept_for: timedelta = KEPT_FOR) -> int:
    """Fold all manifests if more than `most` lie by themselves, and return their number.

    Fewer are folded if much of the crawl lies in files that nothing reads any more (`MOST_WASTED`).

    It may be killed at any time: the checkpoint takes effect at once, and what it folds is removed after that. The
    next call removes what is left of the manifests, and `beamtrawl clean` what is left of other files.
    """
    manifests = crawl.committed()
    names = crawl.manifest_names()
    loose = [name for name in names if not is_checkpoint(name)]
    if not loose or (len(loose) <= most and wasted(manifests, now - kept_for) <= MOST_WASTED):
        return 0
    folded = fold(manifests, now - kept_for)
    crawl.write_checkpoint(folded.manifests)
    crawl.forget_names()
    over = [f"manifests/{name}" for name in names if name in manifests or is_checkpoint(name)]
    with contextlib.suppress(FileNotFoundError):  # an earlier call was killed
        remove(crawl, (*over, *folded.dead))
    return len(loose)
