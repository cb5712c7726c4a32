"""One URL in several spellings, which have one key: the neatest is fetched, each is fetched once, and none is lost."""

from datetime import UTC, datetime
from pathlib import Path

import pytest
from hypothesis import given, strategies as st

from beamtrawl.pipeline.seeds import Added, Seed, add_seeds
from beamtrawl.transforms.directory.crawl_dir import CrawlDir
from beamtrawl.transforms.documents.found_links import links_column
from beamtrawl.transforms.documents.parse_visits import parse_visit, respelled
from beamtrawl.transforms.frontier import selection
from beamtrawl.transforms.frontier.link_targets import merge_candidates
from beamtrawl.transforms.frontier.url_states import advance
from beamtrawl.transforms.outcomes import Outcome
from beamtrawl.transforms.settings import Scope
from beamtrawl.transforms.urls.canonical import neatness, url_key
from beamtrawl.transforms.urls.filters import UrlFilter
from tests.documents.test_finish_pages import HOME, candidates, candidates_of_part, link, page
from tests.frontier.test_url_states import LIMITS, due, found, known, visited
from tests.support.crawls import crawl, rows, states
from tests.support.tables import each_row
from tests.support.web import Web, html, plain, redirect

CLEAN = "http://a.test/p?a=1&b=2"
NOISY = "http://a.test/p?a=1&b=2&utm_source=x"
SHUFFLED = "http://a.test/p?b=2&a=1"
IN_SESSION = "http://a.test/p;jsessionid=1?a=1&b=2"
SPELLINGS = [CLEAN, NOISY, SHUFFLED, IN_SESSION]


def test_the_spellings_have_one_key() -> None:
    assert len({url_key(url) for url in SPELLINGS}) == 1


# links as (URL, depth): the URL and the depth of the candidate
LINKED = {
    "the shortest": ([(NOISY, 1), (CLEAN, 1), (IN_SESSION, 1)], (CLEAN, 1)),
    "of the same length the first in the alphabet": ([(SHUFFLED, 1), (CLEAN, 1)], (CLEAN, 1)),
    "of the least depth": ([(CLEAN, 2), (NOISY, 1)], (NOISY, 1)),
}


@each_row(LINKED)
def test_a_target_is_a_candidate_once_in_its_neatest_spelling(links: list, chosen: tuple[str, int]) -> None:
    (one,) = candidates(page(HOME, [link(url, depth) for url, depth in links], score=len(links) / 0.85))
    assert (one["url"], one["depth"], one["host"]) == (*chosen, "a.test")
    assert one["score"] == pytest.approx(len(links))  # no share is lost


SOURCES = ["http://a.test/", "http://a.test/go", "http://b.test/", "http://c.test/x"]
LINKS = st.builds(link, st.sampled_from(SPELLINGS), st.integers(0, 2), redirects=st.integers(0, 1))
SCORE = st.sampled_from([0.0, 0.1, 1 / 3, 1.0])
PAGES = st.builds(page, st.sampled_from(SOURCES), st.lists(LINKS, max_size=3), score=SCORE)
LINKING = st.builds(lambda one, news: one | {"links_without_news": news}, PAGES, st.booleans())


@given(st.lists(st.tuples(LINKING, st.integers(0, 2))))
def test_the_choice_is_the_same_in_parts_and_as_a_whole(pages: list[tuple[dict, int]]) -> None:
    """The pages of a round are divided by the number of workers and what memory there is."""
    whole = candidates_of_part(*(one for one, _ in pages))
    parts = [row for part in range(3) for row in candidates_of_part(*(one for one, of in pages if of == part))]
    assert merge_candidates(parts) == merge_candidates(whole)


@given(st.lists(st.tuples(st.sampled_from(SPELLINGS), st.integers(0, 2)), min_size=1))
def test_of_several_rows_in_the_frontier_one_is_chosen(ways: list[tuple[str, int]]) -> None:
    queue = [selection.Due(url_key(u), u, "a.test", depth, 1.0, None, None, None, 0, 0, 0) for u, depth in ways]
    (chosen,) = selection.choose(queue, 5)
    _, (left,) = advance([], [], [], [due(url, depth=depth) for url, depth in ways], round_=2, limits=LIMITS)
    best = min(ways, key=lambda way: (way[1], neatness(way[0])))
    assert (chosen.url, chosen.depth) == (left["url"], left["depth"]) == best


