"""Where sitemaps lead, and what keeps a URL out: decided row by row."""

from datetime import UTC, datetime
from typing import Any

from hypothesis import given, strategies as st

from beamtrawl.transforms.batches.found_urls import FoundUrls
from beamtrawl.transforms.outcomes import Outcome
from beamtrawl.transforms.settings import Scope, Sitemaps
from beamtrawl.transforms.sitemaps.follow import count_entries, from_robots, from_visit
from beamtrawl.transforms.tables.schemas import ROBOTS, URLS, VISITS
from beamtrawl.transforms.tables.sitemap_terms import PROBE, SITEMAP_VISITS, share, terms, unite, with_news
from beamtrawl.transforms.tables.table_files import TableFile, TableWriter
from beamtrawl.transforms.urls.filters import UrlFilter
from tests.support.tables import each_row

# Stated here and not imported: a changed limit fails a test.
WEIGHT = 0.1
MAX_HOSTS = 1_000
MAX_LEVEL = 3

A, B = "http://a.test", "http://b.test"
ANYWHERE = UrlFilter(
    Scope(mode="any", deny_hosts=["denied.test"], exclude=["/private"], include=["/page"]), frozenset()
)
SETTINGS = Sitemaps(max_per_host=5)


def robots(*sitemaps: str, depth: int | None = 0, **more: Any) -> dict[str, Any]:
    row = dict.fromkeys(ROBOTS.names) | {"origin": A, "host": "a.test", "depth": depth}
    return row | {"sitemaps": list(sitemaps)} | more


def visit(body: str = "", outcome: Outcome = Outcome.FETCHED, **more: Any) -> dict[str, Any]:
    row = dict.fromkeys(VISITS.names) | {"url": f"{A}/map.xml", "host": "a.test", "outcome": outcome.value}
    row |= {"body": body.encode(), "depth": 1, "redirects": 0, "truncated": False, "kind": "sitemap"}
    return row | {"sitemap": terms(0, 5, ["a.test"])} | more


def index(*urls: str) -> str:
    return "<sitemapindex>" + "".join(f"<sitemap><loc>{url}</loc></sitemap>" for url in urls) + "</sitemapindex>"


def found(links: FoundUrls) -> list[str]:
    return [row["url"].removeprefix(A) for row in links.candidates]


def rejected(links: FoundUrls) -> dict[tuple[str, str], int]:
    return {(reason, url.removeprefix(A)): count for (reason, url), count in links.rejected.items() if count}


# a row of table robots: sitemaps that are candidates, rejections
NAMED = {
    "none": (robots(), [], {}),
    "relative to the origin": (robots("maps/a.xml", "/b.xml.gz"), ["/maps/a.xml", "/b.xml.gz"], {}),
    "of another host": (robots(f"{B}/a.xml"), [f"{B}/a.xml"], {}),
    "twice": (robots("/a.xml", f"{A}/a.xml#x"), ["/a.xml"], {}),
    "no URL": (robots("mailto:me@a.test", "http://["), [], {("sitemap_invalid", "/robots.txt"): 2}),
    "on a denied host": (
        robots("http://denied.test/a.xml"), [], {("deny_host", "http://denied.test/a.xml"): 1}
    ),
    "excluded": (robots("/private/a.xml"), [], {("exclude", "/private/a.xml"): 1}),
    "too long": (robots("/" + "a" * 2000), [], {("too_long", "/" + "a" * 2000): 1}),
    "more than may be": (
        robots(*(f"/{n}.xml" for n in range(7))),
        [f"/{n}.xml" for n in range(5)],
        {("sitemap_too_many", f"/{n}.xml"): 1 for n in (5, 6)},
    ),
    "of an older program": (robots("/a.xml", depth=None), [], {}),
}  # fmt: skip


# a row of table robots: licences that are candidates, rejections; the scope has the host of A, and not that of B
LICENCES = {
    "of the host": (robots(licenses=["/l.xml", f"{A}/l.xml", "http://["]), ["/l.xml", "/l.xml"], {}),
    "of another host": (robots(licenses=[f"{B}/l.xml"]), [f"{B}/l.xml"], {}),
    "of a denied host": (robots(licenses=[f"{B}/no/l.xml"]), [], {("exclude", f"{B}/no/l.xml"): 1}),
    "of a host that is asked for a licence alone": (robots(licenses=["/l.xml"], origin=B, host="b.test"), [], {}),
}


