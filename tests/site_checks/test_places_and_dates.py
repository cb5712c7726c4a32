"""Where findings are, since when, and what a check says that it could not know."""

from datetime import timedelta
from pathlib import Path

import pytest

from beamtrawl.runners.site_checks.rules import Finding
from tests.support.checked_sites import (
    DENIED,
    FAILED,
    GONE,
    NOT_MODIFIED,
    START,
    Said,
    Together,
    crawled,
    found,
    moved,
    page,
    sitemap,
)
from tests.support.committed import commit_rows

A, B, C, D = (f"http://a.test/{name}" for name in ("", "b", "c", "d"))
MAP, OTHER_MAP = "http://a.test/sitemap.xml", "http://a.test/other.xml"
LINK = page("A", "<a href=b>b</a>")
ORPHAN = {A: LINK, B: page("B"), C: page("C")}

PLACES = (
    "<section id='s 1'><h2>Why  it <b>is</b> ¶</h2><p><a href=c#x>c</a> <a href=b><img alt=Map></a>"
    "</section><h3 id=then>Then</h3><a href=b>again</a>"
)
ELSEWHERE = "<a href=picture.png>p</a> <a href=http://b.test/>b</a> <a href=mailto:a@a.test>m</a>"
KNOWN: dict[str, dict[str, Said]] = {
    "places": {A: page("A", PLACES), B: GONE, C: page("C", "<p id=x>")},
    "redirects": {A: LINK, B: moved(C, 308), C: moved("http://b.test/", 302)},
    "an orphan beside links that lead to no page of the site": ORPHAN | {B: page("B", ELSEWHERE)},
    "seeds": {"http://a.test/x": moved(A, 302), A: LINK, B: page("B"), C: page("C")},
}
"""Sites whose pages and links are all known, so that a check says nothing that it could not know."""


@pytest.fixture(scope="module")
def known(tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[Finding]]:
    sites = {name: [answers] for name, answers in KNOWN.items()}
    by_site, notes = Together(tmp_path_factory.mktemp("known"), sites, seeds=C).checked()
    assert [note.partition(":")[0] for note in notes] == ["links to other hosts are not checked"]
    return by_site


def test_the_place_of_a_link_is_the_heading_above_it_and_its_first_one(known: dict[str, list[Finding]]) -> None:
    (finding,) = known["places"]
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


def test_a_redirect_names_its_end(known: dict[str, list[Finding]]) -> None:
    (finding,) = known["redirects"]
    assert (finding.rule, finding.target, finding.status, finding.final) == ("moved", B, 308, "http://b.test/")


def test_what_leads_to_no_page_of_the_site_is_no_gap(known: dict[str, list[Finding]]) -> None:
    (finding,) = known["an orphan beside links that lead to no page of the site"]
    assert (finding.rule, finding.page) == ("orphan", C)


def test_a_seed_and_what_it_redirects_to_are_no_orphans(known: dict[str, list[Finding]]) -> None:
    assert known["seeds"] == []


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
IMAGES = page("A", "<img src=i><a href=b>b")
NEWS = page("A", "<img src=i>News <a href=b>b")
OF_THEN = {
    "bodies of then": [{A: IMAGES, B: page("B")}, {A: NEWS, B: page("B", "<img src=j>")}],
    "no bodies of then": [
        {A: IMAGES._replace(body_removed=True), B: page("B", "<img src=j>")._replace(body_removed=True)},
        {A: NEWS},
        {B: NOT_MODIFIED},
    ],
}
"""Pages with images without alternative text, and their answers by round."""


@pytest.fixture(scope="module")
def dated(tmp_path_factory: pytest.TempPathFactory) -> dict[int | None, dict[str, list[Finding]]]:
    """What is found of the sites of DATES and OF_THEN, after each of the rounds only, and in all."""
    sites = {name: rounds for name, (rounds, _) in DATES.items()} | OF_THEN
    together = Together(tmp_path_factory.mktemp("dated"), sites)
    return {after: together.checked(since=after)[0] for after in (None, 1, 2, 3)}


