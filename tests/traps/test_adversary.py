"""Whoever knows the code, but not the secret of the crawl, cannot make a good page of the host wait.

An adversary who may write pages on a host links thousands of addresses of the template of its good pages there, before
and beside the lists that link these. Without HTTP and Beam.
"""

import pytest

from tests.support.honest_sites import page, story
from tests.support.trap_rounds import crawl_rounds
from tests.support.trap_sites import Site, chance, word
from tests.support.web import Page

GOOD, LISTS, LATER, ROUNDS = 200, 10, 2, 9
ITEMS = [f"/item/{word(chance('good', n), 3)}" for n in range(GOOD)]
DEAD = [f"/item/{word(chance('evil', n), 4)}" for n in range(3_000)]

# pages of the adversary, dead addresses on each of them, what the host answers to these, the secret of the crawl
ADVERSARIES = {
    "one page": (1, 3_000, None, b"one"),
    "sixty pages": (60, 50, None, b"one"),
    "sixty pages, another secret": (60, 50, None, b"other"),
    "pages with two links each": (400, 2, None, b"one"),
    "sixty pages, one answer with status 200": (60, 50, "There is nothing on this page yet.", b"one"),
    "pages with two links to that": (400, 2, "There is nothing on this page yet.", b"other"),
}


def site(pages: int, dead: int, answer: str | None) -> Site:
    """A host, two links deep its items, and as deep the pages of the adversary."""
    known: dict[str, Page] = {path: page(path, story(path)) for path in ITEMS}
    lists = [f"/list/{n}" for n in range(LISTS)]
    for n, path in enumerate(lists):
        known[path] = page(f"List {n}", story(path), [(item, item) for item in ITEMS[n::LISTS]])
    own = [f"/eve/{word(chance('eve', n), 4)}" for n in range(pages)]
    for n, path in enumerate(own):
        known[path] = page(path, story(path), [(url, url) for url in DEAD[n * dead : n * dead + dead]])
    front = [*own, "/about", *(f"/doc/{n}" for n in range(8))]
    known["/"] = page("Home", story("home"), [(path, path) for path in front])
    known["/about"] = page("About", story("about"), [(path, path) for path in lists])
    known |= {f"/doc/{n}": page(f"Doc {n}", story("doc", n)) for n in range(8)}
    missing = page("Item", answer) if answer else None
    return Site(lambda path: known.get(path) or (missing if path.startswith("/item/") else None), str, len(known))


def rounds_of_items(pages: int, dead: int, answer: str | None, secret: bytes) -> list[int]:
    """The rounds in which the good items are visited, in order."""
    visited = crawl_rounds(site(pages, dead, answer), ROUNDS, secret=secret).visited
    found = {path: number for number, paths in enumerate(visited, 1) for path in paths}
    return sorted(found.get(path, 99) for path in ITEMS)


@pytest.fixture(scope="module")
def undisturbed() -> list[int]:
    return rounds_of_items(0, 0, None, b"")


@pytest.mark.slow("traps")
@pytest.mark.parametrize("name", ADVERSARIES)
def test_no_good_page_waits_more_than_two_rounds_longer(name: str, undisturbed: list[int]) -> None:
    """Which of the good pages come first is drawn, with or without the adversary."""
    found = rounds_of_items(*ADVERSARIES[name])
    assert max(undisturbed) <= 5
    late = [after - before for before, after in zip(undisturbed, found, strict=True)]
    assert max(late) <= LATER, (undisturbed[::20], found[::20])
