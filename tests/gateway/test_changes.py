"""`/changes` and `/changes.atom`: exactly the pages that differ, and nothing that is blocked or withheld."""

import itertools
import re
import threading
from datetime import UTC, datetime, timedelta
from html import unescape
from pathlib import Path
from typing import Any

import pytest
from lxml import etree

from beamtrawl.pipeline.seeds import Seed, add_seeds
from beamtrawl.search.changes import MAX_CHANGES
from beamtrawl.search.gateway.app import create_app
from beamtrawl.search.gateway.changes import MAX_AGE_S
from beamtrawl.transforms.blocks.files import add_block
from beamtrawl.transforms.blocks.rules import Block
from beamtrawl.transforms.directory.crawl_dir import CrawlDir, Manifest, files_of
from tests.support.changing_site import crawl_changing_site
from tests.support.committed import commit_rows
from tests.support.corpus import commit, indexed

BURST = 20  # stated here and not imported: a changed limit fails a test
START = datetime(2026, 1, 1, tzinfo=UTC)
EVIL = "\x1b]]>\"'><script>alert(1)</script><img src=x onerror=alert(2)>"
ATOM = "{http://www.w3.org/2005/Atom}"


def page(url: str, day: int, text: str, **columns: Any) -> dict[str, Any]:
    at = START + timedelta(days=day)
    return {"url": url, "title": "T", "text": text, "digest": text.encode().ljust(16)[:16], "fetched_at": at} | columns


def visit(url: str, day: int, outcome: str = "fetched", **columns: Any) -> dict[str, Any]:
    return {"url": url, "outcome": outcome, "status": 200, "fetched_at": START + timedelta(days=day)} | columns


def two_rounds(folder: Path, pages: dict[str, tuple[dict[str, Any], dict[str, Any]]]) -> CrawlDir:
    """A crawl with an index whose pages, each changed in round 2, have these columns by URL, then and now."""
    commit(CrawlDir(str(folder)), 0, [{"url": "http://a.test/", "text": "word"}])
    commit_versions(folder, 1, pages)
    return CrawlDir(str(folder))


def commit_versions(folder: Path, first: int, pages: dict[str, tuple[dict[str, Any], dict[str, Any]]]) -> None:
    """Commit two rounds in which pages have these columns by URL, in the first and in the second."""
    for number, round_ in enumerate((first, first + 1)):
        rows = [page(url, round_, **({"text": f"old {round_}"} | both[number])) for url, both in pages.items()]
        commit_rows(folder, "fetch", round_, {"visits": [visit(url, round_) for url in pages]})
        commit_rows(folder, "update", round_, {"documents": rows})


@pytest.fixture(scope="module")
def changed(tmp_path_factory: pytest.TempPathFactory) -> CrawlDir:
    """A crawl with one page, which is new in round 1 and changes in round 2. Tests only read it."""
    return two_rounds(tmp_path_factory.mktemp("changed"), {"http://a.test/1": ({}, {})})


def listed(text: str) -> list[tuple[str, str, list[str]]]:
    """(kind, place, lines of the diff) of each entry on a page."""
    found = []
    for entry in re.findall(r"<h2 .*?(?=<h2 |</ol>)", text, re.S):
        (kind,), (place,) = (re.findall(rf'class="{name}[^>]*>([^<]*)<', entry) for name in ("kind", "place"))
        lines = re.findall(r"<(?:ins|del) .*?>([−+]) </span>(.*?)</|<li class=\"note\">()(.*?)</li>", entry, re.S)
        found.append((kind, unescape(place), [unescape("".join(line)) for line in lines]))
    return found


def entries(xml: bytes) -> list[tuple[str | None, str | None, str]]:
    """(kind, content, URL) of each entry of a feed."""
    found = etree.fromstring(xml).findall(f"{ATOM}entry")
    links = [entry.find(f"{ATOM}link") for entry in found]
    return [
        (e.find(f"{ATOM}category").get("term"), e.findtext(f"{ATOM}content"), "" if link is None else link.get("href"))
        for e, link in zip(found, links, strict=True)
    ]


