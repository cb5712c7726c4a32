"""Puts pages that are to be visited again into the frontier: a small step between two rounds, when there are any."""

import dataclasses
from collections.abc import Sequence
from datetime import datetime
from functools import partial

import apache_beam as beam

from ..transforms.batches.semi_join import CollectKeys, ReadMatching
from ..transforms.batches.writers import ByPartition, ReportFiles
from ..transforms.directory.crawl_dir import CrawlDir, Step, next_step, paths_of
from ..transforms.directory.waiting import Waiting
from ..transforms.frontier.advance_urls import ReadMatchingWaiting
from ..transforms.frontier.due_pages import TAKEN, DuePages, IsPlanned
from ..transforms.frontier.recrawl import AgeCriteria, DueCriteria, Everything, count_due, read_due_keys, write_revisits
from ..transforms.settings import Recrawl, Sitemaps
from ..transforms.tables.schemas import URLS
from .attempt import Attempt, Engine
from .work import work_of

_ROWS_PER_PARTITION = 100_000


@dataclasses.dataclass(frozen=True)
class RevisitStep:
    """The inputs and outputs of one such step; paths are below the crawl directory."""

    root: str
    round: int
    criteria: AgeCriteria | IsPlanned
    expected: int  # upper estimate of due pages
    urls: Sequence[str]
    waiting: Waiting
    report: str


def build(pipeline: beam.Pipeline, step: RevisitStep) -> None:
    """Read the keys of due URLs, then their rows, and write those that are not in the frontier yet.

    The keys of planned revisits are read from table revisits, others from table urls.
    """
    count = 1 + step.expected // _ROWS_PER_PARTITION
    urls = pipeline | "UrlsFiles" >> beam.Create(step.urls)
    if isinstance(step.criteria, IsPlanned):
        paths = pipeline | "RevisitsFiles" >> beam.Create(step.criteria.pages.paths)
        due_keys = paths | "PlannedKeys" >> beam.FlatMap(step.criteria.pages.keys, step.criteria.now, count)
    else:
        due_keys = urls | "DueKeys" >> beam.FlatMap(read_due_keys, step.root, step.criteria, count)
    keys = due_keys | "Keys" >> CollectKeys("url_key", "host")
    states = urls | "States" >> ReadMatching(step.root, URLS, "url_key", count, keys)
    frontier = pipeline | "ReadFrontier" >> ReadMatchingWaiting(step.root, step.waiting, count, keys)
    files = {"states": states, "frontier": frontier} | "Revisits" >> ByPartition(
        write_revisits, step.root, step.round, step.criteria
    )
    files | "Report" >> ReportFiles(step.report)


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
    _add_old(crawl, Everything(), engine, next_step(crawl.manifests()).frontier_round)


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
    plan = RevisitStep(crawl.root, round_, IsPlanned(now, pages), expected, urls, waiting, attempt.report)
    engine.run(partial(build, step=plan), work_of("revisits", pages=expected).seconds)
    attempt.commit(consumed=pages.spent(now), counters={TAKEN: expected})


def _add_old(crawl: CrawlDir, criteria: AgeCriteria, engine: Engine, round_: int) -> None:
    """Put the pages that are old enough into the frontier."""
    manifests = crawl.manifests()
    urls = paths_of(manifests, "urls")
    if not (expected := count_due(crawl.root, urls, criteria)):
        return
    attempt = Attempt.after_earlier(crawl, Step("revisits", round_))
    waiting = Waiting.of(manifests)
    plan = RevisitStep(crawl.root, round_, criteria, expected, urls, waiting, attempt.report)
    engine.run(partial(build, step=plan), work_of("revisits", pages=expected).seconds)
    if attempt.files():
        attempt.commit()
    else:
        attempt.clear()
