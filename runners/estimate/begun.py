"""Estimates the whole of a crawl that was begun, from the URLs that it knows: a floor, unless the crawl is finished."""

from typing import NamedTuple

from ...transforms.directory.crawl_dir import CrawlDir, next_step
from ...transforms.directory.waiting import waiting_by_reason
from .measured import visits_of
from .plan import FREE, Estimate, Plan, Prices, Rates, estimate

_UNVISITED = ("seed", "new", "deferred")  # reasons of waiting


class Known(NamedTuple):
    """The URLs of a crawl."""

    visited: int
    waiting: int  # not visited yet
    is_updated: bool  # what was visited last has been parsed


class Begun(NamedTuple):
    """The estimate of a whole crawl."""

    estimate: Estimate
    basis: str  # finished, limit (what --pages allows) or floor
    note: str  # one line on the basis


def known_of(crawl: CrawlDir) -> Known:
    """Return how many URLs a crawl knows."""
    manifests = crawl.require_manifests()
    waiting = waiting_by_reason(crawl.root, manifests)
    unvisited = sum(waiting.get(reason, 0) for reason in _UNVISITED)
    return Known(visits_of(crawl, manifests), unvisited, next_step(manifests).kind == "fetch")


def estimate_begun(
    name: str, known: Known, plan: Plan, rates: Rates, prices: Prices = FREE, at_most: int | None = None
) -> Begun:
    """Return the estimate of the whole of a crawl directory `name`, of so many visits `at_most`.

    `plan.pages` and `plan.rounds` are ignored, but for a finished crawl.
    """
    if known.is_updated and not known.waiting:
        note = f"the crawl is finished: no URL of {name} waits for its first visit"
        return Begun(estimate(plan, rates, prices), "finished", note)
    urls = known.visited + known.waiting
    visits = urls if at_most is None else at_most
    estimated = estimate(plan._replace(pages=max(1, visits // plan.hosts), rounds=rates.rounds + 1), rates, prices)
    if at_most is not None:
        note = f"the number of pages is the most that --pages allows; {name} knows {urls:,} URLs so far"
        return Begun(estimated, "limit", note)
    note = f"{name} knows {urls:,} URLs, of which {known.visited:,} are visited; their pages may lead to more"
    return Begun(estimated, "floor", f"{note}: give --pages, the most visits to a host")
