"""Estimates the whole of a crawl that was begun, from as much as it knows: all of it, a sample, or a floor."""

import dataclasses
import math
from collections import defaultdict
from collections.abc import Sequence
from typing import NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from ...transforms.directory.crawl_dir import CrawlDir, Manifest, files_of, next_step
from ...transforms.directory.waiting import waiting_by_reason
from ...transforms.outcomes import REQUESTED, SAMPLED_OF
from ...transforms.tables.schemas import TABLES
from ...transforms.tables.table_files import read_table
from .growth import Extrapolation, Sample, Unit, extrapolate, half_samples, interval
from .measured import visits_of
from .plan import FREE, Estimate, Plan, Prices, Rates, estimate, with_page_bytes

_UNVISITED = ("seed", "new", "deferred")  # reasons of waiting


class Known(NamedTuple):
    """The URLs of a crawl."""

    visited: int
    waiting: int  # not visited yet
    is_updated: bool  # what was visited last has been parsed


class Begun(NamedTuple):
    """The estimate of a whole crawl."""

    estimate: Estimate
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
    if at_most is not None and (
        at_most <= urls or (whole and math.isclose(whole.estimate.pages, at_most, rel_tol=0.001))
    ):
        estimated = whole.estimate if whole else _of(at_most, plan, rates, prices)
        intervals = whole.intervals if whole else {}
        note = f"the number of pages is the most that --pages allows; {name} knows {urls:,} URLs so far"
        return Begun(estimated, intervals, "limit", note)
    if whole:
        return Begun(whole.estimate, whole.intervals, "sample")
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


FIGURES = ("pages", "bytes_in", "disk_total", "time")
"""The fields of an estimate that have an interval."""


_REPETITION = -0.05
"""n times as many pages have n to the power of 1 - 0.05 times the bytes on disk: words, hosts and URLs repeat."""


class Whole(NamedTuple):
    """The estimate of a whole crawl."""

    estimate: Estimate
    intervals: dict[str, tuple[float, float]]  # 95 %, by field of the estimate; what the sample leaves open


def estimate_whole(
    sample: Sample, plan: Plan, rates: Rates, prices: Prices = FREE, at_most: int | None = None
) -> Whole | None:
    """Return the estimate of a crawl of at most so many visits; None if the sample shows no end and nothing else does.

    `plan.pages` and `plan.rounds` are ignored. Times have the error of the visits and bytes, not that of the machine.
    """
    sampled = extrapolate(sample)
    if math.isinf(sampled.pages) and at_most is None:
        return None

    def of(one: Extrapolation) -> Estimate:
        visits = min(one.pages, at_most or math.inf)
        visits = 10 * sampled.pages if math.isinf(visits) else visits  # a half sample that shows no end
        own = plan._replace(pages=max(1, round(visits / plan.hosts)), rounds=rates.rounds + one.generations)
        own_rates = dataclasses.replace(with_page_bytes(rates, one.body_bytes), head_visits=rates.head_visits)
        further = max(1.0, visits - sample.before) / len(sample.units)
        return estimate(own, _compressed(own_rates, plan.hosts, further**_REPETITION), prices)

    estimated, halves = of(sampled), [of(extrapolate(half)) for half in half_samples(sample)]
    intervals = {
        name: interval(getattr(estimated, name), [getattr(half, name) for half in halves], sample) for name in FIGURES
    }
    return Whole(estimated, intervals)


def _compressed(rates: Rates, hosts: int, ratio: float) -> Rates:
    """Return the rates with so many times the bytes on disk for each visit but the first ones."""
    first = hosts * rates.head_visits * rates.head_bytes / rates.body_bytes
    disk = {
        table: size._replace(visit=ratio * size.visit, once=size.once + (1 - ratio) * first * size.visit)
        for table, size in rates.disk.items()
    }
    return dataclasses.replace(rates, disk=disk)


_NEVER_ASKED = ("alias", "trapped")


def sample_of(crawl: CrawlDir) -> Sample | None:
    """Return the last sample of a crawl whose pages have been parsed; None if there is none."""
    manifests = crawl.require_manifests()
    parsed = {m.round for m in manifests if m.step == "update"}
    rounds = [m for m in manifests if m.step == "fetch" and SAMPLED_OF in m.counters and m.round in parsed]
    if not rounds:
        return None
    last = rounds[-1]
    visits = _read(crawl, manifests, "visits", ["url_key", "round", "outcome", "body_bytes"])
    visits = visits.filter(pc.is_in(visits["outcome"], pa.array(sorted(REQUESTED), pa.string())))
    sampled = visits.filter(pc.equal(visits["round"], last.round))
    if not sampled.num_rows:
        return None
    before = pc.sum(pc.less(visits["round"], last.round)).as_py()
    targets = _new_targets(crawl, manifests, last.round)
    rows = zip(sampled["url_key"].to_pylist(), sampled["body_bytes"].to_pylist(), strict=True)
    units = [Unit(size or 0, targets.get(key, ())) for key, size in rows]
    return Sample(before, max(last.counters[SAMPLED_OF], len(units)), units)


def _new_targets(crawl: CrawlDir, manifests: Sequence[Manifest], round_: int) -> dict[bytes, list[bytes]]:
    """Return the keys of the URLs that a round discovered, by the key of each page with a link to them."""
    urls = _read(crawl, manifests, "urls", ["url_key", "discovered_round", "state", "round"])
    urls = urls.filter(pc.equal(urls["discovered_round"], round_))
    dropped = urls.filter(pc.is_in(urls["state"], pa.array(_NEVER_ASKED)))["url_key"]
    new = urls.filter(pc.invert(pc.is_in(urls["url_key"], dropped)))["url_key"].combine_chunks()
    links = _read(crawl, manifests, "links", ["source_key", "target_key", "round"])
    links = links.filter(pc.and_(pc.equal(links["round"], round_), pc.is_in(links["target_key"], new)))
    targets = defaultdict(list)
    for source, target in zip(links["source_key"].to_pylist(), links["target_key"].to_pylist(), strict=True):
        targets[source].append(target)
    return targets


def _read(crawl: CrawlDir, manifests: Sequence[Manifest], table: str, columns: list[str]) -> pa.Table:
    return read_table(crawl.root, [file.path for file in files_of(manifests, table)], TABLES[table], columns)
