"""Crawls of sites with licences (RSL): what they request, and what searches, exports and models make of it."""

import json
import time
from collections import Counter
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from beamtrawl.runners.mcp.tools import Options, Tools
from beamtrawl.search.answers.searcher import Index
from beamtrawl.transforms.directory.crawl_dir import CrawlDir
from beamtrawl.transforms.rights.licence_files import read_licences
from beamtrawl.transforms.rights.rsl import NAMESPACE
from tests.support.command_line import beamtrawl
from tests.support.crawls import crawl, rows
from tests.support.robots_files import replace_robots
from tests.support.web import Answer, Page, Web, html, plain, redirect, status

TYPE = "application/rsl+xml"
AGAIN: dict[str, Any] = {"rounds": 1, "recrawl__after": 1e-9, "sitemaps__after": 1e-9}
NO_TRAINING, NO_SEARCH, NO_INPUT = (
    f'<license>\n<prohibits type="usage">{use}</prohibits></license>' for use in ("ai-train", "search", "ai-input")
)


def licence(*contents: tuple[str, str]) -> Answer:
    """A document of (URL, licenses)."""
    inside = "".join(f'<content url="{url}">{licenses}</content>' for url, licenses in contents)
    body = f'<rsl xmlns="https://rslstandard.org/rsl">{inside}</rsl>'
    return Answer(body=body.encode(), headers=(("Content-Type", TYPE),))


def page(path: str, head: str = "", **headers: str) -> Answer:
    text = " ".join(f"{path[1:]}{number}" for number in range(100))  # no page is like another
    found = html(path, f"lamp {text}", head=head)
    return Answer(body=found.body, headers=(*found.headers, *headers.items()))


def uses(path: Path, out: Path) -> dict[str, str]:
    """What becomes of each document: i found, t exported for training, m given to models, s found by their search."""
    out.mkdir()
    directory = CrawlDir(str(path))
    found = {hit.url for hit in Index.open(directory).search("lamp", 100).hits}
    (path / "crawl.toml").write_text("")
    beamtrawl("export", "corpus", path, out / "corpus", "--format", "parquet")
    beamtrawl("export", "chunks", path, out / "chunks.jsonl")
    shards = sorted((out / "corpus").glob("*.parquet"))
    corpus = set(pq.read_table(shards, columns=["url"])["url"].to_pylist()) if shards else set()  # type: ignore[no-untyped-call]
    chunks = {json.loads(line)["url"] for line in (out / "chunks.jsonl").read_text().splitlines()}
    searched = {hit["url"] for hit in Tools(directory, Options(), time.monotonic).search("lamp", 50)["results"]}
    sets = {"i": found, "t": corpus, "m": chunks, "s": searched}
    documents = {row["url"] for row in rows(path, "documents")}
    return {url: "".join(name if url in some else "-" for name, some in sets.items()) for url in documents}


def asked(web: Web, path: str) -> int:
    """How often a path was requested, on any host."""
    return Counter(request.path for request in web.requests)[path]


