"""The hosts that may not be requested yet, from table hosts: reads the rows of these hosts only."""

from collections.abc import Collection, Iterator, Sequence
from datetime import datetime, timedelta
from typing import NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from ..transforms.politeness import backoff
from ..transforms.politeness.host_stats import newest_rows
from ..transforms.settings import Limits, Politeness
from ..transforms.tables.key_scan import Wanted, matching_rows
from ..transforms.tables.schemas import HOSTS, TIME, HostRow
from ..transforms.tables.table_files import open_parquet, statistics

_LATELY = timedelta(minutes=2)  # longer than a crawl waits for hosts that do not answer


class Held(NamedTuple):
    """Hosts that may not be requested yet."""

    until: dict[str, datetime]
    names: dict[str, datetime]  # those without a port that may not be requested on any, as a host of theirs has said
    not_due: frozenset[str]  # those that a round does not wait for
    failing: frozenset[str]  # those whose last request failed
    refused: int  # hosts whose addresses were refused
    silent: frozenset[str]  # those that do not answer, also those that have been due for a short while


def held_hosts(
    root: str,
    paths: Sequence[str],
    promised: Sequence[HostRow],
    politeness: Politeness,
    now: datetime,
    other_rounds: Collection[int] = (),
    seen_since: datetime | None = None,
) -> Held:
    """Return the hosts that may not be requested yet, by their newest rows in hosts files and among the promises.

    A refusal in `other_rounds` does not count (`backoff.without_refusal`). Delays that start in the future start at
    `seen_since` (default: now).
    """
    waiting = {host for path in paths for host in _may_wait(root, path, politeness, now)}
    wanted = Wanted("host", sorted(waiting | {row["host"] for row in promised}))
    tables = (table for path in paths for table in matching_rows(root, path, HOSTS, wanted, backoff.STATE_COLUMNS))
    latest = newest_rows((*(row for table in tables for row in table.to_pylist()), *promised))
    start = seen_since or now
    rows = {
        host: backoff.without_refusal(backoff.settled(row, now, start), other_rounds) for host, row in latest.items()
    }
    times = {host: backoff.ready_at(row, politeness) for host, row in rows.items()}
    until = {host: time for host, time in times.items() if time and time > now}
    names = {name: time for name, time in backoff.by_name(rows.values(), politeness).items() if time > now}
    return Held(
        until,
        names,
        frozenset(
            h for h, t in until.items() if (t - now).total_seconds() > backoff.patience(rows[h]["held_by"], politeness)
        ),
        frozenset(host for host in until if rows[host]["failures_in_row"]),
        sum(rows[host]["held_by"] == backoff.REFUSED for host in until),
        frozenset(host for host, row in rows.items() if row["held_by"] in backoff.SILENT),
    )


def full_hosts(root: str, paths: Sequence[str], limits: Limits) -> frozenset[str]:
    """Return the hosts that had as many visits as the whole crawl may make to one; reads nothing without a limit."""
    if not (most := limits.max_pages_per_host_total):
        return frozenset()
    found = set[str]()
    for path in paths:
        with open_parquet(root, path) as file:
            rows = file.read(["host", "visits"], use_threads=False)  # a sum, which only grows
            found |= set(rows.filter(pc.greater_equal(rows["visits"], most))["host"].to_pylist())
    return frozenset(found)


def _may_wait(root: str, path: str, politeness: Politeness, now: datetime) -> Iterator[str]:
    """Yield the hosts of which a row of the file, the newest or not, forbids a request now (`backoff.ready_at`).

    Also those that do not answer and have been due for a short while.
    """
    moments = {"not_before": now, "last_fetched_at": now - timedelta(seconds=politeness.delay)}
    earliest = moments | {"not_before": now - _LATELY}
    with open_parquet(root, path) as file:
        for group in range(file.num_row_groups):
            latest = {name: statistics(file, group, name) for name in earliest}
            if all(found and (not found.has_min_max or found.max <= earliest[n]) for n, found in latest.items()):
                continue
            rows = file.read_row_group(group, ["host", "held_by", *moments], use_threads=False)
            later = [pc.fill_null(pc.greater(rows[n], pa.scalar(m, TIME)), False) for n, m in moments.items()]
            lately = pc.fill_null(pc.greater(rows["not_before"], pa.scalar(now - _LATELY, TIME)), False)
            lately = pc.and_(lately, pc.is_in(rows["held_by"], pa.array(backoff.SILENT, pa.string())))
            yield from rows.filter(pc.or_(pc.or_(*later), lately))["host"].to_pylist()