def test_a_site_that_changes(tmp_path: Path) -> None:
    home = crawl_changing_site(tmp_path)
    client, place = create_app(CrawlDir(str(tmp_path))).test_client(), home.partition("://")[2]
    answer = client.get("/changes?since=2")
    assert (answer.status_code, answer.cache_control.max_age) == (200, 60)
    assert "2 changed,\n  1 gone,\n  1 moved,\n  1 new." in answer.text
    assert listed(answer.text) == [
        ("changed", place, ["+/added"]),
        ("changed", f"{place}/edited", ["−The old sentence.", "+The new sentence."]),
        ("gone", f"{place}/gone", []),
        ("moved", f"{place}/moved", []),
        ("new", f"{place}/added", []),
    ]
    assert f'<a href="{home}/same"' in answer.text
    (feed,) = re.findall(r'<link rel="alternate" type="application/atom\+xml" [^>]*href="([^"]+)"', answer.text)
    xml = client.get(feed)
    assert xml.mimetype == "application/atom+xml"
    assert entries(xml.data) == [
        ("changed", "+/added", f"{home}/"),
        ("changed", "-The old sentence.\n+The new sentence.", f"{home}/edited"),
        ("gone", "gone", f"{home}/gone"),
        ("moved", f"moved to {home}/same", f"{home}/moved"),
        ("new", "new", f"{home}/added"),
    ]
    assert [(kind, url) for kind, url, _ in listed(client.get("/changes").text)] == [("new", f"{place}/added")]
    assert str(tmp_path) not in xml.text


def test_the_feed_is_valid(changed: CrawlDir) -> None:
    """By RFC 4287, 4.1.1: each required element once, a link to itself, at most one alternate of a type."""
    client = create_app(changed, title="My <search>").test_client()
    feed = etree.fromstring(client.get("/changes.atom").data)
    tags = [each.tag.removeprefix(ATOM) for each in feed]
    assert tags == ["id", "title", "updated", "author", "link", "link", "entry"]
    assert feed.findtext(f"{ATOM}title") == "Changes of My <search>"
    assert feed.findtext(f"{ATOM}updated") == "2026-01-03T00:00:00Z"
    links = {link.get("rel"): (link.get("href"), link.get("type")) for link in feed.findall(f"{ATOM}link")}
    assert links == {
        "self": ("http://localhost/changes.atom", "application/atom+xml"),
        "alternate": ("http://localhost/changes", "text/html"),
    }
    since = etree.fromstring(client.get("/changes.atom?since=2026-01-03").data)
    assert since.find(f"{ATOM}link").get("href") == "http://localhost/changes.atom?since=2026-01-03"
    assert since.findtext(f"{ATOM}entry/{ATOM}id") == feed.findtext(f"{ATOM}entry/{ATOM}id")


def test_texts_that_an_author_withholds(tmp_path: Path) -> None:
    expired = START + timedelta(days=1)
    crawl = two_rounds(
        tmp_path,
        {
            "http://a.test/archived before": ({"text": "secret", "noarchive": True}, {"text": "public"}),
            "http://a.test/noarchive": ({"text": "public"}, {"text": "secret", "noarchive": True}),
            "http://a.test/nosnippet": ({"text": "public"}, {"text": "secret", "max_snippet": 0}),
            "http://a.test/part": ({"text": "a secret b"}, {"text": "a secret c", "nosnippet": [2, 9]}),
            "http://a.test/was noindex": ({"text": "secret", "noindex": True}, {"text": "public"}),
            "http://b.test/noindex": ({"text": "public"}, {"text": "secret", "noindex": True}),
            "http://b.test/expired": ({}, {"unavailable_after": expired}),
        },
    )
    client = create_app(crawl).test_client()
    withheld = ["The text is not shown: its author allows no copies or excerpts."]
    shown = listed(client.get("/changes").text)
    assert [(url, diff) for _, url, diff in shown] == [
        ("a.test/archived before", withheld),
        ("a.test/noarchive", withheld),
        ("a.test/nosnippet", withheld),
        ("a.test/part", ["−a secret b", "+a c"]),
        ("a.test/was noindex", withheld),
    ]
    assert [content for _, content, _ in entries(client.get("/changes.atom").data)] == [
        *withheld * 3,
        "-a secret b\n+a c",
        *withheld,
    ]


