"""The manners of whole crawls, proved from the logs of the servers: a mixed web, a long tail, shared addresses.

The decisions are proved in simulated time, of 300 and 200 hosts (test_simulated_rounds.py); here is one real crawl of
half of each web. Nothing that is asserted depends on how fast this machine is: a busy one asks later, never sooner.
"""

from collections import Counter

import pytest

from tests.support.access_log import ROBOTS, Manners, violations
from tests.support.crawls import crawl, frontier, states
from tests.support.long_tail import SLOW_ANSWER, LongTail
from tests.support.mixed_web import CRAWL_DELAY, KINDS, ROBOT, RULES, mixed_ends, mixed_kinds, mixed_sites
from tests.support.web import html, slow
from tests.support.web_process import WebProcess

DELAY, BACKOFF = 0.2, 0.5


def rest_after(troubles: int) -> float:
    """A backoff that doubles, in the log as in the settings."""
    return BACKOFF * 2.0 ** (troubles - 1)


@pytest.mark.slow("real clock")
def test_a_mixed_crawl(tmp_path):
    kinds = mixed_kinds(share=2)
    assert len(kinds) == 148
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
            fetch__read_timeout=5.0,  # far from the 0.4 s of the slow hosts
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


ROUND = 16.0  # seconds
TAIL_DELAY = 0.75


@pytest.mark.slow("real clock")
def test_the_long_tail(tmp_path):
    tail = LongTail(hosts=100, pages=int(ROUND / TAIL_DELAY) + 2)
    settings = ROBOT | {
        "politeness__delay": TAIL_DELAY,
        "politeness__response_factor": 0.5,  # so that slow hosts are at work when the round ends
        "politeness__backoff": BACKOFF,
        "politeness__robots_backoff": BACKOFF,
        "fetch__read_timeout": SLOW_ANSWER + 2,
    }
    with WebProcess(tail.sites) as web:
        urls = tail.urls(web)
        crawl(tmp_path, urls, rounds=1, **settings, limits__round_time=ROUND)
        first = web.requests
        waiting = {row["url"]: row for row in frontier(tmp_path)}
        known = {url: row["state"] for url, row in states(tmp_path).items()}
        crawl(tmp_path, rounds=1, **settings, limits__round_time=3.0)
        log, lag = web.requests, web.lag
    manners = Manners(lambda host: TAIL_DELAY, response_factor=0.5, rest_after=rest_after)
    assert violations(log, manners) == []

    # A round ends by its deadline, which counts from the start of the worker: before the first request. What was
    # decided before may be late by as much as the server's own thread, and a machine that stalls.
    deadline = min(r.wall for r in first) + ROUND
    assert max(r.wall for r in first) <= deadline + 3.0 + lag

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
    pages = {path: slow(0.02, html(path)) for path in ("/", "/a", "/b", "/c")}
    sites = dict.fromkeys(names, pages)
    # By domain, the hosts have an address each; by address, they have no name.
    options = {"by_name": True} if scope == "domain" else {"addresses": group}
    with WebProcess(sites, **options) as web:
        crawl(
            tmp_path,
            [web.url(name, path) for name in names for path in pages],
            rounds=1,
            **ROBOT,
            politeness__delay=0.1,
            politeness__scope=scope,
            politeness__shared_delay=0.03,
            fetch__resolve=web.pins if scope == "domain" else [],
        )
    assert {row["state"] for row in states(tmp_path).values()} == {"fetched"}
    assert Counter(r.host for r in web.requests) == dict.fromkeys(names, 5)
    manners = Manners(lambda host: 0.1, group_of=group.__getitem__, shared_delay=0.03)
    assert violations(web.requests, manners) == []
