"""The driver: derive the next step from the manifests, run and commit it, until there is none."""

import contextlib
from datetime import UTC, datetime, timedelta

from ..transforms.aliases.secret import crawl_secret
from ..transforms.blocks.files import read_blocks
from ..transforms.directory.clock_ahead import note_ahead
from ..transforms.directory.crawl_dir import CrawlDir, Step, next_step
from ..transforms.directory.pieces import attempts_prefix
from ..transforms.settings import Settings
from .add_revisits import add_revisits
from .attempt import Engine, until
from .compaction.compact_all import compact_all
from .compaction.damage import Damage
from .compaction.garbage import remove_garbage
from .compaction.rebuild_index import follow_index_scope
from .control import End, Observer, Stopped, StopSignal
from .fetch_round import fetch_round
from .next_action import Run, Wait, decide, limit_reached, pages_left
from .outlook import look, with_counts
from .release_held import release_aliases, release_allowed_urls, release_reopened_urls, with_released
from .release_targets import release_targets
from .update_round import update_round

_REVISITS_EVERY = timedelta(minutes=10)
"""Interval at which a running crawl checks for pages that are due again."""


def run_crawl(
    crawl: CrawlDir, settings: Settings, engine: Engine, observer: Observer, stop: StopSignal, rounds: int | None
) -> End:
    """Run rounds until the frontier is empty, a limit is reached or `stop` is set.

    An uncommitted step is repeated, from the committed state. `rounds` counts fetch steps from now on.
    """
    current = with_released(crawl, settings)
    if current.aliases.learn:
        crawl_secret(crawl)  # a file of somebody else ends the crawl before its first request
    with contextlib.suppress(Stopped):
        follow_index_scope(crawl, current, until(engine, stop), observer)
    now = datetime.now(UTC)
    release_allowed_urls(crawl, current.traps, now)
    release_reopened_urls(crawl, current.traps, now)
    release_targets(crawl, now)
    release_aliases(crawl, current.aliases, now)
    end = _run_rounds(crawl, settings, engine, observer, stop, Run(rounds))
    return with_counts(end, crawl, with_released(crawl, settings))


def remove_failed_attempts(crawl: CrawlDir, step: Step) -> None:
    """Remove the files of earlier attempts at a step that failed: else each leaves all of its files on a full disk.

    Pieces that were fetched stay.
    """
    if crawl.names("attempts", f"{attempts_prefix(step)}*"):
        remove_garbage(crawl, datetime.now(UTC))


def _run_rounds(
    crawl: CrawlDir, settings: Settings, engine: Engine, observer: Observer, stop: StopSignal, run: Run
) -> End:
    """Run rounds as `run_crawl` does; what `release` adds to the settings meanwhile holds from the next step on."""
    damage, revisits_at = Damage(crawl, observer.warn), datetime.min.replace(tzinfo=UTC)
    while True:
        current = with_released(crawl, settings)
        manifests = crawl.manifests()
        step = next_step(manifests)
        remove_failed_attempts(crawl, step)
        if step.kind == "update":
            update_round(crawl, current, engine, observer, manifests, step)
            if not stop.is_set():
                with contextlib.suppress(Stopped):
                    compact_all(crawl, current.storage, until(engine, stop), observer, damage)
            crawl.forget_names()  # seeds may have been added meanwhile, or URLs released
            continue
        left = pages_left(current.limits, manifests)
        if reason := limit_reached(run, stop.is_set(), left, current.scope.check_external):
            return End(reason, run.rounds)
        now = datetime.now(UTC)
        if current.recrawl.is_on and now >= revisits_at and left != 0:
            revisits_at = now + _REVISITS_EVERY
            observer.busy("looking for pages to revisit")
            add_revisits(crawl, current.recrawl, current.sitemaps, engine, step.round, now)
            manifests = crawl.manifests()
        observer.busy("looking for due URLs")
        if line := note_ahead(crawl, manifests, now):
            observer.warn(line)
        situation = look(crawl, current, manifests, step, now, left)
        action = decide(run, situation.outlook, now)
        if isinstance(action, End):
            return action
        if isinstance(action, Wait):
            observer.waiting(action.until, situation.waiting)
            stop.wait((action.until - now).total_seconds())
            crawl.forget_names()
            run = run.after_wait()
            continue
        fetched = fetch_round(crawl, current, engine, observer, stop, manifests, step, situation)
        run = run.after_round(fetched.counters, is_blocked=read_blocks(crawl) != situation.blocks)