def test_seeds_in_two_spellings_are_one(tmp_path: Path) -> None:
    directory, now = CrawlDir(str(tmp_path)), datetime(2026, 3, 1, tzinfo=UTC)
    assert add_seeds(directory, [Seed(NOISY, "noisy"), Seed(CLEAN, "clean")], "", now) == Added(1, 0, 0)
    assert add_seeds(directory, [Seed(SHUFFLED)], "", now) == Added(0, 0, 1)
    (seed,) = rows(tmp_path, "seeds")
    assert (seed["url"], seed["metadata"]) == (CLEAN, "clean")


def advanced(candidates=(), facts=(), earlier=(), frontier=()) -> tuple[dict | None, dict | None]:
    """(the row of urls that has changed, the row of the next frontier), of one URL."""
    changed, following = advance(candidates, facts, earlier, frontier, round_=2, limits=LIMITS)
    assert len(changed) <= 1
    assert len(following) <= 1
    return next(iter(changed), None), next(iter(following), None)


# the spelling that waits, its depth, fetches so far, a spelling found, its depth: what waits then, its depth
WAITING = {
    "a neater one": (NOISY, 2, 0, CLEAN, 2, CLEAN, 2),
    "a neater one, nearer": (NOISY, 2, 0, CLEAN, 1, CLEAN, 1),
    "a neater one, farther": (NOISY, 1, 0, CLEAN, 2, NOISY, 1),
    "another, nearer": (CLEAN, 2, 0, NOISY, 1, NOISY, 1),
    "another, as near": (CLEAN, 2, 0, NOISY, 2, CLEAN, 2),
    "a neater one, too late": (NOISY, 2, 1, CLEAN, 2, NOISY, 2),
    "a neater one, nearer and too late": (NOISY, 2, 1, CLEAN, 1, NOISY, 1),
}


@pytest.mark.parametrize(
    ("url", "depth", "fetches", "other", "at", "chosen", "then"), WAITING.values(), ids=WAITING
)  # fmt: skip
def test_a_url_that_waits_takes_a_neater_spelling_until_it_is_asked_for(
    url: str, depth: int, fetches: int, other: str, at: int, chosen: str, then: int
) -> None:
    state, row = advanced([found(other, at)], [], [known(url, depth=depth, fetches=fetches)], [due(url, depth=depth)])
    assert row is not None
    assert (row["url"], row["depth"]) == (chosen, then)
    assert (state is None) == ((chosen, then) == (url, depth))
    assert state is None or (state["url"], state["depth"]) == (chosen, then)


@pytest.mark.parametrize("state", ["fetched", "redirected"])
def test_a_url_that_was_visited_is_not_visited_in_another_spelling(state: str) -> None:
    assert advanced([found(CLEAN, 0)], earlier=[known(NOISY, state=state)]) == (None, None)


@pytest.mark.parametrize("state", ["failed", "gone", "denied"])
def test_a_neater_spelling_of_what_gave_nothing_is_tried(state: str) -> None:
    before = known(NOISY, state=state, failures=3, discovered_round=1)
    url, row = advanced([found(CLEAN, 2)], earlier=[before])
    assert url is not None
    assert row is not None
    assert (url["url"], url["state"], url["failures"], url["depth"]) == (CLEAN, "due", 0, 1)
    assert (row["url"], row["reason"], row["depth"], row["discovered_round"]) == (CLEAN, "new", 1, 1)
    assert advanced([found(NOISY, 0)], earlier=[known(CLEAN, state=state)]) == (None, None)
    assert advanced([found(NOISY, 0)], earlier=[known(NOISY, state=state)]) == (None, None)


