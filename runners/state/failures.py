"""What failed in a crawl that a person asked for by name, or that a host offers: seeds, sitemaps, robots.txt files."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from operator import itemgetter
from typing import Any, NamedTuple

from ...transforms.directory.crawl_dir import CrawlDir, Manifest, files_of, paths_of
from ...transforms.outcomes import REMOVES_PAGE, RETRIED, Outcome
from ...transforms.tables.key_scan import Wanted, matching_rows
from ...transforms.tables.newest import newest
from ...transforms.tables.schemas import ROBOTS, SEEDS, URLS, VISITS, Row
from ...transforms.tables.sitemap_terms import SITEMAP, SITEMAP_VISITS
from ...transforms.tables.table_files import read_table
from .alarms import seed_alarms

_FAILED = (REMOVES_PAGE | RETRIED) - {Outcome.REDIRECTED}


def failed_seeds(crawl: CrawlDir, manifests: Sequence[Manifest]) -> list[Row]:
    """Return the rows (url, state, reason, last_status) of table urls of the seeds whose last visit failed."""
    seeds = read_table(crawl.root, paths_of(manifests, "seeds"), SEEDS, ["url_key", "host"])
    if not seeds.num_rows:
        return []
    keys, columns = set(seeds["url_key"].to_pylist()), ["url_key", "url", "round", "state", "reason", "last_status"]
    wanted = Wanted.of(seeds, "url_key", "host")
    rows = (
        row
        for path in paths_of(manifests, "urls")
        for batch in matching_rows(crawl.root, path, URLS, wanted, columns)
        for row in batch.to_pylist()
        if row["url_key"] in keys
    )
    return [row for row in newest(rows, itemgetter("url_key")).values() if has_failed(row)]


class SeedTrouble(NamedTuple):
    """What is wrong with the seeds of a crawl."""

    lines: list[str]  # alarms
    is_nothing_fetched: bool  # no page was ever fetched, or each seed failed the last time


def seed_trouble(crawl: CrawlDir) -> SeedTrouble:
    """Return which seeds failed when they were visited last."""
    manifests = crawl.manifests()
    failed = failed_seeds(crawl, manifests)
    pages = sum(m.counters.get(name, 0) for m in manifests for name in (Outcome.FETCHED, Outcome.NOT_MODIFIED))
    seeds = read_table(crawl.root, paths_of(manifests, "seeds"), SEEDS, ["url_key"])["url_key"] if failed else ()
    lines = [alarm.text for alarm in seed_alarms(failed)]
    return SeedTrouble(lines, not pages or len(failed) == len(set(seeds)) > 0)


def has_failed(row: Mapping[str, Any]) -> bool:
    """Return whether the last visit of a URL failed, by its row of table urls, also if it is tried again."""
    return row["state"] in ("failed", "gone", "denied") or (row["state"] == "due" and row["reason"] in RETRIED)


def failed_sitemaps(crawl: CrawlDir, manifests: Sequence[Manifest]) -> list[Row]:
    """Return the rows (url, outcome, status) of table visits of the sitemaps whose last visit failed."""
    paths = [file.path for file in files_of(manifests, "visits") if file.counts.get(SITEMAP_VISITS)]
    rows = [
        row
        for path in paths
        for row in read_table(
            crawl.root, [path], VISITS, ["url", "kind", "fetched_at", "outcome", "status"]
        ).to_pylist()
        if row["kind"] == SITEMAP
    ]
    latest = newest(rows, itemgetter("url"), itemgetter("fetched_at"))
    return [row for row in latest.values() if row["outcome"] in _FAILED]


def robots_rows(crawl: CrawlDir, manifests: Sequence[Manifest], hosts: Collection[str]) -> Iterator[Row]:
    """Yield the rows (origin, host, fetched_at, status, verdict, error) of table robots of some hosts."""
    columns = ["origin", "host", "fetched_at", "status", "verdict", "error"]
    wanted = Wanted("host", sorted(hosts))
    for path in paths_of(manifests, "robots"):
        for batch in matching_rows(crawl.root, path, ROBOTS, wanted, columns):
            yield from batch.to_pylist()


def origins(crawl: CrawlDir) -> set[str]:
    """Return the origins to which a crawl has sent requests, such as `https://a.test`."""
    return set(read_table(crawl.root, paths_of(crawl.manifests(), "robots"), ROBOTS, ["origin"])["origin"].to_pylist())


def newest_robots(crawl: CrawlDir, manifests: Sequence[Manifest], hosts: Collection[str]) -> list[Row]:
    """Return the newest of these rows of each origin."""
    return list(newest(robots_rows(crawl, manifests, hosts), itemgetter("origin"), itemgetter("fetched_at")).values())
