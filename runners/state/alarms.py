"""Alarms of a crawl for its operator: pure functions of its counts and rows."""

import statistics
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any, NamedTuple

from ...transforms.directory.clock_ahead import in_words, step_ahead
from ...transforms.directory.manifests import Manifest
from ...transforms.frontier.url_states import DEAD_HOST
from ...transforms.outcomes import Outcome
from ...transforms.politeness.host_stats import REFUSALS
from ..terminal.units import counted
from .crawl_traps import Trap, trap_line
from .outcome_words import MEANINGS, status_words

_NAMED = 5  # hosts that are named

OUTCOME_SHARE = 0.5  # of all visits with one outcome other than success
HOST_FAILURES = 3  # in a row
HOST_REQUESTS, HOST_ERROR_SHARE = 20, 0.5  # requests of a host, and the share of them that failed
ROBOTS_SHARE = 0.1  # of the hosts whose robots.txt cannot be fetched
RATE_ROUNDS, RATE_PAGES, RATE_SHARE = 5, 500, 0.5
"""Earlier rounds, of at least so many visits, with whose median rate that of the last round is compared."""
DISK_SHARE = 0.05  # of the disk of the crawl directory that is free


class Alarm(NamedTuple):
    """One alarm."""

    kind: str  # one of KINDS
    text: str  # one line


KINDS = (
    "outcomes",
    "seeds",
    "sitemaps",
    "host_errors",
    "host_failures",
    "refusals",
    "robots",
    "rate",
    "parse_errors",
    "extract_errors",
    "traps",
    "too_long",
    "disk",
    "clock",
)
"""The kinds of alarms, as the label of a metric."""


def outcome_alarms(outcomes: Mapping[str, int]) -> list[Alarm]:
    """Alarms about outcomes, except success, that more than a share of all visits have; deferred ones are no visits."""
    visits = sum(outcomes.values()) - outcomes.get(Outcome.DEFERRED, 0)
    good = (Outcome.FETCHED, Outcome.NOT_MODIFIED, Outcome.DEFERRED)
    bad = {o: n for o, n in outcomes.items() if n > visits * OUTCOME_SHARE and o not in good}
    return [Alarm("outcomes", f"{count} of {visits} visits ended as {outcome}") for outcome, count in bad.items()]


def failing_hosts(hosts: Iterable[Mapping[str, Any]]) -> list[Alarm]:
    """Alarms about hosts with many consecutive failures, the worst first; `hosts` are their newest rows."""
    failing = [row for row in hosts if (row["failures_in_row"] or 0) >= HOST_FAILURES]
    worst = sorted(failing, key=lambda row: (-row["failures_in_row"], row["host"]))
    lines = [
        f"{row['host']} has failed {row['failures_in_row']} times in a row,"
        f" and is not asked before {row['not_before']:%Y-%m-%d %H:%M:%S} UTC ({row['held_by']})"
        for row in worst
    ]
    return _first("host_failures", lines, "more hosts have failed as often")


def erring_hosts(hosts: Iterable[Mapping[str, Any]]) -> list[Alarm]:
    """Alarms about hosts of whose requests more than a share failed, those with the most failures first."""
    bad = [
        row
        for row in hosts
        if (row["requests"] or 0) >= HOST_REQUESTS and (row["failures"] or 0) > HOST_ERROR_SHARE * row["requests"]
    ]
    worst = sorted(bad, key=lambda row: (-row["failures"], row["host"]))
    lines = [f"{row['host']}: {row['failures']} of {row['requests']} requests failed" for row in worst]
    return _first("host_errors", lines, "more hosts have as many errors")


def refusing_hosts(hosts: Iterable[Mapping[str, Any]], robots: Iterable[Mapping[str, Any]]) -> list[Alarm]:
    """Alarms about hosts whose every answer was 402, 403 or 429, those with the most first.

    `robots` are the newest robots.txt files of hosts without an answer about a page: they stand for the host.
    """
    counts = {
        row["host"]: row["refusals"]
        for row in hosts
        if row["refusals"] and row["refusals"] == row["answers"] and not row["fetched"]
    }
    worst = sorted(counts, key=lambda host: (-counts[host], host))
    lines = [
        f"{host} refuses the robot: its only answer was 402, 403 or 429"
        if counts[host] == 1
        else f"{host} refuses the robot: all of its {counts[host]} answers were 402, 403 or 429"
        for host in worst
    ]
    refused = sorted((row["host"], row["status"]) for row in robots if row["status"] in REFUSALS)
    lines += [f"{host} refuses the robot: its robots.txt answers {status}" for host, status in refused]
    return _first("refusals", lines, "more hosts refuse the robot")


def seed_alarms(seeds: Iterable[Mapping[str, Any]]) -> list[Alarm]:
    """Alarms about seeds whose last visit failed; takes their rows of table urls."""
    rows = sorted(seeds, key=lambda row: str(row["url"]))
    lines = [
        f"seed {row['url']} failed: {_meaning(row['reason'], row['last_status'])}"
        + ("; it is tried again" if row["state"] == "due" else "")
        + (f", {row['redirect_to']}, of which no page came" if row["state"] == "redirected" else "")
        for row in rows
    ]
    return _first("seeds", lines, "more seeds failed")