def test_what_gives_nothing_in_this_round_gets_its_neater_spelling_in_the_next() -> None:
    url, row = advanced([found(CLEAN)], [visited(NOISY, Outcome.DENIED_ROBOTS)], [known(NOISY)], [due(NOISY)])
    assert url is not None
    assert row is not None
    assert (url["state"], row["url"]) == ("due", CLEAN)


def redirected(url: str, target: str, **more: object) -> dict:
    """A visit that ended as a redirect."""
    row = {"url": url, "url_key": url_key(url), "outcome": Outcome.REDIRECTED, "redirect_to": target, "headers": []}
    return row | {"depth": 1, "redirects": 0, "kind": None} | more


# from, to, redirects before: where it leads in the same URL
REDIRECTS = {
    "to the clean one": (NOISY, CLEAN, 0, CLEAN),
    "to one in a session": (CLEAN, IN_SESSION, 0, IN_SESSION),
    "to itself": (CLEAN, CLEAN, 0, None),
    "elsewhere": (CLEAN, "http://a.test/q", 0, None),
    "the last that is followed": (CLEAN, NOISY, 2, NOISY),
    "one too many, so that a loop ends": (CLEAN, NOISY, 3, None),
}


@each_row(REDIRECTS)
def test_a_redirect_may_lead_to_another_spelling(url: str, target: str, redirects: int, leads_to: str | None) -> None:
    visit = redirected(url, target, redirects=redirects)
    page, links = parse_visit(visit, "robot")
    column = links_column([(visit, page, links)], UrlFilter(Scope(), frozenset({"a.test"})))
    assert respelled(visit, column[0]) == leads_to


def test_a_redirect_to_another_spelling_is_followed() -> None:
    fact = visited(NOISY, Outcome.REDIRECTED, respelled=CLEAN, redirects=3, depth=2, status=302)
    url, row = advanced([found(CLEAN, 2, redirects=4)], [fact], [known(NOISY, depth=2)], [due(NOISY, depth=2)])
    assert url is not None
    assert row is not None
    assert (url["url"], url["state"], url["fetches"], url["reason"]) == (CLEAN, "due", 1, "redirected")
    assert (row["url"], row["redirects"], row["reason"], row["due_at"], row["depth"]) == (CLEAN, 4, "new", None, 2)


SESSION = ";jsessionid=0123456789"
SITE = {
    "/robots.txt": plain("User-agent: *\nDisallow: /*utm_\n"),
    "/": html("Home", "Start.", ["/a?utm_source=x", f"/b{SESSION}", "/c", "/d?y=1&x=2", "/d?x=2&y=1"]),
    "/a": html("A", "Denied with a counter, and not without.", ["/?utm_source=a"]),
    f"/b{SESSION}": html("B", "In a session.", [f"/{n}{SESSION}" for n in range(3)]),
    "/c": redirect(f"/c{SESSION}"),
    f"/c{SESSION}": html("C", "Nothing without a session.", ["/a"]),
    "/d?x=2&y=1": html("D", "In one order, as good as any."),
} | {f"/{n}{SESSION}": html(f"Page {n}", f"Text {n}.", [f"/{(n + 1) % 3};jsessionid={n}xxxxxxxxx"]) for n in range(3)}
PAGES = ["/", "/a", f"/b{SESSION}", f"/c{SESSION}", "/d?x=2&y=1", *(f"/{n}{SESSION}" for n in range(3))]


@pytest.mark.slow("whole crawls")
def test_a_crawl_visits_each_url_once_whatever_it_is_called(tmp_path: Path) -> None:
    with Web({"a.test": SITE}) as web:
        assert crawl(tmp_path, [web.url("a.test")]).reason == "frontier_empty"
        asked = [request.path for request in web.requests]
        found = {url.removeprefix(web.url("a.test", "")): row["state"] for url, row in states(tmp_path).items()}
    assert sorted(asked) == sorted([*PAGES, "/c", "/robots.txt"])
    assert {path: found[path] for path in PAGES} == dict.fromkeys(PAGES, "fetched")
    documents = rows(tmp_path, "documents")
    assert len({row["url_key"] for row in documents}) == len(documents) == len(PAGES)
