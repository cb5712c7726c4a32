"""Decides what a crawl does between two rounds: fetch, wait or end."""

import dataclasses
from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta

from ..transforms.directory.crawl_dir import Manifest
from ..transforms.frontier.selection import NextRound
from ..transforms.outcomes import IMPORTED, REQUESTED, Outcome
from ..transforms.settings import Limits
from .control import End

LONGEST_WAIT = timedelta(seconds=60)
"""The longest wait of a crawl for URLs that become due; beyond it, the crawl ends and reports the due time."""

_IDLE_ROUNDS = 2  # in a row, after which a crawl ends: a further one would request nothing either
_ROUNDS_OF_ROBOTS = 10
"""In a row, after which a crawl ends: of hundreds of hosts without an answer, one is always due to be asked again."""


@dataclasses.dataclass(frozen=True)
class Run:
    """How far one run of a crawl is."""

    most_rounds: int | None = None
    rounds: int = 0  # fetched
    idle_rounds: int = 0  # the last ones, in which no request could start
    rounds_of_robots: int = 0  # the last ones, in which robots.txt was requested and no page
    has_waited: bool = False  # since the last round

    def after_wait(self) -> "Run":
        return dataclasses.replace(self, has_waited=True)

    def after_round(self, counters: Mapping[str, int], is_blocked: bool) -> "Run":
        """Return the run after a fetch step with these counters; `is_blocked`: a block was added meanwhile."""
        is_idle = not is_blocked and not counters.get("robots_rows")
        is_idle = is_idle and counters.get("visits_rows", 0) == counters.get(Outcome.DEFERRED, 0)
        has_robots, has_pages = counters.get("robots_rows"), any(counters.get(outcome) for outcome in REQUESTED)
        is_of_robots = has_robots and not has_pages and not is_blocked
        robots = self.rounds_of_robots + 1 if is_of_robots else 0
        return Run(self.most_rounds, self.rounds + 1, self.idle_rounds + 1 if is_idle else 0, robots)


@dataclasses.dataclass(frozen=True)
class Outlook:
    """When the URLs of a crawl may be requested, and what else waits."""

    coming: NextRound | None = None  # None: no URL waits, or all of them are blocked or excluded
    planned_at: datetime | None = None  # of the first planned revisit that is not in the frontier
    blocked: int = 0  # URLs that wait
    excluded: int = 0  # URLs that wait, by the settings
    refused: int = 0  # hosts whose addresses are refused
    only_external: bool = False  # the limit of pages is reached: only external targets are requested, and counted here
    full: int = 0  # URLs that wait, of hosts that had all visits that they may have


@dataclasses.dataclass(frozen=True)
class Fetch:
    """Fetch a round."""


@dataclasses.dataclass(frozen=True)
class Wait:
    """Wait for URLs that become due."""

    until: datetime


def pages_left(limits: Limits, manifests: Sequence[Manifest]) -> int | None:
    """Return the remaining visits under the limit of the crawl; None without a limit."""
    if not limits.max_pages:
        return None
    requested = [m.counters for m in manifests if m.step == "fetch" and IMPORTED not in m.counters]
    asked = sum(counters.get(outcome, 0) for counters in requested for outcome in REQUESTED)
    return max(0, limits.max_pages - asked)


def limit_reached(run: Run, is_stopped: bool, pages_left: int | None, checks_external: bool) -> str | None:
    """Return the reason why a run ends whatever waits: `stopped`, `rounds` or `max_pages`; None if it goes on.

    External targets do not count as pages: a crawl that checks them goes on with these alone.
    """
    if is_stopped:
        return "stopped"
    if run.most_rounds is not None and run.rounds >= run.most_rounds:
        return "rounds"
    return "max_pages" if pages_left == 0 and not checks_external else None


def decide(run: Run, outlook: Outlook, now: datetime) -> Fetch | Wait | End:
    """Return what a run does next that has reached no limit.

    It does not wait for longer than `LONGEST_WAIT`. Hosts that do not answer are waited for once a round
    (`selection.next_round`). URLs that were due in an idle round are not requested in the next one either.
    """
    coming, soon = outlook.coming, now + LONGEST_WAIT

    def end(reason: str, due_at: datetime | None = None) -> End:
        if outlook.only_external:
            return End("max_pages", run.rounds)
        blocked, excluded, refused, full = outlook.blocked, outlook.excluded, outlook.refused, outlook.full
        return End(reason, run.rounds, due_at, blocked=blocked, excluded=excluded, refused=refused, full=full)

    if outlook.planned_at is not None and (coming is None or coming.first > soon):
        return end("not_due", max(now, min(outlook.planned_at, coming.first if coming else outlook.planned_at)))
    if coming is None:
        return end("frontier_empty")
    if coming.first > soon:
        return end("not_due", coming.first)
    if run.idle_rounds >= _IDLE_ROUNDS or (run.idle_rounds and coming.first <= now):
        return end("not_due")
    if run.rounds_of_robots >= _ROUNDS_OF_ROBOTS:
        return end("not_due", max(now, coming.first))
    start = coming.first if run.has_waited else coming.start
    return Wait(start) if start > now else Fetch()
