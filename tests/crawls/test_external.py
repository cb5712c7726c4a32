"""Crawls that ask the external targets of links for their status."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from beamtrawl.runners.engines.direct import DirectEngine
from tests.support.command_line import beamtrawl
from tests.support.crawls import crawl, rows, states
from tests.support.web import CLOSED, Answer, Page, Web, html, plain, redirect, status

HOME = """<title>Home</title><h1>Home</h1><a href=/more>More</a><a href=/away>Away</a><a href=/gone>Gone</a>
<a href=//ok.test/>Fine</a><a href=//ok.test/file.pdf>A file</a><a href=//ok.test/lost>Lost</a>
<a href=//ok.test/private/x>Private</a><a href=//ok.test/secret>Secret</a><a href=//ok.test/print/1>Printed</a>
<a href=//ok.test/for-now>For now</a><a href=//ok.test/for-good>For good</a><a href=//ok.test/loop-a>A loop</a>
<a href=//ok.test/back>Back</a><a rel=nofollow href=//ok.test/unendorsed>No</a><img src=//ok.test/picture>
<a href=//old.test/page>Old</a><a href=//old.test/other>Other</a><a href=//liar.test/there>Liar</a>
<a href=//liar.test/not>Liar, not</a><a href=//huge.test/>Huge</a><a href=//closed.test/>Closed</a>
<a href=//denied.test/>Denied</a><a href=http://10.0.0.1/>Internal</a>"""

SITES: dict[str, dict[str, Page]] = {
    "a.test": {
        "/": HOME,
        "/more": html("More", "Links again what the first page links.", ["//ok.test/lost", "//ok.test/", "//ok.test/new"]),
        "/away": redirect("//ok.test/lost", 301),
    },
    "ok.test": {
        "/robots.txt": plain("User-agent: *\nDisallow: /private/\n"),
        "/": html("Fine", "Its links are nobody's business.", ["//ok.test/deeper", "//a.test/from-elsewhere"]),
        "/file.pdf": Answer(body=b"%PDF", headers=(("Content-Type", "application/pdf"),)),
        "/secret": status(403),
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
    "denied.test": {"/robots.txt": plain("User-agent: *\nDisallow: /\n"), "/": html("Denied")},
}  # fmt: skip
SETTINGS: dict[str, Any] = {"scope__check_external": True, "scope__exclude": ["/print/"]}


class Crawled(NamedTuple):
    path: Path
    web: Web

    def asked(self, host: str) -> list[str]:
        found = [f"{request.method} {request.path}" for request in self.web.requests if request.host == host]
        return sorted(one for one in found if one != "GET /robots.txt")

    def name(self, url: str) -> str:
        """A URL with the name of its host."""
        for name in SITES:
            url = url.replace(self.web.authority(name), name)
        return url.removeprefix("http://")


@pytest.fixture(scope="module")
def crawled(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Crawled]:
    """A crawl with two workers, in two runs, so that the second begins with what the first has left."""
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
        crawl(path, engine=DirectEngine(2, []), **SETTINGS)
        yield Crawled(path, web)


def test_each_target_is_asked_once_by_head_and_by_get_where_head_is_refused(crawled: Crawled) -> None:
    asked = {host: crawled.asked(host) for host in SITES}
    assert asked == {
        "a.test": ["GET /", "GET /away", "GET /gone", "GET /more"],
        "ok.test": sorted(
            ["GET /lost", "GET /secret"]
            + [
                f"HEAD /{path}"
                for path in ("", "back", "file.pdf", "for-good", "for-now", "loop-a", "lost", "new", "secret")
            ]
        ),
        "old.test": ["GET /other", "GET /page", "HEAD /other"],
        "liar.test": ["GET /not", "GET /there", "HEAD /not", "HEAD /there"],
        "huge.test": ["GET /", "HEAD /"],
        "closed.test": [],
        "denied.test": [],
    }


def test_x(crawled: Crawled) -> None:
    for row in sorted(rows(crawled.path, "visits"), key=lambda r: r["url"]):
        print(
            crawled.name(row["url"]),
            row["kind"],
            row["round"],
            row["outcome"],
            row["status"],
            crawled.name(row["redirect_to"] or ""),
            row["body"] and len(row["body"]),
            row["error"],
        )
    for url, s in states(crawled.path).items():
        print(crawled.name(url), s["kind"], s["state"], s["reason"])
    print(beamtrawl("check", "links", crawled.path))
    print(beamtrawl("status", crawled.path).out)
