"""Merges and removes what the steps so far have left, after an update step."""

from datetime import UTC, datetime
from functools import partial

from ...transforms.directory.crawl_dir import CrawlDir, last_updated
from ...transforms.directory.table_runs import full_tier
from ...transforms.indexing.merge_policy import BY_TIERS
from ...transforms.settings import Storage
from ..attempt import Engine
from ..control import Observer
from .compact import Choose, choose_segments, drop_history, merge
from .compact_frontier import choose_frontier
from .compact_tables import choose_tables
from .damage import Damage
from .drop_bodies import EVERY, WORTH_WRITING, drop_bodies
from .garbage import KEPT_FOR, fold_history


def compact_all(crawl: CrawlDir, storage: Storage, engine: Engine, observer: Observer, damage: Damage) -> None:
    """Merge what the steps so far have left in many files, if there are enough of them, but for damaged files."""
    observer.busy("merging files of the frontier, the index and tables, where there are many")
    bodies, last = storage.body_rounds, last_updated(crawl.manifests())
    is_due = bodies is not None and last % EVERY == 0
    dropped = drop_bodies(crawl, engine, bodies or 0, WORTH_WRITING, damage) if is_due else None
    choices: list[Choose] = [
        partial(choose_segments, policy=BY_TIERS),
        partial(choose_tables, select=full_tier),
        choose_frontier,
    ]
    merged = merge(crawl, engine, choices, damage, observer.warn)
    for manifest in (dropped, merged):
        if manifest:
            observer.step_committed(manifest)
    now = datetime.now(UTC)
    if storage.index_rounds is not None:
        drop_history(crawl, storage.index_rounds, now - KEPT_FOR)
    fold_history(crawl, now)
