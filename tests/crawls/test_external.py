"""Crawls that ask the external targets of links for their status."""

import csv
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from tests.support.command_line import beamtrawl
from tests.support.crawls import crawl, rows, states
from tests.support.web import CLOSED, OTHERWISE, Answer, Page, Web, html, plain, redirect, status

HOME = """<title>Home</title><h1>Home</h1><a href=/more>More</a><a href=/away>Away</a><a href=/gone>Gone</a>
<a href=//ok.test/>Fine</a><a href=//ok.test/file.pdf>A file</a><a href=//ok.test/lost>Lost</a>
<a href=//ok.test/private/x>Private</a><a href=//ok.test/secret>Secret</a><a href=//ok.test/no-robot>No robot</a>
<a href=//ok.test/print/1>Printed</a>
<a href=//ok.test/for-now>For now</a><a href=//ok.test/for-good>For good</a><a href=//ok.test/loop-a>A loop</a>
<a href=//ok.test/back>Back</a><a rel=nofollow href=//ok.test/unendorsed>No</a><img src=//ok.test/picture>
<a href=//old.test/page>Old</a><a href=//old.test/other>Other</a><a href=//liar.test/there>Liar</a>
<a href=//liar.test/not>Liar, not</a><a href=//huge.test/>Huge</a><a href=//closed.test/>Closed</a>
<a href=//denied.test/>Denied</a><a href=//forbids.test/>Forbids</a>
<a href=http://10.0.0.1/>Internal</a>"""

SITES: dict[str, dict[str, Page]] = {
    "a.test": {
        "/": HOME,
        "/more": html("More", "Links what the first page links.", ["//ok.test/lost", "//ok.test/", "//ok.test/new"]),
        "/away": redirect("//ok.test/lost", 301),
    },
    "ok.test": {
        "/robots.txt": plain("User-agent: *\nDisallow: /private/\n"),
        "/": html("Fine", "Its links are nobody's business.", ["//ok.test/deeper", "//a.test/from-elsewhere"]),
        "/file.pdf": Answer(body=b"%PDF", headers=(("Content-Type", "application/pdf"),)),
        "/secret": status(403),
        "/no-robot": status(999),
        "/for-now": redirect("//ok.test/"),
        "/for-good": redirect("//ok.test/", 301),
        "/loop-a": redirect("//ok.test/loop-b", 301),
        "/loop-b": redirect("//ok.test/loop-a", 301),
        "/back": redirect("//a.test/"),
        "/new": html("New"),
    },
    "old.test": {"HEAD /page": status(405), "/page": html("Old"), "HEAD /other": status(501), "/other": html("Other")},
    "liar.test": {"HEAD /there": status(404), "/there": html("There")},
    "huge.test": {"HEAD /": status(500), "/": Answer(body=b"x" * 30_000_000)},
    "closed.test": CLOSED,
    "forbids.test": {"/robots.txt": status(403), "/": html("Forbids")},
    "denied.test": {"/robots.txt": plain("User-agent: *\nDisallow: /\n"), "/": html("Denied")},
}  # fmt: skip
OUTCOMES = {
    **{f"ok.test/{path}": ("fetched", "") for path in ("", "file.pdf", "new")},
    **{f"{name}": ("fetched", "") for name in ("old.test/page", "old.test/other", "liar.test/there", "huge.test/")},
    **dict.fromkeys(("ok.test/lost", "liar.test/not"), ("gone", "")),
    **dict.fromkeys(("ok.test/private/x", "denied.test/", "forbids.test/"), ("denied_robots", "")),
    **{"ok.test/secret": ("forbidden", ""), "ok.test/no-robot": ("client_error", "")},
    "ok.test/for-now": ("redirected", "ok.test/"),
    "ok.test/for-good": ("redirected", "ok.test/"),
    "ok.test/loop-a": ("redirected", "ok.test/loop-b"),
    "ok.test/back": ("redirected", "a.test/"),
    "closed.test/": ("unreachable_robots", ""),
    "10.0.0.1/": ("blocked_address", ""),
}
SETTINGS: dict[str, Any] = {"scope__check_external": True, "scope__exclude": ["/print/"]}


