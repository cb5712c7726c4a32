"""Counts the waiting URLs of a crawl by whether they may be requested now, and the planned revisits."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from typing import NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from ...pipeline.held_hosts import held_hosts
from ...transforms.directory.clock_ahead import seen_since
from ...transforms.directory.crawl_dir import CrawlDir, Manifest, paths_of
from ...transforms.directory.waiting import Waiting, read_waiting
from ...transforms.frontier.due_pages import DuePages
from ...transforms.frontier.excluded import NotRequested
from ...transforms.frontier.revisit_plan import STATES_BY_KIND
from ...transforms.settings import Politeness, Recrawl
from ...transforms.tables.schemas import TIME
from ...transforms.tables.sitemap_terms import EXTERNAL


class DueUrls(NamedTuple):
    """The waiting URLs, by when they may be requested."""

    now: int
    later: int  # because of their own time, or that of their host
    next_at: datetime | None  # when the first of those is due
    blocked: int  # by a block, in none of the others
    excluded: int  # by the settings, in none of the others
    by_host: dict[str, int]  # the waiting ones of hosts that may not be requested yet


class Planned(NamedTuple):
    """The revisits that are planned and not yet in the frontier."""

    pages: int
    first_at: datetime | None


def due_urls(
    crawl: CrawlDir, manifests: Sequence[Manifest], politeness: Politeness, closed: NotRequested, now: datetime
) -> DueUrls:
    """Count the waiting URLs; reads two columns of the frontier and those of `closed`, and table hosts."""
    held = held_hosts(crawl.root, paths_of(manifests, "hosts"), (), politeness, now, (), seen_since(crawl, now)).until
    columns = ["host", "due_at", *closed.columns]
    return count_due(read_waiting(crawl.root, Waiting.of(manifests), columns), held, closed, now)


def count_due(
    batches: Iterable[pa.Table], held: Mapping[str, datetime], closed: NotRequested, now: datetime
) -> DueUrls:
    """Count rows of the frontier. A URL is due at the later one of its time and that of its host in `held`."""
    hosts = pa.array(list(held), pa.string())
    until = pa.array([moment.astimezone(UTC) for moment in held.values()], TIME).cast(pa.int64())
    moment = pa.scalar(now.astimezone(UTC), TIME).cast(pa.int64())
    due, later = 0, 0
    by_host = Counter[str]()
    next_at: int | None = None  # microseconds since the epoch
    for rows in batches:
        open_ = closed.without(rows)
        names = open_["host"].combine_chunks()
        of_host = until.take(pc.index_in(names, hosts))
        for count in pc.value_counts(names.filter(pc.is_valid(of_host))).to_pylist():
            by_host[count["values"]] += count["counts"]
        times = pc.max_element_wise(open_["due_at"].combine_chunks().cast(pa.int64()), of_host)
        times = times.filter(pc.greater(times, moment))  # without a time of either, it is due
        due, later = due + open_.num_rows - len(times), later + len(times)
        next_at = min((at for at in (next_at, pc.min(times).as_py()) if at is not None), default=None)
    first = pa.scalar(next_at, pa.int64()).cast(TIME).as_py()
    return DueUrls(due, later, first, closed.blocked, closed.excluded, dict(by_host))


def planned_revisits(crawl: CrawlDir, manifests: Sequence[Manifest]) -> Planned:
    """Count the planned revisits that no step has put into the frontier."""
    pages = DuePages.of(crawl.root, manifests)
    return Planned(pages.count(datetime.max.replace(tzinfo=UTC)), pages.first())


class Revisits(NamedTuple):
    """The pages and sitemaps that are visited again and not in the frontier yet."""

    due: int  # now, by age or by plan
    since: datetime | None  # when the first of those was due
    next_at: datetime | None  # when the next one is due by its age


def due_revisits(
    crawl: CrawlDir, manifests: Sequence[Manifest], recrawl: Recrawl, sitemaps_after: float, now: datetime
) -> Revisits:
    """Count the revisits that are due now; `sitemaps_after` is the setting `sitemaps.after`."""
    aged = _aged(crawl, manifests, recrawl.after, sitemaps_after, now) if recrawl.after is not None else NO_REVISITS
    if not recrawl.per_day:
        return aged
    pages = DuePages.of(crawl.root, manifests)
    first = pages.first()
    if first is None or first > now:
        return aged
    return Revisits(aged.due + pages.count(now), min(filter(None, (aged.since, first))), aged.next_at)


NO_REVISITS = Revisits(0, None, None)

_AGED = """
    SELECT count(*) FILTER (due_at <= $now), min(due_at) FILTER (due_at <= $now), min(due_at) FILTER (due_at > $now)
    FROM (
        SELECT least(
            last_fetched_at + to_seconds(86400 * if(kind IS NULL OR kind = $external, $pages, $sitemaps)),
            if(sitemap_lastmod > last_fetched_at, sitemap_lastmod, NULL)
        ) AS due_at
        FROM urls ANTI JOIN frontier USING (url_key)
        WHERE list_contains(coalesce(map($kinds, $states)[kind], ['fetched']), state)
    )
"""
"""When `DueCriteria.mask` holds for visited pages: by age, or from the change on that a sitemap dates."""


def _aged(
    crawl: CrawlDir, manifests: Sequence[Manifest], after: float, sitemaps_after: float, now: datetime
) -> Revisits:
    from ...transforms.sql.views import connect  # noqa: PLC0415 - few crawls need it

    values = {"now": now, "pages": after, "sitemaps": min(after, sitemaps_after)}
    values |= {
        "external": EXTERNAL,
        "kinds": list(STATES_BY_KIND),
        "states": [list(states) for states in STATES_BY_KIND.values()],
    }
    with connect(crawl, manifests, ("urls", "frontier")) as tables:
        row = tables.execute(_AGED, values).fetchone()
    return Revisits(*row) if row else NO_REVISITS
