"""`explain`: one line that says where a URL of a crawl is and why, for every kind of end; and every URL has one."""

import json
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from beamtrawl.runners.explain.host_record import host_lines
from beamtrawl.transforms.settings import render
from tests.support.command_line import beamtrawl, failure
from tests.support.crawls import crawl, rows, settings
from tests.support.explained import missing_parts
from tests.support.tables import each_row
from tests.support.web import Web, html, plain, redirect, status

PROSE = " ".join(f"The {word} of the harbour is described here." for word in ("tide", "pier", "crane", "light", "net"))
ROBOTS = "User-agent: *\n# not for robots\nDisallow: /private/\n"
LINKS = [
    *("/page", "/second", "/hidden", "/private/x", "/moved", "/gone", "/broken", "/a.png", "/page?utm_source=x"),
    "http://elsewhere.test/",
]
SITE = {
    "/robots.txt": plain(ROBOTS),
    "/": html("Harbour", "All about the harbour.", LINKS),
    "/page": html("Page", PROSE, ["/deep"]),
    "/second": html("Page", PROSE, ["/deep"]),
    "/hidden": html("Hidden", PROSE + " Hidden.", head='<meta name="robots" content="noindex">'),
    "/moved": redirect("/page", 301),
    "/gone": status(410),
    "/broken": status(403),
    "/deep": html("Deep", "Much deeper, there is nothing but mud."),
}
NOW = datetime(2026, 11, 24, 12, tzinfo=UTC)
CHANGES: dict[str, Any] = {"scope__depth": 1, "robot__name": "Tester"}


class Crawled(NamedTuple):
    directory: Path
    base: str
    late: str

    def explain(self, *paths: str) -> list[dict[str, Any]]:
        """What one command says of several URLs."""
        urls = [path if "://" in path else self.base + path for path in paths]
        code, out, err = beamtrawl("explain", self.directory, *urls, "--json")
        assert (code, err) == (0, "")
        return [json.loads(out)] if len(urls) == 1 else [json.loads(line) for line in out.splitlines()]


@pytest.fixture(scope="module")
def crawled(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Crawled]:
    directory = tmp_path_factory.mktemp("crawl")
    (directory / "crawl.toml").write_text(render(settings(**CHANGES)))
    with Web({"host.test": SITE, "late.test": {"/": status(503, Retry_After="3600")}}) as web:
        crawl(directory, [web.url("host.test"), web.url("late.test")], rounds=2, **CHANGES)
        yield Crawled(directory, web.url("host.test").rstrip("/"), web.url("late.test"))


ELSEWHERE = 'rejected: its host is not that of a seed (scope.mode = "host")'

# path: the conclusion; {base} is the site
CONCLUSIONS = {
    "/": "fetched in round 1; in the index",
    "/page": "fetched in round 2; in the index",
    "/second": "fetched in round 2; not in the index: its content is that of {base}/page",
    "/hidden": "fetched in round 2; not in the index: the page asks not to be indexed",
    "/private/x": "not in the index: robots.txt denies it",
    "/moved": "redirects to {base}/page",
    "/gone": "not in the index: the server says that there is no such page (404 or 410)",
    "/broken": "not in the index: its last visit ended as forbidden (403: the server turns the robot away;"
    " ask its webmaster, or exclude it)",
    "/a.png": "not in the crawl: found in 1 page, but rejected: documents.kinds has no kind for files named .png",
    "/deep": "not in the crawl: found in 2 pages, but rejected: it is more than 1 links from a seed (scope.depth)",
    "http://elsewhere.test/": f"not in the crawl: found in 1 page, but {ELSEWHERE}",
    "/never": "not in the crawl: no page links to it; if a page did, it would be fetched",
    "/private/never": "not in the crawl: never found; robots.txt would deny it",
    "/page.": "not in the crawl; without the punctuation at its end, it is: {base}/page",
    "/gone),": "not in the crawl; without the punctuation at its end, it is: {base}/gone",
    "/never.": "not in the crawl: no page links to it; if a page did, it would be fetched",
    "http://never.test/": f"not in the crawl: never found; it would be {ELSEWHERE}",
}


def test_the_conclusion(crawled: Crawled) -> None:
    found = [each["conclusion"] for each in crawled.explain(*CONCLUSIONS)]
    expected = {path: said.format(base=crawled.base) for path, said in CONCLUSIONS.items()}
    assert dict(zip(CONCLUSIONS, found, strict=True)) == expected


