"""Hosts whose addresses are refused: nothing is requested of them, and nothing is lost once they are allowed."""

from datetime import timedelta
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from beamtrawl.pipeline.control import End
from beamtrawl.search.answers.searcher import Index
from beamtrawl.transforms.directory.crawl_dir import CrawlDir
from tests.support.crawls import crawl, frontier, rows, states
from tests.support.web import Page, Web, html, redirect

NONE = {"fetch__allow_addresses": []}


def found(path: Path) -> set[str]:
    return {urlsplit(hit.url).path for hit in Index.open(CrawlDir(str(path))).search("lamp").hits}


def test_a_seed_that_was_refused_is_fetched_once_the_settings_allow_it(tmp_path: Path) -> None:
    with Web({"a.test": {"/": html("Home", "a lamp")}}) as web:
        ends = [crawl(tmp_path, [web.url("a.test")], **NONE), crawl(tmp_path, **NONE)]
        (visit,) = rows(tmp_path, "visits")
        (host,) = rows(tmp_path, "hosts")
        assert (visit["outcome"], host["held_by"], web.requests) == ("blocked_address", "refused", [])
        # Neither command waits: the host is due later than a crawl waits for, and the second asks nothing.
        due_at = host["not_before"]
        assert ends == [End("not_due", rounds, due_at, refused=1) for rounds in (1, 0)]
        assert due_at - visit["fetched_at"] > timedelta(minutes=19)
        assert crawl(tmp_path).reason == "frontier_empty"
        assert [request.path for request in web.requests] == ["/robots.txt", "/"]
        assert found(tmp_path) == {"/"}


@pytest.mark.slow("whole crawls")
def test_pages_whose_host_is_refused_stay_in_the_index_and_are_visited_later(tmp_path: Path) -> None:
    site = {"/": html("Home", "a lamp", ["/a"]), "/a": html("A", "a lamp, too")}
    with Web({"a.test": site}) as web:
        crawl(tmp_path, [web.url("a.test")])
        asked = len(web.requests)
        crawl(tmp_path, rounds=1, recrawl__after=0.0, **NONE)
        outcomes = sorted(row["outcome"] for row in rows(tmp_path, "visits") if row["round"] == 3)
        assert outcomes == ["blocked_address", "deferred"]
        assert (found(tmp_path), rows(tmp_path, "tombstones"), len(web.requests)) == ({"/", "/a"}, [], asked)
        assert {row["state"] for row in states(tmp_path).values()} == {"due"}
        crawl(tmp_path)
        assert len(web.requests) == asked + 2
        assert {row["state"] for row in states(tmp_path).values()} == {"fetched"}


def test_what_leads_to_a_refused_host_is_judged_by_itself(tmp_path: Path) -> None:
    """A page redirects there, a page links there, and so does the robots.txt of a third host redirect."""
    sites: dict[str, dict[str, Page]] = {
        "a.test": {"/": html("Home", "a lamp", ["/moved"]), "/moved": lambda _: redirect(inside)},
        "b.test": {"/in": html("In")},
        "c.test": {"/": html("C"), "/robots.txt": lambda _: redirect(web.url("b.test", "/robots.txt"))},
    }
    with Web(sites) as web:
        inside, home, c = web.url("b.test", "/in"), web.url("a.test"), web.url("c.test")
        allowed = [f"{urlsplit(url).hostname}/32" for url in (home, c)]
        end = crawl(tmp_path, [home, c], scope__mode="any", fetch__allow_addresses=allowed)
        assert (end.reason, end.refused) == ("not_due", 1)
        # The failure of the third host's robots.txt holds that host back: it is asked once.
        assert [request.host for request in web.requests if request.host != "a.test"] == ["c.test"]
        outcomes = {url: (row["state"], row["reason"]) for url, row in states(tmp_path).items()}
        assert outcomes == {
            home: ("fetched", "fetched"),
            f"{home}moved": ("redirected", "redirected"),
            inside: ("due", "blocked_address"),
            c: ("due", "unreachable_robots"),
        }
        assert {row["url"] for row in frontier(tmp_path)} == {inside, c}
        assert found(tmp_path) == {"/"}


@pytest.mark.slow("real clock")
def test_hosts_that_do_not_answer_are_tried_together(tmp_path: Path) -> None:
    """Their delays differ by up to a half; each try of all of them is one round."""
    seeds = [f"http://10.0.0.{number}/" for number in range(1, 25)]
    end = crawl(tmp_path, seeds, politeness__dead_backoff=2.0)
    assert (end.reason, end.rounds) == ("frontier_empty", 3)
    assert {row["state"] for row in states(tmp_path).values()} == {"failed"}
    assert len(rows(tmp_path, "visits")) == 3 * len(seeds)
