"""The driver: derive the next step from the manifests, run and commit it, until there is none."""

from datetime import UTC, datetime, timedelta

from ..transforms.blocks.files import read_blocks
from ..transforms.directory.crawl_dir import CrawlDir, next_step
from ..transforms.settings import Settings, settings_digest
from ..transforms.traps.watch_yields import REOPENED
from ..transforms.urls.index_scope import IndexScope
from .add_revisits import add_planned, add_revisits
from .attempt import Engine
from .compaction.compact_all import compact_all
from .compaction.damage import Damage
from .compaction.index_scope import differs, reindex
from .control import End, Observer, StopSignal
from .excluded_urls import count_excluded
from .fetch_round import fetch_round, pages_left
from .next_action import Run, Wait, decide, limit_reached
from .outlook import look
from .release_held import held_urls, release_aliases, release_allowed_urls, release_reopened_urls, with_released
from .update_round import update_round

_REVISITS_EVERY = timedelta(minutes=10)
"""Interval at which a running crawl checks for pages that are due again."""


def run_crawl(
    crawl: CrawlDir, settings: Settings, engine: Engine, observer: Observer, stop: StopSignal, rounds: int | None
) -> End:
    """Run rounds until the frontier is empty, a limit is reached or `stop` is set.

    An uncommitted step is repeated, from the committed state. `rounds` counts fetch steps from now on.
    """
    chosen, settings, damage = settings, with_released(crawl, settings), Damage(crawl, observer.warn)
    release_allowed_urls(crawl, settings.traps, settings_digest(settings), datetime.now(UTC))
    release_aliases(crawl, settings.aliases, settings_digest(settings), datetime.now(UTC))
    _follow_index_scope(crawl, settings, engine, observer)
    run, revisits_at = Run(rounds), datetime.min.replace(tzinfo=UTC)
    while True:
        settings = with_released(crawl, chosen)
        manifests = crawl.manifests()
        step = next_step(manifests)
        if step.kind == "update":
            updated = update_round(crawl, settings, engine, observer, manifests, step)
            if updated.counters.get(REOPENED):
                release_reopened_urls(crawl, settings.traps, settings_digest(settings), datetime.now(UTC))
            if not stop.is_set():
                compact_all(crawl, settings, engine, observer, damage)
            continue
        if reason := limit_reached(run, stop.is_set(), pages_left(settings.limits, manifests)):
            excluded = 0 if reason == "stopped" else count_excluded(crawl, settings, manifests)
            most = settings.limits.max_pages if reason == "max_pages" else 0
            return End(reason, run.rounds, excluded=excluded, max_pages=most)
        now = datetime.now(UTC)
        if (settings.recrawl.after is not None or settings.recrawl.per_day) and now >= revisits_at:
            revisits_at = now + _REVISITS_EVERY
            observer.busy("looking for pages to revisit")
            if add_planned(crawl, settings, engine, manifests, step.round):
                manifests = crawl.manifests()
            if add_revisits(crawl, settings, engine, manifests, step.round, now):
                manifests = crawl.manifests()
        observer.busy("looking for due URLs")
        situation = look(crawl, settings, manifests, step, now)
        action = decide(run, situation.outlook, now)
        if isinstance(action, End):
            is_empty = action.reason == "frontier_empty"
            return action._replace(held=len(held_urls(crawl, manifests))) if is_empty else action
        if isinstance(action, Wait):
            observer.waiting(action.until, situation.waiting)
            stop.wait((action.until - now).total_seconds())
            run = run.after_wait()
            continue
        fetched = fetch_round(crawl, settings, engine, observer, stop, manifests, step, situation)
        run = run.after_round(fetched.counters, is_blocked=read_blocks(crawl) != situation.blocks)


def _follow_index_scope(crawl: CrawlDir, settings: Settings, engine: Engine, observer: Observer) -> None:
    """Make the index anew if the settings take documents in or out; nothing is requested for that."""
    if differs(crawl, crawl.manifests(), IndexScope.of(settings.index)):
        observer.busy("making the index anew, because [index] was changed")
        for manifest in reindex(crawl, settings, engine):
            observer.step_committed(manifest)
