"""Plans the next visit of each page that a round has visited (docs/decisions/freshness.md)."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from datetime import timedelta
from operator import itemgetter
from typing import Any, NamedTuple

import numpy as np
import pyarrow.compute as pc

from ..outcomes import Outcome
from ..settings import Priority, Recrawl, Sitemaps
from ..tables.key_scan import Wanted, matching_rows
from ..tables.newest import newest
from ..tables.schemas import CHANGE_RATES, HOST_CHANGES, VISITS, Row
from ..tables.sitemap_terms import EXTERNAL, REQUISITE, RSL, TDMREP
from ..tables.table_files import read_table
from .freshness.allocation import Bounds, Bucket, Histogram, bucket, intervals, solve
from .freshness.change_rate import DAY, DEFAULT_RATE, Observed, estimate
from .freshness.trials import with_trials

OBSERVED = ("changed", "changed_log_s", "unchanged_s", "unchanged")
"""Columns of urls and host_changes; the first three are those of `Observed`."""

FADING = ("gone", "failed", "denied", "redirected")
"""States of a URL that had a page and has none: it is visited at intervals that double, until `max_interval`."""

REVISITED = ("fetched", *FADING)
"""States of URLs that may be visited again."""

STATES_BY_KIND: Mapping[str, Sequence[str]] = {**dict.fromkeys((TDMREP, RSL, EXTERNAL), REVISITED), REQUISITE: ()}
"""The states of URLs of a kind that are visited again by age, if these are others than `fetched`, as of pages."""

_FIRST_FADE = DAY
_DEEPEST = 6
_FIRST_WEIGHT = 0.5  # of pages that are visited for the first time, before their weights are known


class Plan(NamedTuple):
    """What the times of the next visits depend on, besides the pages."""

    mu: float
    bounds: Bounds
    sitemaps_after: float  # seconds
    high_score: float | None  # link score of the most important pages
    earlier: Histogram  # pages before the round
    hosts: tuple[str, ...] = ()  # paths of files of host_changes

    @classmethod
    def of(
        cls,
        recrawl: Recrawl,
        sitemaps: Sitemaps,
        priority: Priority,
        earlier: Histogram,
        new: int,
        hosts: Sequence[str] = (),
    ) -> "Plan | None":
        """The plan of a round that visits so many pages for the first time; None if no revisits are planned.

        If the budget does not suffice to visit all pages within the longest interval, that interval becomes twice that
        of equal visits.
        """
        if not recrawl.per_day:
            return None
        per_second, known = recrawl.per_day / DAY, sum(earlier.values())
        longest = max(recrawl.max_interval * DAY, recrawl.min_interval * DAY, 2 * (known + new) / per_second)
        bounds = Bounds(recrawl.min_interval * DAY, longest)
        if known > 0:  # new pages are taken to be as the others
            mu = solve(earlier, per_second * known / (known + new), bounds)
        else:
            mu = solve({_bucket(DEFAULT_RATE * DAY, _FIRST_WEIGHT): new}, per_second, bounds)
        return cls(mu, bounds, sitemaps.after * DAY, priority.high_score, earlier, tuple(hosts))


class Planned(NamedTuple):
    """The plans for the URLs of a partition."""

    urls: list[Row]  # the rows of urls, with the columns of the plan
    due: list[Row]  # rows of revisits
    pages: Counter[Bucket]  # the change of the histogram
    hosts: dict[str, tuple[float, ...]]  # what the visits of the round add to OBSERVED of each host


def weight(url: Row, high_score: float | None) -> float:
    """The importance of a page, from 1/8 to 1: it halves with every two links from a seed, but not for a high score."""
    if high_score is not None and (url["score"] or 0) >= high_score:
        return 1.0
    return float(2.0 ** (-min(url["depth"], _DEEPEST) / 2))


def plan_visits(
    urls: Iterable[Row], facts: Iterable[Row], earlier: Iterable[Row], hosts: Iterable[tuple[Any, ...]], plan: Plan
) -> Planned:
    """Plan the visits of the URLs of a partition that a round has visited.

    `urls` are the new rows of urls, `earlier` their rows before the round (the newest of a key counts), `hosts` tuples
    (host, round, *OBSERVED) of the earlier rows of host_changes (the newest counts).
    """
    visits = {fact["url_key"]: fact for fact in facts}
    known = newest(earlier, itemgetter("url_key"))
    rows = [_with_fixed(row, visits.get(row["url_key"]), plan) for row in urls]
    _plan_pages([row for row in rows if _is_by_rate(row, visits)], visits, _rates(hosts), plan)
    due, pages, sums = [], Counter[Bucket](), dict[str, tuple[float, ...]]()
    for row in rows:
        key, before = row["url_key"], known.get(row["url_key"])
        if key in visits and row["state"] in REVISITED and row["next_fetch_at"] is not None:
            due.append({name: row[name] for name in ("url_key", "host", "round")} | {"due_at": row["next_fetch_at"]})
        for state, count in ((before, -1), (row, 1)):
            if state is not None and state.get("changes_per_day") is not None:
                pages[_bucket(state["changes_per_day"], state["revisit_weight"])] += count
        added = [(row.get(name) or 0) - ((before or {}).get(name) or 0) for name in OBSERVED]
        if any(added):
            sums[row["host"]] = tuple(map(sum, zip(sums.get(row["host"], (0,) * len(added)), added, strict=True)))
    return Planned(rows, due, Counter({key: count for key, count in pages.items() if count}), sums)


def _is_by_rate(row: Row, visits: Mapping[bytes, Row]) -> bool:
    return row["url_key"] in visits and row["state"] == "fetched" and row.get("kind") is None


def _with_fixed(row: Row, fact: Row | None, plan: Plan) -> Row:
    """A row whose next visit does not depend on a rate, as it is no page or is gone; others unchanged."""
    is_planned = row.get("changes_per_day") is not None
    if is_planned and row["state"] not in ("fetched", "due"):
        row = row | {"changes_per_day": None, "revisit_weight": None}
    if fact is None:
        return row
    if row.get("kind") == EXTERNAL:
        is_asked_again = row["state"] in REVISITED
        due_at = fact["fetched_at"] + timedelta(seconds=plan.bounds.longest)
        return row | {"next_fetch_at": due_at} if is_asked_again else row
    may_change = row.get("kind") in (TDMREP, RSL) and row["state"] in REVISITED
    if (row["state"] == "fetched" and row.get("kind") not in (None, REQUISITE)) or may_change:
        return row | {"next_fetch_at": fact["fetched_at"] + timedelta(seconds=plan.sitemaps_after)}
    if row["state"] in FADING and row.get("digest") is not None:
        last = row.get("fade_s")
        seconds = max(plan.bounds.shortest, _FIRST_FADE) if last is None else 2 * last
        is_over = seconds > plan.bounds.longest
        due_at = None if is_over else fact["fetched_at"] + timedelta(seconds=seconds)
        return row | {"fade_s": seconds, "next_fetch_at": due_at}
    return row


def _plan_pages(rows: list[Row], visits: Mapping[bytes, Row], rates: Mapping[str, float], plan: Plan) -> None:
    """Set the columns of the plan in rows of pages."""
    if not rows:
        return
    changed, changed_log_s, unchanged_s = (
        np.array([row.get(name) or 0 for row in rows], np.float64) for name in OBSERVED[:3]
    )
    expected = np.array([rates.get(row["host"], DEFAULT_RATE) for row in rows])
    weights = np.array([weight(row, plan.high_score) for row in rows])
    threshold = weights / plan.mu
    found = estimate(Observed(changed, changed_log_s, unchanged_s), expected, threshold)
    numbers = np.array([int.from_bytes(row["url_key"][:4], "big") + (row.get("fetches") or 0) for row in rows])
    chosen = intervals(found.rate, weights, plan.mu, plan.bounds)
    chosen = with_trials(chosen, found, threshold, numbers, plan.bounds)
    for row, rate, heavy, seconds in zip(rows, found.rate.tolist(), weights.tolist(), chosen.tolist(), strict=True):
        due_at = visits[row["url_key"]]["fetched_at"] + timedelta(seconds=seconds)
        row.update(changes_per_day=rate * DAY, revisit_weight=heavy, next_fetch_at=due_at)


def host_rate(observed: Iterable[float | None]) -> float:
    """The rate of a host's pages per second, from its row of host_changes."""
    changed, changed_log_s, unchanged_s, *_ = (value or 0 for value in observed)
    return float(estimate(Observed(changed, changed_log_s, unchanged_s), DEFAULT_RATE).rate[0])


