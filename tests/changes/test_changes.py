"""`beamtrawl changes`: exactly the pages that differ, the lines that differ, and a valid feed."""

import doctest
import json
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from lxml import etree

from beamtrawl.transforms.changes import find
from beamtrawl.transforms.duplicates.digest import of_html
from beamtrawl.transforms.parsing.html_page import parse_page
from tests.support.changing_site import crawl_changing_site
from tests.support.command_line import beamtrawl, contents, failure
from tests.support.committed import commit_rows

START = datetime(2026, 1, 1, tzinfo=UTC)
HOSTILE = "T\x1b[2J\u202e]]><script>alert(1)</script>\r\n&"


def page(path: str, day: int, text: str, title: str = "T") -> dict[str, Any]:
    digest = (title + text).encode().ljust(16)[:16]
    at = START + timedelta(days=day)
    return {"url": f"http://a.test/{path}", "title": title, "text": text, "digest": digest, "fetched_at": at}


def visit(path: str, day: int, outcome: str = "fetched", **columns: Any) -> dict[str, Any]:
    at = START + timedelta(days=day)
    return {"url": f"http://a.test/{path}", "outcome": outcome, "status": 200, "fetched_at": at} | columns


@pytest.fixture(scope="module")
def crawl(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Three rounds on three days."""
    folder = tmp_path_factory.mktemp("crawl")
    names = ("same", "edited", "moved", "gone", "was gone", "was moved", "twice", "failing", "read anew")
    commit_rows(folder, "fetch", 1, {"visits": [visit(name, 0) for name in names if name != "was gone"]})
    first = [page(name, 0, "one\ntwo\nthree") for name in names]
    commit_rows(folder, "update", 1, {"documents": first})
    second = [visit("twice", 1), visit("was gone", 1, "gone"), visit("was moved", 1, "redirected")]
    commit_rows(folder, "fetch", 2, {"visits": second})
    commit_rows(folder, "update", 2, {"documents": [page("twice", 1, "one\nTWO\nthree")]})
    third = [
        visit("same", 2, "not_modified"),
        visit("edited", 2),
        visit("moved", 2, "redirected", redirect_to="http://a.test/there"),
        visit("gone", 2, "gone"),
        visit("was gone", 2),
        visit("was moved", 2),
        visit("twice", 2),
        visit("failing", 2, "server_error"),
        visit("fresh", 2),
        visit("read anew", 2),
        visit("never", 2, "gone"),
        visit("late", 2, "deferred", status=None),
    ]
    commit_rows(folder, "fetch", 3, {"visits": third})
    newest = [
        page("edited", 2, "one\n2\nthree\nfour", HOSTILE),
        page("was gone", 2, "back"),
        page("was moved", 2, "back"),
        page("twice", 2, "one\nTWO\nthree\nfour"),
        page("fresh", 2, "new"),
        page("read anew", 2, "one\ntwo\nthree\nfour") | {"digest": of_html(b"x" * 16)},
    ]
    commit_rows(folder, "update", 3, {"documents": newest})
    return folder


EDITED = ("changed", "edited", ["-T", f"+{HOSTILE.partition(chr(10))[0]}", "+&", "-two", "+2", "+four"])
LATER = [
    ("gone", "gone", []),
    ("moved", "moved", []),
    ("new", "fresh", []),
    ("new", "was gone", []),
    ("new", "was moved", []),
]
CASES = {
    "2": [EDITED, ("changed", "twice", ["+four"]), *LATER],
    "3": [],
    "2026-01-03": [EDITED, ("changed", "twice", ["+four"]), *LATER],
    "2026-01-03T00:00:01": [],
}


@pytest.mark.parametrize("since", CASES)
def test_exactly_what_differs(crawl: Path, since: str) -> None:
    ran = beamtrawl("changes", crawl, "--since", since, "--json")
    assert (ran.code, ran.err) == (0, "")
    found = [json.loads(line) for line in ran.out.splitlines()]
    assert [(row["kind"], row["url"].removeprefix("http://a.test/"), row["diff"]) for row in found] == CASES[since]
    assert {row["moved_to"] for row in found} <= {None, "http://a.test/there"}


def test_of_several_versions_the_last_counts(crawl: Path) -> None:
    ran = beamtrawl("changes", crawl, "--since", "1", "--json")
    found = {row["url"]: row for row in map(json.loads, ran.out.splitlines())}
    assert found["http://a.test/twice"]["diff"] == ["-two", "+TWO", "+four"]


def test_the_terminal_gets_no_control_characters(crawl: Path) -> None:
    ran = beamtrawl("changes", crawl, "--since", "2")
    assert ran.out.splitlines()[0] == (
        "changed  2026-01-03 00:00 http://a.test/edited T [2J ]]><script>alert(1)</script> &"
    )
    assert "moved    2026-01-03 00:00 http://a.test/moved -> http://a.test/there T\n" in ran.out
    assert ran.out.endswith("\n2 changed, 1 gone, 1 moved, 3 new\n")
    assert "\x1b" not in ran.out and "\u202e" not in ran.out
    assert beamtrawl("changes", crawl, "--since", "3").out == "nothing has changed\n"


ATOM = "{http://www.w3.org/2005/Atom}"


def test_the_feed_is_valid(crawl: Path, tmp_path: Path) -> None:
    """By RFC 4287, 4.1.1 and 4.1.2: each required element once, dates by RFC 3339, distinct identifiers."""
    assert beamtrawl("changes", crawl, "--since", "2", "--atom", tmp_path / "feed.xml").code == 0
    feed = etree.parse(tmp_path / "feed.xml").getroot()
    assert feed.tag == f"{ATOM}feed"
    assert [each.tag.removeprefix(ATOM) for each in feed[:4]] == ["id", "title", "updated", "author"]
    entries = feed.findall(f"{ATOM}entry")
    parts = ["id", "title", "updated", "link", "category", "content"]
    assert [[part.tag.removeprefix(ATOM) for part in entry] for entry in entries] == [parts] * 7
    ids = [entry.findtext(f"{ATOM}id") for entry in entries]
    assert len(set(ids)) == 7 and all(id_.startswith("urn:uuid:") for id_ in ids)
    assert all(datetime.fromisoformat(entry.findtext(f"{ATOM}updated")) for entry in entries)
    assert entries[0].findtext(f"{ATOM}title") == "changed: " + HOSTILE.replace("\x1b", "\ufffd")
    assert entries[2].findtext(f"{ATOM}content") == "gone"
    body = (tmp_path / "feed.xml").read_bytes()
    read = parse_page(body, "http://a.test/feed", "application/atom+xml", [], "bot", ("feed",))
    assert read is not None
    assert [link.url for link in read.links][:2] == ["http://a.test/edited", "http://a.test/twice"]
    beamtrawl("changes", crawl, "--since", "2", "--atom", tmp_path / "again.xml")
    again = etree.parse(tmp_path / "again.xml").getroot()
    assert [entry.findtext(f"{ATOM}id") for entry in again.findall(f"{ATOM}entry")] == ids


def test_a_site_that_changes(tmp_path: Path) -> None:
    """A crawl of a site whose pages are edited, moved, removed and added between two rounds."""
    home = crawl_changing_site(tmp_path)
    ran = beamtrawl("changes", tmp_path, "--since", "2", "--json")
    found = [json.loads(line) for line in ran.out.splitlines()]
    assert [(row["kind"], row["url"].removeprefix(home), row["moved_to"], row["diff"]) for row in found] == [
        ("changed", "/", None, ["+/added"]),
        ("changed", "/edited", None, ["-The old sentence.", "+The new sentence."]),
        ("gone", "/gone", None, []),
        ("moved", "/moved", f"{home}/same", []),
        ("new", "/added", None, []),
    ]


def test_refusals(crawl: Path, tmp_path: Path) -> None:
    code, said = failure("changes", crawl, "--since", "soon")
    assert (code, "soon: neither a round, as 3, nor a date, as 2026-01-31" in said) == (2, True)
    assert failure("changes", tmp_path / "none", "--since", "1", "--atom", tmp_path / "x")[0] == 1
    assert contents(tmp_path) == {}


def test_examples() -> None:
    assert doctest.testmod(find).failed == 0
