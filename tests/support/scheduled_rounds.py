"""Rounds of a scheduler over hosts that are simulated, and what such a round emits."""

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from beamtrawl.transforms.frontier.selection import Due
from beamtrawl.transforms.politeness.context import Event
from beamtrawl.transforms.politeness.host_queue import HostTurn
from beamtrawl.transforms.politeness.scheduler import HostScheduler
from beamtrawl.transforms.politeness.url_queue import UrlQueue
from beamtrawl.transforms.robots.lookup import Robots
from beamtrawl.transforms.urls.canonical import host, url_key
from tests.support.contexts import visit_context
from tests.support.servers import Servers
from tests.support.simulation import SimulatedTime


def due(url: str, **fields: Any) -> Due:
    return Due(url_key(url), url, host(url), 0, 1.0, None, None, None, 0, 0, 0)._replace(**fields)


def pages(name: str, count: int) -> list[str]:
    return [f"http://{name}/{n}" for n in range(count)]


class Round:
    """A scheduler with the URLs of some hosts, and what it emits; in simulated time, unless it is to have threads."""

    def __init__(
        self,
        servers: Servers,
        *queues: list[str],
        seconds: float = 30.0,
        robots: Mapping[str, Robots] | None = None,
        last_good: Mapping[str, Robots] | None = None,
        ready_at: float = 0.0,
        held: Mapping[str, datetime] | None = None,
        progress: Path | None = None,
        stop_file: Path | None = None,
        threads: bool = False,
        waiting: Mapping[str, Any] | None = None,
        **changes: Any,
    ) -> None:
        self.time = servers.simulated = None if threads else SimulatedTime()
        now = self.time.utc() if self.time else datetime.now(UTC)
        context = visit_context(
            servers.open_client,
            changes,
            round_=3,
            deadline=now + timedelta(seconds=seconds),
            progress=str(progress) if progress else None,
            stop_file=str(stop_file) if stop_file else None,
        )
        if self.time:
            self.scheduler = HostScheduler(context, held or {}, clock=self.time, calls=self.time)
        else:
            self.scheduler = HostScheduler(context, held or {})
        for queue in queues:
            rows = [due(url, **(waiting or {})) for url in queue]  # `waiting`: columns of the frontier, for all
            turn = HostTurn(host(queue[0]), UrlQueue(rows), dict(robots or {}), dict(last_good or {}))
            turn.ready_at = ready_at
            self.scheduler.add(turn.host, [turn])

    def run(self) -> list[Event]:
        """All events to the end; URLs of visits are each there once."""
        try:
            events = list(self.scheduler.pump(wait=True))
        finally:
            self.scheduler.close()
        visits = [event.row["url"] for event in events if event.table == "visits"]
        assert len(visits) == len(set(visits))
        return events


def outcomes(events: list[Event]) -> dict[str, str]:
    """How the visit of each URL ended."""
    return {event.row["url"]: event.row["outcome"] for event in events if event.table == "visits"}


def turns(events: list[Event]) -> dict[str, dict[str, Any]]:
    """The turn of each host."""
    return {event.row["host"]: event.row for event in events if event.table == "host_turns"}


def shared_round(servers: Servers, **changes: Any) -> list[Event]:
    """Three hosts in one queue, and one alone."""
    round_ = Round(servers, pages("alone.test", 3), **changes)
    three = [HostTurn(f"h{n}.test", UrlQueue(map(due, pages(f"h{n}.test", 3)))) for n in range(3)]
    round_.scheduler.add("shared", three)
    return round_.run()
