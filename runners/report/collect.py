"""Makes the report of a crawl: reads its state once, and lets each section query it."""

from collections.abc import Callable
from datetime import datetime

from ...transforms.directory.crawl_dir import CrawlDir, Manifest
from ...transforms.outcomes import CrawlDirError
from ...transforms.settings import Settings
from ...transforms.sql.queries import open_tables
from ..estimate.plan import Estimate
from ..state.crawl_status import summarize
from .content import Report, Section
from .known import TABLES, Known
from .sections import alarms, estimate, freshness, hosts, outcomes, overview, pages, robots, rounds, storage, urls

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
    crawl: CrawlDir, settings: Settings, found: Estimate | None, now: datetime, attempts: int = _ATTEMPTS
) -> Report:
    """Return the report of a crawl as of its last commit; CrawlDirError if a file is missing or damaged.

    A crawl that runs may merge files meanwhile and remove those that the merged ones replace: then it is read again.
    """
    manifests = crawl.require_manifests()
    try:
        return _report(crawl, manifests, settings, found, now)
    except CrawlDirError:
        if attempts == 1 or crawl.require_manifests() == manifests:
            raise
    return collect(crawl, settings, found, now, attempts - 1)


def _report(
    crawl: CrawlDir, manifests: list[Manifest], settings: Settings, found: Estimate | None, now: datetime
) -> Report:
    name = crawl.root.rstrip("/").rpartition("/")[2] or crawl.root
    status = summarize(crawl, now, settings, crawl.space())
    with open_tables(crawl, manifests, TABLES, _MEMORY) as connection:
        known = Known(crawl, manifests, settings.recrawl, status, now, found, connection)
        known.prepare()
        return Report(name, crawl.root, now, [section(known) for section in SECTIONS])
