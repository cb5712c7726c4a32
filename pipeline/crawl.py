"""The driver: find the next step from the manifests, build its pipeline, run it, commit."""

import dataclasses
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from functools import partial

from ..transforms.aliases.learned_rules import known_rules
from ..transforms.aliases.secret import crawl_secret
from ..transforms.blocks.files import read_blocks
from ..transforms.blocks.rules import Blocks
from ..transforms.directory.crawl_dir import CrawlDir, Manifest, Step, next_step, paths_of
from ..transforms.directory.pieces import Leftovers, attempts_prefix, find_leftovers
from ..transforms.directory.waiting import Waiting, read_waiting, settle, waiting_by_reason
from ..transforms.frontier.due_pages import DuePages
from ..transforms.frontier.excluded import NotRequested
from ..transforms.frontier.priority import Quota, shares_of
from ..transforms.frontier.read_due import Bounds, spare
from ..transforms.frontier.selection import NextRound, next_round
from ..transforms.http.request_headers import Identity
from ..transforms.outcomes import REQUESTED, SAMPLED_OF, Outcome
from ..transforms.parsing.registry import kinds_of
from ..transforms.politeness.adopted import state_rows, write_promises
from ..transforms.politeness.backoff import HostState, budget
from ..transforms.politeness.context import CHECK_INTERVAL, VisitContext
from ..transforms.politeness.downloaders import client_opener
from ..transforms.settings import Settings, changed_values, settings_digest
from ..transforms.sitemaps.follow import count_entries
from ..transforms.tables.damage import require_whole_once
from ..transforms.traps.watch_yields import REOPENED
from . import fetch, update
from .add_revisits import add_planned, add_revisits, plan_of
from .attempt import Attempt, Engine
from .compaction.compact_all import compact_all
from .compaction.damage import Damage
from .control import End, Observer, StopSignal
from .excluded_urls import count_excluded, excluded_urls
from .held_hosts import Held, held_hosts
from .release_held import held_urls, release_aliases, release_allowed_urls, release_reopened_urls, with_released

LONGEST_WAIT = timedelta(seconds=60)
"""The longest wait of a crawl for URLs that become due; beyond it, the crawl ends and reports the due time."""

_TRAPS = ("traps", "trap_samples")  # tables of trap state

_REVISITS_EVERY = timedelta(minutes=10)
"""Interval at which a running crawl checks for pages that are due again."""

_FETCH_SECONDS, _UPDATE_SECONDS = 0.0015, 0.006  # of computing per page, roughly (benchmarks/README.md)


def run_crawl(
    crawl: CrawlDir, settings: Settings, engine: Engine, observer: Observer, stop: StopSignal, rounds: int | None
) -> End:
    """Run rounds until the frontier is empty, a limit is reached or `stop` is set.

    An uncommitted step is repeated, from the committed state. `rounds` counts fetch steps from now on.
    """
    chosen, settings, damage = settings, with_released(crawl, settings), Damage(crawl, observer.warn)
    release_allowed_urls(crawl, settings.traps, settings_digest(settings), datetime.now(UTC))
    release_aliases(crawl, settings.aliases, settings_digest(settings), datetime.now(UTC))
    done, idle, has_waited, revisits_at = 0, False, False, datetime.min.replace(tzinfo=UTC)
    while True:
        settings = with_released(crawl, chosen)
        manifests = crawl.manifests()
        step = next_step(manifests)
        if step.kind == "update":
            updated = _update(crawl, settings, engine, observer, manifests, step)
            if updated.counters.get(REOPENED):
                release_reopened_urls(crawl, settings.traps, settings_digest(settings), datetime.now(UTC))
            if not stop.is_set():
                compact_all(crawl, settings, engine, observer, damage)
            continue
        if stop.is_set():
            return End("stopped", done)
        if rounds is not None and done >= rounds:
            return End("rounds", done, excluded=count_excluded(crawl, settings, manifests))
        if idle:
            return End("not_due", done)
        at_most = _pages_left(settings, manifests)
        if at_most == 0:
            excluded = count_excluded(crawl, settings, manifests)
            return End("max_pages", done, max_pages=settings.limits.max_pages, excluded=excluded)
        observer.busy("looking for due URLs")
        now = datetime.now(UTC)
        leftovers = find_leftovers(crawl, attempts_prefix(step))
        blocks = read_blocks(crawl)
        closed = NotRequested(blocks, excluded_urls(crawl, settings, manifests))
        waiting, coming, refused = _when_due(crawl, settings, manifests, leftovers, closed, now)
        if leftovers.files:  # they are committed even if no host is due
            coming = NextRound(now, now)
        due_at = coming.first if coming else None
        if (settings.recrawl.after is not None or settings.recrawl.per_day) and now >= revisits_at:
            revisits_at = now + _REVISITS_EVERY
            observer.busy("looking for pages to revisit")
            if planned := add_planned(crawl, settings, engine, manifests, step.round):
                manifests = crawl.manifests()
            if add_revisits(crawl, settings, engine, manifests, step.round, now) or planned:
                continue
        planned_at = DuePages.of(crawl.root, manifests).first() if settings.recrawl.per_day else None
        if planned_at is not None and (due_at is None or due_at > now + LONGEST_WAIT):
            at = max(now, min(filter(None, (planned_at, due_at))))
            return End("not_due", done, at, refused=refused, blocked=closed.blocked, excluded=closed.excluded)
        if coming is None:
            held = len(held_urls(crawl, manifests))
            return End("frontier_empty", done, held=held, blocked=closed.blocked, excluded=closed.excluded)
        if coming.first > now + LONGEST_WAIT:
            return End("not_due", done, due_at, refused=refused, blocked=closed.blocked, excluded=closed.excluded)
        start_at = coming.first if has_waited else coming.start  # hosts that do not answer are waited for once a round
        if start_at > now:
            observer.waiting(start_at, waiting)
            stop.wait((start_at - now).total_seconds())
            has_waited = True
            continue
        has_waited = False
        fetched = _fetch(crawl, settings, engine, observer, stop, manifests, step, leftovers, blocks, at_most)
        done += 1
        # The round ended before any request could start; the next would be no longer, unless a block ended it.
        visits = fetched.counters.get("visits_rows", 0)
        idle = visits == fetched.counters.get(Outcome.DEFERRED, 0) and not fetched.counters.get("robots_rows")
        idle = idle and read_blocks(crawl) == blocks


