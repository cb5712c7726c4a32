"""`explain` of many URLs: each URL of a crawl with all kinds of ends has a complete answer, the same as alone."""

import json
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from beamtrawl.transforms.settings import render
from tests.support.command_line import beamtrawl, failure
from tests.support.crawls import crawl, rows, settings
from tests.support.explained import missing_parts
from tests.support.web import CLOSED, MUTE, Answer, Web, html, plain, redirect, slow, status

pytestmark = pytest.mark.slow("whole crawls")

ROBOTS = {"/robots.txt": plain("User-agent: *\nDisallow: /private/\n")}
PROSE = " ".join(f"The {word} of the harbour is described here." for word in ("tide", "pier", "crane", "light", "net"))
LINKS = [
    *("/page", "/copy", "/nearly", "/canonical", "/hidden", "/private/x", "/moved", "/loop", "/gone", "/broken"),
    *("/error", "/slow", "/cut", "/large", "/photo", "/a.png", "/page?utm_source=x", "/x/x/x/x/", "/late"),
    *(f"/calendar?month={month}" for month in range(40)),
    *("http://10.9.8.7/", "http://no-such-name.invalid/"),
]
HOST: dict[str, Any] = (
    ROBOTS
    | {
        "/page": html("Page", PROSE, ["/deep", "/late"]),
        "/copy": html("Page", PROSE, ["/deep"]),
        "/nearly": html("Page", PROSE + " And a word more.", ["/deep"]),
        "/canonical": html("Canonical", "Another text.", head='<link rel="canonical" href="/page">'),
        "/hidden": html("Hidden", PROSE + " Hidden.", head='<meta name="robots" content="noindex">'),
        "/moved": redirect("/arrived", 301),
        "/arrived": html("Arrived", "Here is where it went."),
        "/loop": redirect("/loop"),
        "/gone": status(410),
        "/broken": status(403),
        "/error": status(500),
        "/slow": slow(1e6),
        "/cut": Answer(body=b"short", headers=(("Content-Encoding", "gzip"), ("Content-Type", "text/html"))),
        "/large": html("Large", "large " * 9000),
        "/photo": Answer(body=b"\x89PNG", headers=(("Content-Type", "video/mp4"),)),
        "/late": html("Late", "Pages link to it, and the round has no room for it."),
        "/deep": html("Deep", "Much deeper, there is nothing but mud."),
    }
    | {f"/calendar?month={month}": html("Calendar", "Nothing happens.") for month in range(40)}
)
OTHERS: dict[str, Any] = {
    "busy.test": {"/": status(503, Retry_After="3600")},
    "norobots.test": {"/robots.txt": status(503), "/": html("Unreachable")},
    "forbidden.test": {"/robots.txt": status(403), "/": html("Forbidden")},
    "closed.test": CLOSED,
    "mute.test": MUTE,
}
CHANGES: dict[str, Any] = {
    **{"scope__mode": "any", "scope__depth": 4, "robot__name": "Tester", "scope__path_depth": 9},
    **{"fetch__read_timeout": 2.0, "fetch__connect_timeout": 2.0, "fetch__max_body_bytes": 20_000},
}
OUTCOMES = {
    *("fetched", "redirected", "redirect_loop", "gone", "forbidden", "server_error", "denied_robots", "timeout"),
    *("bad_response", "unwanted_type", "unreachable_robots", "blocked_address", "dns_error"),
}
STATES = {"fetched", "redirected", "gone", "failed", "denied", "due"}


class Crawled(NamedTuple):
    directory: Path
    urls: list[str]  # of all tables


@pytest.fixture(scope="module")
def crawled(tmp_path_factory: pytest.TempPathFactory) -> Crawled:
    directory = tmp_path_factory.mktemp("crawl")
    (directory / "crawl.toml").write_text(render(settings(**CHANGES)))
    with Web({"host.test": HOST, **OTHERS}) as web:
        links = [*LINKS, *map(web.url, OTHERS)]
        links.append(web.url("host.test").replace("http:", "https:"))  # a port that does not speak TLS
        HOST["/"] = html("Harbour", "All about the harbour.", links)
        crawl(directory, [web.url("host.test")], rounds=3, **CHANGES)
        tables = {name: rows(directory, name) for name in ("urls", "frontier", "links", "rejections")}
    urls = {row["url"] for name in ("urls", "frontier") for row in tables[name]}
    urls |= {row["target_url"] for row in tables["links"]}
    urls |= {url for row in tables["rejections"] for url in row["samples"]}
    return Crawled(directory, sorted(urls))


def explained(crawled: Crawled, *words: object) -> list[dict[str, Any]]:
    code, out, err = beamtrawl("explain", crawled.directory, *words, "--json")
    assert (code, err) == (0, "")
    return [json.loads(line) for line in out.splitlines()]


def test_the_crawl_has_all_kinds_of_ends(crawled: Crawled) -> None:
    assert {row["outcome"] for row in rows(crawled.directory, "visits")} >= OUTCOMES
    assert {row["state"] for row in rows(crawled.directory, "urls")} == STATES
    assert {row["state"] for row in rows(crawled.directory, "traps")} > {"open"}


def test_every_url_has_a_complete_answer(crawled: Crawled) -> None:
    found = explained(crawled, *crawled.urls)
    assert [row["url"] for row in found] == crawled.urls
    assert {row["url"]: parts for row in found if (parts := list(missing_parts(row)))} == {}


def test_a_url_has_the_same_answer_alone(crawled: Crawled, tmp_path: Path) -> None:
    sample = crawled.urls[::7]
    together = explained(crawled, *sample)
    for url, found in zip(sample, together, strict=True):
        code, out, _ = beamtrawl("explain", crawled.directory, url, "--json")
        alone = json.loads(out)
        if found["conclusion"].startswith("waits"):  # until a moment, which may come between the two
            del found["conclusion"], alone["conclusion"]
        assert (code, alone) == (0, found)


def test_several_urls_and_hosts_have_a_line_each(crawled: Crawled) -> None:
    site = next(url for url in crawled.urls if url.endswith("/hidden")).removesuffix("/hidden")
    host = site.partition("//")[2]
    code, out, err = beamtrawl("explain", crawled.directory, "no.test", f"{site}/hidden", f"{site}/gone#top", host)
    assert (code, err.splitlines()) == (
        1,
        [
            "no.test: no URL of this host is known; give a URL, which starts with http(s)://",
            "beamtrawl: 1 host without an answer, such as no.test",
        ],
    )
    found = out.splitlines()
    assert found[:2] == [
        f"{site}/hidden: fetched in round 2; not in the index: the page asks not to be indexed",
        f"{site}/gone#top: not in the index: the server says that there is no such page (404 or 410)",
    ]
    assert found[2].startswith(f"{host}: ")
    assert len(found) == 3


def test_bad_input_is_one_line(crawled: Crawled) -> None:
    no_url = "ftp://a.test/: not a URL that can be fetched, which starts with http:// or https://"
    assert failure("explain", crawled.directory)[0] == 2
    assert failure("explain", crawled.directory, "http://a.test/", "ftp://a.test/") == (2, no_url)
