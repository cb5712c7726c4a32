"""Crawls that fetch what pages need to look like themselves, for archives."""

from collections import Counter
from pathlib import Path
from typing import NamedTuple

import pytest
from warcio.archiveiterator import ArchiveIterator

from tests.support.command_line import LOOPBACK, beamtrawl
from tests.support.crawls import crawl, rows, states
from tests.support.web import Answer, Page, Web, html, plain, redirect

PNG = b"\x89PNG\r\n\x1a\nnot much of a picture"
HEAD = (
    "<link rel=stylesheet href=/style/main.css><link rel=stylesheet href=/private/x.css><link rel=icon href=/i.ico>"
    '<link rel="stylesheet" href="//cdn.test/far.css"><script src=/s.js></script>'
)
QUIET = "<meta name=robots content=nofollow><script src=/q.js></script>"
HOME = (
    '<img src=/moved.png srcset="/big.png 2x"><img src=/both><a href=/both>Both</a><a href=/style/main.css>Its CSS</a>'
)


def file(media_type: str, body: bytes) -> Answer:
    return Answer(body=body, headers=(("Content-Type", media_type),))


SITES: dict[str, dict[str, Page]] = {
    "a.test": {
        "/robots.txt": plain("User-agent: *\nDisallow: /private/\n"),
        "/": f"<title>Home</title>{HEAD}<p>Start here.{HOME}<a href=/page>On</a><a href=/quiet>Quiet</a>",
        "/page": html("Page", "Another page, with the same style.", head=HEAD),
        "/quiet": html("Quiet", "Followed by nobody.", head=QUIET),
        "/both": html("Both", "A page that is also taken for an image."),
        "/style/main.css": file("text/css", b"@import 'more.css'; p { background: url(../p.png) } /* url(/no.png) */"),
        "/style/more.css": file("text/css; charset=utf-8", b"@font-face { src: url('f.woff2') } b { mask: url(#m) }"),
        "/style/f.woff2": file("font/woff2", b"wOF2"),
        "/p.png": file("image/png", PNG),
        "/i.ico": file("image/x-icon", b"\0\0\1\0"),
        "/s.js": file("text/javascript", b"import('/never.js')"),
        "/moved.png": redirect("/elsewhere.png"),
        "/elsewhere.png": file("image/png", PNG),
        "/big.png": file("image/png", PNG + b"!"),
    },
    "cdn.test": {"/far.css": file("text/css", b"p { color: red }")},
}  # fmt: skip
PAGES = {"/", "/page", "/quiet", "/both"}
FOUND = {"/style/main.css", "/style/more.css", "/style/f.woff2", "/p.png", "/i.ico", "/s.js"} | {
    "/moved.png", "/elsewhere.png", "/big.png",
}  # fmt: skip


class Crawled(NamedTuple):
    path: Path
    web: Web

    @property
    def asked(self) -> Counter[str]:
        return Counter(request.path for request in self.web.requests)


@pytest.fixture(scope="module")
def crawled(tmp_path_factory: pytest.TempPathFactory) -> Crawled:
    """A crawl with requisites, in two runs, so that the second begins with what the first has left."""
    path = tmp_path_factory.mktemp("requisites")
    (path / "crawl.toml").write_text("[fetch]\nrequisites = true\nallow_addresses = ['127.0.0.0/8']\n")
    with Web(SITES) as web:
        crawl(path, [web.url("a.test")], rounds=2, fetch__requisites=True)
        crawl(path, fetch__requisites=True)
    return Crawled(path, web)


def test_what_pages_need_is_requested_once_and_within_the_scope(crawled: Crawled) -> None:
    assert crawled.asked == dict.fromkeys({"/robots.txt"} | PAGES | FOUND, 1)
    by_path = {row["url"].split("/", 3)[3]: row for row in rows(crawled.path, "visits")}
    assert by_path["private/x.css"]["outcome"] == "denied_robots"
    scope = {row["host"] for row in rows(crawled.path, "rejections") if row["reason"] == "scope"}
    assert scope == {crawled.web.authority("cdn.test")}


def test_they_are_no_documents_and_a_page_stays_one(crawled: Crawled) -> None:
    documents = {row["url"] for row in rows(crawled.path, "documents")}
    assert documents == {crawled.web.url("a.test", path) for path in PAGES}
    kinds = {url.split("/", 3)[3]: row["kind"] for url, row in states(crawled.path).items()}
    assert {f"/{path}" for path, kind in kinds.items() if kind == "requisite"} == FOUND | {"/private/x.css"}
    counted = [(row["failed"], row["redirected"]) for row in rows(crawled.path, "traps")]
    assert set(counted) == {(0, 0)}  # not even the image that redirects


def test_an_archive_has_all_of_them(crawled: Crawled, tmp_path: Path) -> None:
    assert beamtrawl("export", "warc", crawled.path, tmp_path / "warc").code == 0
    found = dict[str, bytes]()
    for part in (tmp_path / "warc").glob("*.warc.gz"):
        with part.open("rb") as opened:
            for record in ArchiveIterator(opened):
                if record.rec_type in ("response", "revisit"):
                    found["/" + record.rec_headers["WARC-Target-URI"].split("/", 3)[3]] = record.content_stream().read()
    assert found.keys() == {"/robots.txt"} | PAGES | FOUND
    assert found["/style/f.woff2"] == b"wOF2"
    assert PNG in (found["/p.png"], found["/elsewhere.png"])  # the other one is a revisit record


def test_explain_names_what_needs_it(crawled: Crawled) -> None:
    base, more = crawled.web.url("a.test", ""), crawled.web.url("a.test", "/style/more.css")
    said = beamtrawl("explain", crawled.path, more).out.splitlines()[0]
    assert f"as a requisite of {base}/style/main.css, for archives" in said


def test_without_the_setting_only_pages_are_requested(tmp_path: Path) -> None:
    with Web(SITES) as web:
        ran = beamtrawl("crawl", tmp_path / "crawl", "--seed", web.url("a.test"), *LOOPBACK)
        assert ran.code == 0, ran.err
    assert {request.path for request in web.requests} == {"/robots.txt"} | PAGES
