"""Puts pages that are to be visited again into the frontier, between two rounds."""

import uuid
from collections.abc import Sequence
from datetime import datetime
from functools import partial

from ..transforms.directory.crawl_dir import CrawlDir, Manifest, Step, paths_of
from ..transforms.directory.waiting import Waiting
from ..transforms.frontier.due_pages import TAKEN, DuePages, IsPlanned
from ..transforms.frontier.recrawl import DueCriteria, count_due
from ..transforms.frontier.revisit_plan import Plan, count_first, read_histogram
from ..transforms.settings import Priority, Recrawl, Settings, Sitemaps, settings_digest
from . import revisits
from .attempt import Attempt, Engine

_REVISIT_SECONDS = 0.0001  # of computing per page, roughly (benchmarks/README.md)


def add_revisits(crawl: CrawlDir, settings: Settings, engine: Engine, round_: int, now: datetime) -> None:
    """Put the pages whose planned time has come, and those that are old enough, into the frontier."""
    digest = settings_digest(settings)
    if settings.recrawl.per_day:
        _add_planned(crawl, digest, engine, round_)
    if criteria := DueCriteria.of(settings.recrawl, settings.sitemaps, now):
        _add_old(crawl, criteria, digest, engine, round_)


def _add_planned(crawl: CrawlDir, digest: str, engine: Engine, round_: int) -> None:
    """Put the pages whose planned time has come into the frontier.

    The step is committed even if it writes nothing: its start is the time up to which table revisits was read.
    """
    manifests = crawl.manifests()
    attempt = Attempt(crawl, Step("revisits", round_))
    planned, now = DuePages.of(crawl.root, manifests), attempt.started_at
    if not (expected := planned.count(now)):
        return
    plan = revisits.RevisitStep(
        crawl.root,
        round_,
        IsPlanned(now),
        expected,
        paths_of(manifests, "urls"),
        Waiting.of(manifests),
        attempt.report,
        planned,
    )
    engine.run(partial(revisits.build, step=plan), expected * _REVISIT_SECONDS)
    spent, suffix = planned.spent(now), f"-{uuid.uuid4().hex[:8]}"
    attempt.commit(digest, consumed=spent, counters={TAKEN: expected}, suffix=suffix)


def _add_old(crawl: CrawlDir, criteria: DueCriteria, digest: str, engine: Engine, round_: int) -> None:
    """Put the pages that are old enough into the frontier."""
    manifests = crawl.manifests()
    urls = paths_of(manifests, "urls")
    if not (expected := count_due(crawl.root, urls, criteria)):
        return
    attempt = Attempt(crawl, Step("revisits", round_))
    waiting = Waiting.of(manifests)
    plan = revisits.RevisitStep(crawl.root, round_, criteria, expected, urls, waiting, attempt.report)
    engine.run(partial(revisits.build, step=plan), expected * _REVISIT_SECONDS)
    if attempt.files():
        attempt.commit(digest, suffix=f"-{uuid.uuid4().hex[:8]}")
    else:
        attempt.clear()


def plan_of(
    crawl: CrawlDir,
    recrawl: Recrawl,
    sitemaps: Sitemaps,
    priority: Priority,
    manifests: Sequence[Manifest],
    visits: Sequence[str],
) -> Plan | None:
    """Return the plan of the revisits of the pages that a round has visited; None if none are planned."""
    if not recrawl.per_day:
        return None
    pages, hosts = (paths_of(manifests, table) for table in ("change_rates", "host_changes"))
    earlier, new = read_histogram(crawl.root, pages), count_first(crawl.root, visits)
    return Plan.of(recrawl, sitemaps, priority, earlier, new, hosts)
