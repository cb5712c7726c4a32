"""What other sites link takes nothing from the pages that a site links itself, and is found nevertheless."""

from collections import Counter
from collections.abc import Iterable, Mapping
from pathlib import Path

import pytest

from tests.support.crawls import crawl, rows, states
from tests.support.trap_sites import COMMON_WORDS
from tests.support.web import Page, Web, html, redirect

MOST = 300  # useless requests in seven rounds


def text(name: str) -> str:
    """A text with words that no other page has."""
    return " ".join(f"{word}{name}" for word in COMMON_WORDS[:12])


def pages(pattern: str, numbers: Iterable[int]) -> dict[str, Page]:
    return {pattern.format(n): html(f"{pattern[1:5]} {n}", text(f"{pattern[1:5]}{n}")) for n in numbers}


ESSAYS = pages("/essay{}", range(10))
ITEMS = pages("/item?id={}", range(60))
ENTRIES = pages("/entry?id={}", range(600, 701))


def listed(found: Mapping[str, Page], size: int = 10) -> dict[str, Page]:
    """A home page, and lists that name some pages, each of which names the next."""
    names, count = list(found), -(-len(found) // size)
    lists = {
        f"/list/{n}": html(
            f"List {n}", text(f"list{n}"), [*names[n * size : n * size + size], f"/list/{(n + 1) % count}"]
        )
        for n in range(count)
    }
    return {"/": html("Home", text("home"), ["/list/0", *ESSAYS]), **ESSAYS, **lists, **found}


def linking(target: str, paths: Iterable[str]) -> dict[str, Page]:
    """A site whose only page links some paths of another."""
    return {"/": html("Links", text("links"), [f"//{target}{path}" for path in paths])}


def asked(web: Web, host: str) -> list[str]:
    return [request.path for request in web.requests if request.host == host and request.path != "/robots.txt"]


# the site, and the pages that are not there but linked by another one
DEAD_LINKS = {
    "items": (listed(ITEMS), [f"/item?id={n}" for n in range(5000, 6000)]),
    "a register": (listed(ENTRIES, 25), [f"/entry?id={n}" for n in range(600)]),
}


@pytest.mark.parametrize(("site", "dead"), DEAD_LINKS.values(), ids=DEAD_LINKS)
def test_dead_links_of_another_site_do_not_make_a_trap_of_the_pages(
    tmp_path: Path, site: Mapping[str, Page], dead: list[str]
) -> None:
    with Web({"a.test": site, "b.test": linking("a.test", dead)}) as web:
        crawl(tmp_path, [web.url("a.test"), web.url("b.test")], workers=2)
        found = Counter(asked(web, "a.test"))
    assert site.keys() <= found.keys()
    assert found.total() - len(site) <= MOST
    useless = Counter(row["round"] for row in rows(tmp_path, "visits") if row["status"] == 404)
    by_round = [useless[number] for number in range(2, 8)]
    assert by_round == sorted(by_round, reverse=True)


def test_copies_that_another_site_links_first_are_no_evidence_against_the_pages(tmp_path: Path) -> None:
    """Any parameter more makes a copy; those of the pages that come first would be the first pages to be judged."""
    items = pages("/item?id={}", range(300))
    copies = {f"{path}&x=1": page for path, page in items.items()}
    deep = {"/": html("Home", text("home"), ["/a", *ESSAYS]), "/a": html("A", text("a"), ["/b"])}
    site = deep | {"/b": html("B", text("b"), items), **ESSAYS, **items}
    linked = linking("a.test", sorted(copies)[:100])
    with Web({"a.test": site | copies, "b.test": linked}) as web:
        crawl(tmp_path, [web.url("a.test"), web.url("b.test")])
        assert {*site} <= {*asked(web, "a.test")}


def test_pages_that_only_another_site_links_are_found(tmp_path: Path) -> None:
    leaves = pages("/leaf{}", range(300))
    site = {"/": html("Home", text("home"), ESSAYS), **ESSAYS, **leaves}
    with Web({"a.test": site, "b.test": linking("a.test", leaves)}) as web:
        crawl(tmp_path, [web.url("a.test"), web.url("b.test")], rounds=5)
        found = asked(web, "a.test")
    assert {*site} <= {*found}
    assert len(found) <= len(site) + 2  # two paths that cannot exist


def test_another_site_does_not_fill_the_rounds_of_a_host(tmp_path: Path) -> None:
    own, leaves = pages("/own{}", range(60)), pages("/leaf{}", range(200))
    site = {"/": html("Home", text("home"), ["/more"]), "/more": html("More", text("more"), own), **own, **leaves}
    with Web({"a.test": site, "b.test": linking("a.test", leaves)}) as web:
        crawl(tmp_path, [web.url("a.test"), web.url("b.test")], rounds=6, limits__max_pages_per_host=25)
        found = asked(web, "a.test")
    assert {"/", "/more", *own} <= {*found}
    assert len(found) == 1 + 5 * 25, "room stays empty"


def test_another_site_does_not_spend_the_redirects_of_a_page(tmp_path: Path) -> None:
    chain = {f"/{n}": redirect(f"/{n + 1}") for n in range(1, 10)} | {"/10": redirect("//a.test/old")}
    ways = {f"/way{n}": html(f"Way {n}", text(f"way{n}"), [f"/way{n + 1}"]) for n in range(14)}
    site = {"/": html("Home", text("home"), ["/way0"]), **ways, "/way14": html("End", text("end"), ["/old"])}
    site |= {"/old": redirect("/older"), "/older": redirect("/new"), "/new": html("New", text("new"))}
    with Web({"a.test": site, "b.test": {"/": html("B", text("b"), ["/1"]), **chain}}) as web:
        crawl(tmp_path, [web.url("a.test"), web.url("b.test")])
        found, known = Counter(asked(web, "a.test")), states(tmp_path)
        assert known[web.url("a.test", "/new")]["state"] == "fetched"
    assert found["/old"] == 2
    assert max(found.values()) == 2


# the depth of /page by the way that is found in the third round, and how often it is asked for
NEARER = {"nearer": (1, 2), "as near": (3, 1)}


@pytest.mark.parametrize("linked_by", ["a.test", "b.test"])
@pytest.mark.parametrize(("depth", "times"), NEARER.values(), ids=NEARER)
def test_a_page_that_is_nearer_than_known_is_visited_again_for_its_links(
    tmp_path: Path, linked_by: str, depth: int, times: int
) -> None:
    """Redirects make a short way take as many rounds as it needs to be found late."""
    far = {"/": html("Home", text("home"), ["/1"]), "/1": html("1", text("one"), ["/2"])}
    far |= {"/2": html("2", text("two"), ["//a.test/page"])}
    links = ["/late"] if depth == 1 else ["/5"]
    near = {"/late": redirect("/later"), "/later": redirect("/latest"), "/latest": redirect("/end")}
    near |= {"/5": html("5", text("five"), ["/6"]), "/6": html("6", text("six"), ["//a.test/page"])}
    near |= {"/end": redirect("//a.test/page")}
    site = {"/page": html("Page", text("page"), ["/leaf"]), "/leaf": html("Leaf", text("leaf"))}
    one, other = {**far, "/": html("Home", text("home"), ["/1", *links])}, near
    sites = {linked_by: one | other}
    sites.setdefault("a.test", {})
    sites["a.test"] = {**sites["a.test"], **site}
    with Web(sites) as web:
        seeds = [web.url(linked_by)]
        crawl(tmp_path, seeds, scope__depth=3, scope__mode="any")
        found = Counter(asked(web, "a.test"))
    assert found["/page"] == times
    assert ("/leaf" in found) is (depth == 1)
