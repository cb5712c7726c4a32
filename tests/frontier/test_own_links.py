"""What other sites link takes nothing from the pages that a site links itself, and is found nevertheless."""

from collections import Counter
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

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


# the pages that a site links itself, and those that are not there but linked by another site
DEAD_LINKS = {
    "items.test": (listed(ITEMS), [f"/item?id={n}" for n in range(5000, 5400)]),
    "register.test": (listed(ENTRIES, 25), [f"/entry?id={n}" for n in range(200, 600)]),
}

ALIKE = pages("/item?id={}", range(160))
COPIES = {f"{path}&x=1": page for path, page in ALIKE.items()}
"""Any parameter more makes a copy; those of the pages that come first would be the first pages to be judged."""

COPIED: dict[str, Page] = {
    "/": html("Home", text("home"), ["/a", *ESSAYS]),
    "/a": html("A", text("a"), ["/b"]),
    "/b": html("B", text("b"), ALIKE),
    **ESSAYS,
    **ALIKE,
}
LEAVES = pages("/leaf{}", range(90))
HIDDEN: dict[str, Page] = {"/": html("Home", text("home"), ESSAYS), **ESSAYS, **LEAVES}

CHAIN = {f"/{n}": redirect(f"/{n + 1}") for n in range(1, 10)} | {"/10": redirect("//redirecting.test/old")}
WAYS = {f"/way{n}": html(f"Way {n}", text(f"way{n}"), [f"/way{n + 1}"]) for n in range(11)}
REDIRECTING: dict[str, Page] = {
    "/": html("Home", text("home"), ["/way0"]),
    **WAYS,
    "/way11": html("End", text("end"), ["/old"]),
    "/old": redirect("/older"),
    "/older": redirect("/new"),
    "/new": html("New", text("new")),
}


# A site that links its old addresses late: another site has linked them first.
RENAMED: dict[str, Page] = {
    **{f"/{n}": html(f"Step {n}", text(f"step{n}"), [f"/{n + 1}"]) for n in range(1, 4)},
    "/": html("Home", text("home"), ["/1"]),
    "/4": html("Step 4", text("step4"), ["/old", "/older"]),
    "/old": redirect("/new"),
    "/older": redirect("/chained"),
    "/chained": redirect("/newest"),
    "/new": html("New", text("new"), ["/leaf"]),
    "/newest": html("Newest", text("newest")),
    "/leaf": html("Leaf", text("leaf")),
}

# pairs of sites, of which the second links the first: for few rounds, and for many or with many requests
Pairs = Mapping[str, tuple[Mapping[str, Page], Mapping[str, Page]]]
PAIRS: Pairs = {
    "copied.test": (COPIED | COPIES, linking("copied.test", sorted(COPIES)[:100])),
    "hidden.test": (HIDDEN, linking("hidden.test", LEAVES)),
    "renamed.test": (RENAMED, linking("renamed.test", ["/old", "/older"])),
}
LONG: Pairs = {
    **{host: (site, linking(host, paths)) for host, (site, paths) in DEAD_LINKS.items()},
    "redirecting.test": (REDIRECTING, {"/": html("B", text("b"), ["/1"]), **CHAIN}),
}


class Crawled(NamedTuple):
    """A crawl of pairs of sites."""

    asked: dict[str, Counter[str]]
    visits: dict[str, list[dict[str, Any]]]
    states: dict[str, str]  # by host and path


def crawl_pairs(path: Path, pairs: Pairs) -> Crawled:
    sites = {name: site for host, pair in pairs.items() for name, site in zip((host, f"to-{host}"), pair, strict=True)}
    with Web(sites) as web:
        crawl(path, [web.url(host) for host in sites])
        names = {web.authority(host): host for host in sites}
        found = {host: Counter(asked(web, host)) for host in sites}
    visits: dict[str, list[dict[str, Any]]] = {host: [] for host in sites}
    for row in rows(path, "visits"):
        visits[names[row["host"]]].append(row)
    known = {names[row["host"]] + "/" + url.split("/", 3)[3]: row["state"] for url, row in states(path).items()}
    return Crawled(found, visits, known)


@pytest.fixture(scope="module")
def crawled(tmp_path_factory: pytest.TempPathFactory) -> Crawled:
    return crawl_pairs(tmp_path_factory.mktemp("own_links"), PAIRS)


@pytest.fixture(scope="module")
def crawled_long(tmp_path_factory: pytest.TempPathFactory) -> Crawled:
    return crawl_pairs(tmp_path_factory.mktemp("long"), LONG)