@pytest.mark.parametrize("name", DATES)
def test_since_when(name: str, dated: dict[int | None, dict[str, list[Finding]]]) -> None:
    rounds, since = DATES[name]
    (finding,) = dated[None][name]
    assert (finding.rule, finding.round, finding.since) == ("gone", since, START + timedelta(days=since))
    assert dated[len(rounds)][name] == []
    assert since == 1 or dated[since - 1][name] == [finding]


def test_the_check_of_then_decides_or_without_the_body_of_then_the_date(
    dated: dict[int | None, dict[str, list[Finding]]],
) -> None:
    at = {
        after: {name: [(each.rule, each.page, each.target) for each in by_site[name]] for name in OF_THEN}
        for after, by_site in dated.items()
    }
    of_a, of_b = ("no_alt", A, "http://a.test/i"), ("no_alt", B, "http://a.test/j")
    assert at[1] == {"bodies of then": [of_b], "no bodies of then": [of_a]}
    assert at[2] == {"bodies of then": [], "no bodies of then": []}
    assert at[None]["bodies of then"] == [of_a, of_b]


START_OF_BODYLESS = page("A", "<a href=b>b <a href=c>the C <img src=i>")
UNKNOWN: dict[str, list[dict[str, Said]]] = {
    "without bodies": [
        {A: START_OF_BODYLESS._replace(body_removed=True), B: page("B")._replace(body_removed=True), C: GONE}
    ],
    "held": [{A: page("A", "<a href=b>b <a href=c>c")}, {A: page("A", "<a href=b>b")}],
    "unvisited": [ORPHAN | {B: page("B", "<a href=d>d")}],
    "blocked": [ORPHAN | {B: page("B", "<a href=d>d"), D: DENIED}],
    "failed": [ORPHAN | {B: page("B", "<a href=d rel=nofollow>d"), D: Said(None, "timeout", None)}],
    "a sitemap that was cut": [{A: LINK, B: page("B"), MAP: sitemap(A)._replace(truncated=True)}],
}
"""Sites of which something is not known; the links of the first and of the second lead to URLs that are."""


def test_what_could_not_be_known_is_told_and_does_not_decide(tmp_path: Path) -> None:
    """Links of pages without a body come from the table; to held URLs they are counted if a page still has them."""
    together = Together(tmp_path, UNKNOWN)
    held = [{"url": together.there("held", url), "host": together.hosts["held"], "state": "trapped"} for url in (B, C)]
    commit_rows(tmp_path, "update", 3, {"urls": held})
    by_site, notes = together.checked()
    at_d = {name: together.there(name, D) for name in together.hosts}
    of_held = together.there("held", B)
    assert notes == [
        "2 pages have no stored HTML (another kind, or removed by storage.body_rounds): their links are checked without"
        " places and fragments, and by no rule about pages",
        f"links to URLs that are held as traps have no finding: 1 (such as {of_held}); to have them requested:"
        " beamtrawl release",
        f"links to URLs of the site that were not visited have no finding: 1 (such as {at_d['unvisited']}); why:"
        " beamtrawl explain DIR URL",
        f"orphan: not decided, because pages may have further links: 1 blocked (such as {at_d['blocked']}),"
        f" 1 failed (such as {at_d['failed']}), 2 unvisited (such as {min(of_held, at_d['unvisited'])})",
        "not_in_sitemap: not decided, because a sitemap was cut or could not be fetched",
    ]
    (finding,) = by_site["without bodies"]
    assert (finding.rule, finding.page, finding.place, finding.anchor, finding.target) == ("gone", A, A, "the C", C)
    rules = {name: [(each.rule, each.target) for each in of_site] for name, of_site in by_site.items()}
    assert rules == {
        "without bodies": [("gone", C)],
        "held": [],
        "unvisited": [],
        "blocked": [("blocked", D)],
        "failed": [("failed", D)],
        "a sitemap that was cut": [],
    }
    commit_rows(tmp_path, "update", 4, {"urls": [row | {"state": "due"} for row in held]})
    assert not any("traps" in note for note in together.checked()[1])


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
