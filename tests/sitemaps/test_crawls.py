"""Whole crawls of sites that have sitemaps."""

import gzip
import itertools
from collections import Counter
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple

import pytest

from beamtrawl.pipeline.seeds import Seed
from beamtrawl.search.answers.searcher import Index
from beamtrawl.transforms.directory.crawl_dir import CrawlDir
from tests.support import access_log
from tests.support.command_line import LOOPBACK, beamtrawl
from tests.support.crawls import crawl, rows, states
from tests.support.web import Answer, Page, Request, Web, html, plain, redirect, status

ROBOTS = "User-agent: *\nDisallow: /private\n"


def robots(*sitemaps: str) -> Answer:
    return plain(ROBOTS + "".join(f"Sitemap: {name}\n" for name in sitemaps))


def urlset(*urls: str) -> Answer:
    entries = "".join(f"<url><loc>{url}</loc></url>" for url in urls)
    return Answer(body=f"<urlset>{entries}</urlset>".encode(), headers=(("Content-Type", "application/xml"),))


def index(*urls: str) -> Answer:
    entries = "".join(f"<sitemap><loc>{url}</loc></sitemap>" for url in urls)
    return Answer(body=f"<sitemapindex>{entries}</sitemapindex>".encode(), headers=(("Content-Type", "text/xml"),))


def pages(*paths: str) -> dict[str, Page]:
    return {path: html(f"Page {path}", f"All that stands on {path}.") for path in paths}


def visited(path: Path, web: Web, host: str) -> dict[str, str]:
    """The outcome of each visit to a host, by path."""
    origin = web.url(host, "")
    visits = [row for row in rows(path, "visits") if row["url"].startswith(f"{origin}/")]
    outcomes = {row["url"].removeprefix(origin): row["outcome"] for row in visits}
    assert len(outcomes) == len(visits), "a URL was visited twice"
    return outcomes


def rejected(path: Path) -> dict[tuple[str, str], int]:
    """Counts by (reason, host) of all rounds."""
    counts: dict[tuple[str, str], int] = {}
    for row in rows(path, "rejections"):
        key = row["reason"], row["host"]
        counts[key] = counts.get(key, 0) + row["count"]
    return counts


MANY = {
    # A host with sitemaps of every form, one that vouches for them, and one that does not.
    "a.test": {
        "/robots.txt": robots("/index.xml", "missing.xml", "http://a.test/page", "/large.txt", "mailto:me@a.test"),
        "/": html("A", "The front page links to nothing."),
        "/index.xml": index("one.xml.gz", "/two.txt", "//a.test/loop.xml", "/index.xml", "/private/map.xml"),
        "/loop.xml": index("/index.xml", "/three.xml"),
        "/one.xml.gz": Answer(
            body=gzip.compress(urlset("/1", "/2", "/private/x", "/1", "/picture.png").body),
            headers=(("Content-Type", "application/gzip"),),
        ),
        "/two.txt": plain("http://a.test/3\nhttp://b.test/vouched\nhttp://c.test/foreign\n"),
        "/three.xml": urlset("/4"),
        "/page": html("A page", "Somebody thought that this was a sitemap.", ["/from-the-page"]),
        "/large.txt": plain("http://a.test/5\n" + "\n" * 50_000 + "http://a.test/6\n"),
        **pages("/1", "/2", "/3", "/4", "/5", "/6", "/private/x", "/from-the-page"),
    },
    "b.test": {"/robots.txt": robots("http://a.test/two.txt"), "/": html("B"), **pages("/vouched")},
    "c.test": {"/robots.txt": plain(ROBOTS), "/": html("C"), **pages("/foreign")},
    # A host that vouches after the sitemap was read.
    "early.test": {
        "/robots.txt": robots("/all.txt"),
        "/all.txt": plain("http://early.test/1\nhttp://late.test/1\n"),
        "/": html("Early", links=["/2"]),
        "/2": html("Two", links=["http://late.test/"]),
        **pages("/1"),
    },
    "late.test": {"/robots.txt": robots("http://early.test/all.txt"), "/": html("Late"), **pages("/1")},
    # A sitemap that was moved to another host, and fails there at first.
    "moved.test": {
        "/robots.txt": robots("/map"),
        "/map": redirect("http://there.test/moved"),
        "/": html("Moved"),
        **pages("/1"),
    },
    "there.test": {"/robots.txt": plain(ROBOTS), **pages("/1")},
    "stranger.test": pages("/1"),
    # A sitemap that robots.txt does not name.
    "guess.test": {"/": html("Guess"), "/sitemap.xml": urlset("/1"), **pages("/1")},
}
SEEDS = ("a.test", "b.test", "c.test", "early.test", "moved.test", "guess.test")


