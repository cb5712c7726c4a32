"""Rounds in which the status of external targets is asked for: by which method, how often, and with which pauses."""

import doctest
from typing import Any

from beamtrawl.transforms.frontier.selection import Due
from beamtrawl.transforms.politeness import external_targets
from beamtrawl.transforms.politeness.host_queue import HostTurn
from beamtrawl.transforms.politeness.scheduler import HostScheduler
from beamtrawl.transforms.politeness.url_queue import UrlQueue
from beamtrawl.transforms.politeness.workers import keeper
from beamtrawl.transforms.tables import sitemap_terms
from beamtrawl.transforms.urls import filters
from beamtrawl.transforms.urls.canonical import url_key
from tests.support.contexts import visit_context
from tests.support.simulation import SimulatedTime, SimulatedWeb
from tests.support.web import OTHERWISE, Page, html, plain, slow, status

DELAY = 2.0


def test_the_examples_in_the_documentation() -> None:
    for module in (external_targets, sitemap_terms, keeper):
        assert doctest.testmod(module).failed == 0
    assert filters.EXTERNAL == sitemap_terms.EXTERNAL


def run(site: dict[str, Page], *paths: str, failures: int = 0) -> tuple[list[str], dict[str, dict[str, Any]]]:
    """(the requests but robots.txt, the rows of visits by path) of a round with these targets of a host."""
    web = SimulatedWeb({"a.test": site}, SimulatedTime())
    scheduler = HostScheduler(visit_context(web.open_client, {"politeness__delay": DELAY}), {}, web.time, web.time)
    urls = [f"http://a.test{path}" for path in paths]
    queue = UrlQueue(
        Due(url_key(url), url, "a.test", 1, 0.0, "http://b.test/", None, None, 0, 0, failures, kind="external")
        for url in urls
    )
    scheduler.add("a.test", [HostTurn("a.test", queue)])
    visits = [event.row for event in scheduler.pump(wait=True) if event.table == "visits"]
    gaps = [two.started - one.ended for one, two in zip(web.requests, web.requests[1:], strict=False)]
    assert all(gap >= DELAY for gap in gaps), "HEAD and GET of a URL are two requests"
    asked = [f"{request.method} {request.path}" for request in web.requests if request.path != "/robots.txt"]
    assert {row["body"] for row in visits} <= {None}
    assert len(visits) == len(paths)
    return asked, {row["url"].removeprefix("http://a.test"): row for row in visits}


def test_get_decides_where_head_proves_nothing() -> None:
    site: dict[str, Page] = {f"HEAD /{code}": status(code) for code in (400, 403, 404, 500)}
    site |= {f"/{code}": html("There") for code in (400, 403, 404, 500)}
    asked, visits = run(
        site | {"/200": html("There"), "/410": status(410)}, "/200", "/400", "/403", "/404", "/410", "/500"
    )
    both = ("/400", "/403", "/404", "/410", "/500")
    assert asked == ["HEAD /200", *(f"{method} {path}" for path in both for method in ("HEAD", "GET"))]
    assert {path: row["outcome"] for path, row in visits.items()} == dict.fromkeys(visits, "fetched") | {"/410": "gone"}
    assert {row["host_failures"] for row in visits.values()} == {0}


def test_a_host_that_does_not_know_head_is_asked_by_get_from_then_on() -> None:
    site: dict[str, Page] = {f"HEAD /{n}": status(501 if n % 2 else 405) for n in range(5)} | {OTHERWISE: html("There")}
    asked, _ = run(site, *(f"/{n}" for n in range(5)))
    assert asked == ["HEAD /0", *(f"GET /{n}" for n in range(5))]


def test_after_a_failure_it_is_get() -> None:
    assert run({"/": html("There")}, "/", failures=1)[0] == ["GET /"]


def test_a_host_that_asks_for_patience_is_not_asked_twice() -> None:
    for answer in (status(429), status(503), slow(1e6)):
        asked, visits = run({OTHERWISE: answer, "/robots.txt": plain("")}, "/")
        assert asked == ["HEAD /"]
        assert visits["/"]["outcome"] in ("too_many_requests", "server_error", "timeout")


def test_a_host_that_lies_about_everything_is_asked_twice_for_each() -> None:
    paths = [f"/{n}" for n in range(100)]
    asked, visits = run({"/robots.txt": plain("")}, *paths)
    assert sorted(asked) == sorted(f"{method} {path}" for path in paths for method in ("GET", "HEAD"))
    assert {row["outcome"] for row in visits.values()} == {"gone"}


def test_what_robots_txt_denies_is_not_asked_for() -> None:
    asked, visits = run({"/robots.txt": plain("User-agent: *\nDisallow: /a"), OTHERWISE: html("There")}, "/a", "/b")
    assert asked == ["HEAD /b"]
    assert {path: row["outcome"] for path, row in visits.items()} == {"/a": "denied_robots", "/b": "fetched"}
