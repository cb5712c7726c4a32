"""A web of 300 hosts, more than half of them healthy, and what becomes of their URLs.

kinds = mixed_kinds()
sites = mixed_sites(kinds)
ends = mixed_ends(kinds)
"""

import random
import time
from collections.abc import Callable, Iterable, Mapping
from typing import Any, NamedTuple

from tests.support.access_log import ROBOTS
from tests.support.web import CLOSED, MUTE, Overload, Page, html, overloaded, plain, redirect, slow, status

CRAWL_DELAY = 1.0  # seconds, of the hosts that name one
ROBOT: dict[str, Any] = {
    "robot__name": "mannerly/2.1",
    "robot__contact": "crawler@mannerly.example",
    "robot__info_url": "http://mannerly.example/robot",
}
"""Settings of the crawler to whom Crawl-delay is said."""

RULES = "User-agent: *\nDisallow: /private/\n"


def site(host: str, following: str) -> dict[str, Page]:
    """A small healthy site, whose /moved leads to the host that follows. No page has a duplicate."""
    return {
        ROBOTS: plain(RULES),
        "/": html(f"Home of {host}", links=["/a", "/b", "/private/x", "/missing", "/moved"]),
        "/a": html(f"A of {host}", links=["/c", "/"]),
        "/b": html(f"B of {host}", links=["/c", "/private/y"]),
        "/c": html(f"C of {host}", links=[f"http://{following}/"]),
        "/moved": redirect(f"http://{following}/arrived"),
        "/arrived": html(f"Arrived of {host}"),
        "/private/x": html(f"Secret of {host}"),
    }


def crawl_delayed(pages: Mapping[str, Page], now: object) -> Mapping[str, Page]:
    return {**pages, ROBOTS: plain(f"User-agent: mannerly\nCrawl-delay: {CRAWL_DELAY}\nDisallow: /private/\n")}


def slowly(pages: Mapping[str, Page], now: object) -> Mapping[str, Page]:
    return {path: slow(0.4, page) for path, page in pages.items()}  # type: ignore[arg-type]


def without_robots(pages: Mapping[str, Page], now: object) -> Mapping[str, Page]:
    return {path: page for path, page in pages.items() if path != ROBOTS}


class Kind(NamedTuple):
    """How hosts of a kind behave, and what becomes of their URLs."""

    hosts: int
    change: Callable[
        [Mapping[str, Page], Callable[[], float]], Mapping[str, Page]
    ]  # with a clock: seconds since the epoch
    end: str = ""  # of whatever they have; if it is empty, their URLs end as ENDS says
    ends: Mapping[str, str] = {}  # but for some


KINDS = {
    "healthy": Kind(130, lambda pages, now: pages),
    "slow": Kind(25, slowly),
    "Crawl-delay": Kind(15, crawl_delayed),
    "no robots.txt": Kind(20, without_robots, ends={"/private/x": "fetched", "/private/y": "gone"}),
    "robots.txt moved": Kind(10, lambda pages, now: {**pages, ROBOTS: redirect("http://rules.test/common.txt", 301)}),
    "500 on a page": Kind(15, lambda pages, now: {**pages, "/missing": status(500)}, ends={"/missing": "failed"}),
    "429 on pages": Kind(15, lambda pages, now: overloaded(Overload(now=now, after=3, seconds=2), pages)),
    "429 with a date": Kind(
        10, lambda pages, now: overloaded(Overload(now=now, after=2, seconds=2, as_date=True), pages)
    ),
    "503 on pages": Kind(10, lambda pages, now: overloaded(Overload(now=now, after=4, seconds=3, code=503), pages)),
    "429 on robots.txt": Kind(10, lambda pages, now: overloaded(Overload(now=now, after=0, seconds=2), pages)),
    "503 on robots.txt": Kind(10, lambda pages, now: {**pages, ROBOTS: status(503)}, "due"),
    "403 on robots.txt": Kind(10, lambda pages, now: {**pages, ROBOTS: status(403)}, "denied"),
    "refuses connections": Kind(10, lambda pages, now: CLOSED, "due"),
    "never answers": Kind(10, lambda pages, now: MUTE, "due"),
}
ENDS = {
    "/": "fetched",
    "/a": "fetched",
    "/b": "fetched",
    "/c": "fetched",
    "/moved": "redirected",
    "/arrived": "fetched",
    "/missing": "gone",
    "/private/x": "denied",
    "/private/y": "denied",
}


def mixed_kinds(share: int = 1) -> dict[str, Kind]:
    """The hosts of the mixed web, well shuffled; with a share, about one of so many of each kind."""
    kinds = [kind for kind in KINDS.values() for _ in range(kind.hosts // share)]
    random.Random(4).shuffle(kinds)
    return {f"m{number}.test": kind for number, kind in enumerate(kinds)}


def mixed_sites(kinds: Mapping[str, Kind], now: Callable[[], float] = time.time) -> dict[str, Mapping[str, Page]]:
    """The pages of each host, and of one that has the robots.txt of others."""
    followed = zip(kinds.items(), after(kinds), strict=True)
    sites = {host: kind.change(site(host, following), now) for (host, kind), following in followed}
    return sites | {"rules.test": {"/common.txt": plain(RULES)}}


def mixed_ends(kinds: Mapping[str, Kind]) -> dict[tuple[str, str], str]:
    """What has become of every URL of the mixed web that somebody links, when its crawl is over."""
    ends: dict[tuple[str, str], str] = {}
    for (host, kind), following in zip(kinds.items(), after(kinds), strict=True):
        known = {"/"} if kind.end else ENDS.keys() - {"/arrived"}
        ends |= {(host, path): kind.end or kind.ends.get(path, ENDS[path]) for path in known}
        if not kind.end:
            ends[following, "/arrived"] = kinds[following].end or ENDS["/arrived"]
    return ends


def after(hosts: Iterable[str]) -> list[str]:
    """The host that follows each."""
    first, *others = hosts
    return [*others, first]