def _rates(hosts: Iterable[tuple[Any, ...]]) -> dict[str, float]:
    newest: dict[str, tuple[Any, ...]] = {}
    for row in hosts:
        if row[0] not in newest or row[1] >= newest[row[0]][1]:
            newest[row[0]] = row
    return {host: host_rate(row[2:]) for host, row in newest.items()}


def _bucket(changes_per_day: float, weight: float) -> Bucket:
    rate, heavy = bucket(changes_per_day / DAY, weight)
    return int(rate), int(heavy)


def read_histogram(root: str, paths: Sequence[str]) -> dict[Bucket, int]:
    """The pages by rate and weight, of files of change_rates, oldest first."""
    buckets = newest(read_table(root, paths, CHANGE_RATES).to_pylist(), itemgetter("rate", "weight"))
    return {key: row["pages"] for key, row in buckets.items() if row["pages"] > 0}


def page_rows(changes: Iterable[tuple[Bucket, int]], earlier: Histogram, round_: int) -> list[Row]:
    """Rows of change_rates after some changes of the histogram."""
    added = Counter[Bucket]()
    for key, count in changes:
        added[key] += count
    return [
        {"rate": key[0], "weight": key[1], "pages": max(0, earlier.get(key, 0) + count), "round": round_}
        for key, count in sorted(added.items())
    ]