@each_row(LICENCES)
def test_licences_that_robots_txt_names(row: dict, urls: list[str], rejections: dict) -> None:
    links = from_robots(row, UrlFilter(Scope(exclude=["/no/"]), frozenset({"a.test"})), Sitemaps(guess=False))
    assert (found(links), rejected(links), {each["kind"] for each in links.candidates} - {"rsl"}) == (
        urls,
        rejections,
        set(),
    )


@each_row(NAMED)
def test_sitemaps_that_robots_txt_names(row: dict, urls: list[str], rejections: dict) -> None:
    links = from_robots(row, ANYWHERE, SETTINGS)
    assert (found(links), rejected(links)) == (urls, rejections)


def test_a_sitemap_of_another_host_is_vouched_for_by_the_robots_txt_that_names_it() -> None:
    (row,) = from_robots(robots(f"{B}/a.xml", depth=3), ANYWHERE, SETTINGS).candidates
    assert (row["host"], row["depth"], row["kind"]) == ("b.test", 4, "sitemap")
    assert row["sitemap"] == {"level": 0, "budget": 4, "hosts": ["a.test"]}
    assert row["referrer"] == f"{A}/robots.txt"


def test_a_sitemap_is_within_the_scope() -> None:
    url_filter = UrlFilter(Scope(depth=1), frozenset({"a.test"}))
    links = from_robots(robots("/a.xml", f"{B}/a.xml"), url_filter, SETTINGS)
    assert (found(links), rejected(links)) == (["/a.xml"], {("scope", f"{B}/a.xml"): 1})
    assert rejected(from_robots(robots("/a.xml", depth=1), url_filter, SETTINGS)) == {("depth", "/a.xml"): 1}


def test_a_path_that_cannot_exist_is_no_sitemap() -> None:
    assert found(from_visit(visit(f"{A}/page1\n"), ANYWHERE, SETTINGS)) == ["/page1"]
    assert found(from_visit(visit(f"{A}/page1\n", kind=PROBE), ANYWHERE, SETTINGS)) == []


TEXT = f"{A}/page1\n{B}/page2\n"
# a visit: URLs that are candidates, rejections
READ = {
    "pages of its own host": (visit(TEXT), ["/page1"], {("sitemap_foreign", f"{B}/page2"): 1}),
    "pages of a host that vouches": (
        visit(TEXT, sitemap=terms(0, 5, ["b.test"])), ["/page1", f"{B}/page2"], {}
    ),
    "a seed": (visit(TEXT, sitemap=None), ["/page1"], {("sitemap_foreign", f"{B}/page2"): 1}),
    "pages above its directory": (visit(TEXT, url=f"{A}/maps/a.txt", sitemap=terms(0, 5, ["b.test"])),
                                  ["/page1", f"{B}/page2"], {}),
    "pages that a rule keeps out": (
        visit(f"{A}/page.png\n{A}/other\n{A}/page\n"),
        ["/page"],
        {("extension", "/page.png"): 1, ("include", "/other"): 1},
    ),
    "more pages than may be": (
        visit("".join(f"{A}/page{n}\n" for n in range(60_000))),
        [f"/page{n}" for n in range(50_000)],
        {("sitemap_too_many", "/map.xml"): 10_000},
    ),
    "no sitemap": (visit("<html><a href=/page>"), [], {("sitemap_invalid", "/map.xml"): 1}),
    "one cut short": (visit(f"{A}/page\n", truncated=True), ["/page"], {("sitemap_truncated", "/map.xml"): 1}),
    "an index": (visit(index("/a.xml", f"{B}/b.xml")), ["/a.xml"], {("sitemap_foreign", f"{B}/b.xml"): 1}),
    "an index of more than may be": (
        visit(index(*(f"/{n}.xml" for n in range(6)))),
        [f"/{n}.xml" for n in range(5)],
        {("sitemap_too_many", "/5.xml"): 1},
    ),
    "an index too deep": (
        visit(index("/a.xml"), sitemap=terms(MAX_LEVEL, 5, [])), [], {("sitemap_nested", "/map.xml"): 1}
    ),
    "one that has moved": (visit(outcome=Outcome.REDIRECTED, redirect_to=f"{B}/moved.xml"), [f"{B}/moved.xml"], {}),
    "one that moves on and on": (
        visit(outcome=Outcome.REDIRECTED, redirect_to=f"{A}/x", redirects=10), [], {("redirect_limit", "/x"): 1}
    ),
    "one that is gone": (visit("<urlset/>", outcome=Outcome.GONE), [], {}),
    "one that is as it was": (visit(outcome=Outcome.NOT_MODIFIED), [], {}),
}  # fmt: skip


