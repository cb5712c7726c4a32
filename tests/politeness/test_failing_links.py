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
@pytest.mark.parametrize(("bad", "tries"), LINKED.values(), ids=LINKED)
def test_no_good_page_waits_for_failing_ones(tmp_path: Path, bad: list[str], tries: int) -> None:
    assert len(bad) == 40
    assert len(GOOD) == 48
    first = bad if bad[0] < GOOD[0].rpartition("/")[0] else []  # its own links to another template come first, too
    victim: dict[str, Page] = {"/": html("Home", links=[*first, *GOOD])} | {
        path: html(f"Item {path}", path) for path in GOOD
    }
    victim |= dict.fromkeys(bad, status(500))
    neighbour = {"/": html("Neighbour", links=[f"http://a.test{path}" for path in bad])}
    with Web({"a.test": victim, "n.test": neighbour}) as web:
        settings = {"politeness__delay": DELAY, "politeness__backoff": BACKOFF, "traps__detect": False}
        crawl(tmp_path, [web.url("n.test"), web.url("a.test")], rounds=2, **settings)
        log = [request for request in web.requests if request.host == "a.test"]
        found, good = states(tmp_path), [web.url("a.test", path) for path in GOOD]
    failed = [request for request in log if request.status == 500]
    assert [found[url]["state"] for url in good] == ["fetched"] * len(GOOD)
    assert len(failed) <= tries
    assert violations(log, Manners(lambda host: DELAY, rest_after=lambda troubles: BACKOFF, required=())) == []
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
@pytest.mark.parametrize("is_everywhere", [False, True], ids=["one template", "all of the host"])
def test_a_429_to_a_neighbours_link_stops_a_host_only_if_the_host_says_so_again(
    tmp_path: Path, is_everywhere: bool
) -> None:
    """The second round visits its other pages; if these get a 429 too, it waits as long as it is told (RFC 6585, 4)."""
    queries = [f"/find?q={n}" for n in range(200)]
    links = {"/": html("Home", "home", [f"/a/{n}" for n in range(8)])}
    pages: dict[str, Page] = links | {f"/a/{n}": html(f"A {n}", f"text {n}", [f"/b/{n}"]) for n in range(8)}
    limited = status(429, Retry_After="3600")
    pages |= {f"/b/{n}": limited if is_everywhere else html(f"B {n}", f"other {n}") for n in range(8)}
    victim = pages | dict.fromkeys(queries, limited)
    neighbour = {"/": html("Neighbour", links=[f"http://a.test{path}" for path in queries])}
    with Web({"a.test": victim, "n.test": neighbour}) as web:
        settings = {"politeness__delay": DELAY, "politeness__backoff": BACKOFF}
        crawl(tmp_path, [web.url("n.test"), web.url("a.test")], rounds=4, **settings)
        log = [request for request in web.requests if request.host == "a.test"]
    assert {request.path for request in log if request.status == 200} >= {path for path in pages if path[:2] != "/b"}
    found = [request for request in log if request.path[:2] == "/b"]
    assert len(found) == (1 if is_everywhere else 8)
    assert sum(request.status == 429 for request in log) <= 4