def read_observed(root: str, paths: Iterable[str], hosts: Iterable[str]) -> list[tuple[Any, ...]]:
    """(host, round, *OBSERVED) of the rows of some hosts in files of host_changes."""
    wanted = Wanted("host", sorted(hosts))
    columns = ("host", "round", *OBSERVED)
    found = (rows for path in paths for rows in matching_rows(root, path, HOST_CHANGES, wanted, columns))
    return [tuple(row[name] for name in columns) for rows in found for row in rows.to_pylist()]


def add_observed(
    added: Iterable[tuple[str, tuple[float, ...]]], earlier: Iterable[tuple[Any, ...]], round_: int
) -> list[Row]:
    """Rows of host_changes: the earlier rows of hosts with what a round adds to OBSERVED."""
    sums = {row[0]: row[2:] for row in sorted(earlier, key=lambda row: row[1])}
    changed = set()
    for host, values in added:
        sums[host] = tuple(map(sum, zip(sums.get(host, (0,) * len(OBSERVED)), values, strict=True)))
        changed.add(host)
    return [dict(zip(OBSERVED, sums[host], strict=True)) | {"host": host, "round": round_} for host in sorted(changed)]


def count_first(root: str, paths: Sequence[str]) -> int:
    """The visits in files of visits that gave the first page of a URL."""
    visits = read_table(root, paths, VISITS, ["outcome", "digest_before", "kind"])
    is_first = pc.and_(pc.equal(visits["outcome"], Outcome.FETCHED.value), pc.is_null(visits["digest_before"]))
    return int(pc.sum(pc.and_(is_first, pc.is_null(visits["kind"]))).as_py() or 0)