class Crawled(NamedTuple):
    """A finished crawl of MANY, and what its web saw."""

    path: Path
    web: Web
    requests: list[Request]


@pytest.fixture(scope="module")
def crawled(tmp_path_factory: pytest.TempPathFactory) -> Crawled:
    path = tmp_path_factory.mktemp("sitemaps")
    tired = iter([status(503), plain("http://moved.test/1\nhttp://there.test/1\nhttp://stranger.test/1\n")])
    with Web(MANY | {"there.test": {**MANY["there.test"], "/moved": lambda headers: next(tired)}}) as web:
        settings = {"scope__mode": "any", "fetch__max_body_bytes": 20_000, "sitemaps__guess": True}
        crawl(path, map(web.url, SEEDS), **settings)
        return Crawled(path, web, web.requests)


def asked(crawled: Crawled, host: str) -> list[str]:
    return [request.path for request in crawled.requests if request.host == host]


def test_every_page_that_sitemaps_name_is_found(crawled: Crawled) -> None:
    path, web, _ = crawled
    sitemaps = ("/index.xml", "/loop.xml", "/one.xml.gz", "/two.txt", "/three.xml", "/page", "/large.txt")
    found = ("/", "/1", "/2", "/3", "/4", "/5")
    assert visited(path, web, "a.test") == dict.fromkeys([*sitemaps, *found], "fetched") | {
        "/missing.xml": "gone",
        "/private/map.xml": "denied_robots",
        "/private/x": "denied_robots",
    }
    assert visited(path, web, "b.test") == dict.fromkeys(["/", "/vouched"], "fetched")
    assert visited(path, web, "c.test") == {"/": "fetched", "/sitemap.xml": "gone"}
    hosts = {web.authority(host) for host in ("a.test", "b.test", "c.test")}
    assert {row["url"] for row in rows(path, "documents") if row["host"] in hosts} == {
        *(web.url("a.test", path) for path in found),
        *(web.url("b.test", path) for path in ("/", "/vouched")),
        web.url("c.test"),
    }
    assert {key: count for key, count in rejected(path).items() if key[1] in hosts} == {
        ("sitemap_invalid", web.authority("a.test")): 2,  # one that robots.txt names, and the page
        ("sitemap_truncated", web.authority("a.test")): 1,
        ("sitemap_foreign", web.authority("c.test")): 1,
        ("extension", web.authority("a.test")): 1,
    }
    origin = web.url("a.test", "")
    kinds = {row["url"].removeprefix(origin): row["kind"] for row in rows(path, "visits")}
    assert {kinds[name] for name in sitemaps} == {"sitemap"}
    hits = Index.open(CrawlDir(str(path))).search('"page 4"').hits
    assert [hit.url for hit in hits] == [web.url("a.test", "/4")]


def test_nothing_is_asked_twice_or_against_robots_txt(crawled: Crawled) -> None:
    counts = Counter((request.host, request.path) for request in crawled.requests)
    twice = {("early.test", "/all.txt"), ("there.test", "/moved")}  # the tests below say why
    assert {key for key, count in counts.items() if count > 1} == twice
    manners = access_log.Manners(lambda host: 0.0, required=(), robots_of={"a.test": ROBOTS})
    assert access_log.violations(crawled.requests, manners) == []


def test_the_pages_of_a_sitemap_are_one_link_away_from_what_led_to_its_host(crawled: Crawled) -> None:
    depths = {row["url"]: row["depth"] for row in rows(crawled.path, "documents")}
    url = crawled.web.url
    assert (depths[url("early.test")], depths[url("early.test", "/1")]) == (0, 1)
    assert (depths[url("late.test")], depths[url("late.test", "/1")]) == (2, 3)


def test_a_host_that_vouches_for_a_sitemap_later_has_it_read_again(crawled: Crawled) -> None:
    assert visited(crawled.path, crawled.web, "late.test") == {"/": "fetched", "/1": "fetched"}
    assert asked(crawled, "early.test").count("/all.txt") == 2
    late = crawled.web.authority("late.test")
    assert {key: count for key, count in rejected(crawled.path).items() if key[1] == late} == {
        ("sitemap_foreign", late): 1  # at first
    }


