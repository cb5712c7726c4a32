"""The driver: derive the next step from the manifests, run and commit it, until there is none."""

from datetime import UTC, datetime, timedelta

from ..transforms.blocks.files import read_blocks
from ..transforms.directory.crawl_dir import CrawlDir, next_step
from ..transforms.settings import Settings, settings_digest
from ..transforms.traps.watch_yields import REOPENED
from .add_revisits import add_revisits
from .attempt import Engine
from .compaction.compact_all import compact_all
from .compaction.damage import Damage
from .compaction.index_scope import follow_index_scope
from .control import End, Observer, StopSignal
from .excluded_urls import excluded_urls
from .fetch_round import fetch_round, pages_left
from .next_action import Run, Wait, decide, limit_reached
from .outlook import look, with_counts
from .release_held import release_aliases, release_allowed_urls, release_reopened_urls, with_released
from .update_round import update_round

_REVISITS_EVERY = timedelta(minutes=10)
"""Interval at which a running crawl checks for pages that are due again."""


def run_crawl(
    crawl: CrawlDir, settings: Settings, engine: Engine, observer: Observer, stop: StopSignal, rounds: int | None
) -> End:
    """Run rounds until the frontier is empty, a limit is reached or `stop` is set.

    An uncommitted step is repeated, from the committed state. `rounds` counts fetch steps from now on.
    """
    chosen, damage = settings, Damage(crawl, observer.warn)
    settings = with_released(crawl, chosen)
    digest = settings_digest(settings)
    release_allowed_urls(crawl, settings.traps, digest, datetime.now(UTC))
    release_aliases(crawl, settings.aliases, digest, datetime.now(UTC))
    follow_index_scope(crawl, settings, engine, observer)
    run, revisits_at = Run(rounds), datetime.min.replace(tzinfo=UTC)
    while True:
        settings = with_released(crawl, chosen)
        digest = settings_digest(settings)
        manifests = crawl.manifests()
        step = next_step(manifests)
        if step.kind == "update":
            updated = update_round(crawl, settings, engine, observer, manifests, step)
            if updated.counters.get(REOPENED):
                release_reopened_urls(crawl, settings.traps, digest, datetime.now(UTC))
            if not stop.is_set():
                compact_all(crawl, settings.storage, digest, engine, observer, damage)
            continue
        excluded = excluded_urls(crawl, manifests, digest, settings.scope, settings.documents)
        left = pages_left(settings.limits, manifests)
        if reason := limit_reached(run, stop.is_set(), left, settings.scope.check_external):
            return with_counts(End(reason, run.rounds), crawl, manifests, excluded, settings.limits)
        now = datetime.now(UTC)
        if settings.recrawl.is_on and now >= revisits_at and left != 0:
            revisits_at = now + _REVISITS_EVERY
            observer.busy("looking for pages to revisit")
            add_revisits(crawl, settings.recrawl, settings.sitemaps, digest, engine, step.round, now)
            manifests = crawl.manifests()
        observer.busy("looking for due URLs")
        is_planned = settings.recrawl.per_day > 0
        situation = look(crawl, manifests, step, now, digest, settings.politeness, excluded, is_planned, left == 0)
        action = decide(run, situation.outlook, now)
        if isinstance(action, End):
            return with_counts(action, crawl, manifests, excluded, settings.limits)
        if isinstance(action, Wait):
            observer.waiting(action.until, situation.waiting)
            stop.wait((action.until - now).total_seconds())
            run = run.after_wait()
            continue
        fetched = fetch_round(crawl, settings, engine, observer, stop, manifests, step, situation)
        run = run.after_round(fetched.counters, is_blocked=read_blocks(crawl) != situation.blocks)
