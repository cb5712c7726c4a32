"""Puts pages that are to be visited again into the frontier, between two rounds."""

import uuid
from datetime import datetime
from functools import partial

from ..transforms.directory.crawl_dir import CrawlDir, Step, next_step, paths_of
from ..transforms.directory.waiting import Waiting
from ..transforms.frontier.due_pages import TAKEN, DuePages, IsPlanned
from ..transforms.frontier.recrawl import AgeCriteria, DueCriteria, Everything, count_due
from ..transforms.settings import Recrawl, Sitemaps
from . import revisits
from .attempt import Attempt, Engine
from .work import work_of


def add_revisits(
    crawl: CrawlDir, recrawl: Recrawl, sitemaps: Sitemaps, engine: Engine, round_: int, now: datetime
) -> None:
    """Put the pages whose planned time has come, and those that are old enough, into the frontier."""
    if recrawl.per_day:
        _add_planned(crawl, engine, round_)
    if criteria := DueCriteria.of(recrawl, sitemaps, now):
        _add_old(crawl, criteria, engine, round_)


def add_all(crawl: CrawlDir, engine: Engine) -> None:
    """Put all pages that were ever visited into the frontier, once, with what makes the requests conditional."""
    step = next_step(crawl.manifests())
    _add_old(crawl, Everything(), engine, step.round + (step.kind == "update"))


def _add_planned(crawl: CrawlDir, engine: Engine, round_: int) -> None:
    """Put the pages whose planned time has come into the frontier.

    The step is committed even if it writes nothing: its start is the time up to which table revisits was read.
    """
    manifests = crawl.manifests()
    attempt = Attempt.after_earlier(crawl, Step("revisits", round_))
    pages, now = DuePages.of(crawl.root, manifests), attempt.started_at
    if not (expected := pages.count(now)):
        return
    urls, waiting = paths_of(manifests, "urls"), Waiting.of(manifests)
    plan = revisits.RevisitStep(crawl.root, round_, IsPlanned(now, pages), expected, urls, waiting, attempt.report)
    engine.run(partial(revisits.build, step=plan), work_of("revisits", pages=expected).seconds)
    spent, suffix = pages.spent(now), f"-{uuid.uuid4().hex[:8]}"
    attempt.commit(consumed=spent, counters={TAKEN: expected}, suffix=suffix)


def _add_old(crawl: CrawlDir, criteria: AgeCriteria, engine: Engine, round_: int) -> None:
    """Put the pages that are old enough into the frontier."""
    manifests = crawl.manifests()
    urls = paths_of(manifests, "urls")
    if not (expected := count_due(crawl.root, urls, criteria)):
        return
    attempt = Attempt.after_earlier(crawl, Step("revisits", round_))
    waiting = Waiting.of(manifests)
    plan = revisits.RevisitStep(crawl.root, round_, criteria, expected, urls, waiting, attempt.report)
    engine.run(partial(revisits.build, step=plan), work_of("revisits", pages=expected).seconds)
    if attempt.files():
        attempt.commit(suffix=f"-{uuid.uuid4().hex[:8]}")
    else:
        attempt.clear()