def test_a_url_that_waits_says_for_what_and_until_when(crawled: Crawled) -> None:
    said = crawled.explain(crawled.late)[0]["conclusion"]
    assert said.startswith(
        "waits in the frontier (to be tried again after a failed visit): its host is not asked before 20"
    )
    assert said.endswith(" UTC: it asked to wait (Retry-After)")


def test_the_evidence_is_named(crawled: Crawled) -> None:
    code, out, _ = beamtrawl("explain", crawled.directory, crawled.base + "/private/x?utm_source=a")
    lines = out.splitlines()
    base = crawled.base
    assert code == 0
    assert lines[:6] == [
        "not in the index: robots.txt denies it",
        "",
        f"url: {base}/private/x?utm_source=a",
        f"  drop_tracking: {base}/private/x?utm_source=a -> {base}/private/x",
        f"known by: {base}/private/x",
        "scope: not rejected",
    ]
    assert lines[6:11] == [
        "first path from a seed:",
        f"  {base}/",
        f"  {base}/private/x",
        "linked from: 1 page",
        f"  round 1: {base}/ (a) '/private/x'",
    ]
    assert lines[11].startswith("robots.txt of 20")
    assert lines[11].endswith(" UTC denies it by line 3: Disallow: /private/")


# path: what the line on robots.txt ends with
ROBOTS_LINES = {
    "/page": " allows it: no line matches it",
    "http://late.test/": " allows it: its status was 404, so that everything is allowed",
    "http://elsewhere.test/": "robots.txt: not fetched from its host",
}


@pytest.mark.parametrize(("path", "said"), ROBOTS_LINES.items(), ids=ROBOTS_LINES)
def test_why_robots_txt_allows_a_url(crawled: Crawled, path: str, said: str) -> None:
    subject = crawled.late if "late" in path else path if "://" in path else crawled.base + path
    lines = beamtrawl("explain", crawled.directory, subject).out.splitlines()
    assert [line.endswith(said) for line in lines if line.startswith("robots.txt")] == [True]


@pytest.mark.slow("whole crawls")
def test_what_waits_behind_a_limit_or_a_later_rule_says_so(tmp_path: Path) -> None:
    with Web({"host.test": SITE}) as web:
        crawl(tmp_path, [web.url("host.test")], limits__max_pages=1)
        (tmp_path / "crawl.toml").write_text(render(settings(limits__max_pages=1, scope__exclude=["/second"])))
        lines = beamtrawl("explain", tmp_path, web.url("host.test", "/second")).out.splitlines()
        limited = beamtrawl("explain", tmp_path, web.url("host.test", "/page")).out.splitlines()[0]
        (tmp_path / "crawl.toml").write_text(render(settings(scope__exclude=["/second", "/$"])))
        without = beamtrawl("explain", tmp_path, web.url("host.test", "/page")).out.splitlines()[0]
        seed = beamtrawl("explain", tmp_path, web.url("host.test"), "--json").out
        of_seed = beamtrawl("explain", tmp_path, web.url("host.test")).out.splitlines()
    waits = "waits in the frontier (new, not visited yet)"
    because = 'the pattern "/second" of scope.exclude matches it'
    assert limited == f"{waits}: the limit of 1 pages is reached; to go on, raise limits.max_pages (--max-pages)"
    assert without == f"{waits}, due now: the next round may fetch it"
    assert lines[0] == f"{waits}, not requested until crawl.toml allows it: {because}"
    assert f"scope: rejected by exclude: {because}" in lines
    assert (json.loads(seed)["rejected"], json.loads(seed)["excluded"]) == ("exclude", False)
    assert "  it is a seed, and is requested nevertheless" in of_seed


def test_every_url_of_the_crawl_has_a_complete_answer(crawled: Crawled) -> None:
    tables = {name: rows(crawled.directory, name) for name in ("urls", "frontier", "links", "rejections")}
    urls = {row["url"] for name in ("urls", "frontier") for row in tables[name]}
    urls |= {row["target_url"] for row in tables["links"]}
    urls |= {url for row in tables["rejections"] for url in row["samples"]}
    assert len(urls) == 13
    for found in crawled.explain(*urls):
        assert list(missing_parts(found)) == [], found
        assert "never found" not in found["conclusion"]


