"""Makes the report of a crawl: reads its state once, and lets each section query it."""

from collections.abc import Callable
from datetime import datetime

from ...transforms.directory.crawl_dir import CrawlDir
from ...transforms.errors import CrawlDirError
from ...transforms.settings import Settings
from ...transforms.sql import open_tables
from ..estimate.plan import Estimate
from ..state.crawl_status import summarize
from .content import Report, Section
from .known import TABLES, Known
from .query_counts import QueryCounts
from .sections import (
    alarms,
    estimate,
    freshness,
    hosts,
    outcomes,
    overview,
    pages,
    queries,
    robots,
    rounds,
    storage,
    urls,
)

SECTIONS: tuple[Callable[[Known], Section], ...] = (
    overview.section,
    alarms.section,
    rounds.section,
    outcomes.section,
    urls.section,
    hosts.section,
    pages.section,
    pages.duplicates,
    robots.section,
    robots.usage,
    storage.section,
    storage.index,
    freshness.section,
    estimate.section,
)
_ATTEMPTS = 3
_MEMORY = "500MB"  # of the queries; what needs more goes to a temporary folder


def collect(
    crawl: CrawlDir, settings: Settings, found: Estimate | None, now: datetime, asked: QueryCounts | None = None
) -> Report:
    """Return the report of a crawl as of its last commit; CrawlDirError if a file is missing or damaged.

    A query log adds a section about what was `asked`.

    A crawl that runs may merge files meanwhile and remove those that the merged ones replace: then it is read again.
    """
    name = crawl.root.rstrip("/").rpartition("/")[2] or crawl.root
    attempt = 0
    while True:
        attempt += 1
        manifests = crawl.require_manifests()
        try:
            status = summarize(crawl, now, settings, crawl.space())
            with open_tables(crawl, manifests, TABLES, _MEMORY) as connection:
                known = Known(crawl, manifests, settings.alarms, settings.recrawl, status, now, found, connection)
                known.prepare()
                sections = [section(known) for section in SECTIONS]
                return Report(name, crawl.root, now, sections + ([queries.section(asked)] if asked else []))
        except CrawlDirError:
            if attempt == _ATTEMPTS or crawl.require_manifests() == manifests:
                raise
