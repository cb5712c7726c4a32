"""402, 403 and 429 have names of their own, from the server's log to each place where an operator looks."""

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from beamtrawl.runners.state.outcome_words import MEANINGS
from tests.report.pages import report_of, tables
from tests.support.access_log import Manners, violations
from tests.support.command_line import LOOPBACK, success
from tests.support.crawls import rows, states
from tests.support.web import Request, Web, html, status


class Crawled(NamedTuple):
    directory: Path
    said: str  # by the crawl
    urls: dict[str, str]  # of the hosts
    log: list[Request]


def busy(*waits: str) -> Any:
    """A page that turns requests away with these values of Retry-After, none for "", before it answers."""
    answers: Iterator[Any] = iter([status(429, **({"Retry_After": wait} if wait else {})) for wait in waits])
    return lambda headers: next(answers, html("Busy"))


def sold(headers: Mapping[str, str]) -> Any:
    return status(402, crawler_price="USD 0.05")


@pytest.fixture(scope="module")
def crawled(tmp_path_factory: pytest.TempPathFactory) -> Crawled:
    directory = tmp_path_factory.mktemp("refusals")
    sites = {
        "pays.test": {"/": html("Home", links=["/sold"]), "/sold": sold},
        "exact.test": {"/": status(402, crawler_exact_price="EUR 1")},
        "secret.test": {"/": status(403)},
        "busy.test": {"/": html("Home", links=["/1"]), "/1": busy("1", "")},
        "full.test": {"/": busy("3600")},
    }
    with Web(sites) as web:
        urls = {name: web.url(name) for name in sites}
        seeds = [word for url in urls.values() for word in ("--seed", url)]
        said = success("crawl", directory, *LOOPBACK, *seeds, "--set", "politeness.backoff=0.2", "--json")
        success("crawl", directory, *LOOPBACK)  # a second run asks nothing again
        return Crawled(directory, said, urls, web.requests)


def asked(crawled: Crawled, host: str) -> list[int]:
    found = (request for request in crawled.log if request.host == host and request.path != "/robots.txt")
    return [request.status for request in found]


def test_what_the_servers_saw(crawled: Crawled) -> None:
    """402 and 403 are asked once, 429 again after Retry-After, or after the pause that doubles."""
    assert {host: asked(crawled, host) for host in crawled.urls} == {
        "pays.test": [200, 402],
        "exact.test": [402],
        "secret.test": [403],
        "busy.test": [200, 429, 429, 200],
        "full.test": [429],
    }
    pauses = Manners(lambda host: 0.0, rest_after=lambda troubles: 0.2 * 2.0 ** (troubles - 1), required=())
    assert violations(crawled.log, pauses) == []


def test_tables(crawled: Crawled) -> None:
    found = {
        (row["url"].removeprefix(url), row["outcome"], row["error"])
        for row in rows(crawled.directory, "visits")
        for url in crawled.urls.values()
        if row["url"].startswith(url) and row["status"] != 200
    }
    assert {each[1:] for each in found} == {
        ("payment_required", "crawler-price: USD 0.05"),
        ("payment_required", "crawler-exact-price: EUR 1"),
        ("forbidden", None),
        ("too_many_requests", None),
    }
    state = states(crawled.directory)
    assert [(state[crawled.urls[host]]["state"], state[crawled.urls[host]]["reason"]) for host in crawled.urls] == [
        ("fetched", "fetched"),
        ("failed", "payment_required"),
        ("failed", "forbidden"),
        ("fetched", "fetched"),
        ("due", "too_many_requests"),
    ]


def test_commands(crawled: Crawled) -> None:
    directory, urls = crawled.directory, crawled.urls
    events = [json.loads(line) for line in crawled.said.splitlines()]
    counts = [event["counters"] for event in events if event.get("step") == "fetch" and "counters" in event]
    names = ("payment_required", "forbidden", "too_many_requests", "client_error", "server_error")
    assert [sum(each.get(name, 0) for each in counts) for name in names] == [2, 1, 3, 0, 0]
    said = success("status", directory)
    assert "too_many_requests 3" in said and "payment_required 2" in said and "forbidden 1" in said
    assert f"seed {urls['secret.test']} failed: {MEANINGS['forbidden']}" in said
    price = success("sql", directory, "SELECT error FROM visits WHERE outcome = 'payment_required' ORDER BY 1")
    assert price.splitlines()[-2:] == ["crawler-exact-price: EUR 1", "crawler-price: USD 0.05"]
    assert MEANINGS["payment_required"] in success("explain", directory, urls["exact.test"])
    assert "crawler-exact-price: EUR 1" in success("explain", directory, urls["exact.test"])
    assert "1 too_many_requests" in success("explain", directory, urls["full.test"].split("/")[2])
    outcomes = {row[0]: row[1:3] for row in tables(report_of(directory))["Visits by outcome"]}
    assert {name: outcomes[name] for name in names[:3]} == {
        name: [MEANINGS[name], count] for name, count in zip(names, ("2", "1", "3"), strict=False)
    }