def test_a_host(crawled: Crawled) -> None:
    host = crawled.base.partition("//")[2]
    code, out, _ = beamtrawl("explain", crawled.directory, host, "--json")
    found = json.loads(out)
    assert code == 0
    assert found["urls"] == {"denied": 1, "failed": 1, "fetched": 4, "gone": 1, "redirected": 1}
    assert found["robots"][0]["rules"] == ["Disallow: /private/"]
    assert found["copies_of"] == [{"host": host, "documents": 1}]
    code, out, _ = beamtrawl("explain", crawled.directory, host)
    lines = out.splitlines()
    assert lines[0] == f"{host}: 8 URLs (1 denied, 1 failed, 4 fetched, 1 gone, 1 redirected)"
    assert lines[-1] == f"copies of pages of {host}: 1"
    assert lines[-3].endswith(" UTC: its rules for this robot are")
    assert lines[-2] == "  Disallow: /private/"
    out = beamtrawl("explain", crawled.directory, crawled.late.split("/")[2]).out
    assert " UTC: its status was 404, so that everything is allowed\n" in out
    assert "\nwaiting: 1 (to be tried again after a failed visit)\n" in out
    assert out.splitlines()[0].endswith(": 1 URL (1 due); it asked to wait (Retry-After)")
    assert " UTC: it asked to wait (Retry-After)\n" in out


HELD = {"not_before": NOW + timedelta(hours=1), "failures_in_row": 3, "held_by": "dead"}
FREE = HELD | {"not_before": NOW - timedelta(hours=1)}
NO_ROOM = "not visited yet, because earlier rounds had no time or room for it"
# state of the host, why it waits, patterns of blocks, reason in the frontier: what its URLs wait for
WAITING: dict[str, tuple[dict[str, Any] | None, list[str], str, str]] = {
    "no time": (None, [], "deferred", NO_ROOM),
    "the host waits": (HELD, [], "deferred", "no answer, 3 failures in a row"),
    "the host failed": (FREE, [], "deferred", "the host failed, 3 failures in a row; it may be asked again now"),
    "a page failed": (HELD, [], "retry", "to be tried again after a failed visit"),
    "robots.txt": (HELD | {"held_by": "robots"}, [], "retry", "no answer, 3 failures in a row"),
    "blocked": (HELD, ["a.test"], "deferred", "blocked"),
    "blocked in part": (FREE | {"failures_in_row": 0}, ["a.test/x"], "deferred", NO_ROOM),
}


@each_row(WAITING)
def test_what_the_urls_of_a_host_wait_for(
    state: dict[str, Any] | None, blocks: list[str], reason: str, said: str
) -> None:
    counts = {"requests": 3, "fetched": 0, "failures": 3, "bytes": 0, "latency_p50_ms": 1.0}
    record = {
        "host": "a.test",
        "state": state and counts | state,
        "urls": {"due": 38, "failed": 2},
        "outcomes": {"server_error": 5, "too_many_requests": 3, "deferred": 1},
        "failed": {"dead_host": 2},
        "wait": "no answer, 3 failures in a row",
        "waiting": [{"reason": reason, "urls": 38, "first_due_at": None}],
        "blocks": [{"pattern": pattern, "since": NOW.isoformat(), "reason": ""} for pattern in blocks],
        **{name: [] for name in ("robots", "traps", "copies_of")},
    }
    lines = list(host_lines(record, NOW))
    assert lines[-3:] == [
        "visits: 5 server_error, 3 too_many_requests, 1 deferred",
        "failed: 2 (its host failed too often in a row)",
        f"waiting: 38 ({said})",
    ]
    is_held = state is not None and state["not_before"] > NOW
    end = "; blocked" if blocks == ["a.test"] else "; no answer, 3 failures in a row" if is_held else ""
    assert lines[0] == f"a.test: 40 URLs (38 due, 2 failed){end}"


def test_bad_input_is_one_line(crawled: Crawled, tmp_path: Path) -> None:
    assert failure("explain", crawled.directory, "ftp://a.test/") == (
        2,
        "ftp://a.test/: not a URL that can be fetched, which starts with http:// or https://",
    )
    assert failure("explain", crawled.directory, "no.test") == (
        1,
        "no.test: no URL of this host is known; give a URL, which starts with http(s)://",
    )
    assert "holds no crawl" in failure("explain", tmp_path / "none", "http://a.test/")[1]
