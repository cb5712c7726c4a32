"""Which requisites of a visit become candidates, and how many at most."""

from typing import Any

import pytest

from beamtrawl.transforms.batches.found_urls import FoundUrls
from beamtrawl.transforms.documents.page_yield import yield_rows
from beamtrawl.transforms.documents.parse_visits import parse_visit
from beamtrawl.transforms.documents.requisites import requisites_of
from beamtrawl.transforms.outcomes import Outcome
from beamtrawl.transforms.settings import Scope
from beamtrawl.transforms.tables.other_visits import visits_without_page
from beamtrawl.transforms.tables.schemas import VISITS
from beamtrawl.transforms.tables.sitemap_terms import terms
from beamtrawl.transforms.tables.table_files import TableWriter
from beamtrawl.transforms.urls.filters import UrlFilter
from tests.support.tables import each_row

# Stated here and not imported: a changed limit fails a test.
MAX_OF_PAGE, MAX_OF_STYLESHEETS, MAX_LEVEL = 100, 200, 3

A, B = "http://a.test", "http://b.test"
SCOPE = Scope(depth=2, include=["/page"], exclude=["/private"], deny_hosts=["denied.test"])
FILTER = UrlFilter(SCOPE, frozenset({"a.test", "b.test", "denied.test"}))


def visit(body: str = "", type_: str = "text/html", **more: Any) -> dict[str, Any]:
    row = dict.fromkeys(VISITS.names) | {"url": f"{A}/page", "host": "a.test", "outcome": Outcome.FETCHED.value}
    row |= {"headers": [], "media_type": type_, "body": body.encode(), "depth": 2, "redirects": 0}
    return row | more


def style(body: str = "", level: int = 0, budget: int = 5, **more: Any) -> dict[str, Any]:
    known = {"url": f"{A}/s.css", "kind": "requisite", "sitemap": terms(level, budget, ())}
    return visit(body, "text/css", **known | more)


def moved(**more: Any) -> dict[str, Any]:
    return style(**{"outcome": Outcome.REDIRECTED.value, "redirect_to": f"{B}/x"} | more)


def found(row: dict[str, Any]) -> FoundUrls:
    return requisites_of(row, parse_visit(row, "robot")[0], FILTER)


LINK = "<link rel=stylesheet href={}>"
SHEET = {"sitemap": terms(0, MAX_OF_STYLESHEETS, ())}
# a visit, what its only candidate is
CANDIDATES = {
    "an image": (visit("<img src=/a.png>"), {"url": f"{A}/a.png", "depth": 2, "score": 0.0, "sitemap": None}),
    "of another host": (visit(f"<img src={B}/a.png>"), {"host": "b.test", "foreign": True}),
    "a stylesheet": (visit(LINK.format("/a.css")), SHEET | {"url": f"{A}/a.css", "foreign": False}),
    "of a stylesheet": (style("x: url(/f.woff2)"), {"url": f"{A}/f.woff2", "referrer": f"{A}/s.css", "redirects": 0}),
    "an import": (style("@import '/a.css'"), {"sitemap": terms(1, 4, ())}),
    "the deepest import": (style("@import '/a.css'", level=MAX_LEVEL), {"sitemap": terms(MAX_LEVEL + 1, 4, ())}),
    "a redirect": (moved(level=1, redirects=1), {"url": f"{B}/x", "redirects": 2, "sitemap": terms(1, 5, ())}),
    "a redirect of an image": (moved(sitemap=None), {"sitemap": None, "redirects": 1}),
    "a redirect of what others link": (moved(foreign=True, redirect_to=f"{A}/x"), {"foreign": True}),
}


@each_row(CANDIDATES)
def test_a_candidate(row: dict, expected: dict) -> None:
    (candidate,) = found(row).candidates
    assert candidate == candidate | expected | {"kind": "requisite", "depth": 2, "referrer": row["url"]}


# visits without candidates
NONE = {
    "a page without any": visit("<p>Text"),
    "a page that asks that nothing is followed": visit("<meta name=robots content=nofollow><img src=/a.png>"),
    "no page": visit("<img src=/a.png>", outcome=Outcome.GONE.value),
    "plain text": visit("<img src=/a.png>", "text/plain"),
    "an image that is a page": visit("<img src=/a.png>", kind="requisite"),
    "a stylesheet in an image": style("x: url(a.png)", sitemap=None),
    "no stylesheet": style("x: url(a.png)", media_type="text/html"),
    "a failed stylesheet": style("x: url(a.png)", outcome=Outcome.GONE.value),
    "too many stylesheets above": style("x: url(a.png)", level=MAX_LEVEL + 1),
    "nothing left": style("x: url(a.png)", budget=0),
    "a sitemap": visit("<img src=/a.png>", kind="sitemap"),
}


@pytest.mark.parametrize("row", NONE.values(), ids=NONE)
def test_no_candidate(row: dict) -> None:
    assert found(row) == ([], {})


# an image: the rule that rejects it
REJECTED = {
    f"{A}/private/a.png": "exclude",
    "http://c.test/a.png": "scope",
    "http://denied.test/a.png": "deny_host",
    f"{A}/{'a' * 2000}": "too_long",
}


@pytest.mark.parametrize(("url", "reason"), REJECTED.items())
def test_the_scope_applies(url: str, reason: str) -> None:
    assert found(visit(f"<img src={url}>")) == ([], {(reason, url): 1})


def test_redirects_are_limited() -> None:
    assert found(moved(redirects=10)).rejected == {("redirect_limit", f"{B}/x"): 1}


def test_a_page_takes_a_bounded_number_of_requests() -> None:
    pixels = "".join(f"<img src=/{n}.gif>" for n in range(500))
    candidates = found(visit(pixels + LINK.format("/a.css") + LINK.format("/b.css"))).candidates
    assert len(candidates) == MAX_OF_PAGE
    assert [row["sitemap"] for row in candidates[:3]] == [terms(0, MAX_OF_STYLESHEETS // 2, ())] * 2 + [None]
    images = "".join(f"x: url(/{n}.gif);" for n in range(500))
    assert len(found(style(images, budget=7)).candidates) == 7
    imports = found(style("@import '/1.css'; @import '/2.css'; x: url(/a.gif)", budget=13)).candidates
    assert [row["sitemap"] for row in imports] == [terms(1, 5, ())] * 2 + [None]


def test_they_are_no_evidence_of_traps() -> None:
    requisite, page = (row(outcome=Outcome.GONE.value) for row in (style, visit))
    assert [row["url"] for row in yield_rows([(requisite, None), (page, None)])] == [page["url"]]


def test_who_reads_sitemaps_reads_no_requisites(tmp_path: Any) -> None:
    writer = TableWriter(str(tmp_path), "visits", 1)
    writer.write_rows([style(), visit(url=f"{A}/map.xml", kind="sitemap"), visit()])
    writer.write_rows([style(body_bytes=9)])  # a row group of its own
    file = writer.close()
    assert file and [row["url"] for row in visits_without_page(file.path, str(tmp_path))] == [f"{A}/map.xml"]
