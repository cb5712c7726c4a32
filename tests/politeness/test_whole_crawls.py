"""The manners of whole crawls, proved from the logs of the servers: a mixed web, a long tail, shared addresses."""

import random
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from datetime import datetime
from typing import Any, NamedTuple

import pytest

from tests.support.access_log import ROBOTS, Manners, violations
from tests.support.crawls import Silent, crawl, frontier, states
from tests.support.long_tail import SLOW_ANSWER, LongTail, share
from tests.support.web import CLOSED, MUTE, Overload, Page, Request, html, overloaded, plain, redirect, slow, status
from tests.support.web_process import WebProcess

ROBOT: dict[str, Any] = {
    "robot__name": "mannerly/2.1",
    "robot__contact": "crawler@mannerly.example",
    "robot__info_url": "http://mannerly.example/robot",
}
DELAY, CRAWL_DELAY, BACKOFF = 0.2, 1.0, 0.5
RULES = "User-agent: *\nDisallow: /private/\n"


def rest_after(troubles: int) -> float:
    """A backoff that doubles, in the log as in the settings."""
    return BACKOFF * 2.0 ** (troubles - 1)


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


def crawl_delayed(pages: Mapping[str, Page]) -> Mapping[str, Page]:
    return {**pages, ROBOTS: plain(f"User-agent: mannerly\nCrawl-delay: {CRAWL_DELAY}\nDisallow: /private/\n")}


def slowly(pages: Mapping[str, Page]) -> Mapping[str, Page]:
    return {path: slow(0.4, page) for path, page in pages.items()}  # type: ignore[arg-type]


def without_robots(pages: Mapping[str, Page]) -> Mapping[str, Page]:
    return {path: page for path, page in pages.items() if path != ROBOTS}


class Kind(NamedTuple):
    """How hosts of a kind behave, and what becomes of their URLs."""

    hosts: int
    change: Callable[[Mapping[str, Page]], Mapping[str, Page]]
    end: str = ""  # of whatever they have; if it is empty, their URLs end as ENDS says
    ends: Mapping[str, str] = {}  # but for some


