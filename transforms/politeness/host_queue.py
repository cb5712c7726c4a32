"""A host's turn in a round: selects the next action, without performing it."""

import dataclasses
from collections.abc import Callable, Sequence
from datetime import datetime
from typing import NamedTuple

from ..blocks.rules import NO_BLOCKS, Blocks
from ..frontier.selection import Due
from ..http.transport import Method
from ..outcomes import NO_ADDRESS, Outcome
from ..robots.lookup import Robots, RobotsSearch
from ..robots.rules import Verdict
from ..settings import Politeness
from ..urls.canonical import domain, host as host_of, host_name, origin
from .backoff import HostState, usual_rest
from .host_stats import Tally
from .url_queue import UrlQueue


class FetchRobots(NamedTuple):
    """Fetch robots.txt of the next URL's origin."""

    origin: str
    depth: int  # of that URL


class Visit(NamedTuple):
    """Fetch this URL."""

    due: Due
    rule: str  # the robots.txt rule that allows it, if one does
    method: Method = "GET"  # of an external target, whose body is not read


class Skip(NamedTuple):
    """End this URL's visit without a request."""

    due: Due
    outcome: Outcome
    rule: str = ""
    error: str | None = None


class Wait(NamedTuple):
    """No action until then (the turn's clock, seconds)."""

    until: float


class Done(NamedTuple):
    """No action: the queue is empty, or waits for another host."""


@dataclasses.dataclass(slots=True)
class HostTurn:
    """A host (one port of a name), its ordered queue, and the time of its next allowed request."""

    host: str
    queue: UrlQueue
    robots: dict[str, Robots] = dataclasses.field(default_factory=dict)  # by origin
    last_good: dict[str, Robots] = dataclasses.field(default_factory=dict)  # expired; used if a new one fails
    robots_rows: bytes = b""  # of earlier rounds, pickled: needed only where another worker visits the host
    state: HostState = dataclasses.field(default_factory=HostState)
    ready_at: float = 0.0
    held_by: str | None = None
    ends_at: float = float("inf")  # end of its time in this round
    search: "RobotsSearch | None" = None  # while its robots.txt is being fetched
    delegated: "list[DelegatedRobotsFetch]" = dataclasses.field(default_factory=list)
    is_scheduled: bool = False  # or has a request under way
    tally: Tally = dataclasses.field(default_factory=Tally)  # since its last row
    has_answered: bool = False  # in this round
    has_served_others: bool = False  # its last request was for the robots.txt of another host
    refuses_head: bool = False  # as it has answered in this round
    by_get: frozenset[bytes] = frozenset()  # keys of external targets whose answer to HEAD is to be confirmed
    name: str = ""  # of the host, without the port
    name_ready_at: float = 0.0  # end of the delay of the other ports of its name, by its last response

    def __post_init__(self) -> None:
        self.name = host_name(self.host)

    @property
    def is_away(self) -> bool:
        """Whether it waits for another host, to which its robots.txt redirects."""
        return self.search is not None and host_of(self.search.url) != self.host

    @property
    def is_complete(self) -> bool:
        """Whether nothing is left to do, neither for the host nor, by it, for others."""
        return not (self.queue or self.search or self.delegated or self.is_scheduled)

    def answers_elsewhere(self, origin: str) -> bool:
        """Return whether the robots.txt of another origin of the host was fetched, in this round or before."""
        known = {**self.last_good, **self.robots}
        return any(robots.verdict is not Verdict.UNREACHABLE for other, robots in known.items() if other != origin)

    def current_robots(self, origin: str, now: datetime) -> Robots | None:
        """Return the robots.txt of an origin; None if it is to be requested, the first time or again."""
        robots = self.robots.get(origin)
        if robots is None or robots.is_current(now):
            return robots
        self.last_good[origin] = self.robots.pop(origin)
        return None


class DelegatedRobotsFetch(NamedTuple):
    """A robots.txt to fetch from this host on behalf of another, whose own one redirects here."""

    search: RobotsSearch
    sender: HostTurn


class BrowserRules(NamedTuple):
    """Constraints on a downloader that sends further requests to a host, as a browser does."""

    allows: Callable[[str], bool]  # whether robots.txt allows a canonical URL of the host
    rest: Callable[[float], float]  # seconds to wait after a response that took so many


def browser_rules(
    turn: HostTurn, politeness: Politeness, blocks: Callable[[], Blocks] = lambda: NO_BLOCKS
) -> BrowserRules:
    """Return the browser rules for a host; they use its state and the blocks at the time of each call."""

    def allowed(url: str) -> bool:
        if blocks().match(url):
            return False
        robots = turn.robots.get(origin(url))
        return robots is not None and robots.verdict is not Verdict.UNREACHABLE and robots.allows(url)[0]

    def rest(elapsed_s: float) -> float:
        return usual_rest(dataclasses.replace(turn.state, elapsed_s=elapsed_s), politeness).seconds

    return BrowserRules(allowed, rest)


def shared_queue_name(host: str, scope: str, addresses: Sequence[str] = ()) -> str:
    """Return the name of a host's queue: its name without the port, its registered domain, or its lowest address."""
    return domain(host) if scope == "domain" else min(addresses, default=host_name(host))


def next_action(
    head: Due | None,
    origin: str,
    robots: Robots | None,
    ready_at: float,
    now: float,
    deadline: float,
    blocks: Blocks = NO_BLOCKS,
    held_by: str | None = None,
) -> FetchRobots | Visit | Skip | Wait | Done:
    """Return the next action of a host's queue.

    `robots` is the known robots.txt of the first URL's origin. robots.txt comes before anything else on an origin
    (RFC 9309), every request waits for `ready_at`, and after the deadline no request starts. A URL that is blocked,
    or whose robots.txt is needed and blocked, is deferred, and one whose template fails (`UrlQueue.held_by`).
    """
    if head is None:
        return Done()
    if block := blocks.match(head.url) or (blocks.match(f"{origin}/robots.txt") if robots is None else None):
        return Skip(head, Outcome.DEFERRED, error=block.error)
    if now >= deadline or held_by:
        return Skip(head, Outcome.DEFERRED, error=held_by)
    if robots is not None:
        if robots.verdict is Verdict.UNREACHABLE:
            # Without an address, no URL of the host can be requested; other failures may concern robots.txt alone.
            is_reported = robots.failure in NO_ADDRESS
            return Skip(head, robots.failure if robots.failure and is_reported else Outcome.UNREACHABLE_ROBOTS)
        allowed, rule = robots.allows(head.url)
        if not allowed:
            return Skip(head, Outcome.DENIED_ROBOTS, rule)
    if ready_at >= deadline:
        return Skip(head, Outcome.DEFERRED)
    if ready_at > now:
        return Wait(ready_at)
    return FetchRobots(origin, head.depth) if robots is None else Visit(head, rule)