class Crawled(NamedTuple):
    path: Path
    web: Web

    def asked(self, host: str) -> list[str]:
        found = [f"{request.method} {request.path}" for request in self.web.requests if request.host == host]
        return sorted(one for one in found if one != "GET /robots.txt")

    def name(self, text: str) -> str:
        """A URL without its scheme, or a text, with the names of the hosts."""
        for name in SITES:
            text = text.replace(self.web.authority(name), name)
        return text.removeprefix("http://")


@pytest.fixture(scope="module")
def crawled(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Crawled]:
    """A crawl in two runs, so that the second begins with what the first has left."""
    path = tmp_path_factory.mktemp("external")
    lines = [
        "[scope]",
        "check_external = true",
        'exclude = ["/print/"]',
        "[fetch]",
        'allow_addresses = ["127.0.0.0/8"]',
    ]
    (path / "crawl.toml").write_text("\n".join(lines))
    with Web(SITES) as web:
        crawl(path, [web.url("a.test")], rounds=2, **SETTINGS)
        crawl(path, **SETTINGS)
        yield Crawled(path, web)


def test_each_target_is_asked_once_by_head_and_by_get_where_head_is_refused(crawled: Crawled) -> None:
    asked = {host: crawled.asked(host) for host in SITES}
    assert asked == {
        "a.test": ["GET /", "GET /away", "GET /gone", "GET /more"],
        "ok.test": sorted(
            ["GET /lost", "GET /no-robot", "GET /secret"]
            + [
                f"HEAD /{path}"
                for path in (
                    "",
                    "back",
                    "file.pdf",
                    "for-good",
                    "for-now",
                    "loop-a",
                    "lost",
                    "new",
                    "no-robot",
                    "secret",
                )
            ]
        ),
        "old.test": ["GET /other", "GET /page", "HEAD /other"],
        "liar.test": ["GET /not", "GET /there", "HEAD /not", "HEAD /there"],
        "huge.test": ["GET /", "HEAD /"],
        "closed.test": [],
        "denied.test": [],
        "forbids.test": [],
    }


def test_the_tables_have_each_target_once_without_a_body(crawled: Crawled) -> None:
    found = {crawled.name(row["url"]): row for row in rows(crawled.path, "visits") if row["kind"] == "external"}
    assert {name: (row["outcome"], crawled.name(row["redirect_to"] or "")) for name, row in found.items()} == OUTCOMES
    assert {row["body"] for row in found.values()} == {None}
    assert {row["kind"] for row in rows(crawled.path, "visits") if crawled.name(row["url"]).startswith("a.test")} == {
        None
    }
    assert {crawled.name(row["url"]) for row in rows(crawled.path, "external")} == OUTCOMES.keys()
    documents = {crawled.name(row["url"]) for row in rows(crawled.path, "documents")}
    assert documents == {"a.test/", "a.test/more"}
    assert {row["joined_to"] for row in states(crawled.path).values() if row["kind"] == "external"} == {None}


def test_the_status_is_that_of_the_pages(crawled: Crawled) -> None:
    said = beamtrawl("status", crawled.path).out
    assert "alarm:" not in said and ", 0 alarms\n" in said
    assert "outcomes: fetched 2, redirected 1, gone 1\n" in said


def test_check_links_finds_what_is_wrong_with_them(crawled: Crawled) -> None:
    said = beamtrawl("check", "links", crawled.path, "--csv", "--rule", "gone,failed,blocked,moved,insecure,slow")
    found = list(csv.DictReader(said.out.splitlines()))
    keys = ("rule", "page", "anchor", "target", "final", "status", "detail")
    assert [" ".join(filter(None, (crawled.name(line[key]) for key in keys))) for line in found] == [
        "gone a.test/ Away a.test/away ok.test/lost 404",
        "gone a.test/ Gone a.test/gone 404",
        "gone a.test/ Lost ok.test/lost 404",
        "gone a.test/ Liar, not liar.test/not 404",
        "gone a.test/more //ok.test/lost ok.test/lost 404",
        "failed a.test/ Internal 10.0.0.1/ blocked_address",
        "failed a.test/ Closed closed.test/ unreachable_robots",
        "blocked a.test/ No robot ok.test/no-robot 999 client_error",
        "blocked a.test/ Private ok.test/private/x denied_robots",
        "blocked a.test/ Secret ok.test/secret 403 forbidden",
        "blocked a.test/ Forbids forbids.test/ denied_robots",
        "blocked a.test/ Denied denied.test/ denied_robots",
        "moved a.test/ For good ok.test/for-good ok.test/ 301",
        "moved a.test/ A loop ok.test/loop-a ok.test/loop-b 301",
    ]