def _pages_left(settings: Settings, manifests: Sequence[Manifest]) -> int | None:
    """Return the remaining visits under the limit of the crawl; None without a limit."""
    if not settings.limits.max_pages:
        return None
    asked = sum(m.counters.get(outcome, 0) for m in manifests if m.step == "fetch" for outcome in REQUESTED)
    return max(0, settings.limits.max_pages - asked)


def _when_due(
    crawl: CrawlDir,
    settings: Settings,
    manifests: Sequence[Manifest],
    leftovers: Leftovers,
    closed: NotRequested,
    now: datetime,
) -> tuple[int, NextRound | None, int]:
    """Return (URLs in the frontier, when the next round starts, hosts whose addresses were refused).

    The second is None if none waits, or all are blocked or excluded. `closed` has then counted these, and also if no
    URL is due now.
    """
    held = _held_hosts(crawl, settings, manifests, leftovers, now)
    count = sum(waiting_by_reason(crawl.root, manifests).values())
    batches = map(closed.without, read_waiting(crawl.root, Waiting.of(manifests), ["host", "due_at", *closed.columns]))
    return count, next_round(batches, held.until, held.silent, now, LONGEST_WAIT), held.refused


def _held_hosts(
    crawl: CrawlDir, settings: Settings, manifests: Sequence[Manifest], leftovers: Leftovers, now: datetime
) -> Held:
    promised = list(state_rows(crawl.root, leftovers))
    other_rounds = _other_rounds(settings, manifests)
    return held_hosts(crawl.root, paths_of(manifests, "hosts"), promised, settings.politeness, now, other_rounds)


def _other_rounds(settings: Settings, manifests: Sequence[Manifest]) -> frozenset[int]:
    """Return the rounds that were fetched with other settings."""
    digest = settings_digest(settings)
    return frozenset(m.round for m in manifests if m.step == "fetch" and m.settings_digest != digest)


