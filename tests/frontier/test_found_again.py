"""What a further link to a known URL changes: its own site decides, and the shortest way of all counts."""

import pytest

from beamtrawl.transforms.frontier.link_targets import found_again, merge_candidates
from beamtrawl.transforms.tables.sitemap_terms import terms
from tests.frontier.test_url_states import due, found, known
from tests.support.tables import each_row

MAX_DEPTH = 5
PAGE = {"state": "fetched", "fetches": 1, "depth": 4, "digest": b"d"}
REDIRECT = {"state": "redirected", "fetches": 1, "depth": 1}
NEW, OTHER = {"referrer": "http://a.test/"}, {"referrer": "http://a.test/b/x"}
STALE, TOLD = {"links_without_news": True}, {"links_without_news": False}
OWN, FOREIGN = {"foreign": False}, {"foreign": True}

# a waiting row, a candidate, what changes in the waiting row
WAITING = {
    "nearer, more redirects": ({"depth": 4}, {"depth": 2, "redirects": 3}, {"depth": 2}),
    "farther, fewer redirects": ({"redirects": 9}, {"depth": 3}, {"redirects": 0}),
    "farther": ({"depth": 2}, {"depth": 3}, None),
    "news of its own site": (STALE, TOLD | NEW, TOLD | NEW),
    "another folder of its own site": ({"referrer": "http://a.test/q"}, OTHER, OTHER),
    "the same folder": (OTHER, NEW, None),
    "news of another site": (STALE, FOREIGN | TOLD, None),
    "news of another site, of its own kind": (FOREIGN | STALE, FOREIGN | TOLD | NEW, TOLD | NEW),
    "first own link": (FOREIGN | TOLD, OWN | STALE | NEW, OWN | STALE | NEW),
    "first own link to a sitemap": (FOREIGN | TOLD | {"kind": "sitemap"}, TOLD | NEW, OWN | NEW | {"kind": None}),
    "nearer by another site": ({"depth": 4}, FOREIGN | {"depth": 2}, {"depth": 2}),
}


@each_row(WAITING)
def test_a_link_to_a_waiting_url(row, link, expected):
    before, candidate = due("http://a.test/p", **row), found("http://a.test/p") | link
    changed = found_again(candidate, known("http://a.test/p", **{n: row[n] for n in row if n == "foreign"}), before)
    if expected is None:
        assert changed is None
    else:
        url, after = changed
        assert after == before | expected
        assert all(url[name] == value for name, value in expected.items() if name in ("depth", "redirects", "foreign"))


# a row of urls, a candidate, whether the URL is visited again
VISITED = {
    "a page, nearer": (PAGE, {"depth": 2}, True),
    "a page, as near": (PAGE, {"depth": 4}, False),
    "a page, nearer by another site": (PAGE, FOREIGN | {"depth": 2}, True),
    "a redirect, nearer": (REDIRECT | {"depth": 3}, {"depth": 2}, True),
    "no page": (PAGE | {"state": "gone"}, {"depth": 2}, False),
    "a redirect after ten": (REDIRECT | {"redirects": 10}, {}, True),
    "a redirect after two": (REDIRECT | {"redirects": 2}, {}, False),
    "a redirect after ten, found after ten": (REDIRECT | {"redirects": 10}, {"redirects": 10}, False),
    "a redirect of others, by its own site": (REDIRECT | FOREIGN, {}, True),
    "a redirect of others to a known target, by its own site": (REDIRECT | FOREIGN | {"redirect_to": "/q"}, {}, False),
    "a page of others, by its own site": (PAGE | FOREIGN, {"depth": 4}, False),
    "a sitemap of others, by its own site": (PAGE | FOREIGN | {"kind": "sitemap"}, {"depth": 4}, True),
    "trapped, by a page with news": ({"state": "trapped"}, TOLD, True),
    "trapped, by a page without": ({"state": "trapped"}, STALE, False),
    "trapped, by another site": ({"state": "trapped"}, FOREIGN | TOLD, False),
    "trapped of others, by its own site": (FOREIGN | {"state": "trapped"}, STALE, True),
}


@each_row(VISITED)
def test_a_link_to_a_url_that_does_not_wait(row, link, again):
    url, candidate = known("http://a.test/p", **row), found("http://a.test/p") | link
    changed = found_again(candidate, url, None, MAX_DEPTH)
    assert bool(changed and changed[1]) is again
    if changed:
        assert changed[0]["foreign"] is False
        assert changed[1] is None or (changed[1]["foreign"], changed[1]["kind"]) == (False, None)
        assert changed[0]["depth"] == min(url["depth"], candidate["depth"])
    if again and row["state"] in ("fetched", "redirected") and "kind" not in row:
        kept = (changed[0]["state"], changed[1]["digest"], changed[1].get("etag"))
        assert kept == (row["state"], row.get("digest"), None), "the page must come whole, and is not new"


def test_without_a_limit_of_depth_a_nearer_page_is_not_visited_again():
    assert found_again(found("http://a.test/p", 2), known("http://a.test/p", **PAGE), None) is None


