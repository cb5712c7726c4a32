"""The hosts that may not be requested yet, from table hosts: reads the rows of these hosts only."""

from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta
from typing import NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from ..transforms.politeness.backoff import STATE_COLUMNS, patience, ready_at
from ..transforms.politeness.host_stats import newest_row
from ..transforms.settings import Politeness
from ..transforms.storage.key_scan import Wanted, matching_rows
from ..transforms.storage.schemas import HOSTS, TIME, HostRow
from ..transforms.storage.table_files import open_parquet, statistics


class Held(NamedTuple):
    """Hosts that may not be requested yet."""

    until: dict[str, datetime]
    not_due: frozenset[str]  # those that a round does not wait for
    failing: frozenset[str]  # those whose last request failed


def held_hosts(
    root: str, paths: Sequence[str], promised: Sequence[HostRow], politeness: Politeness, now: datetime
) -> Held:
    """Return the hosts that may not be requested yet, by their newest rows in hosts files and among the promises."""
    rows: dict[str, HostRow] = {}
    waiting = {host for path in paths for host in _may_wait(root, path, politeness, now)}
    wanted = Wanted("host", sorted(waiting | {row["host"] for row in promised}))
    tables = (table for path in paths for table in matching_rows(root, path, HOSTS, wanted, STATE_COLUMNS))
    for row in (*(row for table in tables for row in table.to_pylist()), *promised):
        known = rows.get(row["host"])
        rows[row["host"]] = newest_row([known, row] if known else [row]) or row
    times = {host: ready_at(row, politeness) for host, row in rows.items()}
    until = {host: time for host, time in times.items() if time and time > now}
    return Held(
        until,
        frozenset(h for h, t in until.items() if (t - now).total_seconds() > patience(rows[h]["held_by"], politeness)),
        frozenset(host for host in until if rows[host]["failures_in_row"]),
    )


def _may_wait(root: str, path: str, politeness: Politeness, now: datetime) -> Iterator[str]:
    """Yield the hosts of which a row of the file, the newest or not, forbids a request now (`backoff.ready_at`)."""
    moments = {"not_before": now, "last_fetched_at": now - timedelta(seconds=politeness.delay)}
    with open_parquet(root, path) as file:
        for group in range(file.num_row_groups):
            latest = {name: statistics(file, group, name) for name in moments}
            if all(found and (not found.has_min_max or found.max <= moments[n]) for n, found in latest.items()):
                continue
            rows = file.read_row_group(group, ["host", *moments], use_threads=False)
            later = [pc.fill_null(pc.greater(rows[n], pa.scalar(m, TIME)), False) for n, m in moments.items()]
            yield from rows.filter(pc.or_(*later))["host"].to_pylist()
