"""How we stand with a host: what an answer means for the next request, in this round and in later ones.

Pure: every function takes the values that it judges, randomness included. All waits are seconds.
"""

import dataclasses
from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any, NamedTuple

from ..outcomes import Outcome
from ..settings import Limits, Politeness

UNANSWERED = frozenset({Outcome.TIMEOUT, Outcome.DNS_ERROR, Outcome.CONNECT_ERROR, Outcome.TLS_ERROR})

TROUBLE = UNANSWERED | {Outcome.SERVER_ERROR, Outcome.UNREACHABLE_ROBOTS}
"""Outcomes that say something about the host, not the URL: it is left alone for a while (SPEC C7)."""

_MOST_DOUBLINGS = 40  # beyond every longest wait, and no float overflows


@dataclasses.dataclass(frozen=True)
class Standing:
    """What of a host's past counts for its next request."""

    failures: int = 0  # requests in a row that came to trouble
    elapsed: float = 0.0  # what its last answer took; while there is trouble, the longest since it began
    crawl_delay: float = 0.0  # the longest of its origins' robots.txt


class Rest(NamedTuple):
    """How long a host is left alone, counted from its answer, and the reason that made it so long."""

    seconds: float
    why: str  # delay, crawl_delay, response_time; backoff, dead, robots, retry_after


def after(standing: Standing, outcome: Outcome, elapsed: float) -> Standing:
    """The standing after a request. One good answer forgives all failures; a quick error speeds nothing up."""
    if outcome in TROUBLE:
        failures, elapsed = standing.failures + 1, max(standing.elapsed, elapsed)
        return dataclasses.replace(standing, failures=failures, elapsed=elapsed)
    return dataclasses.replace(standing, failures=0, elapsed=elapsed)


def usual_rest(standing: Standing, politeness: Politeness) -> Rest:
    """The rest when all is well: the largest of our delay, the host's, and what it has time for (SPEC C8)."""
    waits = (
        Rest(politeness.delay, "delay"),
        Rest(standing.crawl_delay, "crawl_delay"),
        Rest(politeness.response_factor * standing.elapsed, "response_time"),
    )
    return max(waits, key=lambda wait: wait.seconds)


def rest(standing: Standing, outcome: Outcome, retry_after: float | None, politeness: Politeness, luck: float) -> Rest:
    """The rest after a request that left the host in this standing.

    `luck` is a random number from 0 to 1: it makes a backoff up to half as long again, so that hosts that failed
    together are not asked again together. A wait is never shorter than what Retry-After asks for, within the bound.
    """
    waits = [usual_rest(standing, politeness)]
    if outcome in TROUBLE:
        backoff = _backoff(standing.failures, outcome, politeness)
        waits.append(backoff._replace(seconds=min(backoff.seconds * (1 + luck / 2), politeness.longest_backoff)))
        if retry_after is not None:
            waits.append(Rest(min(retry_after, politeness.longest_backoff), "retry_after"))
    return max(waits, key=lambda wait: wait.seconds)


def _backoff(failures: int, outcome: Outcome, politeness: Politeness) -> Rest:
    if outcome is Outcome.UNREACHABLE_ROBOTS:
        first, doublings, why = politeness.robots_backoff, failures - 1, "robots"
    elif outcome in UNANSWERED and failures >= politeness.dead_after:
        first, doublings, why = politeness.dead_backoff, failures - politeness.dead_after, "dead"
    else:
        first, doublings, why = politeness.backoff, failures - 1, "backoff"
    return Rest(first * 2.0 ** min(doublings, _MOST_DOUBLINGS), why)


def shared_rest(standing: Standing, politeness: Politeness) -> float:
    """The rest of all hosts that share a queue, after an answer of one of them."""
    own = politeness.delay if politeness.shared_delay is None else politeness.shared_delay
    return max(own, politeness.response_factor * standing.elapsed)


STANDING = (
    "host",
    "round",
    "last_fetched_at",
    "last_elapsed_ms",
    "failures_in_row",
    "crawl_delay",
    "not_before",
    "held_by",
)
"""The columns of table hosts from which a host's next turn starts."""


def standing_of(row: Mapping[str, Any] | None) -> Standing:
    """The standing that a row of table hosts keeps; a host without one starts anew."""
    if row is None:
        return Standing()
    return Standing(row["failures_in_row"] or 0, (row["last_elapsed_ms"] or 0.0) / 1000, row["crawl_delay"] or 0.0)


def ready_at(row: Mapping[str, Any] | None, politeness: Politeness) -> datetime | None:
    """When a host may be asked next, by its row of table hosts; None if nothing speaks against now.

    What an earlier run has promised holds; a delay that was made longer since then holds as well.
    """
    if row is None:
        return None
    answered = row["last_fetched_at"]
    moments = (row["not_before"], answered and answered + timedelta(seconds=politeness.delay))
    return max((moment for moment in moments if moment), default=None)


def budget(limits: Limits, standing: Standing, politeness: Politeness, seconds: float) -> int:
    """How many pages of a host fit into the seconds that a round has left for it, at least one.

    No host is given more than its rests and answers leave time for, so none can hold the round up (SPEC B4).
    """
    if limits.max_seconds_per_host:
        seconds = min(seconds, limits.max_seconds_per_host)
    each = usual_rest(standing, politeness).seconds + standing.elapsed
    if each <= 0:
        return limits.max_pages_per_host
    return min(limits.max_pages_per_host, 1 + int(min(max(seconds, 0.0) / each, limits.max_pages_per_host)))