def test_blocked_pages_are_not_shown(tmp_path: Path) -> None:
    crawl = two_rounds(tmp_path, {"http://a.test/1": ({}, {}), "http://b.test/1": ({}, {})})
    commit_rows(
        tmp_path, "fetch", 3, {"visits": [visit("http://a.test/1", 3, "redirected", redirect_to="http://b.test/2")]}
    )
    commit_rows(tmp_path, "update", 3, {})
    now = [0.0]
    client = create_app(crawl, clock=lambda: now[0]).test_client()
    assert "b.test/1" in client.get("/changes?since=1").text and "b.test/2" in client.get("/changes?since=1").text
    add_block(crawl, Block("b.test", "2026-01-01"))
    now[0] += 2
    for path in ("/changes?since=1", "/changes.atom?since=1"):
        text = client.get(path).text
        assert "b.test" not in text and "a.test/1" in text


def test_nothing_crawled_can_become_markup(tmp_path: Path) -> None:
    crawl = two_rounds(
        tmp_path,
        {
            f"http://a.test/{EVIL}": ({"text": "x"}, {"text": f"{EVIL}\n@@ -1 +1 @@", "title": EVIL}),
            "javascript://a.test/%0Aalert(1)": ({}, {"title": ""}),
        },
    )
    client = create_app(crawl, title=EVIL[1:]).test_client()
    text = client.get("/changes").text
    assert not re.search(
        r"<script(?! src=\"/static/suggest\.js\" defer>)|<img|href=\"javascript|style=|\son\w+=\"", text
    )
    assert "&lt;script&gt;" in text
    (_, content, url), odd = entries(client.get("/changes.atom").data)
    assert "+\ufffd]]>\"'><script>alert(1)</script>" in str(content) and url == f"http://a.test/{EVIL[1:]}"
    assert odd[2] == ""


def test_long_lists_and_diffs_are_cut(tmp_path: Path) -> None:
    long = {"text": "\n".join(f"line {n} {'x' * 500}" for n in range(40))}
    crawl = two_rounds(tmp_path, {f"http://a.test/{n:03}": ({}, long if n == 0 else {}) for n in range(250)})
    client = create_app(crawl).test_client()
    first, last = client.get("/changes"), client.get("/changes?since=1&page=3")
    diff = listed(first.text)[0][2]
    assert (len(diff), max(map(len, diff)), diff[-1]) == (31, 400, "… 11 more lines")
    assert (len(listed(first.text)), len(listed(last.text))) == (100, 50)
    assert re.findall('<a rel="(.*?)" href="(.*?)"', first.text) == [("next", "/changes?page=2")]
    assert re.findall('<a rel="(.*?)" href="(.*?)"', last.text) == [("prev", "/changes?since=1&amp;page=2")]
    feed = etree.fromstring(client.get("/changes.atom?page=2").data)
    rels = {link.get("rel"): link.get("href").rpartition("/")[2] for link in feed.findall(f"{ATOM}link")}
    assert rels["previous"] == "changes.atom" and rels["next"] == "changes.atom?page=3"


