"""Computes an estimate from a plan and rates: pure functions of values."""

import dataclasses
from collections.abc import Mapping
from typing import NamedTuple

from ...transforms.indexing.merge_policy import HELD, MERGED_DOCUMENTS
from ...transforms.memory.bounds import (
    GROUP_BYTES,
    CompactLoad,
    FetchLoad,
    Parts,
    RankLoad,
    UpdateLoad,
    compact_bound,
    fetch_bound,
    rank_bound,
    update_bound,
)

_LINKS = 40  # of a page, roughly


class Plan(NamedTuple):
    """What is to be crawled, and with what."""

    hosts: int
    pages: int  # visits to each host
    delay: float  # seconds between an answer and the next request to a host
    workers: int = 1  # processes or machines, one core each
    connections: int = 256  # answers that a worker awaits at once
    bandwidth: float | None = None  # bits a second, over all workers; None: no bound
    rounds: int | None = None  # None: as many as the rates say
    largest: int | None = None  # visits to the largest host, if `pages` is only their mean; None: hosts are equal


class Prices(NamedTuple):
    """List prices, in any currency."""

    gb_in: float = 0.0
    gb_month: float = 0.0  # stored for a month
    worker_hour: float = 0.0


FREE = Prices()


class Size(NamedTuple):
    """Bytes on disk."""

    round: float  # of each round, whatever its size
    visit: float
    once: float = 0.0


@dataclasses.dataclass(frozen=True)
class Rates:
    """What a visit costs; times are seconds."""

    source: str  # where the figures come from
    body_bytes: float  # of a visit, decoded; without the first ones of a host, if `head_visits` says how many
    response: float  # from a request to the end of its answer
    response_factor: float  # the delay is at least so many times the response
    fetch_overhead: float  # of a visit, beside response and delay
    fetch_cpu: float  # of one core, a visit
    update_cpu: float  # of a visit of `body_bytes`; it grows with the bytes
    fetch_start: float  # of a fetch step, whatever its size
    update_start: float
    other: float  # once: ranking, compaction, and what the first steps take longer
    rounds: int
    disk: Mapping[str, "Size"]  # by table, and of the index, for visits of `body_bytes`
    head_visits: float = 0.0  # the first visits to a host, at small depths, whose pages have another size
    head_bytes: float = 0.0  # of each of them

    def mean_bytes(self, visits: float) -> float:
        """Return the mean size of the bodies of so many visits to a host."""
        head = min(visits, self.head_visits)
        return (head * self.head_bytes + (visits - head) * self.body_bytes) / visits


def with_page_bytes(rates: Rates, body_bytes: float) -> Rates:
    """Return the rates for bodies of another mean size: sizes on disk by visits and the update grow with it."""
    ratio = body_bytes / rates.body_bytes
    disk = {table: size._replace(visit=size.visit * ratio) for table, size in rates.disk.items()}
    update_cpu = rates.update_cpu * ratio
    return dataclasses.replace(rates, body_bytes=body_bytes, disk=disk, update_cpu=update_cpu, head_visits=0.0)


@dataclasses.dataclass(frozen=True)
class Estimate:
    """The estimate of a crawl; times are seconds."""

    source: str
    pages: int  # visits
    requests: int  # with those for robots.txt
    bytes_in: int  # decoded bodies
    disk: dict[str, int]  # bytes by table
    disk_total: int
    bounds: dict[str, float]  # how long fetching takes if only this bounds it
    bound: str  # the largest part: one of the bounds, or update
    fetch: float
    update: float
    time: float
    pages_per_second: float
    money: float
    memory: dict[str, int] = dataclasses.field(default_factory=dict)  # bytes by step, at most, on one machine


def estimate(plan: Plan, rates: Rates, prices: Prices = FREE) -> Estimate:
    """Return the estimate of a plan.

    Steps follow one another. A fetch step takes as long as its largest bound: hosts run side by side, each with one
    request at a time, so the largest host bounds them.
    """
    pages = plan.hosts * plan.pages
    rounds = plan.rounds or rates.rounds
    bytes_in = pages * rates.mean_bytes(plan.pages)
    weight = bytes_in / rates.body_bytes  # visits of that size with as many bytes
    turn = rates.response + max(plan.delay, rates.response_factor * rates.response) + rates.fetch_overhead
    bounds = {
        "politeness": (plan.largest or plan.pages) * turn,
        "connections": pages * rates.response / (plan.connections * plan.workers),
        "cpu": pages * rates.fetch_cpu / plan.workers,
    }
    if plan.bandwidth:
        bounds["bandwidth"] = 8 * bytes_in / plan.bandwidth
    longest = max(bounds, key=lambda name: bounds[name])
    fetch = bounds[longest] + rounds * rates.fetch_start
    update = weight * rates.update_cpu / plan.workers + rounds * rates.update_start
    time = fetch + update + rates.other
    disk = {
        table: max(0, round(size.once + rounds * size.round + weight * size.visit))
        for table, size in rates.disk.items()
    }
    total = sum(disk.values())
    money = bytes_in / 1e9 * prices.gb_in + total / 1e9 * prices.gb_month
    money += plan.workers * time / 3600 * prices.worker_hour
    return Estimate(
        source=rates.source,
        pages=pages,
        requests=pages + plan.hosts,
        bytes_in=round(bytes_in),
        disk=disk,
        disk_total=total,
        bounds=bounds,
        bound="update" if update > fetch else longest,
        fetch=fetch,
        update=update,
        time=time,
        pages_per_second=pages / time if time else 0.0,
        money=money,
        memory=_memory(plan, pages, rounds, bytes_in),
    )


def _memory(plan: Plan, pages: int, rounds: int, bytes_in: float) -> dict[str, int]:
    """Return the bounds of the largest round, which has at most twice the pages of the mean one."""
    some, parts = min(pages, -(-2 * pages // rounds)), Parts(plan.workers)
    body_bytes = round(some / max(1, pages) * bytes_in)
    ranked = RankLoad(_LINKS * pages, pages, min(pages, MERGED_DOCUMENTS))
    return {
        "fetch": fetch_bound(FetchLoad(some, some, min(some, plan.hosts), plan.largest or plan.pages), parts),
        "update": update_bound(UpdateLoad(some, body_bytes, min(body_bytes, GROUP_BYTES), some), parts),
        "compact": compact_bound(CompactLoad(plan.workers, HELD, 500 * min(pages, MERGED_DOCUMENTS)), parts),
        "rank": rank_bound(ranked, parts),
    }


DEFAULTS = Rates(
    source="docs/measurements/planning.md (six manuals); a response of 0.5 s and 6 rounds are assumptions",
    body_bytes=58_400,
    response=0.5,
    response_factor=1.0,
    fetch_overhead=0.0,
    fetch_cpu=0.0015,
    update_cpu=0.010,
    fetch_start=2.0,
    update_start=3.0,
    other=10.0,
    rounds=6,
    disk={
        "visits": Size(37_000, 7_950),
        "documents": Size(20_000, 3_130),
        "index": Size(30_000, 5_930),
        "links": Size(16_000, 3_900),
        "urls": Size(19_000, 200),
        "others": Size(34_000, 1_090),
    },
)
