"""Where findings are, since when, and what a check says that it could not know."""

from datetime import timedelta
from pathlib import Path

import pytest

from tests.support.checked_sites import (
    DENIED,
    FAILED,
    GONE,
    NOT_MODIFIED,
    START,
    Said,
    crawled,
    findings,
    found,
    moved,
    notes,
    of_host,
    page,
    sitemap,
)
from tests.support.committed import commit_rows

A, B, C, D = (f"http://a.test/{name}" for name in ("", "b", "c", "d"))
MAP, OTHER_MAP = "http://a.test/sitemap.xml", "http://a.test/other.xml"
LINK = page("A", "<a href=b>b</a>")


def test_the_place_of_a_link_is_the_heading_above_it_and_its_first_one(tmp_path: Path) -> None:
    body = (
        "<section id='s 1'><h2>Why  it <b>is</b> ¶</h2><p><a href=c#x>c</a> <a href=b><img alt=Map></a>"
        "</section><h3 id=then>Then</h3><a href=b>again</a>"
    )
    (finding,) = findings(crawled(tmp_path, {A: page("A", body), B: GONE, C: page("C", "<p id=x>")}))
    assert finding._asdict() == {
        "rule": "gone",
        "page": A,
        "section": "Why it is",
        "place": f"{A}#s%201",
        "anchor": "Map",
        "target": B,
        "status": 404,
        "final": None,
        "detail": None,
        "since": START + timedelta(days=1),
        "round": 1,
    }


def test_a_redirect_names_its_end(tmp_path: Path) -> None:
    (finding,) = findings(crawled(tmp_path, {A: LINK, B: moved(C, 308), C: moved("http://b.test/", 302)}))
    assert (finding.rule, finding.target, finding.status, finding.final) == ("moved", B, 308, "http://b.test/")


# answers of the rounds, and since which one the link is broken
DATES = {
    "it was always": ([{A: LINK, B: GONE}, {A: NOT_MODIFIED, B: GONE}], 1),
    "it broke": ([{A: LINK, B: page("B")}, {B: GONE}, {B: GONE}], 2),
    "it broke again": ([{A: LINK, B: GONE}, {B: page("B")}, {B: GONE}], 3),
    "the link is new": ([{A: page("A"), B: GONE}, {A: LINK}, {A: LINK}], 2),
    "it failed before it was gone": ([{A: LINK, B: Said(None, "timeout", None)}, {B: GONE}], 2),
    "a visit that did not take place": ([{A: LINK, B: GONE}, {B: Said(None, "deferred", None)}], 1),
    "the target of a redirect broke": ([{A: LINK, B: moved(C, 302), C: page("C")}, {C: GONE}], 2),
}


def test_since_when(tmp_path: Path) -> None:
    """Each case has a host of its own."""
    answers: list[dict[str, Said]] = [{}, {}, {}]
    for number, (rounds, _) in enumerate(DATES.values()):
        for of_all, given in zip(answers, rounds, strict=False):
            of_all.update(of_host(f"{number}.test", given))
    crawl = crawled(tmp_path, *answers, seeds=[f"http://{number}.test/" for number in range(len(DATES))])
    all_ = {after: findings(crawl, since=after) for after in (None, 1, 2, 3)}
    for number, (name, (rounds, since)) in enumerate(DATES.items()):
        of_case = {after: [each for each in one if f"/{number}.test/" in each.page] for after, one in all_.items()}
        (finding,) = of_case[None]
        assert (finding.rule, finding.round, finding.since) == ("gone", since, START + timedelta(days=since)), name
        assert of_case[len(rounds)] == [], name
        assert since == 1 or of_case[since - 1] == [finding], name


def test_since_is_decided_by_the_check_of_then(tmp_path: Path) -> None:
    images = page("A", "<img src=i><a href=b>b")
    crawl = crawled(
        tmp_path, {A: images, B: page("B")}, {A: page("A", "<img src=i>News <a href=b>b"), B: page("B", "<img src=j>")}
    )
    assert found(crawl, since=1) == [("no_alt", B, "http://a.test/j")]
    assert found(crawl) == [("no_alt", A, "http://a.test/i"), ("no_alt", B, "http://a.test/j")]


def test_without_the_body_of_then_the_date_decides(tmp_path: Path) -> None:
    start = page("A", "<img src=i><a href=b>b")
    first = {A: start._replace(body_removed=True), B: page("B", "<img src=j>")._replace(body_removed=True)}
    crawl = crawled(tmp_path, first, {A: start._replace(body=f"{start.body} News")}, {B: NOT_MODIFIED})
    assert found(crawl, since=1) == [("no_alt", A, "http://a.test/i")]
    assert found(crawl, since=2) == []


