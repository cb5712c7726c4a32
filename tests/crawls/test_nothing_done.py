"""What was not done does not look done: seeds that give no page, a crawl that has ended, and checks of nothing."""

import contextlib
import socket
from pathlib import Path

import pytest

from tests.support.command_line import LOOPBACK, beamtrawl, success
from tests.support.web import Answer, Page, Web, html, plain, redirect, status

NO_PAGE: dict[str, tuple[dict[str, Page], str]] = {
    "404": ({"/": status(404)}, "status 404"),
    "500": ({"/": status(500)}, "status 500"),
    "403": ({"/": status(403)}, "403: the server turns the robot away"),
    "robots.txt": ({"/": html("Home"), "/robots.txt": plain("User-agent: *\nDisallow: /")}, "robots.txt"),
    "another type": ({"/": Answer(200, b"\x00", (("Content-Type", "application/zip"),))}, ""),
}


@pytest.mark.parametrize("name", NO_PAGE)
def test_a_seed_that_gives_no_page_is_told_by_line_exit_code_and_finding(tmp_path: Path, name: str) -> None:
    pages, told = NO_PAGE[name]
    with Web({"a.test": pages}) as web:
        ran = beamtrawl("crawl", tmp_path, *LOOPBACK, "--seed", web.url("a.test"), "--set", "limits.max_tries=1")
        seed = web.url("a.test")
    assert (ran.code, f"seed {seed} failed: " in ran.err, told in ran.err) == (4, True, True), ran.err
    checked = beamtrawl("check", "links", tmp_path, "--fail-on", "error")
    assert (checked.code, "seed (1): seeds of the crawl that give no page" in checked.out) == (3, True)
    assert "no page was checked" in checked.err


def test_a_seed_that_redirects_out_of_scope_is_told_with_its_target(tmp_path: Path) -> None:
    """As example.com to example.org (webrecorder/browsertrix-crawler#475, openzim/zimit#138)."""
    with Web({"a.test": {"/": redirect("http://b.test/home")}}) as web:
        ran = beamtrawl("crawl", tmp_path, *LOOPBACK, "--seed", web.url("a.test"))
        told = f"seed {web.url('a.test')} failed: leads to another URL, http://b.test/home, of which no page came"
    assert (ran.code, told in ran.err) == (4, True), ran.err


def test_a_refused_connection_and_a_name_without_address(tmp_path: Path) -> None:
    with contextlib.closing(socket.socket()) as taken:
        taken.bind(("127.0.0.1", 0))
        for seed in (f"http://127.0.0.1:{taken.getsockname()[1]}/", "http://nowhere.invalid/"):
            directory = tmp_path / seed[7:11]
            identity = ["--robot", "B", "--contact", "a@b.test", "--info-url", "http://b.test/"]
            ran = beamtrawl("crawl", directory, *LOOPBACK, *identity, "--seed", seed, "--rounds", 1)
            assert (ran.code, f"seed {seed} failed: " in ran.err) == (4, True), ran.err
            assert beamtrawl("check", "links", directory).code == 3


def test_one_bad_seed_of_two_is_told_and_the_crawl_is_done(tmp_path: Path) -> None:
    with Web({"a.test": {"/": html("Home")}}) as web:
        seeds = ["--seed", web.url("a.test"), "--seed", web.url("a.test", "/none")]
        ran = beamtrawl("crawl", tmp_path, *LOOPBACK, *seeds)
    assert (ran.code, f"seed {web.url('a.test', '/none')} failed: status 404" in ran.err) == (0, True), ran.err
    assert beamtrawl("check", "links", tmp_path).code == 0
    assert beamtrawl("check", "links", tmp_path, "--fail-on", "error").code == 3


def test_a_crawl_with_nothing_to_do_says_so_and_again_visits_everything_once(tmp_path: Path) -> None:
    tagged = Answer(200, html("Home", links=["/two", "/gone"]).body, (("Content-Type", "text/html"), ("ETag", '"1"')))
    with Web({"a.test": {"/": tagged, "/two": html("Two"), "/robots.txt": plain("")}}) as web:
        success("crawl", tmp_path, *LOOPBACK, "--seed", web.url("a.test"))
        before = len(web.requests)
        ran = beamtrawl("crawl", tmp_path, *LOOPBACK)
        assert "pages are not visited again, unless crawl --again (all, now) or --recrawl-after DAYS" in ran.err
        assert (ran.code, len(web.requests)) == (0, before)
        assert beamtrawl("crawl", tmp_path, *LOOPBACK, "--again").code == 0
        asked = sorted(
            (r.path, r.headers.get("if-none-match")) for r in web.requests[before:] if r.path != "/robots.txt"
        )
        assert asked == [("/", '"1"'), ("/gone", None), ("/two", None)]


