"""Per-host backoff state: the delay before the next request, in this round and in later ones.

Pure functions; randomness is an argument. All waits are in seconds.
"""

import dataclasses
from collections.abc import Collection, Iterable
from datetime import datetime, timedelta
from typing import NamedTuple, cast

from ..outcomes import NO_ADDRESS, Outcome
from ..settings import Limits, Politeness
from ..tables.schemas import HostRow
from ..urls.canonical import host_name

NO_ANSWER = frozenset({Outcome.TIMEOUT, Outcome.CONNECT_ERROR, Outcome.TLS_ERROR})

HOST_FAILURES = NO_ANSWER | NO_ADDRESS | {Outcome.TOO_MANY_REQUESTS, Outcome.SERVER_ERROR, Outcome.UNREACHABLE_ROBOTS}
"""Outcomes that concern the host, not the URL, and so cause a backoff (docs/politeness.md)."""

BLAMED_ON_TEMPLATES = frozenset(
    {Outcome.TOO_MANY_REQUESTS, Outcome.SERVER_ERROR, Outcome.TIMEOUT, Outcome.CONNECT_ERROR}
)
"""Outcomes after which URLs of other templates are requested first: some paths may fail while others work."""

TEMPLATE = "template"
"""The reason for the delay after the first failure of a host, while URLs of other templates wait."""

REFUSED = "refused"
"""The reason for the delay of a host whose addresses the settings do not allow."""

SILENT = frozenset({"dead", "dns", REFUSED, "robots"})
"""The reasons for the long delays of hosts of which nothing was heard."""

_LONGEST = timedelta(days=1)  # `politeness.longest_backoff`, by default

_MOST_DOUBLINGS = 40  # exceeds every maximum wait without float overflow


@dataclasses.dataclass(frozen=True, slots=True)
class HostState:
    """The part of a host's history that determines its next delay."""

    failures: int = 0  # since its last answer: failed requests, of failing templates of a host that works one each
    elapsed_s: float = 0.0  # response time of the last request; during failures, the longest since the first
    crawl_delay: float = 0.0  # the maximum over the robots.txt files of its origins


class Rest(NamedTuple):
    """The delay before a host's next request, counted from its last response, and the reason for its length."""

    seconds: float
    why: str  # delay, crawl_delay, response_time; backoff, template, dead, dns, refused, robots, retry_after


def may_be_of_template(outcome: Outcome, retry_after: float | None) -> bool:
    """Return whether a failure may concern some paths only.

    A refused connection says nothing about a path. 429 and Retry-After are the host's word about all requests.
    """
    return outcome in (Outcome.SERVER_ERROR, Outcome.TIMEOUT) and retry_after is None


def after(state: HostState, outcome: Outcome, elapsed_s: float, is_counted: bool = True) -> HostState:
    """Return the state after a request. A success resets the failure count; a fast error does not shorten the delay.

    A failure that is not counted is one of those so far (`UrlQueue.failed`), so that there is at least one.
    """
    if outcome in HOST_FAILURES:
        failures, elapsed_s = max(1, state.failures + is_counted), max(state.elapsed_s, elapsed_s)
        return dataclasses.replace(state, failures=failures, elapsed_s=elapsed_s)
    return dataclasses.replace(state, failures=0, elapsed_s=elapsed_s)


def usual_rest(state: HostState, politeness: Politeness) -> Rest:
    """Return the delay after a success: the maximum of `delay`, Crawl-delay and the response-time delay."""
    waits = (
        Rest(politeness.delay, "delay"),
        Rest(state.crawl_delay, "crawl_delay"),
        Rest(politeness.response_factor * state.elapsed_s, "response_time"),
    )
    return max(waits, key=lambda wait: wait.seconds)


def rest(state: HostState, outcome: Outcome, retry_after: float | None, politeness: Politeness, jitter: float) -> Rest:
    """Return the delay after a request that left the host in this state.

    `jitter` is a random number from 0 to 1: it lengthens a backoff by up to half, so that hosts that failed together
    are not retried together. A wait is never shorter than Retry-After, within the bound.
    """
    waits = [usual_rest(state, politeness)]
    if outcome in HOST_FAILURES:
        backoff = _backoff(state.failures, outcome, politeness)
        waits.append(backoff._replace(seconds=min(backoff.seconds * (1 + jitter / 2), politeness.longest_backoff)))
        if retry_after is not None:
            waits.append(Rest(min(retry_after, politeness.longest_backoff), "retry_after"))
    longest = max(waits, key=lambda wait: wait.seconds)
    # Whatever makes the delay so long, the host has named a time: it holds for all ports of its name.
    return longest._replace(why="retry_after") if retry_after is not None and longest.why in SILENT else longest


def _backoff(failures: int, outcome: Outcome, politeness: Politeness) -> Rest:
    if outcome in NO_ADDRESS:  # three tries take an hour at least, so that an outage of the resolver ends no URL
        first, doublings, why = 2 * politeness.dead_backoff, failures - 1, "dns"
        why = REFUSED if outcome is Outcome.BLOCKED_ADDRESS else why
    elif outcome is Outcome.UNREACHABLE_ROBOTS:
        first, doublings, why = politeness.robots_backoff, failures - 1, "robots"
    elif outcome in NO_ANSWER and failures >= politeness.dead_after:
        first, doublings, why = politeness.dead_backoff, failures - politeness.dead_after, "dead"
    else:
        first, doublings, why = politeness.backoff, failures - 1, "backoff"
    return Rest(first * 2.0 ** min(doublings, _MOST_DOUBLINGS), why)


