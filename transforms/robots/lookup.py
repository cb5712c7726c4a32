"""Retrieval of an origin's robots.txt: its URL, redirects, its row, and the state from earlier rounds."""

import dataclasses
from collections.abc import Iterable
from datetime import datetime, timedelta
from operator import itemgetter
from typing import NamedTuple

from ..http.reply import Reply, redirect_target
from ..http.response_body import CUT
from ..outcomes import Outcome
from ..rights.signals import text_of
from ..tables.newest import newest
from ..tables.schemas import RobotsRow
from .rules import Rules, Verdict, expires_at, parse, verdict_of
from .signal_lines import statement_of

LAST_GOOD = timedelta(hours=24)
"""How long the last good copy applies while a new one cannot be fetched (RFC 9309, 2.4)."""

_ANSWER_LASTS = timedelta(hours=1)
_ANSWERS_BYTES = 16 << 20
_ANSWER_BYTES = 2_000  # estimate for headers and overhead

_CLOCKS_DIFFER = timedelta(minutes=1)  # of two workers; a copy from further in the future is not current

_HOPS = 5  # redirects of a robots.txt that are followed (RFC 9309, 2.3.1.2)


@dataclasses.dataclass(frozen=True, slots=True)
class Robots:
    """The effect of an origin's robots.txt during a turn."""

    verdict: Verdict
    rules: Rules | None = None  # if the verdict is RULES
    failure: Outcome | None = None  # the reason for no answer, if it is UNREACHABLE
    fetched_at: datetime | None = None
    error: str | None = None  # error message
    expires_at: datetime | None = None  # when it is requested again, if a URL of the origin is due then

    def allows(self, url: str) -> tuple[bool, str]:
        """Whether a canonical URL may be fetched, and the deciding rule, as `Rules.allows`."""
        return self.rules.allows(url) if self.rules is not None else (self.verdict is Verdict.ALLOW_ALL, "")

    def is_current(self, now: datetime) -> bool:
        """Whether it need not be requested again yet."""
        return self.expires_at is None or now < self.expires_at

    def is_usable(self, now: datetime) -> bool:
        """Whether it applies if a new one cannot be fetched: not for longer than `LAST_GOOD`."""
        is_recent = self.fetched_at is None or now < self.fetched_at + LAST_GOOD
        return is_recent and self.verdict is not Verdict.UNREACHABLE

    def usage(self, url: str) -> str:
        """The usage preference of a canonical URL that may be fetched, as `Rules.usage`."""
        return self.rules.usage(url) if self.rules is not None else ""

    def signals(self, url: str) -> str:
        """The content signals about a canonical URL, as a statement."""
        return statement_of(self.rules.signals(url)) if self.rules is not None else ""

    @property
    def crawl_delay(self) -> float:
        return (self.rules.crawl_delay if self.rules else None) or 0.0


class RobotsAnswers:
    """Cache of answers to requests for robots.txt, by URL, at most 16 MB: several hosts may redirect to one URL.

    An answer is used for an hour.
    """

    def __init__(self) -> None:
        self._replies: dict[str, tuple[Reply, datetime]] = {}
        self._bytes = 0

    def get(self, url: str, now: datetime) -> Reply | None:
        """The cached answer, or None."""
        reply, at = self._replies.get(url, (None, now))
        return reply if now < at + _ANSWER_LASTS else None

    def put(self, url: str, reply: Reply, at: datetime) -> None:
        """Add an answer of a time; the oldest ones are evicted."""
        if (earlier := self._replies.pop(url, None)) is not None:
            self._bytes -= len(earlier[0].body) + _ANSWER_BYTES
        self._replies[url] = reply, at
        self._bytes += len(reply.body) + _ANSWER_BYTES
        while self._bytes > _ANSWERS_BYTES:
            oldest, _ = self._replies.pop(next(iter(self._replies)))
            self._bytes -= len(oldest.body) + _ANSWER_BYTES


@dataclasses.dataclass(frozen=True, slots=True)
class RobotsSearch:
    """The state of retrieving an origin's robots.txt, possibly through redirects (RFC 9309, 2.3.1.2)."""

    origin: str
    url: str
    depth: int  # of the URL for which it is fetched
    hops: int = 0


def start_search(origin: str, depth: int) -> RobotsSearch:
    """The start of the search for an origin's robots.txt, for a URL of depth `depth`."""
    return RobotsSearch(origin, f"{origin}/robots.txt", depth)


def next_hop(search: RobotsSearch, reply: Reply) -> RobotsSearch | None:
    """The search after following an answer's redirect, also to another host; None if the search ends."""
    target = redirect_target(search.url, reply)
    if search.hops == _HOPS or target in (None, search.url):
        return None
    return dataclasses.replace(search, url=target, hops=search.hops + 1)


def answered_status(reply: Reply) -> int | None:
    """The status of an answer; None for none, and for rules that were cut, which may lack the one that forbids."""
    return None if reply.failure or (reply.error == CUT and reply.status in range(200, 300)) else reply.status


def robots_row(
    search: RobotsSearch, host: str, reply: Reply, round_: int, now: datetime, token: str, delay: float = 0.0
) -> tuple[RobotsRow, Robots]:
    """The row of table robots for the last answer of a search, and its effect during the turn.

    `delay` is the configured one between requests, in seconds.
    """
    status = answered_status(reply)
    verdict = verdict_of(status)
    rules = parse(reply.body, token, search.origin) if verdict is Verdict.RULES else None
    row: RobotsRow = {
        "origin": search.origin,
        "host": host,
        "round": round_,
        "fetched_at": now,
        "expires_at": expires_at(now, reply.headers, status, max(delay, (rules.crawl_delay if rules else None) or 0.0)),
        "status": reply.status,
        "verdict": verdict.value,
        "crawl_delay": rules.crawl_delay if rules else None,
        "sitemaps": rules.sitemaps if rules else [],
        "body": reply.body if rules else None,
        "error": reply.error,
        "depth": search.depth,
        "signals": text_of(rules.signal_lines) if rules else None,
        "licenses": [line.statement for line in rules.licenses] or None if rules else None,
    }
    return row, Robots(verdict, rules, reply.failure, now, reply.error, row["expires_at"])


def reply_of(row: RobotsRow) -> Reply:
    """The answer stored in a row of table robots, as far as the row contains it."""
    if row["status"] is None:
        return Reply(failure=Outcome.CONNECT_ERROR, error=row["error"])
    return Reply(row["status"], body=row["body"] or b"", error=row["error"])


class KnownRobots(NamedTuple):
    """robots.txt from earlier rounds, by origin."""

    current: dict[str, Robots]  # not expired
    expired: dict[str, Robots]  # applies only if a new one cannot be fetched


def known_robots(rows: Iterable[RobotsRow], token: str, now: datetime) -> KnownRobots:
    """The newest row of each origin, current or expired; none of an archive, which expires when it is fetched."""
    own = (row for row in rows if row["expires_at"] > row["fetched_at"])
    by_age = itemgetter("round", "fetched_at")  # the clock of an earlier round may have been ahead
    known = KnownRobots({}, {})
    for origin, row in newest(own, itemgetter("origin"), by_age).items():
        rules = parse(row["body"] or b"", token, origin) if row["verdict"] == Verdict.RULES else None
        is_current = row["fetched_at"] - _CLOCKS_DIFFER <= now < row["expires_at"]
        side = known.current if is_current else known.expired
        side[origin] = Robots(
            Verdict(row["verdict"]), rules, fetched_at=row["fetched_at"], expires_at=row["expires_at"]
        )
    return known
