"""The fetch step of a round: its plan, and one attempt at it."""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from functools import partial

import pyarrow.compute as pc

from ..transforms.aliases.secret import crawl_secret
from ..transforms.directory.crawl_dir import CrawlDir, Manifest, Step, paths_of
from ..transforms.directory.pieces import attempts_prefix, find_promises
from ..transforms.directory.waiting import Waiting, read_waiting
from ..transforms.frontier.priority import SHARES, Quota
from ..transforms.frontier.read_due import Bounds, spare
from ..transforms.http.request_headers import Identity
from ..transforms.memory.bounds import FetchLoad, fetch_bound
from ..transforms.parsing.registry import kinds_of
from ..transforms.politeness.adopted import write_promises
from ..transforms.politeness.backoff import HostState, budget
from ..transforms.politeness.context import CHECK_INTERVAL, VisitContext
from ..transforms.politeness.downloaders import client_opener, open_downloaders
from ..transforms.settings import Settings, changed_values, settings_digest
from . import fetch
from .attempt import Attempt, Engine, Fitted
from .control import Observer, StopSignal
from .outlook import Situation
from .work import Work, kept_busy, learned, work_of

_FEW_URLS = 500  # which one process fetches


def plan_fetch(
    crawl: CrawlDir,
    settings: Settings,
    manifests: Sequence[Manifest],
    situation: Situation,
    attempt: Attempt,
    most_pages: int | None,
    requests_before: datetime | None,
) -> fetch.FetchStep:
    """Return the fetch step of a round.

    `most_pages` limits its visits. Until `requests_before`, workers of an earlier attempt may send requests.
    """
    judging = manifests if settings.traps.detect else ()  # the steps whose judgements limit the visits of templates
    quota, held = Quota(SHARES, attempt.step.round), situation.held
    return fetch.FetchStep(
        root=crawl.root,
        context=_visit_context(crawl, settings, attempt, quota, held.names, requests_before),
        waiting=Waiting.of(manifests),
        robots=paths_of(manifests, "robots"),
        hosts=paths_of(manifests, "hosts"),
        traps=[
            *(path for table in ("traps", "trap_samples") for path in paths_of(judging, table)),
            *paths_of((m for m in judging if m.round == attempt.step.round - 1), "trap_queues"),
        ],
        held=held.until,
        bounds=Bounds(
            situation.at,
            spare(budget(settings.limits, HostState(), settings.politeness, settings.limits.round_time)),
            most_pages if most_pages is not None and most_pages < situation.waiting else None,
            held.not_due,
            held.failing,
            settings.priority,
            quota,
            situation.blocks,
            situation.excluded,
            situation.seen_since if situation.seen_since < situation.at else None,
        ),
        leftovers=situation.leftovers,
        with_external=settings.scope.check_external,
        other_rounds=situation.other_rounds,
        seen_since=situation.seen_since,
    )


def _visit_context(
    crawl: CrawlDir,
    settings: Settings,
    attempt: Attempt,
    quota: Quota,
    names: Mapping[str, datetime],
    requests_before: datetime | None,
) -> VisitContext:
    kinds = kinds_of(tuple(settings.documents.kinds))
    identity, downloaders = Identity.of(settings.robot, kinds.accept), partial(open_downloaders, settings)
    return VisitContext(
        politeness=settings.politeness,
        limits=settings.limits,
        fetch=settings.fetch,
        traps=settings.traps,
        identity=identity,
        round=attempt.step.round,
        name_ready_at=names,
        requests_before=requests_before,
        deadline=None,
        quota=quota,
        opener=partial(
            client_opener, settings.fetch, settings.robot, downloaders, identity.complete, kinds.media_types
        ),
        root=crawl.root,
        attempt=attempt.name,
        progress=attempt.progress,
        stop_file=attempt.stop_file,
        secret=crawl_secret(crawl),
    )


def _count_hosts(plan: fetch.FetchStep, urls: int) -> int:
    """Return how many hosts have waiting URLs, at most; of few URLs, each may have its own."""
    if urls < _FEW_URLS:
        return urls
    return sum(pc.count_distinct(rows["host"]).as_py() for rows in read_waiting(plan.root, plan.waiting, ["host"]))


def fetch_work(load: FetchLoad, delay: float, factor: float) -> Work:
    """Return what a fetch step has to compute: for each host, a worker that waits between two of its URLs."""
    work = work_of("fetch", urls=load.urls)._replace(factor=factor)
    hosts = max(1, load.hosts)
    return work._replace(pieces=min(hosts, kept_busy(work.seconds, delay * load.urls / hosts)))


def fetch_round(
    crawl: CrawlDir,
    settings: Settings,
    engine: Engine,
    observer: Observer,
    stop: StopSignal,
    manifests: Sequence[Manifest],
    step: Step,
    situation: Situation,
) -> Manifest:
    """Run the fetch step of a round and commit it, with what earlier attempts have left."""
    attempt = Attempt.after_earlier(crawl, step)
    attempt.stop_earlier()
    # Running workers of an earlier attempt start no request after their next check of the stop file.
    requests_before = datetime.now(UTC) + CHECK_INTERVAL if attempt.is_another else None
    limits = (situation.pages_left, settings.limits.max_pages_per_round or None)
    most_pages = min((limit for limit in limits if limit is not None), default=None)
    plan = plan_fetch(crawl, settings, manifests, situation, attempt, most_pages, requests_before)
    urls = min(situation.waiting, most_pages or situation.waiting)
    load = FetchLoad(urls, situation.waiting, min(urls, _count_hosts(plan, urls)), plan.bounds.per_host)
    work = fetch_work(load, settings.politeness.delay, learned(manifests, "fetch"))
    fitted = Fitted.to_memory(engine, work, load, fetch_bound, f"round {step.round} fetch", observer.warn)
    observer.step_started(step, attempt.progress, situation.waiting, most_pages or None)
    stop.watch(attempt.stop_file)
    fitted.run(partial(fetch.build, step=plan))
    promises = write_promises(crawl.root, step.round, find_promises(crawl, attempts_prefix(step)))
    files = [*situation.leftovers.files, *attempt.pieces(), *promises]
    manifest = attempt.commit(
        files=files, settings_digest=settings_digest(settings), settings=changed_values(settings), fitted=fitted
    )
    observer.step_committed(manifest)
    return manifest