def test_explain_names_the_page_that_links_it(crawled: Crawled) -> None:
    said = beamtrawl("explain", crawled.path, crawled.web.url("ok.test", "/for-now")).out.splitlines()[0]
    assert crawled.name(said).endswith("redirects to http://ok.test/, as an external target of http://a.test/")


def test_an_archive_has_none_of_them(crawled: Crawled, tmp_path: Path) -> None:
    assert beamtrawl("export", "cdxj", crawled.path, tmp_path / "index.cdxj").code == 0
    index = (tmp_path / "index.cdxj").read_text()
    assert crawled.web.url("a.test", "/more") in index
    assert crawled.web.url("ok.test", "/file.pdf") not in index


def asked(web: Web, host: str) -> list[str]:
    found = [f"{request.method} {request.path}" for request in web.requests if request.host == host]
    return [one for one in found if one != "GET /robots.txt"]


def test_a_page_with_ten_thousand_links_adds_as_many_as_the_limit_leaves(tmp_path: Path) -> None:
    links = [f"//ok.test/{number:05d}" for number in range(10_000)]
    with Web({"a.test": {"/": html("Links", links=links)}, "ok.test": {OTHERWISE: html("Fine")}}) as web:
        crawl(tmp_path, [web.url("a.test")], scope__check_external=True, scope__max_external=3)
        assert asked(web, "ok.test") == ["HEAD /00000", "HEAD /00001", "HEAD /00002"]
    assert len(states(tmp_path)) == 4
    (tmp_path / "crawl.toml").write_text("[scope]\ncheck_external = true\nmax_external = 3\n")
    assert "scope.max_external = 3 is reached" in beamtrawl("check", "links", tmp_path).out


def test_the_limit_of_pages_counts_none_of_them(tmp_path: Path) -> None:
    pages = {f"/{number}": html(f"Page {number}", links=[f"//ok.test/{number}"]) for number in range(9)}
    site = {"/": html("Home", links=["//ok.test/", *pages]), **pages}
    with Web({"a.test": site, "ok.test": {OTHERWISE: html("Fine")}}) as web:
        end = crawl(tmp_path, [web.url("a.test")], scope__check_external=True, limits__max_pages=3)
        found = Counter(host for host in ("a.test", "ok.test") for _ in asked(web, host))
    assert (end.reason, end.max_pages, found) == ("max_pages", 3, {"a.test": 3, "ok.test": 3})


def test_a_target_becomes_a_page_as_a_seed_and_when_the_scope_has_its_host(tmp_path: Path) -> None:
    home = html("Home", links=["//b.test/one", "//b.test/two"])
    sites = {"a.test": {"/": home}, "b.test": {"/one": html("One", "One."), "/two": html("Two", "Two.")}}
    with Web(sites) as web:
        crawl(tmp_path, [web.url("a.test")], scope__check_external=True)
        crawl(tmp_path, [web.url("b.test", "/one")], scope__check_external=True)
        crawl(tmp_path, scope__check_external=True, recrawl__after=0.0)
        assert asked(web, "b.test")[:3] == ["HEAD /one", "HEAD /two", "GET /one"]
        kinds = {url: (row["kind"], row["state"]) for url, row in states(tmp_path).items()}
        assert kinds[web.url("b.test", "/one")] == kinds[web.url("b.test", "/two")] == (None, "fetched")
    assert {row["title"] for row in rows(tmp_path, "documents")} == {"Home", "One", "Two"}


def test_without_the_setting_they_wait(tmp_path: Path) -> None:
    with Web({"a.test": {"/": html("Home", links=["//ok.test/"])}, "ok.test": {"/": html("Fine")}}) as web:
        crawl(tmp_path / "off", [web.url("a.test")])
        assert not rows(tmp_path / "off", "external")
        crawl(tmp_path / "on", [web.url("a.test")], rounds=1, scope__check_external=True)
        assert len(rows(tmp_path / "on", "external")) == 1
        assert crawl(tmp_path / "on").excluded == 1
        assert asked(web, "ok.test") == []
        crawl(tmp_path / "on", scope__check_external=True)
        assert asked(web, "ok.test") == ["HEAD /"]
