"""The driver: derive the next step from the manifests, run and commit it, until there is none."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

from ..transforms.blocks.files import read_blocks
from ..transforms.directory.crawl_dir import CrawlDir, next_step
from ..transforms.frontier.recrawl import DueCriteria
from ..transforms.settings import Settings, settings_digest
from ..transforms.traps.watch_yields import REOPENED
from ..transforms.urls.index_scope import IndexScope
from .add_revisits import add_planned, add_revisits
from .attempt import Engine
from .compaction.compact_all import compact_all
from .compaction.damage import Damage
from .compaction.index_scope import differs, reindex
from .control import End, Observer, StopSignal
from .excluded_urls import count_excluded, excluded_urls
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
    chosen, damage = settings, Damage(crawl, observer.warn)
    settings = replace(chosen, traps=with_released(crawl, chosen.traps))
    digest = settings_digest(settings)
    release_allowed_urls(crawl, settings.traps, digest, datetime.now(UTC))
    release_aliases(crawl, settings.aliases, digest, datetime.now(UTC))
    _follow_index_scope(crawl, settings, engine, observer)
    run, revisits_at = Run(rounds), datetime.min.replace(tzinfo=UTC)
    while True:
        settings = replace(chosen, traps=with_released(crawl, chosen.traps))
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
        only_external = left == 0 and settings.scope.check_external
        if reason := limit_reached(run, stop.is_set(), None if only_external else left):
            waiting = 0 if reason == "stopped" else count_excluded(crawl, manifests, excluded)
            most = settings.limits.max_pages if reason == "max_pages" else 0
            return End(reason, run.rounds, excluded=waiting, max_pages=most)
        now = datetime.now(UTC)
        criteria = DueCriteria.of(settings.recrawl, settings.sitemaps, now)
        if (criteria or settings.recrawl.per_day) and now >= revisits_at and not only_external:
            revisits_at = now + _REVISITS_EVERY
            observer.busy("looking for pages to revisit")
            if settings.recrawl.per_day and add_planned(crawl, digest, engine, manifests, step.round):
                manifests = crawl.manifests()
            if criteria and add_revisits(crawl, criteria, digest, engine, manifests, step.round):
                manifests = crawl.manifests()
        observer.busy("looking for due URLs")
        is_planned = settings.recrawl.per_day > 0
        situation = look(crawl, manifests, step, now, digest, settings.politeness, excluded, is_planned, only_external)
        action = decide(run, situation.outlook, now)
        if isinstance(action, End) and only_external:
            waiting = count_excluded(crawl, manifests, excluded)
            return End("max_pages", run.rounds, excluded=waiting, max_pages=settings.limits.max_pages)
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
