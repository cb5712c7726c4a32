"""Failures of what an operator asked for by name, or a host offers: seeds, sitemaps, robots.txt files."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from operator import itemgetter
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from ...transforms.directory.crawl_dir import CrawlDir, Manifest, files_of, paths_of
from ...transforms.outcomes import REMOVES_PAGE, RETRIED, Outcome
from ...transforms.tables.key_scan import Wanted, matching_rows
from ...transforms.tables.layouts import newest_rows
from ...transforms.tables.newest import newest
from ...transforms.tables.schemas import ROBOTS, SEEDS, URLS, VISITS, Row
from ...transforms.tables.sitemap_terms import SITEMAP, SITEMAP_VISITS
from ...transforms.tables.table_files import read_table
from .alarms import seed_alarms

_FAILED = (REMOVES_PAGE | RETRIED) - {Outcome.REDIRECTED}


def failed_seeds(crawl: CrawlDir, manifests: Sequence[Manifest], also: str = "failed") -> list[Row]:
    """Return the rows of table urls of the seeds whose last visit failed, or whose state is `also`."""
    seeds = read_table(crawl.root, paths_of(manifests, "seeds"), SEEDS, ["url_key", "host"])
    if not seeds.num_rows:
        return []
    columns = ["url_key", "url", "round", "state", "reason", "last_status", "redirect_to"]
    hosts, keys = pc.unique(seeds["host"]).sort().to_pylist(), seeds["url_key"].combine_chunks()
    found = [pa.schema([URLS.field(name) for name in columns]).empty_table()]
    for path in paths_of(manifests, "urls"):
        found += matching_rows(crawl.root, path, URLS, Wanted("host", hosts, "url_key", keys), columns)
    rows = newest_rows(pa.concat_tables(found), "url_key").filter(pc.field("state") != "fetched").to_pylist()
    return [row for row in rows if row["state"] == also or has_failed(row)]


class SeedTrouble(NamedTuple):
    """What is wrong with the seeds of a crawl."""

    lines: list[str]  # alarms
    is_nothing_fetched: bool  # no page was ever fetched, or each seed failed the last time


def seed_trouble(crawl: CrawlDir) -> SeedTrouble:
    """Return which seeds failed when they were visited last; of a crawl without a page, where they redirect, too."""
    manifests = crawl.manifests()
    pages = sum(m.counters.get(name, 0) for m in manifests for name in (Outcome.FETCHED, Outcome.NOT_MODIFIED))
    failed = failed_seeds(crawl, manifests, also="failed" if pages else "redirected")
    seeds = read_table(crawl.root, paths_of(manifests, "seeds"), SEEDS, ["url_key"])["url_key"] if failed else ()
    return SeedTrouble([alarm.text for alarm in seed_alarms(failed)], not pages or len(failed) == len(set(seeds)) > 0)


def has_failed(row: Mapping[str, Any]) -> bool:
    """Return whether the last visit of a URL failed, by its row of table urls, also if it is tried again."""
    return row["state"] in ("failed", "gone", "denied") or (row["state"] == "due" and row["reason"] in RETRIED)


def failed_sitemaps(crawl: CrawlDir, manifests: Sequence[Manifest]) -> list[Row]:
    """Return the rows (url, outcome, status) of table visits of the sitemaps whose last visit failed."""
    columns = ["url", "fetched_at", "outcome", "status"]
    paths = [file.path for file in files_of(manifests, "visits") if file.counts.get(SITEMAP_VISITS)]
    of_sitemaps = Wanted("kind", [SITEMAP])
    found = [rows for path in paths for rows in matching_rows(crawl.root, path, VISITS, of_sitemaps, columns)]
    if not found:
        return []
    visits = pa.concat_tables(found)
    failed = visits["url"].filter(pc.is_in(visits["outcome"], pa.array(_FAILED, pa.string())))
    visits = visits.filter(pc.is_in(visits["url"], value_set=failed))
    latest = {row["url"]: row for row in visits.sort_by("fetched_at").to_pylist()}
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
