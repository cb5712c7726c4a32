"""The context of all visits of a round, and the rows that they yield."""

import dataclasses
from collections.abc import Callable, Mapping
from datetime import datetime, timedelta
from typing import NamedTuple

from ..frontier.priority import EQUAL, Quota
from ..http.client import Client
from ..http.dns import Names
from ..http.request_headers import Identity
from ..settings import Fetch, Limits, Politeness, Traps
from ..tables.schemas import HostRow, RobotsRow, VisitRow
from .host_queue import BrowserRules

CHECK_INTERVAL = timedelta(seconds=0.5)
"""Interval at which a scheduler checks for the stop file."""


class Event(NamedTuple):
    """A row for one of the tables, as the scheduler emits it."""

    table: str  # visits, robots or host_turns
    row: VisitRow | RobotsRow | HostRow


@dataclasses.dataclass(frozen=True)
class VisitContext:
    """The context of all visits of a round."""

    politeness: Politeness
    limits: Limits
    fetch: Fetch
    traps: Traps
    identity: Identity
    round: int
    deadline: datetime | None  # None: `limits.round_time` after a worker starts
    requests_before: datetime | None  # an attempt that did not commit may have sent requests to any host until then
    # Called once per bundle; the result opens a client for a host.
    opener: Callable[[Names], Callable[[BrowserRules], Client]]
    name_ready_at: Mapping[str, datetime] = dataclasses.field(default_factory=dict)  # `backoff.by_name`
    quota: Quota = EQUAL  # of the priority classes in the budget of a host
    secret: bytes = b""  # of the crawl: no site can foresee which URLs of a throttled template are sampled
    emits_moved: bool = False  # emit hosts whose robots.txt redirects to another domain as `Moved`
    root: str = ""  # of the crawl directory
    attempt: str = ""  # the name of its durable pieces
    progress: str | None = None  # file prefix of progress reports; None: no reports
    stop_file: str | None = None  # once it exists, no further request starts