# what is asked: the status, and what the page says
ASKED = {
    "since=soon": (400, "since must be a round, as 3, or a date, as 2026-01-31, not &#39;soon&#39;."),
    "since=3": (400, "since must be a round up to 2, the last one, not 3."),
    "since=-1": (400, "since must be a round"),
    "since=9999-12-31T23:00-14:00": (400, "since must be a round"),
    "since=%3Cscript%3E": (400, "not &#39;&lt;script&gt;&#39;"),
    "page=0": (400, "page must be a whole number from 1 to"),
    "page=x": (400, "page must be a whole number from 1 to"),
    "page=2": (404, "There are 1 pages of changes."),
    "since=2": (200, "Nothing has changed."),
    "since=0": (200, "1 new."),
    "since=0001-01-01": (200, "1 new."),
    "since=9999-12-31": (200, "Nothing has changed."),
    "since=2026-01-03T01:00:00%2B01:00": (200, 'value="2026-01-03T00:00:00"'),
}


def test_what_may_be_asked(changed: CrawlDir) -> None:
    clock = itertools.count()  # with each look a second later: no client is too fast
    client, found = create_app(changed, clock=lambda: float(next(clock))).test_client(), {}
    for asked, (_, says) in ASKED.items():
        answer = client.get(f"/changes?{asked}")
        assert client.get(f"/changes.atom?{asked}").status_code == answer.status_code, asked
        found[asked] = (answer.status_code, says if says in answer.text else answer.text)
    assert found == ASKED


def test_crawls_without_changes(tmp_path: Path) -> None:
    client = create_app(indexed(tmp_path / "index", [{"url": "http://a.test/", "text": "word"}])).test_client()
    answer = client.get("/changes")
    assert (answer.status_code, "no tables of visits and documents" in answer.text) == (404, True)
    assert create_app(CrawlDir(str(tmp_path / "none"))).test_client().get("/changes").status_code == 503


def test_a_crawl_of_one_round_and_one_that_runs(tmp_path: Path) -> None:
    crawl, now = CrawlDir(str(tmp_path)), [0.0]
    commit(crawl, 0, [{"url": "http://a.test/", "text": "word"}])
    commit_rows(tmp_path, "fetch", 1, {"visits": [visit("http://a.test/1", 1)]})
    commit_rows(tmp_path, "update", 1, {"documents": [page("http://a.test/1", 1, "one")]})
    client = create_app(crawl, clock=lambda: now[0]).test_client()
    text = client.get("/changes").text
    assert "since the beginning" in text and "all pages are new" in text
    commit_rows(tmp_path, "fetch", 2, {"visits": [visit("http://a.test/1", 2, "gone")]})
    now[0] += MAX_AGE_S + 1
    assert [kind for kind, *_ in listed(client.get("/changes").text)] == ["new"]
    commit_rows(tmp_path, "update", 2, {"documents": []})
    now[0] += 2
    assert [kind for kind, *_ in listed(client.get("/changes").text)] == ["gone"]


def test_a_client_that_asks_too_often_waits(changed: CrawlDir) -> None:
    client = create_app(changed, clock=lambda: 0.0).test_client()
    statuses = [client.get("/changes").status_code for _ in range(BURST + 1)]
    assert statuses == [200] * BURST + [429]


class Held(CrawlDir):
    """A crawl whose manifests are read by the thread `first` only when `go` is set."""

    def __init__(self, root: str) -> None:
        super().__init__(root)
        self.reached, self.go = threading.Event(), threading.Event()

    def manifests(self) -> list[Manifest]:
        if threading.current_thread().name == "first":
            self.reached.set()
            assert self.go.wait(60)
        return super().manifests()


def test_a_second_comparison_at_the_same_time_is_refused(changed: CrawlDir) -> None:
    crawl = Held(changed.root)
    app = create_app(crawl, clock=lambda: 0.0)
    assert app.test_client().get("/").status_code == 200  # the index is open
    answers: list[int] = []
    first = threading.Thread(name="first", target=lambda: answers.append(app.test_client().get("/changes").status_code))
    first.start()
    assert crawl.reached.wait(60)
    refused = app.test_client().get("/changes.atom")
    crawl.go.set()
    first.join()
    assert (refused.status_code, refused.headers["Retry-After"]) == (503, "5")
    assert "Another comparison is running. Try again in a few seconds." in refused.text
    assert answers == [200]
    assert app.test_client().get("/changes.atom").status_code == 200