@pytest.mark.slow("whole crawls")
@pytest.mark.parametrize("host", DEAD_LINKS)
def test_dead_links_of_another_site_do_not_make_a_trap_of_the_pages(crawled_long: Crawled, host: str) -> None:
    site, found = DEAD_LINKS[host][0], crawled_long.asked[host]
    assert site.keys() <= found.keys()
    assert found.total() - len(site) <= MOST
    useless = Counter(row["round"] for row in crawled_long.visits[host] if row["status"] == 404)
    by_round = [useless[number] for number in range(2, 8)]
    assert by_round == sorted(by_round, reverse=True)


def test_copies_that_another_site_links_first_are_no_evidence_against_the_pages(crawled: Crawled) -> None:
    assert COPIED.keys() <= crawled.asked["copied.test"].keys()


def test_pages_that_only_another_site_links_are_found(crawled: Crawled) -> None:
    found = crawled.asked["hidden.test"]
    assert HIDDEN.keys() <= found.keys()
    assert found.total() <= len(HIDDEN) + 2  # two paths that cannot exist


@pytest.mark.slow("whole crawls")
def test_another_site_does_not_spend_the_redirects_of_a_page(crawled_long: Crawled) -> None:
    found = crawled_long.asked["redirecting.test"]
    assert crawled_long.states["redirecting.test/new"] == "fetched"
    assert found["/old"] == 2
    assert max(found.values()) == 2


@pytest.mark.slow("whole crawls")
def test_another_site_does_not_fill_the_rounds_of_a_host(tmp_path: Path) -> None:
    own, leaves = pages("/own{}", range(60)), pages("/leaf{}", range(200))
    site = {"/": html("Home", text("home"), ["/more"]), "/more": html("More", text("more"), own), **own, **leaves}
    with Web({"a.test": site, "b.test": linking("a.test", leaves)}) as web:
        crawl(tmp_path, [web.url("a.test"), web.url("b.test")], rounds=6, limits__max_pages_per_host_per_round=25)
        found = asked(web, "a.test")
    assert {"/", "/more", *own} <= {*found}
    assert len(found) == 1 + 5 * 25, "room stays empty"


# the depth of /page by the way that is found in the third round, and how often it is asked for
NEARER = {"nearer": (1, 2), "as-near": (3, 1)}


def ways(page: str, linked_by: str, depth: int) -> dict[str, dict[str, Page]]:
    """Sites where two ways lead to a page. Redirects make the short way take so many rounds that it is found late."""
    links = ["/late"] if depth == 1 else ["/5"]
    by: dict[str, Page] = {
        "/": html("Home", text("home"), ["/1", *links]),
        "/1": html("1", text("one"), ["/2"]),
        "/2": html("2", text("two"), [f"//{page}/page"]),
        "/late": redirect("/later"),
        "/later": redirect("/latest"),
        "/latest": redirect("/end"),
        "/5": html("5", text("five"), ["/6"]),
        "/6": html("6", text("six"), [f"//{page}/page"]),
        "/end": redirect(f"//{page}/page"),
    }
    site: dict[str, Page] = {
        "/page": html("Page", text("page"), ["/leaf"]),
        "/leaf": html("Leaf", text("leaf")),
    }
    return {page: by | site} if page == linked_by else {page: site, linked_by: by}


@pytest.mark.slow("whole crawls")
def test_a_page_that_is_nearer_than_known_is_visited_again_for_its_links(tmp_path: Path) -> None:
    sites: dict[str, dict[str, Page]] = {}
    seeds: list[str] = []
    for name, (depth, _) in NEARER.items():
        for page, linked_by in ((f"{name}.test", f"{name}.test"), (f"{name}-page.test", f"{name}-links.test")):
            sites |= ways(page, linked_by, depth)
            seeds.append(linked_by)
    with Web(sites) as web:
        crawl(tmp_path, [web.url(host) for host in seeds], scope__depth=3, scope__mode="any")
        found = {host: Counter(asked(web, host)) for host in sites}
    for name, (depth, times) in NEARER.items():
        for host in (f"{name}.test", f"{name}-page.test"):
            assert (host, found[host]["/page"]) == (host, times)
            assert ("/leaf" in found[host]) is (depth == 1), host


def test_a_redirect_that_another_site_linked_first_is_requested_once(crawled: Crawled) -> None:
    assert crawled.asked["renamed.test"] == Counter(dict.fromkeys(RENAMED, 1))
