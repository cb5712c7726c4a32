"""Removes files that nothing reads any more.

Those that later steps have replaced or consumed, whose manifests are folded into a checkpoint; and those that no
committed step names: what failed attempts, and removals that were killed, have left.
"""

import contextlib
import os
from collections.abc import Iterator
from datetime import datetime, timedelta

from ...transforms.directory.beside import REGISTRATION, live_stems
from ...transforms.directory.checkpoints import MOST_LOOSE, MOST_WASTED, fold, is_checkpoint, wasted
from ...transforms.directory.crawl_dir import CrawlDir, next_step, visible_files
from ...transforms.directory.own_files import is_own, removable, remove
from ...transforms.directory.pieces import attempts_prefix, find_leftovers
from ...transforms.files import filesystem
from ...transforms.files.store import is_draft
from ...transforms.outcomes import CrawlDirError
from ...transforms.tables.schemas import TABLES

KEPT_FOR = timedelta(hours=1)
"""The time for which files stay that no step needs any more, for readers that have opened them."""

_WITH_DRAFTS = ("", "manifests", "attempts")
"""The folders of small files that only the owner of the lock, or a guard, writes."""


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


def remove_garbage(
    crawl: CrawlDir, now: datetime, kept_for: timedelta = KEPT_FOR, is_guarded: bool = False
) -> list[str]:
    """Remove the files of tables and the index that no committed step names, and drafts; return their paths.

    Only names that the program gives (`own_files.is_own`), and only in a crawl: CrawlDirError if there is no manifest.

    Files of a `seeds add` that runs beside it stay, and pieces of the step under way. So do files that were replaced
    within `kept_for`: a reader may be about to open them. The order matters: whoever wrote a file before the files were
    listed was registered then, or had committed. `is_guarded` says that the caller guards the crawl directory.
    """
    garbage = _garbage(crawl, now, kept_for, is_guarded)
    crawl.require_claim()
    with contextlib.suppress(FileNotFoundError):  # a writer removed its own
        remove(crawl, garbage)
    return garbage + _remove_drafts(crawl, is_guarded)


def _garbage(crawl: CrawlDir, now: datetime, kept_for: timedelta, is_guarded: bool) -> list[str]:
    files = list(_data_files(crawl))
    stems = live_stems(crawl, is_guarded)
    crawl.forget_names()  # seeds may have been committed since the owner of the lock has listed manifests
    manifests = crawl.require_manifests()
    lately = fold(crawl.committed(), now - kept_for).manifests.values()
    left = find_leftovers(crawl, attempts_prefix(next_step(manifests)))  # the next crawl adopts them
    visible = {*visible_files(lately), *left.records, *left.promises, *(file.path for file in left.files)}
    hidden = (path for path in files if visible.isdisjoint((path, path.rpartition("/")[0])))
    unseen = (path for path in hidden if not any(stem in path for stem in stems))
    return removable(crawl, unseen)


def garbage_bytes(crawl: CrawlDir, now: datetime) -> int:
    """Return the size of what `remove_garbage` would remove, on a disk; 0 if it cannot be read now."""
    try:
        if not filesystem.store_of(crawl.root).has_local_paths:
            return 0
        return sum(os.path.getsize(crawl.path(path)) for path in _garbage(crawl, now, KEPT_FOR, is_guarded=False))
    except (OSError, CrawlDirError):
        return 0


def _remove_drafts(crawl: CrawlDir, is_guarded: bool) -> list[str]:
    """Remove the drafts of small files, under the guard under which others than the owner of the lock make them."""
    with contextlib.nullcontext() if is_guarded else filesystem.guard(crawl.root):
        drafts = [path for folder in _WITH_DRAFTS for path in crawl.paths(folder, "*.tmp") if is_draft(path)]
        return remove(crawl, drafts)


def _data_files(crawl: CrawlDir) -> Iterator[str]:
    for table in (*TABLES, "index", "attempts"):
        yield from (path for path in crawl.paths(table) if is_own(path) and not path.startswith(REGISTRATION))
