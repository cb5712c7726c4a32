"""A host's turn in a round: what it wants now. What comes next is decided here, and nothing is done."""

import dataclasses
from collections import deque
from collections.abc import Callable, Sequence
from typing import NamedTuple

from ..frontier.selection import Due
from ..outcomes import Outcome
from ..robots.lookup import Robots, RobotsSearch
from ..robots.rules import Verdict
from ..settings import Politeness
from ..urls.canonical import domain, origin
from ..urls.canonical import host as host_of
from .backoff import HostState, usual_rest
from .host_stats import Tally


class FetchRobots(NamedTuple):
    """Fetch robots.txt of the next URL's origin."""

    origin: str
    depth: int  # of that URL


class Visit(NamedTuple):
    """Fetch this URL."""

    due: Due
    rule: str  # the robots.txt rule that allows it, if one does


class Answer(NamedTuple):
    """This URL's visit ends here, with nothing asked of the server."""

    due: Due
    outcome: Outcome
    rule: str = ""


class Wait(NamedTuple):
    """Nothing until then (the turn's clock, seconds)."""

    until: float


class Done(NamedTuple):
    """Nothing, until something happens elsewhere."""


@dataclasses.dataclass
class HostTurn:
    """A host, its queue in order, and when it may be asked next."""

    host: str
    queue: deque[Due]
    robots: dict[str, Robots] = dataclasses.field(default_factory=dict)  # by origin
    last_good: dict[str, Robots] = dataclasses.field(default_factory=dict)  # expired: if a new one cannot be had
    state: HostState = dataclasses.field(default_factory=HostState)
    ready_at: float = 0.0
    held_by: str | None = None
    ends_at: float = float("inf")  # when its time in this round is over
    search: "RobotsSearch | None" = None  # while its robots.txt is sought
    delegated: "deque[DelegatedRobotsFetch]" = dataclasses.field(default_factory=deque)
    is_scheduled: bool = False  # or being asked: either way it will come to its turn
    tally: Tally = dataclasses.field(default_factory=Tally)  # since its last row
    has_answered: bool = False  # in this round

    @property
    def is_away(self) -> bool:
        """Whether it waits for another host, which its robots.txt was moved to."""
        return self.search is not None and host_of(self.search.url) != self.host


class DelegatedRobotsFetch(NamedTuple):
    """A robots.txt to be had from this host on behalf of another, whose own one was moved here."""

    search: RobotsSearch
    sender: HostTurn


class BrowserRules(NamedTuple):
    """What has to be kept to by who asks a host for more than the visit of a page, as a browser does."""

    allows: Callable[[str], bool]  # whether robots.txt lets a canonical URL of the host be asked for
    rest: Callable[[float], float]  # seconds to wait after an answer that took so many


def browser_rules(turn: HostTurn, politeness: Politeness) -> BrowserRules:
    """The browser_rules for a host, by what is known of it when they are called for."""

    def allowed(url: str) -> bool:
        robots = turn.robots.get(origin(url))
        return robots is not None and robots.verdict is not Verdict.UNREACHABLE and is_allowed(robots, url)[0]

    def rest(elapsed_s: float) -> float:
        return usual_rest(dataclasses.replace(turn.state, elapsed_s=elapsed_s), politeness).seconds

    return BrowserRules(allowed, rest)


def shared_queue_name(host: str, scope: str, addresses: Sequence[str] = ()) -> str:
    """The name of the queue that a host takes: its own, its registered domain's, or that of its least address."""
    if scope == "domain":
        return domain(host)
    return min(addresses, default=host)


def next_action(
    head: Due | None, origin: str, robots: Robots | None, ready_at: float, now: float, deadline: float
) -> FetchRobots | Visit | Answer | Wait | Done:
    """What a host's queue wants at this moment.

    `robots` is what is known of the first URL's origin. robots.txt comes before anything else on an origin
    (RFC 9309), every request waits for `ready_at`, and after the deadline no request starts.
    """
    if head is None:
        return Done()
    if now >= deadline:
        return Answer(head, Outcome.DEFERRED)
    if robots is not None:
        if robots.verdict is Verdict.UNREACHABLE:
            # A name that leads nowhere, or where we must not go, says so; all else may be robots.txt alone.
            is_reported = robots.failure in (Outcome.DNS_ERROR, Outcome.BLOCKED_ADDRESS)
            return Answer(head, robots.failure if robots.failure and is_reported else Outcome.UNREACHABLE_ROBOTS)
        allowed, rule = is_allowed(robots, head.url)
        if not allowed:
            return Answer(head, Outcome.DENIED_ROBOTS, rule)
    if ready_at >= deadline:
        return Answer(head, Outcome.DEFERRED)
    if ready_at > now:
        return Wait(ready_at)
    return FetchRobots(origin, head.depth) if robots is None else Visit(head, rule)


def is_allowed(robots: Robots, url: str) -> tuple[bool, str]:
    """Whether a URL may be fetched, and the rule that says so; not for an unreachable robots.txt."""
    if robots.rules is not None:
        return robots.rules.allows(url)
    return robots.verdict is Verdict.ALLOW_ALL, ""