def test_rows_of_earlier_versions_are_of_the_site_that_linked_them_first():
    old = known("http://a.test/p", **REDIRECT, foreign=None, discovered_from="http://b.test/")
    assert found_again(found("http://a.test/p"), old, None)[1] is not None
    assert found_again(found("http://a.test/p"), old | {"discovered_from": "http://www.a.test/"}, None) is None


def test_what_other_sites_say_of_a_url_does_not_count_beside_its_own_links():
    own = found("http://a.test/p", 4, referrer="http://a.test/x", links_without_news=True)
    other = found("http://a.test/p", 2, referrer="http://b.test/", kind="sitemap", **FOREIGN, **TOLD)
    (merged,) = merge_candidates([other, own]).values()
    assert merged == own | {"depth": 2, "score": 2.0}


REQUISITE = {"kind": "requisite", "referrer": "http://a.test/", "score": 0.0}
STYLE = REQUISITE | {"sitemap": terms(0, 5, ())}


def test_a_requisite_that_is_found_as_a_page_too_is_a_page() -> None:
    page, requisite = found("http://a.test/p", 3, **FOREIGN), found("http://a.test/p", 1) | STYLE
    assert merge_candidates([requisite, page]) == merge_candidates([page, requisite]) == merge_candidates([page])


EXTERNAL = {"kind": "external", "referrer": "http://b.test/", "score": 0.0, "foreign": True}


@pytest.mark.parametrize("more", [{}, STYLE], ids=["a page", "a requisite"])
def test_an_external_target_that_is_found_as_more_is_that_only(more) -> None:
    other, target = found("http://a.test/p", 3) | more, found("http://a.test/p", 1) | EXTERNAL
    assert merge_candidates([target, other]) == merge_candidates([other, target]) == merge_candidates([other])
    assert found_again(target, known("http://a.test/p", **PAGE | more), None, MAX_DEPTH) is None
    url, again = found_again(other, known("http://a.test/p", **PAGE | EXTERNAL | {"state": "gone"}), None)
    assert (url["state"], url["kind"], url["foreign"], url["fetches"]) == ("due", more.get("kind"), False, 1)
    assert (again["kind"], again["reason"], again.get("digest")) == (
        url["kind"],
        "new",
        None,
    )


LICENCE = {"kind": "rsl", "referrer": "http://a.test/robots.txt", "score": 1.0, "sitemap": terms(0, 0, ())}
OF_A_PAGE = LICENCE | {"sitemap": None}


def test_robots_txt_alone_makes_a_page_a_licence() -> None:
    page, url = found("http://a.test/p", 3), known("http://a.test/p", **PAGE)
    named, of_page = found("http://a.test/p", 4) | LICENCE, found("http://a.test/p", 4) | OF_A_PAGE
    elsewhere = named | FOREIGN | {"referrer": "http://b.test/robots.txt"}
    kinds = [merge_candidates([page, other])[page["url_key"]]["kind"] for other in (named, of_page, elsewhere)]
    assert kinds == ["rsl", None, None]
    assert [found_again(other, url, None, MAX_DEPTH) for other in (of_page, elsewhere)] == [None, None]
    changed, again = found_again(named, url, None, MAX_DEPTH)
    assert (changed["kind"], changed["state"], again["kind"]) == ("rsl", "due", "rsl")
    waiting = due("http://a.test/p")
    after = [found_again(other, known("http://a.test/p"), waiting) for other in (named, of_page, elsewhere)]
    assert [changed and changed[1]["kind"] for changed in after] == ["rsl", None, None]
    _, again = found_again(page, known("http://a.test/p", **PAGE | OF_A_PAGE), None, MAX_DEPTH)
    assert again["kind"] is None


# a requisite: whether it was visited
@pytest.mark.parametrize("visited", [False, True])
def test_a_requisite_that_is_linked_as_a_page_is_requested_as_one(visited: bool) -> None:
    row = STYLE | ({"state": "fetched", "fetches": 1} if visited else {"state": "due", "fetches": 0})
    waiting = None if visited else due("http://a.test/p", **STYLE)
    url, again = found_again(found("http://a.test/p", 2), known("http://a.test/p", **row), waiting)
    assert (url["state"], url["kind"], url["sitemap"], url["depth"], url["fetches"]) == ("due", None, None, 2, visited)
    assert (again["kind"], again["sitemap"], again["depth"], again["reason"]) == (None, None, 2, "new")


@pytest.mark.parametrize("row", [PAGE, FOREIGN | PAGE, PAGE | {"kind": "sitemap"}, PAGE | STYLE])
def test_what_is_known_is_not_requested_as_a_requisite(row) -> None:
    candidate = found("http://a.test/p", 1) | STYLE
    assert found_again(candidate, known("http://a.test/p", **row), None, MAX_DEPTH) is None


def test_a_page_that_waits_does_not_become_a_requisite() -> None:
    url, waiting = known("http://a.test/p", **FOREIGN), due("http://a.test/p", depth=4, **FOREIGN)
    assert found_again(found("http://a.test/p", 1) | STYLE, url, waiting) is None