@each_row(READ)
def test_where_a_visited_sitemap_leads(row: dict, urls: list[str], rejections: dict) -> None:
    links = from_visit(row, ANYWHERE, SETTINGS)
    assert (found(links), rejected(links)) == (urls, rejections)


def test_a_page_is_worth_more_the_higher_its_sitemap_puts_it() -> None:
    entry = "<url><loc>/page{}</loc><priority>{}</priority><lastmod>{}</lastmod></url>"
    body = (
        "<urlset>"
        + entry.format(1, "1.0", "2026-03-05")
        + entry.format(2, "", "")
        + entry.format(3, "0", "")
        + "</urlset>"
    )
    rows = from_visit(visit(body, depth=2), ANYWHERE, SETTINGS).candidates
    assert [row["score"] for row in rows] == [WEIGHT, WEIGHT / 2, 0.0]
    assert [row["sitemap_lastmod"] for row in rows] == [datetime(2026, 3, 5, tzinfo=UTC), None, None]
    assert {(row["depth"], row.get("kind"), row["referrer"]) for row in rows} == {(2, None, f"{A}/map.xml")}


def test_what_an_index_names_inherits_who_vouches_and_shares_what_is_left() -> None:
    known = terms(1, 12, ["b.test"])
    rows = from_visit(visit(index("/a.xml", f"{B}/b.xml"), sitemap=known), ANYWHERE, SETTINGS).candidates
    assert [row["sitemap"] for row in rows] == [{"level": 2, "budget": 5, "hosts": ["a.test", "b.test"]}] * 2


@given(st.integers(0, 200), st.lists(st.integers(1, 60), max_size=MAX_LEVEL + 1))
def test_no_tree_of_indexes_is_larger_than_its_budget(budget: int, widths: list[int]) -> None:
    """Each index of a level names as many sitemaps as it wants."""
    size, level, left = 0, 1, budget
    for width in widths:
        taken = min(width, left)
        level *= taken
        size += level
        left = share(left, taken)
    assert size <= budget


def test_all_who_vouch_for_a_sitemap_count_up_to_a_bound() -> None:
    assert unite(None, terms(1, 2, ["a"])) == terms(1, 2, ["a"])
    assert unite(terms(1, 2, ["b"]), terms(0, 1, ["a"])) == terms(0, 2, ["a", "b"])
    many = unite(terms(0, 0, ["z"]), terms(0, 0, [f"h{n}" for n in range(2 * MAX_HOSTS)]))
    assert many and len(many["hosts"]) == MAX_HOSTS and "z" in many["hosts"]


MARCH, APRIL = datetime(2026, 3, 1, tzinfo=UTC), datetime(2026, 4, 1, tzinfo=UTC)
# what is known, what sitemaps and robots.txt say now, what changes
NEWS = {
    "the first date": ({}, {"sitemap_lastmod": MARCH}, {"sitemap_lastmod": MARCH}),
    "a later date": ({"sitemap_lastmod": MARCH}, {"sitemap_lastmod": APRIL}, {"sitemap_lastmod": APRIL}),
    "an earlier date": ({"sitemap_lastmod": APRIL}, {"sitemap_lastmod": MARCH}, {}),
    "no date": ({"sitemap_lastmod": APRIL}, {}, {}),
    "a further host": (
        {"kind": "sitemap", "sitemap": terms(0, 1, ["a.test"])},
        {"sitemap": terms(0, 1, ["b.test"])},
        {"sitemap": terms(0, 1, ["a.test", "b.test"])},
    ),
    "a host for a seed": (
        {"kind": "sitemap"}, {"sitemap": terms(0, 1, ["b.test"])}, {"sitemap": terms(0, 1, ["b.test"])}
    ),
    "its own host": ({"kind": "sitemap"}, {"sitemap": terms(0, 1, ["a.test"])}, {}),
    "a known host": (
        {"kind": "sitemap", "sitemap": terms(0, 1, ["b.test"])}, {"sitemap": terms(2, 9, ["b.test"])}, {}
    ),
    "a requisite that is called a sitemap": (
        {"kind": "requisite", "sitemap": terms(0, 1, ())}, {"sitemap": terms(0, 1, ["b.test"])}, {}
    ),
    "a page that is called a sitemap": ({}, {"sitemap": terms(0, 1, ["b.test"])}, {}),
}  # fmt: skip


