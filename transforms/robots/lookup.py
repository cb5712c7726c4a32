"""Have an origin's robots.txt: where to ask for it, keep it as a row, and know it again in later rounds."""

import dataclasses
from collections.abc import Iterable
from datetime import datetime, timedelta
from typing import NamedTuple

from ..http.reply import Reply, redirect_target
from ..outcomes import Outcome
from ..storage.schemas import RobotsRow
from .rules import Rules, Verdict, expires_at, judge, parse

LAST_GOOD = timedelta(hours=24)
"""For so long the last good copy counts while a new one cannot be had (RFC 9309, 2.4)."""

_ANSWERS_BYTES = 16 << 20
_ANSWER_BYTES = 2_000  # headers and the like

_HOPS = 5  # redirects of a robots.txt that are followed (RFC 9309, 2.3.1.2)


@dataclasses.dataclass(frozen=True)
class Robots:
    """What an origin's robots.txt says for the length of a turn."""

    verdict: Verdict
    rules: Rules | None = None  # when the verdict is RULES
    failure: Outcome | None = None  # why there was no answer, when it is UNREACHABLE
    fetched_at: datetime | None = None
    error: str | None = None  # in words

    @property
    def crawl_delay(self) -> float:
        return (self.rules.crawl_delay if self.rules else None) or 0.0


class RobotsAnswers:
    """The last answers to requests for robots.txt, by URL, within 16 MB of bodies: other hosts may redirect there."""

    def __init__(self) -> None:
        self._replies: dict[str, Reply] = {}
        self._bytes = 0

    def get(self, url: str) -> Reply | None:
        """The answer, if it is known."""
        return self._replies.get(url)

    def put(self, url: str, reply: Reply) -> None:
        """Keep an answer; the oldest ones make room for it."""
        if (earlier := self._replies.pop(url, None)) is not None:
            self._bytes -= len(earlier.body) + _ANSWER_BYTES
        self._replies[url] = reply
        self._bytes += len(reply.body) + _ANSWER_BYTES
        while self._bytes > _ANSWERS_BYTES:
            oldest = self._replies.pop(next(iter(self._replies)))
            self._bytes -= len(oldest.body) + _ANSWER_BYTES


@dataclasses.dataclass(frozen=True)
class RobotsSearch:
    """The way to an origin's robots.txt, which may lead over redirects (RFC 9309, 2.3.1.2)."""

    origin: str
    url: str
    depth: int  # of the URL that wants it
    hops: int = 0


def start_search(origin: str, depth: int) -> RobotsSearch:
    """Where the search for an origin's robots.txt starts, for the sake of a URL of some depth."""
    return RobotsSearch(origin, f"{origin}/robots.txt", depth)


def next_hop(search: RobotsSearch, reply: Reply) -> RobotsSearch | None:
    """Where an answer sends the search, also to other hosts; None if it ends here."""
    target = redirect_target(search.url, reply)
    if search.hops == _HOPS or target in (None, search.url):
        return None
    return dataclasses.replace(search, url=target, hops=search.hops + 1)


def robots_row(
    search: RobotsSearch, host: str, reply: Reply, round_: int, now: datetime, token: str
) -> tuple[RobotsRow, Robots]:
    """The row of table robots for the answer that ends a search, and what it means for the turn."""
    status = None if reply.failure else reply.status
    verdict = judge(status)
    rules = parse(reply.body, token, search.origin) if verdict is Verdict.RULES else None
    row: RobotsRow = {
        "origin": search.origin,
        "host": host,
        "round": round_,
        "fetched_at": now,
        "expires_at": expires_at(now, reply.headers, status),
        "status": reply.status,
        "verdict": verdict.value,
        "crawl_delay": rules.crawl_delay if rules else None,
        "sitemaps": rules.sitemaps if rules else [],
        "body": reply.body if rules else None,
        "error": reply.error,
        "depth": search.depth,
    }
    return row, Robots(verdict, rules, reply.failure, now, reply.error)


def reply_of(row: RobotsRow) -> Reply:
    """The answer that led to a row of table robots, as far as the row keeps it."""
    if row["status"] is None:
        return Reply(failure=Outcome.CONNECT_ERROR, error=row["error"])
    return Reply(row["status"], body=row["body"] or b"", error=row["error"])


class KnownRobots(NamedTuple):
    """What earlier rounds know of robots.txt, by origin."""

    current: dict[str, Robots]  # still holds
    expired: dict[str, Robots]  # counts only if a new one cannot be had


def known_robots(rows: Iterable[RobotsRow], token: str, now: datetime) -> KnownRobots:
    """The newest row of each origin, by whether it has expired."""
    newest: dict[str, RobotsRow] = {}
    for row in rows:
        if row["origin"] not in newest or row["fetched_at"] > newest[row["origin"]]["fetched_at"]:
            newest[row["origin"]] = row
    known = KnownRobots({}, {})
    for origin, row in newest.items():
        rules = parse(row["body"] or b"", token, origin) if row["verdict"] == Verdict.RULES else None
        side = known.current if row["expires_at"] > now else known.expired
        side[origin] = Robots(Verdict(row["verdict"]), rules, fetched_at=row["fetched_at"])
    return known
