"""The manners of rounds with hundreds of hosts, in simulated time: the same webs as in test_whole_crawls.py."""

from collections import Counter
from typing import Any

from beamtrawl.transforms.politeness.scheduler import Event
from tests.support.access_log import ROBOTS, Manners, violations
from tests.support.long_tail import SLOW_ANSWER, LongTail, share
from tests.support.mixed_web import CRAWL_DELAY, ENDS, KINDS, ROBOT, RULES, mixed_kinds, mixed_sites
from tests.support.simulation import START, SimulatedTime, SimulatedWeb, run_round
from tests.support.web import Request, html, slow

EXACT = 1e-6  # seconds


def outcomes(events: list[Event]) -> dict[str, str]:
    return {event.row["url"]: event.row["outcome"] for event in events if event.table == "visits"}


# what becomes of a kind's URLs in one round, if that is not as in a crawl
ONE_ROUND = {
    "503 on robots.txt": "unreachable_robots",
    "403 on robots.txt": "denied_robots",
    "refuses connections": "unreachable_robots",
    "never answers": "unreachable_robots",
}
BUSY = {"429 on pages", "429 with a date", "503 on pages", "429 on robots.txt"}
OUTCOMES = {name: name for name in ("fetched", "redirected", "gone")} | {
    "denied": "denied_robots",
    "failed": "server_error",
}


def test_a_mixed_web_of_300_hosts() -> None:
    time = SimulatedTime()
    kinds = mixed_kinds()
    sites = mixed_sites(kinds, now=lambda: time.utc().timestamp())
    web = SimulatedWeb(sites, time, read_timeout=1.0)
    urls = [web.url(host, path) for host in kinds for path in ENDS]
    settings: dict[str, Any] = ROBOT | {"politeness__delay": 0.2, "politeness__response_factor": 1.0}
    settings |= {"politeness__backoff": 0.5, "politeness__robots_backoff": 0.5}
    ends = outcomes(run_round(web, urls, seconds=600.0, **settings))
    manners = Manners(
        delay_of=lambda host: CRAWL_DELAY if kinds.get(host) is KINDS["Crawl-delay"] else 0.2,
        response_factor=1.0,
        rest_after=lambda troubles: 0.5 * 2.0 ** (troubles - 1),
        robots_of={host: "User-agent: *\nDisallow: /" if kind.end else RULES for host, kind in kinds.items()}
        | {host: "" for host, kind in kinds.items() if kind is KINDS["no robots.txt"]},
        tolerance=EXACT,
    )
    assert violations(web.requests, manners) == []
    assert {0, 200, 301, 302, 403, 404, 429, 500, 503} == {request.status for request in web.requests}
    for name, kind in KINDS.items():
        if name not in BUSY:
            mine = {host for host in kinds if kinds[host] is kind}
            for path, state in ENDS.items():
                end = ONE_ROUND.get(name) or OUTCOMES[kind.ends.get(path, state)]
                assert {ends[web.url(host, path)] for host in mine} == {end}, (name, path)
    given = Counter((r.host, r.path) for r in web.requests if r.status == 200 and r.host != "rules.test")
    assert set(given.values()) == {1}


def test_share():
    """In 3.5 s, with 1 s between requests, a host can be asked for robots.txt and three pages: two hosts for six."""
    asked = [("a", ROBOTS, 0.0, 200), ("a", "/1", 1.0, 200), ("a", "/2", 2.0, 200), ("a", "/3", 3.0, 200)]
    asked += [("b", ROBOTS, 0.1, 200), ("b", "/1", 1.1, 500), ("b", "/2", 2.1, 200), ("b", "/late", 3.6, 200)]
    asked += [("other", "/1", 1.0, 200)]
    log = [Request(host, "GET", path, {}, 0.0, 0.0, 10 + at, code, 1) for host, path, at, code in asked]
    assert share(log, {"a", "b"}, since=10.0, until=13.5, delay=1.0) == 4 / 6


ROUND, DELAY = 30.0, 0.75  # seconds


def test_the_long_tail_of_200_hosts_does_not_hold_up_the_others() -> None:
    time = SimulatedTime()
    tail = LongTail(hosts=200, pages=int(ROUND / DELAY) + 2, now=lambda: time.utc().timestamp())
    web = SimulatedWeb(tail.sites, time, read_timeout=SLOW_ANSWER + 2)
    settings: dict[str, Any] = {"politeness__delay": DELAY, "politeness__response_factor": 0.5}
    settings |= {"politeness__backoff": 0.5, "politeness__robots_backoff": 0.5, "fetch__connections": 16}
    ends = outcomes(run_round(web, tail.urls(web), seconds=ROUND, **settings))
    manners = Manners(
        lambda host: DELAY,
        response_factor=0.5,
        rest_after=lambda troubles: 0.5 * 2.0 ** (troubles - 1),
        required=(),
        tolerance=EXACT,
    )
    assert violations(web.requests, manners) == []
    # No request starts after the deadline, and the healthy hosts are asked as often as their delay allows.
    assert max(request.started for request in web.requests) < ROUND
    start = START.timestamp()
    assert share(web.requests, tail.hosts("healthy"), start, start + ROUND, DELAY) >= 0.97
    # Who asked to be left alone for ten seconds is asked again after them, and who asked for longer is not.
    for host in tail.hosts("429"):
        statuses = [request.status for request in web.requests if request.host == host]
        assert statuses[:3] == [200, 200, 429]
        assert set(statuses[3:]) <= {200}
    given = {web.url(r.host, r.path) for r in web.requests if r.status == 200 and r.path != ROBOTS}
    assert {url for url, end in ends.items() if end == "fetched"} == given


def test_hosts_that_share_an_address_are_asked_one_at_a_time() -> None:
    time = SimulatedTime()
    sites = {f"h{number}.test": {"/": slow(0.05, html(str(number)))} for number in range(12)}
    web = SimulatedWeb(sites, time)
    group = {name: number % 3 for number, name in enumerate(sites)}
    settings: dict[str, Any] = {
        "politeness__scope": "address",
        "politeness__delay": 0.3,
        "politeness__shared_delay": 0.1,
    }
    run_round(web, map(web.url, sites), 60.0, queue_of=lambda name: str(group[name]), **settings)
    manners = Manners(
        lambda host: 0.3, group_of=lambda host: str(group[host]), shared_delay=0.1, required=(), tolerance=EXACT
    )
    assert violations(web.requests, manners) == []
    assert len(web.requests) == 24