def _fetch(
    crawl: CrawlDir,
    settings: Settings,
    engine: Engine,
    observer: Observer,
    stop: StopSignal,
    manifests: Sequence[Manifest],
    step: Step,
    leftovers: Leftovers,
    blocks: Blocks,
    at_most: int | None,
) -> Manifest:
    attempt, is_sample = Attempt(crawl, step), settings.priority.random
    attempt.stop_earlier()
    kinds = kinds_of(tuple(settings.documents.kinds))
    identity = Identity.of(settings.robot, kinds.accept)
    now = datetime.now(UTC)
    rows = sum(waiting_by_reason(crawl.root, manifests).values())
    held = _held_hosts(crawl, settings, manifests, leftovers, now)
    quota = Quota(shares_of(settings.priority), step.round)
    at_most = min((n for n in (at_most, settings.limits.max_pages_per_round or None) if n is not None), default=None)
    plan = fetch.FetchStep(
        root=crawl.root,
        context=VisitContext(
            politeness=settings.politeness,
            limits=settings.limits,
            fetch=settings.fetch,
            # Budgets of templates would thin the sample; URLs that are held are not in the frontier.
            traps=dataclasses.replace(settings.traps, detect=not is_sample and settings.traps.detect),
            identity=identity,
            round=step.round,
            # Running workers of an earlier attempt start no request after their next check of the stop file.
            requests_before=now + CHECK_INTERVAL if attempt.is_another else None,
            deadline=None,
            quota=quota,
            opener=partial(client_opener, settings, identity.complete, kinds.media_types),
            root=crawl.root,
            attempt=attempt.name,
            progress=attempt.progress,
            stop_file=attempt.stop_file,
        ),
        waiting=Waiting.of(manifests),
        robots=paths_of(manifests, "robots"),
        hosts=paths_of(manifests, "hosts"),
        traps=[path for table in _TRAPS for path in paths_of(manifests, table)] if settings.traps.detect else [],
        held=held.until,
        bounds=Bounds(
            now,
            spare(budget(settings.limits, HostState(), settings.politeness, settings.limits.round_time)),
            at_most if at_most is not None and at_most < rows else None,
            held.not_due,
            held.failing,
            settings.priority,
            quota,
            blocks,
            excluded_urls(crawl, settings, manifests),
        ),
        leftovers=leftovers,
        other_rounds=_other_rounds(settings, manifests),
    )
    observer.step_started(step, attempt.progress, rows, at_most)
    stop.watch(attempt.stop_file)
    engine.run(partial(fetch.build, step=plan), min(rows, at_most or rows) * _FETCH_SECONDS)
    promises = write_promises(crawl.root, step.round, find_leftovers(crawl, attempts_prefix(step)))
    files = [*leftovers.files, *attempt.pieces(), *promises]
    is_whole = not leftovers.files and not stop.is_set()  # else hosts that answer fast have more than their share of it
    population = {SAMPLED_OF: rows - count_excluded(crawl, settings, manifests)} if is_sample and is_whole else None
    digest, values = settings_digest(settings), changed_values(settings)
    manifest = attempt.commit(digest, files=files, counters=population, settings=values)
    observer.step_committed(manifest)
    return manifest


def _update(
    crawl: CrawlDir,
    settings: Settings,
    engine: Engine,
    observer: Observer,
    manifests: Sequence[Manifest],
    step: Step,
) -> Manifest:
    attempt = Attempt(crawl, step)
    fetched = [file for m in manifests if (m.step, m.round) == ("fetch", step.round) for file in m.files]
    visits = [file for file in fetched if file.table == "visits"]
    require_whole_once(crawl.root, visits)
    rows = sum(file.rows for file in visits)
    paths = {t: paths_of(manifests, t) for t in ("urls", "digests", "near", "hosts", "seeds")}
    known = {t: paths_of(manifests, t) if settings.traps.detect else [] for t in _TRAPS}
    of_last_round = [m for m in manifests if m.round == step.round - 1]
    plan = update.UpdateStep(
        root=crawl.root,
        round=step.round,
        settings=settings,
        robot=Identity.of(settings.robot).token,
        aliases=known_rules(crawl, manifests) if settings.aliases.learn else None,
        secret=crawl_secret(crawl),
        trap_files=known["traps"],
        trap_samples=known["trap_samples"],
        trap_queues=paths_of(of_last_round, "trap_queues") if settings.traps.detect else [],
        visits=[file.path for file in visits],
        visit_rows=rows,
        visit_bytes=sum(file.bytes for file in visits),
        sitemap_entries=count_entries(crawl.root, visits, settings.sitemaps.max_urls),
        turns=[file.path for file in fetched if file.table == "host_turns"],
        robots=[file.path for file in fetched if file.table == "robots"],
        workers=engine.workers,
        waiting=Waiting.of(manifests),
        report=attempt.report,
        progress=attempt.progress,
        plan=plan_of(crawl, settings, manifests, [file.path for file in visits]),
        **paths,
    )
    observer.step_started(step, attempt.progress, rows)
    engine.run(partial(update.build, step=plan), rows * _UPDATE_SECONDS)
    settled = settle(crawl.root, manifests, attempt.files())
    counters = {"frontier_waiting": settled.waiting}
    manifest = attempt.commit(settings_digest(settings), consumed=settled.consumed, counters=counters)
    observer.step_committed(manifest)
    return manifest
