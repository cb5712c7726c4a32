"""How we stand with a host: what an answer means for the next request, in this round and in later ones.

Pure: every function takes the values that it judges, randomness included. All waits are seconds.
"""

import dataclasses
from datetime import datetime, timedelta
from typing import NamedTuple

from ..outcomes import Outcome
from ..settings import Limits, Politeness
from ..storage.schemas import HostRow

NO_ANSWER = frozenset({Outcome.TIMEOUT, Outcome.DNS_ERROR, Outcome.CONNECT_ERROR, Outcome.TLS_ERROR})

HOST_FAILURES = NO_ANSWER | {Outcome.SERVER_ERROR, Outcome.UNREACHABLE_ROBOTS}
"""Outcomes that say something about the host, not the URL: it is left alone for a while (SPEC C7)."""

_MOST_DOUBLINGS = 40  # beyond every longest wait, and no float overflows


@dataclasses.dataclass(frozen=True)
class HostState:
    """What of a host's past counts for its next request."""

    failures: int = 0  # requests in a row that came to trouble
    elapsed_s: float = 0.0  # what its last answer took; while there is trouble, the longest since it began
    crawl_delay: float = 0.0  # the longest of its origins' robots.txt


class Rest(NamedTuple):
    """How long a host is left alone, counted from its answer, and the reason that made it so long."""

    seconds: float
    why: str  # delay, crawl_delay, response_time; backoff, dead, robots, retry_after


def after(state: HostState, outcome: Outcome, elapsed_s: float) -> HostState:
    """The state after a request. One good answer forgives all failures; a quick error speeds nothing up."""
    if outcome in HOST_FAILURES:
        failures, elapsed_s = state.failures + 1, max(state.elapsed_s, elapsed_s)
        return dataclasses.replace(state, failures=failures, elapsed_s=elapsed_s)
    return dataclasses.replace(state, failures=0, elapsed_s=elapsed_s)


def usual_rest(state: HostState, politeness: Politeness) -> Rest:
    """The rest when all is well: the largest of our delay, the host's, and what it has time for (SPEC C8)."""
    waits = (
        Rest(politeness.delay, "delay"),
        Rest(state.crawl_delay, "crawl_delay"),
        Rest(politeness.response_factor * state.elapsed_s, "response_time"),
    )
    return max(waits, key=lambda wait: wait.seconds)


def rest(state: HostState, outcome: Outcome, retry_after: float | None, politeness: Politeness, jitter: float) -> Rest:
    """The rest after a request that left the host in this state.

    `jitter` is a random number from 0 to 1: it makes a backoff up to half as long again, so that hosts that failed
    together are not asked again together. A wait is never shorter than what Retry-After asks for, within the bound.
    """
    waits = [usual_rest(state, politeness)]
    if outcome in HOST_FAILURES:
        backoff = _backoff(state.failures, outcome, politeness)
        waits.append(backoff._replace(seconds=min(backoff.seconds * (1 + jitter / 2), politeness.longest_backoff)))
        if retry_after is not None:
            waits.append(Rest(min(retry_after, politeness.longest_backoff), "retry_after"))
    return max(waits, key=lambda wait: wait.seconds)


def _backoff(failures: int, outcome: Outcome, politeness: Politeness) -> Rest:
    if outcome is Outcome.UNREACHABLE_ROBOTS:
        first, doublings, why = politeness.robots_backoff, failures - 1, "robots"
    elif outcome in NO_ANSWER and failures >= politeness.dead_after:
        first, doublings, why = politeness.dead_backoff, failures - politeness.dead_after, "dead"
    else:
        first, doublings, why = politeness.backoff, failures - 1, "backoff"
    return Rest(first * 2.0 ** min(doublings, _MOST_DOUBLINGS), why)


_PATIENCE_S = 5.0
_BACKOFF_PATIENCE_S = 1.0  # about what the next round costs
_BACKOFFS = frozenset({"backoff", "dead", "robots", "retry_after"})


def patience(held_by: str | None, politeness: Politeness) -> float:
    """How many seconds a round that has nothing else to do waits for a host; `held_by` is what holds the host.

    Five, or twice our own delay if that is longer, for an ordinary pause; one for a backoff. A host that is not ready
    by then is deferred, so that a round never lasts as long as a backoff or a long Crawl-delay (SPEC B4).
    """
    if held_by in _BACKOFFS:
        return _BACKOFF_PATIENCE_S
    return max(_PATIENCE_S, 2 * politeness.delay, 2 * (politeness.shared_delay or 0.0))


def shared_rest(state: HostState, politeness: Politeness) -> float:
    """The rest of all hosts that share a queue, after an answer of one of them."""
    own = politeness.delay if politeness.shared_delay is None else politeness.shared_delay
    return max(own, politeness.response_factor * state.elapsed_s)


STATE_COLUMNS = (
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


def host_state(row: HostRow | None) -> HostState:
    """The state that a row of table hosts keeps; a host without one starts anew."""
    if row is None:
        return HostState()
    return HostState(row["failures_in_row"] or 0, (row["last_elapsed_ms"] or 0.0) / 1000, row["crawl_delay"] or 0.0)


def ready_at(row: HostRow | None, politeness: Politeness) -> datetime | None:
    """When a host may be asked next, by its row of table hosts; None if nothing speaks against now.

    What an earlier run has promised holds; a delay that was made longer since then holds as well.
    """
    if row is None:
        return None
    answered = row["last_fetched_at"]
    moments = (row["not_before"], answered and answered + timedelta(seconds=politeness.delay))
    return max((moment for moment in moments if moment), default=None)


def budget(limits: Limits, state: HostState, politeness: Politeness, seconds: float) -> int:
    """How many pages of a host fit into the seconds that a round has left for it, at least one.

    No host is given more than its rests and answers leave time for, so none can hold the round up (SPEC B4).
    """
    if limits.max_seconds_per_host:
        seconds = min(seconds, limits.max_seconds_per_host)
    each = usual_rest(state, politeness).seconds + state.elapsed_s
    if each <= 0:
        return limits.max_pages_per_host
    return min(limits.max_pages_per_host, 1 + int(min(max(seconds, 0.0) / each, limits.max_pages_per_host)))