@pytest.mark.slow("whole crawls")
def test_a_licence_that_is_added_changes_and_is_removed(tmp_path: Path) -> None:
    now: dict[str, Page] = {
        "/robots.txt": plain("User-agent: *\n"),
        "/": html("Home", "A lamp for the start.", ["/news/a", "/free/b"]),
        "/news/a": page("/news/a"),
        "/free/b": page("/free/b"),
        "/l.xml": licence(("/news/", NO_TRAINING + NO_INPUT)),
    }
    with Web({"a.test": {path: lambda _, path=path: now[path] for path in now}}) as web:
        home = web.url("a.test")
        urls = [home, f"{home}news/a", f"{home}free/b"]

        def becomes(step: str) -> list[str]:
            found = uses(tmp_path / "crawl", tmp_path / step)
            return [found[url] for url in urls]

        crawl(tmp_path / "crawl", [home])
        assert (becomes("none"), asked(web, "/l.xml")) == (["itms"] * 3, 0)
        now["/robots.txt"] = plain(f"License: {home}l.xml\nUser-agent: *\n")
        replace_robots(tmp_path / "crawl")
        crawl(tmp_path / "crawl", **AGAIN)
        assert (becomes("named"), asked(web, "/l.xml")) == (["i---"] * 3, 0)  # it grants nothing until it is read
        crawl(tmp_path / "crawl", **AGAIN)
        assert (becomes("read"), asked(web, "/l.xml")) == (["itms", "i---", "itms"], 1)
        now["/l.xml"] = licence(("/free/", NO_SEARCH), ("/news/", NO_TRAINING))
        crawl(tmp_path / "crawl", **AGAIN)
        assert (becomes("changed"), asked(web, "/l.xml")) == (["itms", "i-ms", "-tm-"], 2)
        told = beamtrawl("explain", tmp_path / "crawl", f"{home}free/b").out
        assert f"by line 2 of {home}l.xml: RSL: /free/ search=no (prohibits, line 2)" in told
        beamtrawl("report", tmp_path / "crawl", "-o", tmp_path / "report.html")
        assert "Licences (RSL)" in (tmp_path / "report.html").read_text()
        assert "documents that searches do not find: denied_search 1\n" in beamtrawl("status", tmp_path / "crawl").out
        now["/robots.txt"] = plain("User-agent: *\n")
        replace_robots(tmp_path / "crawl")
        crawl(tmp_path / "crawl", **AGAIN)
        assert (becomes("removed"), asked(web, "/l.xml")) == (["itms"] * 3, 3)
        assert asked(web, "/robots.txt") == 3
    assert [row["url"] for row in rows(tmp_path / "crawl", "documents")].count(f"{home}l.xml") == 0


LINK = '<link rel="license" type="application/rsl+xml" href="{}">'
INLINE = (
    f'<script type="{TYPE}"><rsl xmlns="https://rslstandard.org/rsl"><content url="">{NO_TRAINING}</content></rsl>'
    "</script>"
)
ITEM = (
    '<rss xmlns:rsl="https://rslstandard.org/rsl"><channel><title>F</title><item><title>A</title><link>/a</link>'
    '<rsl:content url="/a"><rsl:license><rsl:prohibits type="usage">ai-train</rsl:prohibits></rsl:license>'
    "</rsl:content></item></channel></rss>"
)
FEED = Answer(body=ITEM.encode(), headers=(("Content-Type", "application/rss+xml"),))
DOCUMENT = licence(("/a", NO_TRAINING))

# what robots.txt names, the head of the page /a, further paths, what becomes of /a, and the requests for *.xml
SITES: dict[str, tuple[str, str, dict[str, Page], str, int]] = {
    "robots.test": ("/l.xml", "", {"/l.xml": DOCUMENT}, "i-ms", 1),
    "header.test": ("", "", {"/l.xml": DOCUMENT}, "i-ms", 1),
    "link.test": ("", LINK.format("/l.xml"), {"/l.xml": DOCUMENT}, "i-ms", 1),
    "inline.test": ("", INLINE, {}, "i-ms", 0),
    "feed.test": ("", "", {"/linked.rss": FEED}, "i-ms", 0),
    "elsewhere.test": ("//shared.test/shared.xml", "", {}, "i-ms", 0),
    "again.test": ("//shared.test/shared.xml", "", {}, "i-ms", 0),
    "page.test": ("/linked.xml", "", {"/linked.xml": DOCUMENT}, "i-ms", 1),
    "moved.test": ("/l.xml", "", {"/l.xml": redirect("/m.xml"), "/m.xml": DOCUMENT}, "i-ms", 2),
    "loop.test": ("/l.xml", "", {"/l.xml": redirect("/m.xml"), "/m.xml": redirect("/l.xml")}, "i---", 2),
    "gone.test": ("/l.xml", "", {"/l.xml": status(404)}, "i---", 1),
    "denied.test": ("//closed.test/l.xml", "", {}, "i---", 0),
    "html.test": ("/l.xml", "", {"/l.xml": html("Not found", "lamp")}, "i---", 1),
    "large.test": ("/l.xml", "", {"/l.xml": Answer(body=b"<rsl>" + b" " * 3_000_000)}, "i---", 1),
    "both.test": ("/l.xml", INLINE, {"/l.xml": licence(("/a", NO_SEARCH + NO_INPUT))}, "----", 1),
}
HEADER = {"header.test": {"Link": f'</l.xml>; rel="license"; type="{TYPE}"'}}


