"""Rows of table hosts: the result of a host's turn, and sums over turns."""

import dataclasses
import math
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from operator import itemgetter
from typing import cast

from ..http.reply import Reply
from ..outcomes import REQUESTED, Outcome
from ..tables.newest import newest
from ..tables.schemas import HostRow
from .backoff import HOST_FAILURES, HostState

_BUCKETS = 18  # of response times: below 1, 2, 4, … milliseconds; the last holds all above a minute
_MOST_ADDRESSES = 8
REFUSALS = (402, 403, 429)
"""The statuses with which a host refuses the robot."""
EMPTY_LATENCY = (0,) * _BUCKETS


@dataclasses.dataclass(slots=True)
class Tally:
    """Counters of a host's turn so far."""

    visits: int = 0
    requests: int = 0  # including those for robots.txt
    fetched: int = 0
    failures: int = 0
    bytes: int = 0
    elapsed_s: float = 0.0  # seconds, summed over the requests
    latency: list[int] = dataclasses.field(default_factory=list)  # by bucket; empty without a request
    addresses: dict[str, None] = dataclasses.field(default_factory=dict)
    last_answer: datetime | None = None  # also one before the turn: rows of a host are ordered by it
    answers: int = 0  # to requests for pages
    refusals: int = 0
    has_waited: bool = False  # URLs without a visit

    @property
    def is_any(self) -> bool:
        """Whether the turn took place."""
        return bool(self.visits or self.requests or self.has_waited)

    def visit(self, outcome: Outcome, status: int | None) -> None:
        """Count a completed visit, and its answer if there was one."""
        self.visits += 1
        self.answers += status is not None
        self.refusals += status in REFUSALS
        self.fetched += outcome in (Outcome.FETCHED, Outcome.NOT_MODIFIED)

    def request(self, outcome: Outcome, reply: Reply, now: datetime) -> None:
        """Count a request to the host."""
        if outcome in REQUESTED:
            self.requests += 1
            self.elapsed_s += reply.elapsed_s
            self.latency = self.latency or list(EMPTY_LATENCY)
            self.latency[_bucket(reply.elapsed_s * 1000)] += 1
            self.last_answer = now
        self.failures += outcome in HOST_FAILURES
        self.bytes += len(reply.body)
        if reply.address:
            self.addresses[reply.address] = None


def _bucket(milliseconds: float) -> int:
    return min(max(0, math.frexp(milliseconds)[1]), _BUCKETS - 1)


def turn_row(
    host: str, round_: int, tally: Tally, state: HostState, not_before: datetime | None, held_by: str | None
) -> HostRow:
    """Return the row of table turns for a host's turn: the columns of table hosts, for this round alone."""
    latency = tally.latency or list(EMPTY_LATENCY)
    row = {
        "host": host,
        "round": round_,
        "visits": tally.visits,
        "requests": tally.requests,
        "fetched": tally.fetched,
        "failures": tally.failures,
        "bytes": tally.bytes,
        "elapsed_ms": tally.elapsed_s * 1000,
        "last_fetched_at": tally.last_answer,
        "latency": latency,
        **_percentiles(latency, tally.elapsed_s * 1000),
        "addresses": list(tally.addresses)[-_MOST_ADDRESSES:],
        "failures_in_row": state.failures,
        "last_elapsed_ms": state.elapsed_s * 1000,
        "crawl_delay": state.crawl_delay,
        "not_before": not_before,
        "held_by": held_by,
        "answers": tally.answers,
        "refusals": tally.refusals,
    }
    return cast(HostRow, row)


_SUMS = ("visits", "requests", "fetched", "failures", "bytes", "elapsed_ms", "answers", "refusals")
_LATEST = ("failures_in_row", "last_elapsed_ms", "crawl_delay", "not_before", "held_by")


def add_turn(earlier: HostRow, turn: HostRow) -> HostRow:
    """Return the row of table hosts after a turn: sums, and the state after the turn. `earlier` may be empty."""
    if not earlier:
        return turn
    latency = [a + b for a, b in zip(earlier["latency"] or [0] * _BUCKETS, turn["latency"], strict=True)]
    addresses = dict.fromkeys(
        [*(a for a in earlier["addresses"] or () if a not in turn["addresses"]), *turn["addresses"]]
    )
    sums = {name: (earlier[name] or 0) + (turn[name] or 0) for name in _SUMS}  # type: ignore[literal-required]
    latest = {name: turn[name] for name in _LATEST}  # type: ignore[literal-required]
    row = {
        "host": turn["host"],
        "round": turn["round"],
        **sums,
        "last_fetched_at": turn["last_fetched_at"] or earlier["last_fetched_at"],
        "latency": latency,
        **_percentiles(latency, sums["elapsed_ms"]),
        "addresses": list(addresses)[-_MOST_ADDRESSES:],
        **latest,
    }
    return cast(HostRow, row)


_NEVER = datetime.min.replace(tzinfo=UTC)


def newest_rows(rows: Iterable[HostRow]) -> dict[str, HostRow]:
    """Return the newest row of each host."""
    return newest(rows, itemgetter("host"), age_key)


def newest_row(rows: Iterable[HostRow]) -> HostRow | None:
    """Return the newest row of one host."""
    return next(iter(newest_rows(rows).values()), None)


def age_key(row: HostRow) -> tuple[int, datetime, datetime]:
    """Return the sort key of a host's rows: of several, the last is valid.

    What fails without a response (no address, a robots.txt that another host does not give) leaves the time of the last
    response as it was, and lengthens the delay.
    """
    return row["round"], row["last_fetched_at"] or _NEVER, row["not_before"] or _NEVER


def _percentiles(latency: Sequence[int], elapsed_ms: float) -> dict[str, float | None]:
    """Return percentiles from the buckets and the sum of the times, in milliseconds."""
    shares = {"latency_p50_ms": 0.5, "latency_p95_ms": 0.95}
    return {name: _percentile(latency, share, elapsed_ms) for name, share in shares.items()}


def _percentile(latency: Sequence[int], share: float, elapsed_ms: float) -> float | None:
    """The middle of the bucket, at most a factor of 1.42 off; the mean if all times are in one bucket."""
    wanted, seen = share * sum(latency), 0
    for bucket, count in enumerate(latency):
        seen += count
        if count and seen >= wanted:
            return elapsed_ms / count if count == sum(latency) else 2.0 ** (bucket - 0.5)
    return None
