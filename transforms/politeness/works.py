"""Work items of a round: the due URLs of each host, and its known state."""

import functools
import pickle
from collections import Counter
from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Any, NamedTuple

from ..frontier.failed_templates import failed_last
from ..frontier.selection import Due, choose
from ..frontier.trap_budgets import Budgets
from ..robots.lookup import Robots, RobotsSearch, known_robots
from ..robots.rules import Verdict
from ..tables.schemas import HostRow, RobotsRow
from ..traps.allow_list import compile_allow_list
from ..traps.discovery import Known
from ..traps.novelty import unpack
from ..urls.canonical import host_name, origin
from . import backoff, host_queue
from .clock import SYSTEM_CLOCK, Clock, monotonic
from .context import VisitContext
from .host_stats import newest_row
from .url_queue import UrlQueue


class Work(NamedTuple):
    """The due URLs of a host in a round, and its known state."""

    host: str
    due: list[tuple]  # rows of Due; empty for a host that only adds its state to a shared queue
    robots: list[RobotsRow]
    row: HostRow | None
    addresses: list[str]  # if looked up already
    search: tuple | None = None  # the RobotsSearch that was redirected to another domain


def ready_at(host: str, row: HostRow | None, context: VisitContext) -> datetime | None:
    """Return the time of a host's next allowed request, by its row and those of the other ports of its name."""
    moments = backoff.ready_at(row, context.politeness), context.name_ready_at.get(host_name(host))
    return max((moment for moment in moments if moment), default=None)


def work_of(
    host: str, sides: Mapping[str, Iterable[Any]], context: VisitContext, now: datetime, ports: int = 1
) -> Work | None:
    """Return the work of a host in a round; None if it has none. So many `ports` of its name share the name's budget.

    A host that is not due keeps all its URLs in the frontier, and is not passed to the fetcher (docs/selection.md).
    """
    states: list[HostRow] = list(sides["hosts"])
    politeness, row = context.politeness, newest_row(states)
    wait_s = max(0.0, ((ready_at(host, row, context) or now) - now).total_seconds())
    due: list[Due] = []
    if wait_s <= min(backoff.patience(row["held_by"] if row else None, politeness), context.limits.round_time):
        left = context.limits.round_time - wait_s
        visited = {key for keys in sides["visited"] for key in keys}
        count = backoff.budget(context.limits, backoff.host_state(row), politeness, left, ports)
        count = min(count + len(visited), context.limits.max_pages_per_host_per_round)
        if total := context.limits.max_pages_per_host_total:
            count = min(count, max(0, total - max((state["visits"] or 0 for state in states), default=0)))
        budgets = _budgets(sides, context, now) if context.traps.detect else None

        def admit(queue: list[Due]) -> list[Due]:
            return failed_last(list(budgets.admit(queue)) if budgets else queue)

        chosen = choose((Due._make(row) for rows in sides["due"] for row in rows), count, admit, context.quota)
        due = [each for each in chosen if each.url_key not in visited]
    if not due and (row is None or politeness.scope == "host"):
        return None
    return Work(host, [tuple(each) for each in due], list(sides["robots"]), row, [])


def _budgets(sides: Mapping[str, Iterable[Any]], context: VisitContext, now: datetime) -> Budgets:
    """Return the budgets of a host's templates, by its rows of traps, trap_samples and trap_queues.

    What the host's robots.txt is known to forbid passes beside them: it costs no request, and ends in this round.
    """
    rows: list[dict[str, Any]] = list(sides["traps"])
    forms = (form for row in rows if "forms" in row for form in unpack(row["forms"]))
    is_listed = compile_allow_list(context.traps.allow)

    @functools.cache
    def robots() -> dict[str, Robots]:  # read if any URL has a budget
        return known_robots(sides["robots"], context.identity.token, now).current

    def is_free(url: str) -> bool:
        if is_listed(url):
            return True
        known = robots().get(origin(url))
        return known is not None and known.verdict is not Verdict.UNREACHABLE and not known.allows(url)[0]

    queues = [row for row in rows if "held" in row]
    return Budgets(Known((row for row in rows if "state" in row), forms), is_free, context.secret, queues)


def turn_of(work: Work, context: VisitContext, now: datetime, clock: Clock = SYSTEM_CLOCK) -> host_queue.HostTurn:
    """Return a host's turn, initialized from earlier rounds."""
    known = known_robots(work.robots, context.identity.token, now)
    turn = host_queue.HostTurn(work.host, UrlQueue(map(Due._make, work.due)), known.current, known.expired)
    turn.robots_rows = pickle.dumps(work.robots, pickle.HIGHEST_PROTOCOL) if work.robots else b""
    turn.search = RobotsSearch(*work.search) if work.search else None
    turn.state = backoff.host_state(work.row)
    if work.row:
        turn.held_by = work.row["held_by"]
        turn.tally.last_answer = work.row["last_fetched_at"]
    if moment := ready_at(work.host, work.row, context):
        turn.ready_at = monotonic(moment, clock)
    return turn


def shared_ready_at(works: Iterable[Work], context: VisitContext) -> float:
    """Return the ready time of a shared queue from its hosts' earlier responses (monotonic clock)."""
    politeness = context.politeness
    return max(
        (
            monotonic(work.row["last_fetched_at"]) + backoff.shared_rest(backoff.host_state(work.row), politeness)
            for work in works
            if work.row and work.row["last_fetched_at"]
        ),
        default=0.0,
    )


def works_of(sides: dict[str, Iterable[Any]], context: VisitContext, now: datetime) -> list[Work]:
    """Return the works of all hosts of a domain."""
    by_host: dict[str, dict[str, list[Any]]] = {}
    for side, rows in sides.items():
        for host, row in rows:
            by_host.setdefault(host, {name: [] for name in sides})[side].append(row)
    ports = Counter(host_name(host) for host, known in by_host.items() if known["due"])
    works = (work_of(host, of, context, now, max(1, ports[host_name(host)])) for host, of in sorted(by_host.items()))
    return [work for work in works if work]