def test_a_file_that_a_merge_has_removed(tmp_path: Path) -> None:
    crawl = two_rounds(tmp_path, {"http://a.test/1": ({}, {"text": "new"})})
    client = create_app(crawl, clock=lambda: 0.0).test_client()
    assert client.get("/changes?since=2").status_code == 200  # the state is known
    old = next(file for file in files_of(crawl.manifests(), "documents") if "round=000002" in file.path)
    merged = old._replace(path=old.path.replace("part-", "merged-"))
    (tmp_path / old.path).rename(tmp_path / merged.path)
    crawl.commit(Manifest("compact", 2, "", (merged,), {}, (), "", "", replaced=(old.path,)))
    answer = client.get("/changes?since=1")
    assert (answer.status_code, listed(answer.text)) == (200, [("changed", "a.test/1", ["−old 1", "+new"])])


def test_a_file_that_is_lost(tmp_path: Path) -> None:
    crawl = two_rounds(tmp_path, {"http://a.test/1": ({}, {})})
    (lost, *_) = files_of(crawl.manifests(), "documents")
    (tmp_path / lost.path).unlink()
    assert create_app(crawl).test_client().get("/changes").status_code == 500


def test_a_comparison_that_takes_too_long_is_given_up(changed: CrawlDir) -> None:
    answer = create_app(changed, changes_timeout_s=0.0).test_client().get("/changes")
    assert (answer.status_code, answer.headers["Retry-After"]) == (503, "60")
    assert "The comparison took longer than 0 seconds. Ask for changes since a later time." in answer.text


def test_so_many_changes_are_listed_and_all_are_counted(tmp_path: Path) -> None:
    commit(CrawlDir(str(tmp_path)), 0, [{"url": "http://a.test/", "text": "word"}])
    urls = [f"http://a.test/{number:05}" for number in range(MAX_CHANGES + 50)]
    commit_rows(tmp_path, "fetch", 1, {"visits": [visit(url, 1) for url in urls]})
    commit_rows(tmp_path, "update", 1, {"documents": [page(url, 1, "text") for url in urls]})
    client = create_app(CrawlDir(str(tmp_path))).test_client()
    last = client.get("/changes?since=0&page=100").text
    assert "10,050 new." in last
    assert [url for _, url, _ in listed(last)] == [url.partition("//")[2] for url in urls[9_900:10_000]]
    assert "The first 10,000 of 10,050 changes are listed." in last
    assert "changes are listed" not in client.get("/changes?since=0").text
    answer = client.get("/changes?since=0&page=101")
    assert (answer.status_code, "There are 100 pages of changes." in answer.text) == (404, True)


def test_feeds_of_two_crawls_differ_and_that_of_one_lasts(tmp_path: Path) -> None:
    ids = {}
    for name in ("a", "b"):
        crawl = CrawlDir(str(tmp_path / name))
        add_seeds(crawl, [Seed("http://a.test/")], "", START + timedelta(milliseconds=len(ids)))
        two_rounds(tmp_path / name, {"http://a.test/1": ({}, {})})
        ids[name] = [
            etree.fromstring(create_app(crawl, title=title).test_client().get(path).data).findtext(f"{ATOM}id")
            for title, path in (("one", "/changes.atom"), ("other", "/changes.atom?since=0"))
        ]
        (tmp_path / name).rename(tmp_path / f"moved {name}")
        moved = create_app(CrawlDir(str(tmp_path / f"moved {name}"))).test_client()
        ids[name].append(etree.fromstring(moved.get("/changes.atom").data).findtext(f"{ATOM}id"))
    assert [len(set(found)) for found in ids.values()] == [1, 1]
    assert ids["a"][0] != ids["b"][0]
    assert ids["a"][0].startswith("urn:uuid:")
