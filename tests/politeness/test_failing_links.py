"""Links to URLs that fail, from a neighbour and before all others: a crawl of real servers gets every good page."""

from pathlib import Path

import pytest

from tests.support.access_log import Manners, violations
from tests.support.crawls import crawl, rows, states
from tests.support.web import Page, Web, html, status

DELAY, BACKOFF = 0.05, 0.1  # seconds
GOOD = [f"/item/m{a}{b}" for a in "abcdef" for b in "ijklmnop"]

# the failing paths that the neighbour links to; how many requests for them the round of the good pages sends at most
LINKED = {
    "a folder that is broken": ([f"/broken/{n}" for n in range(40)], 3),
    "spelled as the good ones": ([f"/item/{a}{b}" for a in "abcdefgh" for b in "abcde"], 4),
    "a folder each": ([f"/{a}{b}/" for a in "abcdefgh" for b in "abcde"], 40),
}


@pytest.mark.slow("whole crawls")
def test_no_good_page_waits_for_failing_ones(tmp_path: Path) -> None:
    assert len(GOOD) == 48
    sites: dict[str, dict[str, Page]] = {}
    for number, (bad, _) in enumerate(LINKED.values()):
        assert len(bad) == 40
        first = bad if bad[0] < GOOD[0].rpartition("/")[0] else []  # its own links to another template come first, too
        sites[f"n{number}.test"] = {"/": html("Neighbour", links=[f"//a{number}.test{path}" for path in bad])}
        sites[f"a{number}.test"] = {"/": html("Home", links=[*first, *GOOD])} | dict.fromkeys(bad, status(500))
        sites[f"a{number}.test"] |= {path: html(f"Item {path}", f"{path} of {number}") for path in GOOD}
    with Web(sites) as web:
        settings = {"politeness__delay": DELAY, "politeness__backoff": BACKOFF, "traps__detect": False}
        crawl(tmp_path, [web.url(host) for host in sorted(sites, reverse=True)], rounds=2, **settings)
        found = states(tmp_path)
        for number, (name, (_, tries)) in enumerate(LINKED.items()):
            host = f"a{number}.test"
            log = [request for request in web.requests if request.host == host]
            assert [found[web.url(host, path)]["state"] for path in GOOD] == ["fetched"] * len(GOOD), name
            assert 0 < sum(request.status == 500 for request in log) <= tries, name
            manners = Manners(lambda host: DELAY, rest_after=lambda troubles: BACKOFF, required=())
            assert violations(log, manners) == [], name
    reasons = {row["error"] for row in rows(tmp_path, "visits") if row["outcome"] == "deferred" and row["error"]}
    assert all(reason.startswith("3 requests of template /") for reason in reasons)
    assert {row["state"] for row in found.values()} == {"fetched", "due"}  # nothing is given up


@pytest.mark.slow("whole crawls")
def test_a_crawl_ends_with_failing_templates(tmp_path: Path) -> None:
    """They are tried until the host has failed as often in a row as a dead one, and then given up."""
    site: dict[str, Page] = {"/": html("Home", links=[f"/broken/{n}" for n in range(20)])}
    with Web({"a.test": site | {f"/broken/{n}": status(500) for n in range(20)}}) as web:
        settings = {"politeness__backoff": BACKOFF, "limits__max_host_tries": 4}
        end = crawl(tmp_path, [web.url("a.test")], **settings)
        failed = [request for request in web.requests if request.status == 500]
    assert end.reason == "frontier_empty"
    assert len(failed) <= 8
    assert {row["reason"] for row in states(tmp_path).values()} == {"fetched", "server_error", "dead_host"}


@pytest.mark.slow("whole crawls")
def test_a_429_to_a_neighbours_link_stops_a_host_only_if_the_host_says_so_again(tmp_path: Path) -> None:
    """The second round visits its other pages; if these get a 429 too, it waits as long as it is told (RFC 6585, 4)."""
    queries, limited = [f"/find?q={n}" for n in range(200)], status(429, Retry_After="3600")
    sites: dict[str, dict[str, Page]] = {}
    for host in ("template.test", "everywhere.test"):
        pages: dict[str, Page] = {"/": html("Home", f"home of {host}", [f"/a/{n}" for n in range(8)])}
        pages |= {f"/a/{n}": html(f"A {n}", f"text {n} of {host}", [f"/b/{n}"]) for n in range(8)}
        is_limited = host == "everywhere.test"
        pages |= {f"/b/{n}": limited if is_limited else html(f"B {n}", f"other {n}") for n in range(8)}
        sites[f"to-{host}"] = {"/": html("Neighbour", links=[f"//{host}{path}" for path in queries])}
        sites[host] = pages | dict.fromkeys(queries, limited)
    with Web(sites) as web:
        settings = {"politeness__delay": DELAY, "politeness__backoff": BACKOFF}
        crawl(tmp_path, [web.url(host) for host in sorted(sites, reverse=True)], rounds=4, **settings)
        requests = web.requests
    for host, count in (("template.test", 8), ("everywhere.test", 1)):
        log = [request for request in requests if request.host == host]
        assert {request.path for request in log if request.status == 200} >= {"/", *(f"/a/{n}" for n in range(8))}
        assert len([request for request in log if request.path[:2] == "/b"]) == count
        assert 0 < sum(request.status == 429 for request in log) <= 4
