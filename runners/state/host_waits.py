"""The hosts that may not be requested yet: until when, and why."""

import dataclasses
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, NamedTuple

from ...transforms.robots.rules import Verdict
from ..terminal.units import counted

Row = Mapping[str, Any]


@dataclasses.dataclass(frozen=True)
class HostWait:
    """A host that is not requested yet."""

    host: str
    until: float  # POSIX time
    held_by: str  # as in table hosts
    why: str  # in words
    urls: int  # of it that wait in the frontier


class RobotsFailure(NamedTuple):
    """A robots.txt that cannot be fetched."""

    answer: str  # its status, or the error
    since: datetime


def robots_failures(rows: Iterable[Row]) -> dict[str, RobotsFailure]:
    """Return the robots.txt files whose newest rows say that they cannot be fetched, by host.

    `rows` are all rows of table robots of these hosts; the failure began with the first of the last ones in a row.
    """
    found: dict[str, RobotsFailure] = {}
    by_origin: dict[str, RobotsFailure | None] = {}
    for row in sorted(rows, key=lambda row: row["fetched_at"]):
        failure = None
        if row["verdict"] == Verdict.UNREACHABLE:
            known = by_origin.get(row["origin"])
            answer = str(row["status"] or row["error"] or "no answer")
            failure = RobotsFailure(answer, known.since if known else row["fetched_at"])
            found[row["host"]] = failure
        elif by_origin.get(row["origin"]):
            found.pop(row["host"], None)
        by_origin[row["origin"]] = failure
    return found


def why(row: Row, robots: RobotsFailure | None = None) -> str:
    """Return in words why a host is not requested yet, by its row of table hosts."""
    failures = row["failures_in_row"] or 0
    times = f"{counted(failures, 'failure')} in a row"
    words = {
        "retry_after": "it asked to wait (Retry-After)",
        "backoff": times,
        "template": "a page failed; others wait for a moment",
        "dead": f"no answer, {times}",
        "dns": f"its name has no address, {times}",
        "refused": "its address is not allowed (fetch.allow_addresses)",
        "robots": f"its robots.txt cannot be fetched, {times}",
        "crawl_delay": f"Crawl-delay: {row['crawl_delay'] or 0:g}",
        "response_time": "its answers are slow",
        "delay": "the delay between requests",
    }
    said = words.get(row["held_by"], str(row["held_by"]))
    if robots is None or row["held_by"] not in ("robots", "retry_after"):
        return said
    failed = f"its robots.txt: {robots.answer} since {robots.since:%Y-%m-%d %H:%M:%S} UTC"
    return failed if row["held_by"] == "robots" else f"{said}; {failed}"


def waiting_rows(held: Iterable[Row], urls: Mapping[str, int]) -> list[Row]:
    """Return the rows, of hosts that may not be requested yet, of those with URLs, those with the most first."""
    return sorted((row for row in held if urls.get(row["host"])), key=lambda row: (-urls[row["host"]], row["host"]))


def host_waits(rows: Sequence[Row], urls: Mapping[str, int], robots: Iterable[Row]) -> list[HostWait]:
    """Return the waits of hosts with these rows of table hosts, and these of table robots."""
    failures = robots_failures(robots)
    return [
        HostWait(
            row["host"],
            row["not_before"].timestamp(),
            row["held_by"],
            why(row, failures.get(row["host"])),
            urls[row["host"]],
        )
        for row in rows
    ]


def wait_line(wait: HostWait) -> str:
    """Return one line on a host that is not requested yet."""
    until = f"{datetime.fromtimestamp(wait.until, UTC):%Y-%m-%d %H:%M:%S} UTC"
    return f"{wait.host} waits until {until}: {wait.why} ({counted(wait.urls, 'URL')})"