def sitemap_alarms(sitemaps: Iterable[Mapping[str, Any]]) -> list[Alarm]:
    """Alarms about sitemaps whose last visit failed; takes these visits."""
    rows = sorted(sitemaps, key=lambda row: str(row["url"]))
    lines = [f"sitemap {row['url']} failed: {_meaning(row['outcome'], row['status'])}" for row in rows]
    return _first("sitemaps", lines, "more sitemaps failed")


def _meaning(reason: str, status: int | None) -> str:
    """Why a visit failed: the status if the outcome is about one, else the meaning of the outcome."""
    if status is not None and reason in (Outcome.GONE, Outcome.CLIENT_ERROR, Outcome.SERVER_ERROR):
        return f"status {status_words(status)}"
    return MEANINGS.get(reason, "its host failed too often" if reason == DEAD_HOST else reason)


def robots_alarms(failing: Iterable[Mapping[str, Any]], hosts: int) -> list[Alarm]:
    """An alarm if the last request of more than a share of the hosts failed for their robots.txt."""
    count = sum(bool(row["failures_in_row"]) and row["held_by"] == "robots" for row in failing)
    if count <= ROBOTS_SHARE * hosts:
        return []
    return [Alarm("robots", f"robots.txt of {count} of {hosts} hosts cannot be fetched")]


def rate_alarms(manifests: Sequence[Manifest]) -> list[Alarm]:
    """An alarm if the last fetch step was much slower than the median of those before; short ones do not count."""
    rates = [rate for m in manifests if m.step == "fetch" and (rate := _rate(m)) is not None]
    *earlier, last = [0.0, *rates]
    earlier = earlier[1:][-RATE_ROUNDS:]
    if not earlier or last >= (usual := statistics.median(earlier)) * RATE_SHARE:
        return []
    return [Alarm("rate", f"the last round had {last:.1f} visits a second, the rounds before {usual:.1f}")]


def _rate(manifest: Manifest) -> float | None:
    """Visits per second of a fetch step; None if there were fewer than RATE_PAGES."""
    visits = manifest.counters.get("visits_rows", 0) - manifest.counters.get(Outcome.DEFERRED, 0)
    if visits < RATE_PAGES:
        return None
    return visits / manifest.seconds if manifest.seconds > 0 else None


def parse_alarms(unparsed: int, without_rules: int) -> list[Alarm]:
    """Alarms about documents that could not be parsed, and those to which rules were not applied."""
    found = (
        ("parse_errors", "parse_error", unparsed, "could not be parsed"),
        ("extract_errors", "extract_error", without_rules, "reached a bound of [[extract]] or [[main]]"),
    )
    query = "select url, facts['{0}'] from documents where facts['{0}'] is not null"
    return [
        Alarm(kind, f'{counted(documents, "document")} {what}; sql DIR "{query.format(fact)}" says why')
        for kind, fact, documents, what in found
        if documents
    ]


def trap_alarms(traps: Iterable[Trap], directory: str) -> list[Alarm]:
    """Alarms about traps, those with the most held and waiting URLs first."""
    worst = sorted(traps, key=lambda trap: (-trap["held"] - trap["waiting"], trap["host"], trap["name"]))
    held, waiting = (sum(trap[which] for trap in worst[_NAMED:]) for which in ("held", "waiting"))
    rest = f"more traps: {waiting} URLs wait and {held} are held; status --json names them"
    return _first("traps", [trap_line(trap, directory) for trap in worst], rest)


def too_long_alarms(rejections: Iterable[Mapping[str, Any]]) -> list[Alarm]:
    """Alarms about hosts with links to over-long URLs, those with the most first; takes rows of rejections."""
    counts: dict[str, int] = {}
    samples: dict[str, str] = {}
    for row in rejections:
        if row["reason"] == "too_long":
            counts[row["host"]] = counts.get(row["host"], 0) + row["count"]
            samples[row["host"]] = row["samples"][0]
    worst = sorted(counts, key=lambda host: (-counts[host], host))
    lines = [f"{host}: {counts[host]} links to over-long URLs, such as {samples[host][:80]}…" for host in worst]
    return _first("too_long", lines, "more hosts have over-long URLs")


def disk_alarms(free: int, total: int) -> list[Alarm]:
    """An alarm if a disk is nearly full; `free` and `total` are bytes."""
    if free >= DISK_SHARE * total:
        return []
    return [Alarm("disk", f"the disk is nearly full: {free / 1e9:.1f} of {total / 1e9:.1f} GB are free")]


def clock_alarms(manifests: Sequence[Manifest], now: datetime) -> list[Alarm]:
    """An alarm if a step has ended in the future."""
    step = step_ahead(manifests, now)
    return [Alarm("clock", in_words(step, now))] if step else []


def _first(kind: str, lines: Sequence[str], rest: str) -> list[Alarm]:
    more = [f"{len(lines) - _NAMED} {rest}"] if len(lines) > _NAMED else []
    return [Alarm(kind, text) for text in (*lines[:_NAMED], *more)]
