"""Whole crawls of sites that have sitemaps."""

import gzip
import itertools
from datetime import UTC, datetime
from pathlib import Path

import pytest

from beamtrawl.pipeline.seeds import Seed
from beamtrawl.search.searcher import Index
from beamtrawl.transforms.storage.crawl_dir import CrawlDir
from tests.support import access_log
from tests.support.command_line import LOOPBACK, beamtrawl
from tests.support.crawls import crawl, rows, states
from tests.support.web import Answer, Page, Web, html, plain, redirect, status

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


def test_every_page_that_sitemaps_name_is_found_and_nothing_is_asked_twice(tmp_path: Path) -> None:
    packed = urlset("/1", "/2", "/private/x", "/1", "/picture.png").body
    large = "http://a.test/5\n" + "\n" * 50_000 + "http://a.test/6\n"
    sites = {
        "a.test": {
            "/robots.txt": robots("/index.xml", "missing.xml", "http://a.test/page", "/large.txt", "mailto:me@a.test"),
            "/": html("A", "The front page links to nothing."),
            "/index.xml": index("one.xml.gz", "/two.txt", "//a.test/loop.xml", "/index.xml", "/private/map.xml"),
            "/loop.xml": index("/index.xml", "/three.xml"),
            "/one.xml.gz": Answer(body=gzip.compress(packed), headers=(("Content-Type", "application/gzip"),)),
            "/two.txt": plain("http://a.test/3\nhttp://b.test/vouched\nhttp://c.test/foreign\n"),
            "/three.xml": urlset("/4"),
            "/page": html("A page", "Somebody thought that this was a sitemap.", ["/from-the-page"]),
            "/large.txt": plain(large),
            **pages("/1", "/2", "/3", "/4", "/5", "/6", "/private/x", "/from-the-page"),
        },
        "b.test": {"/robots.txt": robots("http://a.test/two.txt"), "/": html("B"), **pages("/vouched")},
        "c.test": {"/": html("C"), **pages("/foreign")},
    }
    with Web(sites) as web:
        crawl(tmp_path, map(web.url, sites), fetch__max_body_bytes=20_000)

        sitemaps = ("/index.xml", "/loop.xml", "/one.xml.gz", "/two.txt", "/three.xml", "/page", "/large.txt")
        found = ("/", "/1", "/2", "/3", "/4", "/5")
        assert visited(tmp_path, web, "a.test") == dict.fromkeys([*sitemaps, *found], "fetched") | {
            "/missing.xml": "gone",
            "/private/map.xml": "denied_robots",
            "/private/x": "denied_robots",
        }
        assert visited(tmp_path, web, "b.test") == dict.fromkeys(["/", "/vouched"], "fetched")
        assert visited(tmp_path, web, "c.test") == dict.fromkeys(["/"], "fetched")
        assert {row["url"] for row in rows(tmp_path, "documents")} == {
            *(web.url("a.test", path) for path in found),
            *(web.url("b.test", path) for path in ("/", "/vouched")),
            web.url("c.test"),
        }
        assert rejected(tmp_path) == {
            ("sitemap_invalid", web.authority("a.test")): 2,  # one that robots.txt names, and the page
            ("sitemap_truncated", web.authority("a.test")): 1,
            ("sitemap_foreign", web.authority("c.test")): 1,
            ("extension", web.authority("a.test")): 1,
        }
        assert all(row["kind"] == "sitemap" for row in rows(tmp_path, "visits") if row["url"].endswith(sitemaps))
        asked = [(request.host, request.path) for request in web.requests]
        assert len(asked) == len(set(asked))
        manners = access_log.Manners(lambda host: 0.0, required=(), robots_of={"a.test": ROBOTS})
        assert access_log.violations(web.requests, manners) == []
    hits = Index.open(CrawlDir(str(tmp_path))).search('"page 4"').hits
    assert [hit.url for hit in hits] == [web.url("a.test", "/4")]


def test_a_sitemap_as_a_seed_gives_its_pages_as_seeds(tmp_path: Path) -> None:
    site = {"/map": index("/a.txt"), "/a.txt": plain("http://a.test/1\n"), "/1": html("One", links=["/2"])}
    with Web({"a.test": site | pages("/2")}) as web:
        crawl(tmp_path, [Seed(web.url("a.test", "/map"), kind="sitemap")], scope__depth=0)
        assert visited(tmp_path, web, "a.test") == dict.fromkeys(["/map", "/a.txt", "/1"], "fetched")
        assert [(row["url"], row["depth"]) for row in rows(tmp_path, "documents")] == [(web.url("a.test", "/1"), 0)]


def test_the_pages_of_a_sitemap_are_one_link_away_from_what_led_to_its_host(tmp_path: Path) -> None:
    sites = {
        "a.test": {"/robots.txt": robots("/map.txt"), "/map.txt": plain("http://a.test/1"), "/1": html("One"),
                   "/": html("A", links=["http://b.test/"])},
        "b.test": {"/robots.txt": robots("/map.txt"), "/map.txt": plain("http://b.test/1"), "/": html("B")},
    }  # fmt: skip
    with Web(sites) as web:
        crawl(tmp_path / "0", [web.url("a.test")], scope__depth=0)
        crawl(tmp_path / "1", [web.url("a.test")], scope__depth=1, scope__mode="any")
        assert visited(tmp_path / "0", web, "a.test") == {"/": "fetched"}
        assert rejected(tmp_path / "0") == {
            ("depth", web.authority("a.test")): 1,
            ("scope", web.authority("b.test")): 1,
        }  # the map and the link
        assert visited(tmp_path / "1", web, "a.test") == dict.fromkeys(["/", "/map.txt", "/1"], "fetched")
        assert visited(tmp_path / "1", web, "b.test") == {"/": "fetched"}