@each_row(NEWS)
def test_news_of_a_known_url(known: dict, said: dict, changes: dict) -> None:
    url = dict.fromkeys(URLS.names) | {"host": "a.test"} | known
    news = with_news(url, dict.fromkeys(("sitemap", "sitemap_lastmod")) | said)
    assert news == url | changes
    assert (news is url) == (not changes)


def test_a_round_is_sized_by_its_sitemaps_without_reading_them(tmp_path: Any) -> None:
    writer = TableWriter(str(tmp_path), "visits", 1)
    writer.write_rows([visit(body_bytes=10_000_000), visit(body_bytes=999)], {SITEMAP_VISITS: 2})
    writer.write_rows([visit(body_bytes=5000, kind=None)])
    file = writer.close()
    without = TableFile("visits", "visits/no_such_file.parquet", 9, 9, {"fetched": 9})
    assert file and count_entries(str(tmp_path), [file, without], 50_000) == 50_000 + 99


def test_what_a_host_names_on_another_is_foreign_and_leads_to_no_page_that_is_its_own():
    rows = from_robots(robots("/own.xml", f"{B}/map.xml", "http://www.a.test/x.xml"), ANYWHERE, SETTINGS).candidates
    assert [row["foreign"] for row in rows] == [False, True, False]
    for named_elsewhere in (True, False):
        moved = visit(outcome=Outcome.REDIRECTED, redirect_to=f"{A}/page", foreign=named_elsewhere)
        assert [row["foreign"] for row in from_visit(moved, ANYWHERE, SETTINGS).candidates] == [named_elsewhere]
    listed = visit(f"<urlset><url><loc>{A}/page</loc></url></urlset>", foreign=True)
    assert [row["foreign"] for row in from_visit(listed, ANYWHERE, SETTINGS).candidates] == [False]


def test_what_only_the_robots_txt_of_another_host_leads_to_is_foreign_with_all_that_it_lists():
    """A user's upload, an index of uploads, and an open redirect of the host (issue 45)."""
    of_b = {"sitemap": terms(0, 5, ["b.test"]), "foreign": True}
    pages = f"<urlset><url><loc>{A}/page</loc></url><url><loc>{B}/page</loc></url></urlset>"
    listed = from_visit(visit(pages, **of_b), ANYWHERE, SETTINGS).candidates
    assert {row["url"]: row["foreign"] for row in listed} == {f"{A}/page": True, f"{B}/page": False}
    own = from_visit(visit(pages, foreign=False), ANYWHERE, SETTINGS).candidates
    assert {row["url"]: row["foreign"] for row in own} == {f"{A}/page": False}
    (inner,) = from_visit(visit(index("/two.xml"), **of_b), ANYWHERE, SETTINGS).candidates
    assert (inner["foreign"], inner["sitemap"]["hosts"]) == (True, ["b.test"])
    (moved,) = from_visit(
        visit(outcome=Outcome.REDIRECTED, redirect_to=f"{B}/evil.xml", **of_b), ANYWHERE, SETTINGS
    ).candidates
    there = visit(pages, url=f"{B}/evil.xml", host="b.test", sitemap=moved["sitemap"], foreign=moved["foreign"])
    assert [row["url"] for row in from_visit(there, ANYWHERE, SETTINGS).candidates] == [f"{B}/page"]
