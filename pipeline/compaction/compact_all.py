"""What a crawl merges and removes after an update step."""

from datetime import UTC, datetime

from ...transforms.directory.crawl_dir import CrawlDir, next_step
from ...transforms.directory.table_runs import full_tier
from ...transforms.indexing.merge_policy import BY_TIERS
from ...transforms.settings import Settings, settings_digest
from ..attempt import Engine
from ..control import Observer
from .compact import drop_history, merge
from .compact_frontier import compact_frontier
from .compact_tables import merge_tables
from .damage import Damage
from .drop_bodies import EVERY, WORTH_WRITING, drop_bodies
from .fold_history import KEPT_FOR, fold_history


def compact_all(crawl: CrawlDir, settings: Settings, engine: Engine, observer: Observer, damage: Damage) -> None:
    """Merge what the steps so far have left in many files, if there are enough of them, but for damaged files."""
    digest = settings_digest(settings)
    observer.busy("merging files of the frontier, the index and tables, where there are many")
    compact_frontier(crawl, digest, engine, damage=damage)
    bodies, last = settings.storage.body_rounds, next_step(crawl.manifests()).round - 1
    is_due = bodies is not None and last % EVERY == 0
    dropped = drop_bodies(crawl, digest, engine, bodies or 0, WORTH_WRITING, damage) if is_due else None
    merged = merge(crawl, digest, engine, BY_TIERS, damage), merge_tables(crawl, digest, engine, full_tier, damage)
    for manifest in (dropped, *merged):
        if manifest:
            observer.step_committed(manifest)
    now = datetime.now(UTC)
    if settings.storage.index_rounds is not None:
        drop_history(crawl, digest, settings.storage.index_rounds, now - KEPT_FOR)
    fold_history(crawl, now)