def test_a_host_that_vouches_for_a_sitemap_later_has_it_read_again(tmp_path: Path) -> None:
    sites = {
        "a.test": {
            "/robots.txt": robots("/all.txt"),
            "/all.txt": plain("http://a.test/1\nhttp://b.test/1\n"),
            "/1": html("One", links=["/2"]),
            "/2": html("Two", links=["http://b.test/"]),
            "/": html("A"),
        },
        "b.test": {"/robots.txt": robots("http://a.test/all.txt"), "/": html("B"), **pages("/1")},
    }
    with Web(sites) as web:
        crawl(tmp_path, [web.url("a.test")], scope__mode="any")
        assert visited(tmp_path, web, "b.test") == {"/": "fetched", "/1": "fetched"}
        assert [request.path for request in web.requests].count("/all.txt") == 2
        assert rejected(tmp_path) == {("sitemap_foreign", web.authority("b.test")): 1}  # at first


def test_a_sitemap_stays_one_when_it_moves_and_when_it_fails(tmp_path: Path) -> None:
    tired = iter([status(503), plain("http://a.test/1\nhttp://b.test/1\nhttp://c.test/1\n")])
    sites = {
        "a.test": {
            "/robots.txt": robots("/map"),
            "/map": redirect("http://b.test/moved"),
            "/": html("A"),
            **pages("/1"),
        },
        "b.test": {"/moved": lambda headers: next(tired), **pages("/1")},
        "c.test": pages("/1"),
    }
    with Web(sites) as web:
        crawl(tmp_path, [web.url("a.test")], scope__mode="any")
        attempts = [(row["outcome"], row["kind"]) for row in rows(tmp_path, "visits") if row["url"].endswith("/moved")]
        assert attempts == [("server_error", "sitemap"), ("fetched", "sitemap")]
        assert {row["url"] for row in rows(tmp_path, "documents")} == {
            *(web.url("a.test", path) for path in ("/", "/1")),
            web.url("b.test", "/1"),
        }


@pytest.mark.parametrize(
    ("changes", "asked"),
    [({}, ["/"]), ({"sitemaps__guess": True}, ["/", "/sitemap.xml", "/1"])],
    ids=["by default", "with the setting"],
)
def test_where_robots_txt_names_none_a_sitemap_is_looked_for_only_if_that_is_wanted(
    tmp_path: Path, changes: dict, asked: list[str]
) -> None:
    with Web({"a.test": {"/": html("A"), "/sitemap.xml": urlset("/1"), **pages("/1")}}) as web:
        crawl(tmp_path, [web.url("a.test")], **changes)
        assert [request.path for request in web.requests] == ["/robots.txt", *asked]


def test_sitemaps_are_not_followed_against_the_settings(tmp_path: Path) -> None:
    with Web({"a.test": {"/robots.txt": robots("/map.xml"), "/": html("A"), "/map.xml": urlset("/1")}}) as web:
        crawl(tmp_path, [web.url("a.test")], sitemaps__follow=False)
        assert [request.path for request in web.requests] == ["/robots.txt", "/"]


def test_a_page_that_its_sitemap_says_has_changed_is_visited_again(tmp_path: Path) -> None:
    """The sitemap is read each time; pages are due after thirty days, unless it says that they have changed."""
    changes = itertools.chain(["2020-01-01T00:00Z"], iter(lambda: datetime.now(UTC).isoformat(), ""))
    entry = "<url><loc>/{}</loc><lastmod>{}</lastmod></url>"

    def changing(headers: object) -> Answer:
        entries = entry.format("old", "2020-01-01") + entry.format("new", next(changes))
        return Answer(body=f"<urlset>{entries}</urlset>".encode())

    site = {"/robots.txt": robots("/map.xml"), "/": html("A"), "/map.xml": changing, **pages("/old", "/new")}
    with Web({"a.test": site}) as web:
        for asked in (["/robots.txt", "/", "/map.xml", "/new", "/old"], ["/map.xml"], ["/map.xml", "/new"]):
            seen = len(web.requests)
            crawl(tmp_path, [web.url("a.test")], recrawl__after=30.0, sitemaps__after=0.0)
            assert [request.path for request in web.requests[seen:]] == asked
    changed = states(tmp_path)[web.url("a.test", "/old")]["sitemap_lastmod"]
    assert changed == datetime(2020, 1, 1, tzinfo=UTC)


def test_sitemaps_as_seeds_on_the_command_line(tmp_path: Path) -> None:
    site = {"/map.xml": urlset("/1"), "/more.txt": plain("http://a.test/2"), **pages("/1", "/2")}
    with Web({"a.test": site}) as web:
        code, _, err = beamtrawl("crawl", tmp_path / "crawl", "--sitemap", web.url("a.test", "/map.xml"), *LOOPBACK)
        assert (code, "1 seeds added" in err) == (0, True)
        assert beamtrawl("seeds", "add", tmp_path / "crawl", "--sitemap", web.url("a.test", "/more.txt")).code == 0
        assert beamtrawl("crawl", tmp_path / "crawl", "--workers", 1).code == 0
        assert visited(tmp_path / "crawl", web, "a.test") == dict.fromkeys(
            ["/map.xml", "/1", "/more.txt", "/2"], "fetched"
        )
        assert [row["kind"] for row in rows(tmp_path / "crawl", "seeds")] == ["sitemap"] * 2