_PATIENCE_S = 5.0
_BACKOFF_PATIENCE_S = 1.0  # about the cost of the next round
_BACKOFFS = SILENT | {"backoff", TEMPLATE, "retry_after"}


def patience(held_by: str | None, politeness: Politeness) -> float:
    """Return the seconds that an otherwise idle round waits for a host; `held_by` is the reason for the host's delay.

    For an ordinary delay 5, or twice the configured delay if that is longer, and for the delay after the failure of a
    single template; for any other backoff 1. A host that is not ready by then is deferred, so that a round never lasts
    as long as a backoff or a long Crawl-delay (docs/selection.md).
    """
    if is_backoff(held_by) and held_by != TEMPLATE:
        return _BACKOFF_PATIENCE_S
    return max(_PATIENCE_S, 2 * politeness.delay, 2 * (politeness.shared_delay or 0.0))


def is_backoff(held_by: str | None) -> bool:
    """Return whether a host waits because it failed or asked for it with Retry-After, not for its ordinary delay."""
    return held_by in _BACKOFFS


def shared_rest(state: HostState, politeness: Politeness) -> float:
    """Return the delay for all hosts that share a queue, after a response of one of them."""
    own = politeness.delay if politeness.shared_delay is None else politeness.shared_delay
    return max(own, politeness.response_factor * state.elapsed_s)


_STATE_NAMES = "host round last_fetched_at last_elapsed_ms failures_in_row crawl_delay not_before held_by visits"
STATE_COLUMNS = _STATE_NAMES.split()
"""The columns of table hosts that initialize a host's next turn."""


def host_state(row: HostRow | None) -> HostState:
    """Return the state in a row of table hosts; the initial state for None."""
    if row is None:
        return HostState()
    return HostState(row["failures_in_row"] or 0, (row["last_elapsed_ms"] or 0.0) / 1000, row["crawl_delay"] or 0.0)


def ready_at(row: HostRow | None, politeness: Politeness) -> datetime | None:
    """Return the time of the next allowed request by a host's row of table hosts; None if a request is allowed now.

    A delay stored by an earlier run still applies; so does a delay that has been configured longer since.
    """
    if row is None:
        return None
    answered = row["last_fetched_at"]
    moments = (row["not_before"], answered and answered + timedelta(seconds=politeness.delay))
    return max((moment for moment in moments if moment), default=None)


def settled(row: HostRow, now: datetime, seen_since: datetime) -> HostRow:
    """Return a row of table hosts whose delay starts at `seen_since` at the latest if it starts in the future.

    It lasts as long as before; a delay without a start, at most a day from then on.
    """
    start, end = row["last_fetched_at"], row["not_before"]
    if start and start > now:
        end = end and seen_since + max(end - start, timedelta())
        return cast(HostRow, {**row, "last_fetched_at": seen_since, "not_before": end})
    if not start and end and end > (latest := now + _LONGEST):
        return cast(HostRow, {**row, "not_before": min(end, seen_since + (latest - now))})
    return row


def name_ready_at(row: HostRow, politeness: Politeness) -> datetime | None:
    """Return the time of the next allowed request to the other ports of a host's name, by its row of table hosts.

    What a port has asked for holds for all of them; that nothing listens there, only for itself.
    """
    if row["held_by"] not in SILENT:
        return ready_at(row, politeness)
    answered = row["last_fetched_at"]
    return answered and answered + timedelta(seconds=usual_rest(host_state(row), politeness).seconds)


def by_name(rows: Iterable[HostRow], politeness: Politeness) -> dict[str, datetime]:
    """Return the names whose hosts have rows of table hosts, each with the latest `name_ready_at`."""
    until: dict[str, datetime] = {}
    for row in rows:
        if moment := name_ready_at(row, politeness):
            name = host_name(row["host"])
            until[name] = max(moment, until.get(name, moment))
    return until


def without_refusal(row: HostRow, rounds: Collection[int]) -> HostRow:
    """Return a row of table hosts without the delay after a refused address, if its round is among `rounds`.

    These are rounds with other settings than now: what was refused then may be allowed.
    """
    if row["held_by"] == REFUSED and row["round"] in rounds:
        return cast(HostRow, {**row, "not_before": None, "held_by": None})
    return row


def budget(limits: Limits, state: HostState, politeness: Politeness, seconds: float, ports: int = 1) -> int:
    """Return how many pages of a host fit into the remaining seconds of a round, at least one.

    The budget accounts for delays and response times, so no host prolongs the round (docs/selection.md). So many ports
    of a name share its budget.
    """
    return max(1, _budget(limits, state, politeness, seconds) // ports)


def _budget(limits: Limits, state: HostState, politeness: Politeness, seconds: float) -> int:
    if limits.max_seconds_per_host:
        seconds = min(seconds, limits.max_seconds_per_host)
    each = usual_rest(state, politeness).seconds + state.elapsed_s
    most = limits.max_pages_per_host_per_round
    return most if each <= 0 else min(most, 1 + int(min(max(seconds, 0.0) / each, most)))
