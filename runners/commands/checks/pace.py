"""Keeps the delays between the requests that a single command sends to a host."""

import dataclasses
import time
from collections.abc import Callable
from datetime import UTC, datetime

from ....transforms.directory.crawl_dir import CrawlDir, files_of, next_step
from ....transforms.directory.pieces import attempts_prefix, find_leftovers
from ....transforms.politeness.adopted import state_rows
from ....transforms.politeness.backoff import STATE_COLUMNS, HostState, name_ready_at, usual_rest
from ....transforms.politeness.host_stats import newest_rows
from ....transforms.settings import Politeness
from ....transforms.urls.canonical import host_name
from ...terminal.errors import Failure

_LONGEST_S = 60.0
"""Seconds that a command waits for a host that a crawl has left alone; after a longer one it is told when to return."""


class Pace:
    """The times before which hosts get no further request: by the settings, robots.txt and the response times.

    `first` returns the seconds before the first request to a host.
    """

    def __init__(
        self,
        politeness: Politeness,
        first: Callable[[str], float] = lambda host: 0.0,
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self._politeness, self._first, self._clock, self._sleep = politeness, first, clock, sleep
        self._states: dict[str, HostState] = {}
        self._answered_at: dict[str, float] = {}

    def wait(self, host: str) -> None:
        """Return when the next request to a host may start; all ports of its name count."""
        port, host = host, host_name(host)
        if host in self._answered_at:
            rest = usual_rest(self._states[host], self._politeness).seconds
            left = self._answered_at[host] + rest - self._clock()
        else:
            left = self._first(port)
        if left > 0:
            self._sleep(left)

    def answered(self, host: str, elapsed_s: float) -> None:
        """Take note of an answer that took so long."""
        host = host_name(host)
        self._states[host] = dataclasses.replace(self._state(host), elapsed_s=elapsed_s)
        self._answered_at[host] = self._clock()

    def set_crawl_delay(self, host: str, seconds: float) -> None:
        """Take note of the Crawl-delay in a host's robots.txt; the largest of its ports counts."""
        host = host_name(host)
        seconds = max(seconds, self._state(host).crawl_delay)
        self._states[host] = dataclasses.replace(self._state(host), crawl_delay=seconds)

    def _state(self, host: str) -> HostState:
        return self._states.get(host, HostState())


def seconds_left(crawl: CrawlDir, host: str, now: datetime) -> float:
    """Return the seconds until a crawl would send a host the next request; 0 if it is not known.

    Failure if these are more than a minute: a backoff, or what the host asked for. A round under way counts, also one
    that is fetched and not updated yet, or whose program was killed.
    """
    if not (manifests := crawl.manifests()):
        return 0.0
    from ....transforms.sql.queries import query_arrow  # noqa: PLC0415 - DuckDB takes a while to import

    columns, step = ", ".join(STATE_COLUMNS), next_step(manifests)
    fetched = files_of((m for m in manifests if (m.step, m.round) == ("fetch", step.round)), "host_turns")
    under_way = find_leftovers(crawl, attempts_prefix(step))
    later = state_rows(crawl.root, under_way._replace(files=[*fetched, *under_way.files]))
    of_name = f"SELECT {columns} FROM hosts WHERE regexp_replace(host, ':[0-9]+$', '') = ?"
    known = query_arrow(crawl, of_name, [host_name(host)]).to_pylist()
    rows = newest_rows([*known, *(row for row in later if host_name(row["host"]) == host_name(host))])
    moments = [
        (moment.astimezone(UTC), row["held_by"])
        for name, row in rows.items()
        if (moment := row["not_before"] if name == host else name_ready_at(row, Politeness(delay=0.0)))
    ]
    if not moments:
        return 0.0
    until, why = max(moments, key=lambda one: one[0])
    left: float = (until - now).total_seconds()
    if left > _LONGEST_S:
        reason = f" ({why})" if why else ""
        raise Failure(f"{host} is not asked before {until:%Y-%m-%d %H:%M:%S} UTC{reason}; run the command then")
    return max(0.0, left)
