"""`block`, `unblock` and `blocks` on a small crawl, and what searches find meanwhile."""

import json
from pathlib import Path

import pytest

from beamtrawl.search.answers.searcher import Index
from beamtrawl.search.gateway.app import create_app
from beamtrawl.search.gateway.reload import RELOAD_INTERVAL_S
from beamtrawl.transforms.directory.crawl_dir import CrawlDir
from tests.support.command_line import LOOPBACK, beamtrawl, failure
from tests.support.web import Web, html, redirect

SITES = {
    "a.test": {
        "/": html("Home", "lighthouse", ["/private/x", "/moved", "//b.test/"]),
        "/private/x": html("Secret", "lighthouse keeper"),
        "/moved": redirect("//b.test/new"),
    },
    "b.test": {"/": html("Other", "lighthouse of another harbour"), "/new": html("New", "lighthouse, newly painted")},
}


@pytest.fixture(scope="module")
def web():
    with Web(SITES) as web:
        yield web


@pytest.fixture
def crawl(tmp_path: Path, web: Web) -> Path:
    """A crawl after its first round: the links of the first page wait."""
    path = tmp_path / "crawl"
    assert beamtrawl("crawl", path, "--seed", web.url("a.test"), "--scope", "any", "--rounds", 1, *LOOPBACK).code == 0
    return path


def hits(path: Path) -> set[str]:
    return {hit.title for hit in Index.open(CrawlDir(str(path))).search("lighthouse").hits}


def test_a_blocked_url_waits_and_is_fetched_when_it_is_unblocked(crawl: Path, web: Web) -> None:
    a, b, before = web.authority("a.test"), web.authority("b.test"), len(web.requests)
    ran = beamtrawl("block", crawl, b, "--reason", "mail of 3 May")
    assert ran.out == (
        f"{b} is blocked: no request to it starts from now on, and searches find none of its pages; 1 of 1 URL waits in"
        " the frontier until it is unblocked\n"
    )
    assert beamtrawl("block", crawl, f"{a}/private/*").code == 0
    ran = beamtrawl("crawl", crawl, *LOOPBACK)
    assert (ran.code, "the frontier is empty but for 3 URLs that are blocked" in ran.err + ran.out) == (0, True)
    assert {(r.host, r.path) for r in web.requests[before:] if r.path != "/robots.txt"} == {("a.test", "/moved")}
    assert hits(crawl) == {"Home"}
    assert f"blocked: {b}, {a}/private/*; 3 URLs of the frontier wait for that" in beamtrawl("status", crawl).out
    said = beamtrawl("explain", crawl, web.url("b.test")).out
    assert said.startswith(f"blocked by {b} since 20")
    assert f"{b} is blocked since 20" in beamtrawl("explain", crawl, b).out

    assert [block["pattern"] for block in json.loads(beamtrawl("blocks", crawl, "--json").out)] == [b, f"{a}/private/*"]
    assert "(mail of 3 May)" in beamtrawl("explain", crawl, b).out
    assert beamtrawl("blocks", crawl).out.splitlines()[0].endswith("  mail of 3 May")
    assert beamtrawl("unblock", crawl, b).code == beamtrawl("unblock", crawl, f"{a}/private/*").code == 0
    assert beamtrawl("blocks", crawl).out == "no blocks\n"
    assert beamtrawl("crawl", crawl, *LOOPBACK).code == 0
    assert hits(crawl) == {"Home", "Secret", "Other", "New"}


@pytest.mark.slow("whole crawls")
def test_searches_find_no_blocked_page_at_once(crawl: Path, web: Web) -> None:
    assert beamtrawl("crawl", crawl, *LOOPBACK).code == 0
    now = [0.0]
    client = create_app(CrawlDir(str(crawl)), clock=lambda: now[0]).test_client()

    def found() -> set[str]:
        return {hit["title"] for hit in client.get("/api/search?q=lighthouse").json["hits"]}

    cached = "/cached?url=" + web.url("b.test")
    assert found() == hits(crawl) == {"Home", "Secret", "Other", "New"}
    assert client.get(cached).status_code == 200
    beamtrawl("block", crawl, web.authority("b.test"))
    assert hits(crawl) == {"Home", "Secret"}
    now[0] += RELOAD_INTERVAL_S
    assert found() == {"Home", "Secret"}
    assert client.get(cached).status_code == 404
    beamtrawl("unblock", crawl, web.authority("b.test"))
    now[0] += RELOAD_INTERVAL_S
    assert found() == {"Home", "Secret", "Other", "New"}


def test_bad_input_is_one_line(crawl: Path, tmp_path: Path) -> None:
    said = "https://b.test/ is no pattern: it must be HOST or HOST/PATTERN, without http://: b.test; * is anything"
    assert failure("block", crawl, "https://b.test/")[1].replace("'", "") == said
    ran = beamtrawl("block", crawl, "Unknown.test")
    assert ran.out == "unknown.test is blocked from now on; so far no URL of the crawl matches it\n"
    assert failure("unblock", crawl, "b.test") == (2, "b.test is not blocked; the blocks are: unknown.test")
    beamtrawl("unblock", crawl, "unknown.test")
    assert failure("unblock", crawl, "b.test") == (2, "b.test is not blocked; the crawl has no blocks")
    assert failure("block", tmp_path / "none", "b.test")[0] == 1
    (crawl / "blocks" / "0.json").write_text("{")
    for command in ("crawl", "blocks", "status"):
        code, line = failure(command, crawl)
        assert (code, line) == (1, "blocks/0.json holds no block; remove it, and block its host anew")
