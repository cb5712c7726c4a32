"""Have an origin's robots.txt: ask for it, keep it as a row, and know it again in later rounds."""

import contextlib
from collections.abc import Callable, Iterable
from datetime import datetime
from typing import Any

from transforms.client import Client
from transforms.hosts import Robots
from transforms.identity import Identity
from transforms.replies import Reply, redirect_target
from transforms.robots import Verdict, expires_at, judge, parse
from transforms.urls import host as host_of

ROBOTS_HOPS = 5  # redirects of a robots.txt that are followed (RFC 9309, 2.3.1.2)


def ask_robots(origin: str, client: Client, open_client: Callable[[], Client], identity: Identity) -> Reply:
    """robots.txt of an origin; redirects are followed, also to other hosts."""
    url = f"{origin}/robots.txt"
    home = host_of(url)
    for _ in range(1 + ROBOTS_HOPS):
        if host_of(url) == home:
            reply = client.get(url, identity.headers(url), any_type=True)
        else:
            with contextlib.closing(open_client()) as other:
                reply = other.get(url, identity.headers(url), any_type=True)
        if not (target := redirect_target(url, reply)):
            break
        url = target
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


def known_robots(rows: Iterable[dict[str, Any]], token: str) -> dict[str, Robots]:
    """What earlier rounds know, by origin: the newest row of each."""
    newest: dict[str, dict[str, Any]] = {}
    for row in rows:
        if row["origin"] not in newest or row["fetched_at"] > newest[row["origin"]]["fetched_at"]:
            newest[row["origin"]] = row
    return {
        origin: Robots(
            Verdict(row["verdict"]), parse(row["body"] or b"", token) if row["verdict"] == Verdict.RULES else None
        )
        for origin, row in newest.items()
    }
