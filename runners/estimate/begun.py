"""Estimates the whole of a crawl that was begun, from as much as it knows: all of it, a sample, or a floor."""

import math
from typing import NamedTuple

from ...transforms.directory.crawl_dir import CrawlDir, next_step
from ...transforms.directory.waiting import waiting_by_reason
from .growth import Sample
from .measured import visits_of
from .plan import FREE, Estimate, Plan, Prices, Rates, estimate
from .whole import estimate_whole

_UNVISITED = ("seed", "new", "deferred")  # reasons of waiting


class Known(NamedTuple):
    """The URLs of a crawl."""

    visited: int
    waiting: int  # not visited yet
    is_updated: bool  # what was visited last has been parsed


class Begun(NamedTuple):
    """The estimate of a whole crawl."""

    found: Estimate
    intervals: dict[str, tuple[float, float]]  # 95 %, by field of the estimate; empty without a sample
    basis: str  # finished, sample, limit (what --pages allows) or floor
    note: str = ""  # one line on the basis


def known_of(crawl: CrawlDir) -> Known:
    """Return how many URLs a crawl knows."""
    manifests = crawl.require_manifests()
    waiting = waiting_by_reason(crawl.root, manifests)
    unvisited = sum(waiting.get(reason, 0) for reason in _UNVISITED)
    return Known(visits_of(crawl, manifests), unvisited, next_step(manifests).kind == "fetch")


def estimate_begun(
    name: str,
    known: Known,
    sample: Sample | None,
    plan: Plan,
    rates: Rates,
    prices: Prices = FREE,
    at_most: int | None = None,
) -> Begun:
    """Return the estimate of the whole of a crawl directory `name`, of at most so many visits.

    `plan.pages` and `plan.rounds` are ignored, but for a finished crawl.
    """
    if known.is_updated and not known.waiting:
        note = f"the crawl is finished: no URL of {name} waits for its first visit, so that no sample is needed"
        return Begun(estimate(plan, rates, prices), {}, "finished", note)
    urls = known.visited + known.waiting
    whole = estimate_whole(sample, plan, rates, prices, at_most) if sample else None
    if at_most is not None and (at_most <= urls or (whole and math.isclose(whole.found.pages, at_most, rel_tol=0.001))):
        found = whole.found if whole else _of(at_most, plan, rates, prices)
        intervals = whole.intervals if whole else {}
        note = f"the number of pages is the most that --pages allows; {name} knows {urls:,} URLs so far"
        return Begun(found, intervals, "limit", note)
    if whole:
        return Begun(whole.found, whole.intervals, "sample")
    known_urls = f"{name} knows {urls:,} URLs, of which {known.visited:,} are visited; their pages may lead to more"
    way_out = f"for the whole: beamtrawl crawl {name} --sample 300, and then this command again"
    if sample:
        way_out = (
            "the sample shows no end, as its pages lead to more unknown URLs than are waiting: give --pages, the most"
            " visits to a host, or crawl on and take another sample"
        )
    return Begun(_of(urls, plan, rates, prices), {}, "floor", f"{known_urls}; {way_out}")


def _of(visits: int, plan: Plan, rates: Rates, prices: Prices) -> Estimate:
    """Return the estimate of so many visits, in a round more than so far."""
    pages = max(1, visits // plan.hosts)
    return estimate(plan._replace(pages=pages, rounds=rates.rounds + 1), rates, prices)