@pytest.mark.slow("whole crawls")
def test_where_licences_are_found(tmp_path: Path) -> None:
    sites: dict[str, dict[str, Page]] = {
        "shared.test": {"/shared.xml": DOCUMENT, "/robots.txt": plain("License: /own.xml\n"), "/own.xml": DOCUMENT},
        "closed.test": {"/l.xml": DOCUMENT, "/robots.txt": plain("User-agent: *\nDisallow: /\n")},
    }
    for host, (named, head, further, *_) in SITES.items():
        robots = (f"License: {'http:' if named.startswith('//') else ''}{named}\n" if named else "") + "User-agent: *\n"
        links = ["/a", *(path for path in further if "linked" in path)]
        own = page(f"/{host[:-5]}", head, **HEADER.get(host, {}))
        sites[host] = {"/": html(host, f"{host}", links), "/a": own, "/robots.txt": plain(robots), **further}
    with Web(sites) as web:
        crawl(tmp_path / "crawl", [web.url(host) for host in SITES])
        requests = Counter((request.host, request.path) for request in web.requests)
        found = uses(tmp_path / "crawl", tmp_path / "out")
        became = {host: found[f"{web.url(host)}a"] for host in SITES}
        counts = {host: sum(requests[host, f"/{name}.xml"] for name in ("l", "m", "linked")) for host in SITES}
    assert became == {host: fate for host, (*_, fate, _) in SITES.items()}
    assert counts == {host: count for host, (*_, count) in SITES.items()}
    assert requests["shared.test", "/shared.xml"] == requests["shared.test", "/robots.txt"] == 1
    assert requests["shared.test", "/own.xml"] == requests["closed.test", "/l.xml"] == 0  # only asked for a licence
    directory = CrawlDir(str(tmp_path / "crawl"))
    errors = {url.split("/", 3)[2]: each.error for url, each in read_licences(directory, directory.manifests()).items()}
    assert errors[web.authority("gone.test")] == "gone, status 404"
    assert errors[web.authority("closed.test")] == "denied_robots"
    assert errors[web.authority("large.test")] == "larger than 512000 bytes"
    assert errors[web.authority("loop.test")] == "redirect_loop, status 302"


def test_check_robots_reads_the_licences_that_it_names() -> None:
    sites: dict[str, dict[str, Page]] = {
        "a.test": {"/moved.xml": redirect("/l.xml"), "/l.xml": licence(("/a", NO_TRAINING)), "/robots.txt": ""},
        "b.test": {"/l.xml": html("Not found", "lamp"), "/robots.txt": plain("User-agent: *\nAllow: /\n")},
    }
    with Web(sites) as web:
        home, other = web.url("a.test"), web.url("b.test")
        robots = f"License: /moved.xml\nLicense: {other}l.xml\nLicense: /no/l.xml\nUser-agent: *\nDisallow: /no/\n"
        sites["a.test"]["/robots.txt"] = plain(robots)
        asked = ("check", "robots", home, "--url", "/a", "--allow-address", "127.0.0.0/8")
        code, out, err = beamtrawl(*asked)
        requests = [(request.host, request.path) for request in web.requests]
    assert (code, err) == (0, "")
    named = out[out.index("license: ") :].splitlines()
    error = next(line for line in named if other in line).partition("(not read: ")[2][:-1]
    assert error.startswith(f"its root is html, not rsl of {NAMESPACE}") or error.startswith("not XML: ")
    assert [line.replace(error, "ERROR") for line in named] == [
        f"license: {home}moved.xml",
        f"license: {other}l.xml (not read: ERROR)",
        f"license: {home}no/l.xml (not read: denied by robots.txt)",
        f"{home}a: allowed",
        f"  ai-train=no by line 2 of {home}moved.xml: RSL: /a ai-train=no (prohibits, line 2)",
        f"  ai-input=no by {home}no/l.xml: RSL: ai-input=no, ai-train=no (denied by robots.txt)",
        f"  ai-train=no by {home}no/l.xml: RSL: ai-input=no, ai-train=no (denied by robots.txt)",
        f"  ai-input=no by {other}l.xml: RSL: ai-input=no, ai-train=no (ERROR)",
        f"  ai-train=no by {other}l.xml: RSL: ai-input=no, ai-train=no (ERROR)",
    ]
    assert requests == [
        ("a.test", "/robots.txt"),
        *(("a.test", path) for path in ("/moved.xml", "/l.xml")),
        *(("b.test", path) for path in ("/robots.txt", "/l.xml")),
    ]