def test_a_sitemap_stays_one_when_it_moves_and_when_it_fails(crawled: Crawled) -> None:
    path, web, _ = crawled
    attempts = [(row["outcome"], row["kind"]) for row in rows(path, "visits") if row["url"].endswith("/moved")]
    assert attempts == [("server_error", "sitemap"), ("fetched", "sitemap")]
    hosts = {web.authority(host) for host in ("moved.test", "there.test", "stranger.test")}
    assert {row["url"] for row in rows(path, "documents") if row["host"] in hosts} == {
        *(web.url("moved.test", path) for path in ("/", "/1")),
        web.url("there.test", "/1"),
    }


def test_where_robots_txt_names_none_a_sitemap_is_looked_for_if_that_is_wanted(crawled: Crawled) -> None:
    assert asked(crawled, "guess.test") == ["/robots.txt", "/", "/sitemap.xml", "/1"]


def test_a_sitemap_as_a_seed_gives_its_pages_as_seeds_and_one_of_a_host_is_a_link_away(tmp_path: Path) -> None:
    sites = {
        "seed.test": {"/map": index("/a.txt"), "/a.txt": plain("http://seed.test/1\n"), **pages("/2")}
        | {"/1": html("One", links=["/2"])},
        "a.test": {"/robots.txt": robots("/map.txt"), "/map.txt": plain("http://a.test/1"), "/": html("A")},
    }
    with Web(sites) as web:
        crawl(tmp_path, [Seed(web.url("seed.test", "/map"), kind="sitemap"), web.url("a.test")], scope__depth=0)
        assert visited(tmp_path, web, "seed.test") == dict.fromkeys(["/map", "/a.txt", "/1"], "fetched")
        assert visited(tmp_path, web, "a.test") == {"/": "fetched"}
        assert {row["url"]: row["depth"] for row in rows(tmp_path, "documents")} == {
            web.url("seed.test", "/1"): 0,
            web.url("a.test"): 0,
        }
        depth = {("depth", web.authority("seed.test")): 1, ("depth", web.authority("a.test")): 1}
        assert rejected(tmp_path) == depth  # the link and the map


def test_sitemaps_are_not_followed_against_the_settings(tmp_path: Path) -> None:
    with Web({"a.test": {"/robots.txt": robots("/map.xml"), "/": html("A"), "/map.xml": urlset("/1")}}) as web:
        crawl(tmp_path, [web.url("a.test")], sitemaps__follow=False)
        assert [request.path for request in web.requests] == ["/robots.txt", "/"]


@pytest.mark.slow("whole crawls")
def test_a_page_that_its_sitemap_says_has_changed_is_visited_again(tmp_path: Path) -> None:
    """The sitemap is read each time; pages are due after thirty days, unless it says that they have changed."""
    changes = itertools.chain(["2020-01-01T00:00Z"], iter(lambda: datetime.now(UTC).isoformat(), ""))
    entry = "<url><loc>/{}</loc><lastmod>{}</lastmod></url>"

    def changing(headers: object) -> Answer:
        entries = entry.format("old", "2020-01-01") + entry.format("new", next(changes))
        return Answer(body=f"<urlset>{entries}</urlset>".encode())

    site = {"/map.xml": changing, **pages("/old", "/new")}
    unnamed = {"/": html("A"), "/sitemap.xml": urlset("/1")}  # nobody looks for it unless that is wanted
    with Web({"a.test": site, "b.test": unnamed}) as web:
        seeds = [Seed(web.url("a.test", "/map.xml"), kind="sitemap"), web.url("b.test")]
        for asked in (["/robots.txt", "/map.xml", "/new", "/old"], ["/map.xml"], ["/map.xml", "/new"]):
            seen = len(web.requests)
            crawl(tmp_path, seeds, recrawl__after=30.0, sitemaps__after=0.0)
            assert [request.path for request in web.requests[seen:] if request.host == "a.test"] == asked
        assert [request.path for request in web.requests if request.host == "b.test"] == ["/robots.txt", "/"]
    changed = states(tmp_path)[web.url("a.test", "/old")]["sitemap_lastmod"]
    assert changed == datetime(2020, 1, 1, tzinfo=UTC)


def test_sitemaps_as_seeds_on_the_command_line(tmp_path: Path) -> None:
    sitemap = "http://127.0.0.1:9/map.xml"
    code, _, err = beamtrawl("crawl", tmp_path / "crawl", "--sitemap", sitemap, "--rounds", "0", *LOOPBACK)
    assert (code, "1 seed added" in err) == (0, True)
    assert beamtrawl("seeds", "add", tmp_path / "crawl", "--sitemap", f"{sitemap}.gz").code == 0
    found = [(row["url"], row["kind"]) for row in rows(tmp_path / "crawl", "seeds")]
    assert found == [(sitemap, "sitemap"), (f"{sitemap}.gz", "sitemap")]