def test_links_of_pages_without_a_body_come_from_the_table(tmp_path: Path) -> None:
    start = page("A", "<a href=b>b <a href=c>the C <img src=i>")
    answers = {A: start._replace(body_removed=True), B: page("B")._replace(body_removed=True), C: GONE}
    crawl = crawled(tmp_path, answers)
    (finding,) = findings(crawl)
    assert (finding.rule, finding.page, finding.place, finding.anchor, finding.target) == ("gone", A, A, "the C", C)
    assert notes(crawl) == [
        "2 pages have no stored HTML (another kind, or removed by storage.body_rounds): their links are checked without"
        " places and fragments, and by no rule about pages"
    ]


def test_links_to_held_urls_are_counted_if_a_page_still_has_them(tmp_path: Path) -> None:
    crawl = crawled(tmp_path, {A: page("A", "<a href=b>b <a href=c>c")}, {A: page("A", "<a href=b>b <a href=d>d")})
    held = [{"url": url, "host": "a.test", "state": "trapped"} for url in (B, C)]
    commit_rows(tmp_path, "update", 3, {"urls": held})
    told = "links to URLs that are held as traps have no finding: 1 (such as http://a.test/b); to have them requested:"
    assert notes(crawl)[0] == f"{told} beamtrawl release"
    commit_rows(tmp_path, "update", 4, {"urls": [row | {"state": "due"} for row in held]})
    assert not any("traps" in note for note in notes(crawl))


ORPHAN = {A: LINK, B: page("B"), C: page("C")}
GAPS = {
    "1 unvisited (such as http://a.test/d)": {B: page("B", "<a href=d>d")},
    "1 blocked (such as http://a.test/d)": {B: page("B", "<a href=d>d"), "http://a.test/d": DENIED},
    "1 failed (such as http://a.test/d)": {
        B: page("B", "<a href=d rel=nofollow>d"),
        "http://a.test/d": Said(None, "timeout", None),
    },
}


@pytest.mark.parametrize("gaps", GAPS)
def test_orphans_are_not_decided_if_pages_may_have_further_links(gaps: str, tmp_path: Path) -> None:
    crawl = crawled(tmp_path, ORPHAN | GAPS[gaps])
    assert "orphan" not in {rule for rule, _, _ in found(crawl)}
    assert notes(crawl) == [f"orphan: not decided, because pages may have further links: {gaps}"]


@pytest.mark.parametrize("link", ["picture.png", "http://b.test/", "mailto:a@a.test"])
def test_what_leads_to_no_page_of_the_site_is_no_gap(link: str, tmp_path: Path) -> None:
    crawl = crawled(tmp_path, ORPHAN | {B: page("B", f"<a href={link}>d")})
    assert found(crawl) == [("orphan", C, None)]
    assert notes(crawl) == []


def test_a_seed_and_what_it_redirects_to_are_no_orphans(tmp_path: Path) -> None:
    answers = {"http://a.test/x": moved(A, 302), A: LINK, B: page("B"), C: page("C")}
    assert found(crawled(tmp_path, answers, seeds=[C])) == []


def test_a_sitemap_that_was_cut_does_not_decide(tmp_path: Path) -> None:
    listed = sitemap(A)._replace(truncated=True)
    crawl = crawled(tmp_path, {A: LINK, B: page("B"), "http://a.test/sitemap.xml": listed})
    assert found(crawl) == []
    assert notes(crawl) == ["not_in_sitemap: not decided, because a sitemap was cut or could not be fetched"]


UNDECIDED = {
    "orphan": [
        {A: page("A", "<a href=b>b"), B: FAILED, C: page("C")},
        {B: page("B"), D: page("D")},
    ],
    "not_in_sitemap": [
        {
            A: page("A", "<a href=c>c <a href=d>d"),
            C: page("C"),
            D: GONE,
            MAP: sitemap(A),
            OTHER_MAP: FAILED._replace(kind="sitemap"),
        },
        {D: page("D"), OTHER_MAP: sitemap(A)},
    ],
}


@pytest.mark.parametrize("rule", UNDECIDED)
def test_the_date_decides_on_what_a_rule_could_not_decide_then(rule: str, tmp_path: Path) -> None:
    crawl = crawled(tmp_path, *UNDECIDED[rule])
    assert found(crawl) == [(rule, C, None), (rule, D, None)]
    assert found(crawl, since=1) == [(rule, D, None)]
