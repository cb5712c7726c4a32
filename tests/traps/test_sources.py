"""What one place links says what this place is worth: no page that another place links waits for it (issue 45)."""

import itertools
from collections import Counter

import pytest

from beamtrawl.transforms.frontier.selection import Due
from beamtrawl.transforms.frontier.trap_budgets import Budgets
from beamtrawl.transforms.traps.allow_list import compile_allow_list
from beamtrawl.transforms.traps.discovery import Known
from beamtrawl.transforms.traps.judge import Counts, judge, settle
from beamtrawl.transforms.traps.promise import LEAST
from beamtrawl.transforms.traps.template_rows import HOST, Kind, new_row
from tests.frontier.test_selection import due
from tests.support.honest_sites import page, story
from tests.support.honest_variants import archive_by_time, tag_cloud
from tests.support.stale_sites import STALE
from tests.support.trap_rounds import crawl_rounds
from tests.support.web import Page

ROUNDS, MOST, LAST = 7, 300, 30
SAMPLED = 48  # useless requests of a round that need not become fewer


@pytest.mark.parametrize("name", STALE)
def test_dead_links_of_one_place_cost_no_page_of_another(name: str) -> None:
    stale = STALE[name]()
    crawled = crawl_rounds(stale.site, LAST, listed=stale.listed)
    useless = [sum(path not in stale.useful for path in paths) for paths in crawled.visited]
    assert stale.useful <= {path for paths in crawled.visited[:ROUNDS] for path in paths}, useless
    assert sum(useless[:ROUNDS]) <= MOST, useless
    assert all(later <= max(earlier, SAMPLED) for earlier, later in itertools.pairwise(useless[3:])), useless
    assert crawled.waiting == set(), "the crawl has not ended"


ITEMS = ("/item/*", Kind.PLAIN)
CLOSED = new_row(ITEMS) | {"pages": 30, "fresh": 1, "recent_pages": 30.0, "state": "throttled", "round": 5}
TRIED = new_row(("/item/* linked by /list/a", Kind.PLAIN)) | {"pages": 2, "recent_pages": 2.0, "round": 5}
WASTED = new_row((HOST, Kind.PLAIN)) | {"pages": 100}


def waiting(source: str, count: int) -> list[Due]:
    rows = [due(f"http://a.test/item/{source}{n}", 3) for n in range(count)]
    return [row._replace(referrer=f"http://a.test/list/{source}") for row in rows]


def chosen(rows: list[Due], *known: dict, secret: bytes = b"") -> Counter[str]:
    found = Budgets(Known(known), compile_allow_list(()), secret).admit(rows)
    return Counter(row.url.rpartition("/")[2][0] for row in found)


def test_links_of_places_that_were_not_tried_come_first_and_take_turns() -> None:
    rows = [*waiting("a", 20), *waiting("b", 20), *waiting("c", 20)]
    found = chosen(rows, CLOSED, TRIED, WASTED)
    assert (found["a"], sorted(found.values())) == (2, [2, 3, 3])
    assert chosen(rows, CLOSED, WASTED).total() == LEAST
    good = CLOSED | {"recent_pages": 24.0, "recent_fresh": 24.0, "budget": 90}
    assert chosen([*rows, *waiting("d", 60)], good, WASTED).total() == 90 + 90 // 8, "an eighth fills the round"


def test_a_place_that_promises_little_takes_nothing_from_what_its_template_has_earned() -> None:
    good = CLOSED | {"recent_pages": 24.0, "recent_fresh": 24.0, "budget": 90}
    bad = TRIED | {"recent_pages": 24.0}
    rows = [*waiting("a", 60), *waiting("b", 60), *waiting("c", 60)]
    for some in (rows, rows[::-1]):
        assert chosen(some, good, bad, WASTED).total() == 90 + 90 // 8


def test_what_a_page_has_shown_is_for_its_own_links() -> None:
    rows = [*waiting("a", 20), *waiting("b", 20)]
    good = TRIED | {"recent_fresh": 2.0, "budget": 10}
    assert chosen(rows, CLOSED, good, WASTED)["a"] >= 10
    rows = [*waiting("a", 90), *waiting("b", 90)]
    found = chosen(rows, CLOSED | {"recent_fresh": 24.0, "budget": 15}, TRIED, WASTED)
    assert found["a"] < found["b"]


def test_a_new_template_takes_little_of_what_all_new_ones_have_earned() -> None:
    shared = new_row(("*", Kind.PLAIN)) | {"pages": 24, "recent_pages": 24.0, "recent_fresh": 24.0, "budget": 99}
    rows = [row._replace(referrer="http://a.test/") for letter in "ab" for row in waiting(letter, 40)]
    assert chosen(rows, shared, WASTED).total() == 45, "24, and what would not be held"


def test_which_links_are_tried_depends_on_the_secret() -> None:
    rows = [row for letter in "abcdefghijklmnopqrst" for row in waiting(letter, 3)]
    found = [frozenset(chosen(rows, CLOSED, WASTED, secret=bytes([n]))) for n in range(8)]
    assert {len(places) for places in found} == {LEAST}
    assert len({*found}) > 1


def test_the_links_of_a_page_start_from_what_their_template_promises() -> None:
    name = (TRIED["template"], Kind.PLAIN)
    for good, is_closed in ((0.0, True), (30.0, False)):  # of 30
        known = Known([CLOSED | {"recent_fresh": good}])
        judge(known, name, Counts(pages=8, fresh=1, different=8), [], 6)
        settle(known, 6, is_ended=False, suspected=())
        assert known.is_closed(name) is is_closed


def test_a_family_in_which_the_host_has_answered_404_is_not_asked() -> None:
    answer = {
        path: page("Sorry", f"There is no {path} here.", [("/", "home")]) for path in (f"/item/x{n}" for n in range(60))
    }
    site = {"/": page("Home", "welcome", [*((path, path) for path in answer), ("/item/gone", "gone")])}
    site |= {f"/doc/{n}": page(f"Doc {n}", story(n)) for n in range(8)}
    site["/"] = page("Home", "welcome", [(path, path) for path in [*answer, *site, "/item/gone"]])
    crawled = crawl_rounds(site | answer, 6)
    assert {path for paths in crawled.visited for path in paths} <= {*site, *answer, "/item/gone"}


@pytest.mark.parametrize("site", [archive_by_time(400), tag_cloud(200)], ids=["messages", "tags"])
def test_a_site_whose_pages_link_each_other_is_not_asked(site: dict[str, Page]) -> None:
    assert {path for paths in crawl_rounds(site, 10).visited for path in paths} == {*site}
