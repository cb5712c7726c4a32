"""Have an origin's robots.txt: ask for it, keep it as a row, and know it again in later rounds."""

import contextlib
from collections.abc import Callable, Iterable
from datetime import datetime, timedelta
from typing import Any, NamedTuple

from transforms.client import Client
from transforms.hosts import Robots
from transforms.identity import Identity
from transforms.replies import Reply, redirect_target
from transforms.robots import Verdict, expires_at, judge, parse
from transforms.urls import host as host_of

LAST_GOOD = timedelta(hours=24)
"""For so long the last good copy counts while a new one cannot be had (RFC 9309, 2.4)."""

ROBOTS_HOPS = 5  # redirects of a robots.txt that are followed (RFC 9309, 2.3.1.2)


def ask_robots(
    origin: str, client: Client, open_client: Callable[[], Client], identity: Identity, pause: Callable[[], None]
) -> Reply:
    """robots.txt of an origin; redirects are followed, also to other hosts, with a pause before each."""
    url = f"{origin}/robots.txt"
    home = host_of(url)
    for hop in range(1 + ROBOTS_HOPS):
        if host_of(url) == home:
            reply = client.get(url, identity.headers(url), any_type=True)
        else:
            with contextlib.closing(open_client()) as other:
                reply = other.get(url, identity.headers(url), any_type=True)
        if hop == ROBOTS_HOPS or not (target := redirect_target(url, reply)):
            break
        url = target
        pause()
    return reply


def robots_row(
    origin: str, host: str, reply: Reply, round_: int, now: datetime, token: str
) -> tuple[dict[str, Any], Robots]:
    """The row of table robots for an answer, and what it means for the turn."""
    status = None if reply.trouble else reply.status
    verdict = judge(status)
    rules = parse(reply.body, token) if verdict is Verdict.RULES else None
    row = {
        "origin": origin,
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
    }
    return row, Robots(verdict, rules, reply.trouble)


class Known(NamedTuple):
    """What earlier rounds know of robots.txt, by origin."""

    fresh: dict[str, Robots]  # still holds
    stale: dict[str, Robots]  # counts only if a new one cannot be had


def known_robots(rows: Iterable[dict[str, Any]], token: str, now: datetime) -> Known:
    """The newest row of each origin, by whether it has expired."""
    newest: dict[str, dict[str, Any]] = {}
    for row in rows:
        if row["origin"] not in newest or row["fetched_at"] > newest[row["origin"]]["fetched_at"]:
            newest[row["origin"]] = row
    known = Known({}, {})
    for origin, row in newest.items():
        rules = parse(row["body"] or b"", token) if row["verdict"] == Verdict.RULES else None
        side = known.fresh if row["expires_at"] > now else known.stale
        side[origin] = Robots(Verdict(row["verdict"]), rules)
    return known
