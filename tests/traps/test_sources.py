"""What one place links says what this place is worth: no page that another place links waits for it (issue 45)."""

import itertools
from collections import Counter

import pytest

from beamtrawl.transforms.frontier.selection import Due
from beamtrawl.transforms.frontier.trap_budgets import Budgets
from beamtrawl.transforms.traps.allow_list import compile_allow_list
from beamtrawl.transforms.traps.discovery import Known
from beamtrawl.transforms.traps.judge import Counts, judge
from beamtrawl.transforms.traps.template_rows import Kind, new_row
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


CLOSED = new_row(("/item/*", Kind.PLAIN)) | {"pages": 30, "state": "throttled", "round": 5, "budget": 1}
TRIED = CLOSED | {"template": "/item/* linked by /list/a", "pages": 2, "state": "trapped", "budget": 0}


def waiting(source: str, count: int) -> list[Due]:
    rows = [due(f"http://a.test/item/{source}{n}", 3) for n in range(count)]
    return [row._replace(referrer=f"http://a.test/list/{source}") for row in rows]


def chosen(rows: list[Due], *known: dict, secret: bytes = b"") -> Counter[str]:
    found = Budgets(Known(known), compile_allow_list(()), secret).admit(rows)
    return Counter(row.url.rpartition("/")[2][0] for row in found)


def test_new_places_have_a_sample_of_a_closed_template_and_tried_ones_wait() -> None:
    rows = [*waiting("a", 20), *waiting("b", 20), *waiting("c", 20)]
    assert chosen(rows, CLOSED | {"budget": 0}, TRIED) == {"b": 2, "c": 2}
    assert chosen([row._replace(redirects=1) for row in rows], CLOSED | {"budget": 0}) == {}
    assert chosen(rows, CLOSED | {"budget": 6}).keys() == {*"abc"}
    assert chosen(rows, CLOSED | {"state": "open", "budget": 64, "fresh": 30}).total() == 60


def test_which_places_have_a_sample_depends_on_the_secret() -> None:
    rows = [row for letter in "abcdefghijklmnopqrst" for row in waiting(letter, 3)]
    found = [frozenset(chosen(rows, CLOSED | {"budget": 0}, secret=bytes([n]))) for n in range(8)]
    assert {len(places) for places in found} == {2}
    assert len({*found}) > 1


def test_the_links_of_a_page_start_from_what_their_template_promises() -> None:
    useless, name = Counts(pages=2, different=2), (TRIED["template"], Kind.PLAIN)
    for state, is_closed in (("throttled", True), ("open", False)):
        above = CLOSED | {"state": state, "recent_pages": 30.0, "recent_fresh": 0.0 if is_closed else 30.0}
        known = Known([above])
        row = judge(known, name, useless, [], 6, {}, 0)
        assert (row["state"], row["budget"]) == (("throttled", 0) if is_closed else ("open", 4))
        good = judge(known, name, useless._replace(fresh=1), [], 7, {}, 0)
        assert good["budget"] >= 8


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