def test_what_was_not_checked_has_a_line_with_its_flag(tmp_path: Path) -> None:
    with Web(
        {"b.test": {"/": html("Other")}, "a.test": {"/": html("Home", links=["//b.test/", "//b.test/no"])}}
    ) as web:
        success("crawl", tmp_path, *LOOPBACK, "--seed", web.url("a.test"))
        out = success("check", "links", tmp_path)
        assert "links to other hosts are not checked: 2 targets (such as " in out
        assert "crawl DIR --check-external" in out
        success("crawl", tmp_path / "with", *LOOPBACK, "--seed", web.url("a.test"), "--check-external")
        assert "gone (1)" in success("check", "links", tmp_path / "with")


def test_settings_by_flags_also_for_the_first_crawl(tmp_path: Path) -> None:
    pages = {"/": html("Home", links=["/a/1", "/a/2", "/b/1"]), "/a/1": html("1"), "/b/1": html("b"), "/a/2": html("2")}
    with Web({"a.test": pages}) as web:
        words = ["--include", "/a/", "--exclude", "/a/2", "--recrawl-after", "7", "--set", "politeness.backoff=5"]
        success("crawl", tmp_path, *LOOPBACK, "--seed", web.url("a.test"), *words)
        assert sorted(r.path for r in web.requests if r.path != "/robots.txt") == ["/", "/a/1"]
    text = (tmp_path / "crawl.toml").read_text()
    assert 'include = ["/a/"]' in text
    assert "\nbackoff = 5" in text
    assert "\nafter = 7" in text
    for bad, told in {
        "delay=1": "politeness.delay",
        "x": "give KEY=VALUE",
        "politeness.delay=soon": "a number",
    }.items():
        ran = beamtrawl("crawl", tmp_path, "--set", bad)
        assert (ran.code, told in ran.err) == (2, True), ran.err


def test_a_host_gets_no_more_visits_in_the_whole_crawl_than_it_may_and_others_go_on(tmp_path: Path) -> None:
    pages = {f"/{n}": html(f"Page {n}", links=[f"/{n + 1}", f"/{n + 2}"]) for n in range(30)}
    other = {f"/{n}": html(f"Other {n}", links=[f"/{n + 1}"]) for n in range(3)}
    with Web({"a.test": pages, "b.test": other}) as web:
        seeds = ["--seed", web.url("a.test", "/0"), "--seed", web.url("b.test", "/0")]
        ran = beamtrawl("crawl", tmp_path, *LOOPBACK, *seeds, "--max-pages-per-host", 5)
        asked = [r.host for r in web.requests if r.path != "/robots.txt"]
        assert (ran.code, asked.count("a.test"), asked.count("b.test")) == (0, 5, 4), ran.err
        assert "of hosts with all visits that limits.max_pages_per_host_total permits" in ran.err
        again = beamtrawl("crawl", tmp_path, *LOOPBACK, "--max-pages", 40)
        assert (again.code, len([r for r in web.requests if r.path != "/robots.txt"])) == (0, 9), again.err


def test_old_settings_are_read_with_a_hint(tmp_path: Path) -> None:
    (tmp_path / "crawl.toml").write_text("[limits]\nmax_pages_per_host = 2\n[alarms]\ndisk_share = 0.1\n")
    with Web({"a.test": {"/": html("Home", links=["/1", "/2", "/3"]), "/1": html("1")}}) as web:
        ran = beamtrawl("crawl", tmp_path, *LOOPBACK, "--seed", web.url("a.test"), "--rounds", 2)
        assert len([r for r in web.requests if r.path != "/robots.txt"]) == 3
    assert "limits.max_pages_per_host is called limits.max_pages_per_host_per_round now" in ran.err
    assert "crawl.toml: without effect, since these values are fixed: alarms" in ran.err


def test_links_beyond_the_depth_are_told_at_the_end(tmp_path: Path) -> None:
    with Web({"a.test": {"/": html("Home", links=["/1"]), "/1": html("1", links=["/2"]), "/2": html("2")}}) as web:
        ends = {}
        for depth in (1, 2):
            ran = beamtrawl("crawl", tmp_path / f"{depth}", *LOOPBACK, "--seed", web.url("a.test"), "--depth", depth)
            ends[depth] = ran.err.splitlines()[-1]
    assert ends == {
        1: "the frontier is empty; links beyond a depth of 1 were not followed (--depth)",
        2: "the frontier is empty",
    }
