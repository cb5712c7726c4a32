"""URLs that only other sites link are judged apart: rounds of one site, to which another has many links."""

import pytest

from beamtrawl.transforms.frontier.trap_budgets import Budgets
from beamtrawl.transforms.traps.allow_list import compile_allow_list
from beamtrawl.transforms.traps.discovery import Known, shape_of
from beamtrawl.transforms.traps.template_rows import Kind, new_row
from tests.frontier.test_own_links import ESSAYS, ITEMS, listed, text
from tests.frontier.test_selection import due
from tests.support.trap_rounds import crawl_rounds
from tests.support.trap_sites import Site
from tests.support.web import Page, html

NOWHERE = [f"/item?id={number}" for number in range(5000, 6000)]
OWN = listed(ITEMS, 20)

# what the site answers to the links of another one that lead nowhere
ANSWERS = {
    "not found": lambda path: None,
    "always the same": lambda path: html("Sorry", "There is nothing here."),
    "in words of the URL": lambda path: html("Sorry", f"We have no {path} for you.", ["/"]),
    "a redirect home": lambda path: html(
        "Sorry", "See elsewhere.", head='<meta http-equiv="refresh" content="0; url=/">'
    ),
}


@pytest.mark.parametrize("answer", ANSWERS.values(), ids=ANSWERS)
def test_links_of_another_site_that_lead_nowhere_cost_little_and_no_page(answer) -> None:
    site = Site(lambda path: OWN.get(path) or answer(path), lambda path: None, 0)
    crawled = crawl_rounds(site, 14, NOWHERE)
    assert crawled.waiting == set(), "the crawl has not ended"
    assert OWN.keys() <= {path for paths in crawled.visited for path in paths}
    useless = [sum(path not in OWN for path in paths) for paths in crawled.visited]
    assert sum(useless[:7]) <= 300
    worst = useless.index(max(useless))
    assert all(later <= max(earlier, 48) for earlier, later in zip(useless[worst:], useless[worst + 1 :], strict=False))


ALIKE = {f"/p/{n}": html(f"P {n}", f"Timetable of stop {n}: 9:00, 10:00, {n % 24}:00") for n in range(200)}
TOLD = {f"/p{n}": html(f"P {n}", text(f"p{n}")) for n in range(500)}


@pytest.mark.parametrize(("pages", "rounds"), [(TOLD, 4), (ALIKE, 9)], ids=["with news", "all alike"])
def test_pages_that_only_another_site_links_are_visited(pages: dict[str, Page], rounds: int) -> None:
    site = {"/": html("Home", text("home"), ESSAYS), **ESSAYS, **pages}
    crawled = crawl_rounds(site, rounds, list(pages))
    visited = {path for paths in crawled.visited for path in paths}
    assert site.keys() <= visited
    assert len(visited) <= len(site) + 2  # two paths that cannot exist


def test_their_kind_is_foreign_whatever_else_is_known() -> None:
    shape = shape_of("http://a.test/in/4f9a02c711/x", "http://a.test/in", True)
    assert Known((), {shape.form}).kind_of(shape, True) == Kind.FOREIGN
    derived = shape_of("http://a.test/in/x", "http://b.test/", None)
    assert (derived.is_foreign, shape_of("http://a.test/in/x", "http://a.test/", None).is_foreign) == (True, False)


def test_their_templates_do_not_count_for_links_that_lead_back() -> None:
    foreign = new_row(("/a/*", Kind.FOREIGN)) | {"pages": 40}
    assert not Known([foreign]).leads_back("/a/*", "/a/*/*")
    assert Known([foreign | {"kind": Kind.PLAIN}]).leads_back("/a/*", "/a/*/*")
    assert not Known([foreign | {"kind": Kind.PLAIN}]).leads_back("/a/*", "/b/*")


def test_they_have_a_credit_of_their_own_and_a_sample_of_them_is_taken() -> None:
    rows = [due(f"http://a.test/{letter * 3}/x{n}", 1) for letter in "abc" for n in range(60)]
    others = [row._replace(url_key=row.url_key[::-1], foreign=True, url=f"{row.url}y") for row in rows]
    chosen = list(Budgets(Known(), compile_allow_list(())).admit([*rows, *others]))
    assert [sum(bool(row.foreign) is foreign for row in chosen) for foreign in (False, True)] == [24, 24]
    taken = [row.url for row in chosen if row.foreign]
    assert taken != sorted(taken)
    assert not {row.url for row in others[:22]} <= {*taken}
