"""A host's turn in a round: what it wants now. All politeness is decided here, and nothing is done."""

import dataclasses
from collections import deque
from typing import NamedTuple

from transforms.frontier import Due
from transforms.outcomes import Outcome
from transforms.robots import Rules, Verdict


@dataclasses.dataclass(frozen=True)
class Robots:
    """What an origin's robots.txt says for the length of a turn."""

    verdict: Verdict
    rules: Rules | None = None  # when the verdict is RULES
    trouble: Outcome | None = None  # why there was no answer, when it is UNREACHABLE

    @property
    def crawl_delay(self) -> float:
        return (self.rules.crawl_delay if self.rules else None) or 0.0


class AskRobots(NamedTuple):
    """Fetch robots.txt of the next URL's origin."""

    origin: str


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
    """The queue is empty."""


@dataclasses.dataclass
class HostTurn:
    """A host, its queue in order, and when it may be asked next."""

    host: str
    queue: deque[Due]
    robots: dict[str, Robots]  # by origin
    last_good: dict[str, Robots]  # by origin, expired: instead of one that cannot be had
    ready_at: float = 0.0


def next_action(
    head: Due | None, origin: str, robots: Robots | None, ready_at: float, now: float, deadline: float
) -> AskRobots | Visit | Answer | Wait | Done:
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
            told = robots.trouble in (Outcome.DNS_ERROR, Outcome.BLOCKED_ADDRESS)
            return Answer(head, robots.trouble if robots.trouble and told else Outcome.UNREACHABLE_ROBOTS)
        allowed, rule = allows(robots, head.url)
        if not allowed:
            return Answer(head, Outcome.DENIED_ROBOTS, rule)
    if ready_at >= deadline:
        return Answer(head, Outcome.DEFERRED)
    if ready_at > now:
        return Wait(ready_at)
    return AskRobots(origin) if robots is None else Visit(head, rule)


def allows(robots: Robots, url: str) -> tuple[bool, str]:
    """Whether a URL may be fetched, and the rule that says so; not for an unreachable robots.txt."""
    if robots.rules is not None:
        return robots.rules.allows(url)
    return robots.verdict is Verdict.ALLOW_ALL, ""


def delay(configured: float, robots: Robots | None) -> float:
    """Seconds between an answer and the next request: the larger of ours and the host's (SPEC C8)."""
    return max(configured, robots.crawl_delay if robots else 0.0)