KINDS = {
    "healthy": Kind(130, lambda pages: pages),
    "slow": Kind(25, slowly),
    "Crawl-delay": Kind(15, crawl_delayed),
    "no robots.txt": Kind(20, without_robots, ends={"/private/x": "fetched", "/private/y": "gone"}),
    "robots.txt moved": Kind(10, lambda pages: {**pages, ROBOTS: redirect("http://rules.test/common.txt", 301)}),
    "500 on a page": Kind(15, lambda pages: {**pages, "/missing": status(500)}, ends={"/missing": "failed"}),
    "429 on pages": Kind(15, lambda pages: overloaded(Overload(after=3, seconds=2), pages)),
    "429 with a date": Kind(10, lambda pages: overloaded(Overload(after=2, seconds=2, as_date=True), pages)),
    "503 on pages": Kind(10, lambda pages: overloaded(Overload(after=4, seconds=3, code=503), pages)),
    "429 on robots.txt": Kind(10, lambda pages: overloaded(Overload(after=0, seconds=2), pages)),
    "503 on robots.txt": Kind(10, lambda pages: {**pages, ROBOTS: status(503)}, "due"),
    "403 on robots.txt": Kind(10, lambda pages: {**pages, ROBOTS: status(403)}, "denied"),
    "refuses connections": Kind(10, lambda pages: CLOSED, "due"),
    "never answers": Kind(10, lambda pages: MUTE, "due"),
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


def mixed_kinds() -> dict[str, Kind]:
    """The hosts of the mixed web, well shuffled."""
    kinds = [kind for kind in KINDS.values() for _ in range(kind.hosts)]
    random.Random(4).shuffle(kinds)
    return {f"m{number}.test": kind for number, kind in enumerate(kinds)}


def mixed_sites(kinds: Mapping[str, Kind]) -> dict[str, Mapping[str, Page]]:
    followed = zip(kinds.items(), after(kinds), strict=True)
    sites = {host: kind.change(site(host, following)) for (host, kind), following in followed}
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


def test_a_mixed_crawl_of_300_hosts(tmp_path):
    kinds = mixed_kinds()
    assert len(kinds) == 300
    with WebProcess(mixed_sites(kinds)) as web:
        crawl(
            tmp_path,
            [web.url(host) for host in kinds],
            rounds=4,  # a redirect from a page that was turned away at first takes as many
            **ROBOT,
            scope__mode="any",
            limits__max_tries=2,
            politeness__delay=DELAY,
            politeness__response_factor=1.0,
            politeness__backoff=BACKOFF,
            politeness__robots_backoff=BACKOFF,
            fetch__read_timeout=1.0,
        )
        log = web.requests
        ends = {web.url(host, path): end for (host, path), end in mixed_ends(kinds).items()}
    manners = Manners(
        delay_of=lambda host: CRAWL_DELAY if kinds.get(host) is KINDS["Crawl-delay"] else DELAY,
        response_factor=1.0,
        rest_after=rest_after,
        robots_of={host: "User-agent: *\nDisallow: /" if kind.end else RULES for host, kind in kinds.items()}
        | {host: "" for host, kind in kinds.items() if kind is KINDS["no robots.txt"]},
    )
    assert violations(log, manners) == []
    # The checker had something to check.
    closed = {host for host, kind in kinds.items() if kind is KINDS["refuses connections"]}
    assert {r.host for r in log} == kinds.keys() - closed | {"rules.test"}
    assert {0, 200, 301, 302, 403, 404, 429, 500, 503} == {r.status for r in log}
    # Every URL has one state, and those that are due are in the frontier.
    assert {url: row["state"] for url, row in states(tmp_path).items()} == ends
    waiting = Counter(row["url"] for row in frontier(tmp_path))
    assert waiting == Counter(url for url, state in ends.items() if state == "due")
    # Nobody was asked twice for what he had given.
    given = Counter((r.host, r.path) for r in log if r.status == 200 and r.host != "rules.test")
    assert set(given.values()) == {1}


def test_share():
    """In 3.5 s, with 1 s between requests, a host can be asked for robots.txt and three pages: two hosts for six."""
    asked = [("a", ROBOTS, 0.0, 200), ("a", "/1", 1.0, 200), ("a", "/2", 2.0, 200), ("a", "/3", 3.0, 200)]
    asked += [("b", ROBOTS, 0.1, 200), ("b", "/1", 1.1, 500), ("b", "/2", 2.1, 200), ("b", "/late", 3.6, 200)]
    asked += [("other", "/1", 1.0, 200)]
    log = [Request(host, "GET", path, {}, 0.0, 0.0, 10 + at, code, 1) for host, path, at, code in asked]
    assert share(log, {"a", "b"}, since=10.0, until=13.5, delay=1.0) == 4 / 6


ROUND = 16.0  # seconds
TAIL_DELAY = 0.75


def test_the_long_tail_of_200_hosts_does_not_hold_up_the_others(tmp_path):
    tail = LongTail(hosts=200, pages=int(ROUND / TAIL_DELAY) + 2)
    settings = ROBOT | {
        "politeness__delay": TAIL_DELAY,
        "politeness__response_factor": 0.5,  # so that slow hosts are at work when the round ends
        "politeness__backoff": BACKOFF,
        "politeness__robots_backoff": BACKOFF,
        "fetch__read_timeout": SLOW_ANSWER + 2,
    }
    observer = Silent()
    with WebProcess(tail.sites) as web:
        urls = tail.urls(web)
        crawl(tmp_path, urls, rounds=1, observer=observer, **settings, limits__round_time=ROUND)
        first = web.requests
        fetch = next(manifest for manifest in observer.committed if manifest.step == "fetch")
        waiting = {row["url"]: row for row in frontier(tmp_path)}
        known = {url: row["state"] for url, row in states(tmp_path).items()}
        crawl(tmp_path, rounds=1, **settings, limits__round_time=3.0)
        log = web.requests
    manners = Manners(lambda host: TAIL_DELAY, response_factor=0.5, rest_after=rest_after)
    assert violations(log, manners) == []

    # A round ends by its deadline: no request starts later, and what is under way then is one answer long.
    deadline = datetime.fromisoformat(fetch.started_at).timestamp() + ROUND
    assert max(r.wall for r in first) <= deadline + 0.2
    assert datetime.fromisoformat(fetch.ended_at).timestamp() <= deadline + SLOW_ANSWER + 1.0
    # benchmarks/long_tail.py measures it, and asks for 95 %; here other tests run at the same time.
    assert share(first, tail.hosts("healthy"), min(r.wall for r in first), deadline, TAIL_DELAY) >= 0.8

    # Nothing is lost.
    assert known.keys() == set(urls)
    assert waiting.keys() == {url for url, state in known.items() if state == "due"}
    assert {row["reason"] for row in waiting.values()} <= {"deferred", "retry"}
    assert {url for url, state in known.items() if state != "due"} == {
        web.url(r.host, r.path) for r in first if r.status == 200 and r.path != ROBOTS
    }
    # Hosts that named a time were asked again when it had come (nobody before: see above), if it came.
    answers = {host: [r.status for r in log if r.host == host] for host in tail.hosts("429")}
    assert {tuple(statuses[:3]) for statuses in answers.values()} == {(200, 200, 429)}
    assert {statuses[-1] for statuses in answers.values()} == {200, 429}


# politeness.scope: (the hosts' names, what each is grouped by)
SHARED = {
    "address": [f"s{number}.test" for number in range(12)],
    "domain": [f"s{number}.d{number % 3}.test" for number in range(12)],
}


@pytest.mark.parametrize(("scope", "names"), SHARED.items(), ids=SHARED)
def test_hosts_that_share_an_address_or_a_domain_are_asked_one_at_a_time(tmp_path, scope, names):
    group = {name: f"127.0.1.{number % 3}" for number, name in enumerate(names)}
    pages = {path: slow(0.05, html(path)) for path in ("/a", "/b", "/c")}
    sites = {name: {"/": html(name, links=pages), **pages} for name in names}
    # By domain, the hosts have an address each; by address, they have no name.
    options = {"by_name": True} if scope == "domain" else {"addresses": group}
    with WebProcess(sites, **options) as web:
        crawl(
            tmp_path,
            [web.url(name) for name in names],
            rounds=2,
            **ROBOT,
            politeness__delay=0.3,
            politeness__scope=scope,
            politeness__shared_delay=0.1,
            fetch__resolve=web.pins if scope == "domain" else [],
        )
    assert {row["state"] for row in states(tmp_path).values()} == {"fetched"}
    assert Counter(r.host for r in web.requests) == dict.fromkeys(names, 5)
    manners = Manners(lambda host: 0.3, group_of=group.__getitem__, shared_delay=0.1)
    assert violations(web.requests, manners) == []
