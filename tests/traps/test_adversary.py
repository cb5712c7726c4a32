"""Whoever knows the code, but not the secret of the crawl, cannot make a good page of the host wait.

An adversary who may write pages on a host links thousands of addresses of the template of its good pages there, before
and beside the lists that link these. Without HTTP and Beam.
"""

import pytest

from tests.support.honest_sites import page, story
from tests.support.trap_rounds import crawl_rounds
from tests.support.trap_sites import Site, chance, word
from tests.support.web import Page

GOOD, LISTS, ROUNDS = 200, 10, 9
LATER = 2  # rounds
ITEMS = [f"/item/{word(chance('good', n), 3)}" for n in range(GOOD)]
DEAD = [f"/item/{word(chance('evil', n), 4)}" for n in range(3_000)]
SECTIONS = 20  # each a template of its own
APART = [f"/{word(chance('section', n % SECTIONS), 3)}/{word(chance('good', n), 3)}" for n in range(GOOD)]
DEAD_APART = [f"/{word(chance('evil', n), 4)}/{n}" for n in range(3_000)]

# pages of the adversary, dead addresses on each of them, what the host answers to these, the secret of the crawl,
# whether each of them is of a new template, and the items are of twenty
ADVERSARIES = {
    "one page": (1, 3_000, None, b"one", False),
    "sixty pages": (60, 50, None, b"one", False),
    "sixty pages, another secret": (60, 50, None, b"other", False),
    "pages with two links each": (400, 2, None, b"one", False),
    "sixty pages, one answer with status 200": (60, 50, "There is nothing on this page yet.", b"one", False),
    "pages with two links to that": (400, 2, "There is nothing on this page yet.", b"other", False),
    "one page, new templates": (1, 3_000, None, b"one", True),
    "sixty pages, new templates": (60, 50, None, b"one", True),
    "pages with two links each, new templates": (400, 2, None, b"other", True),
    "sixty pages, new templates, one answer with status 200": (60, 50, "There is nothing here.", b"one", True),
}


def site(pages: int, dead: int, answer: str | None, is_apart: bool, folder: str) -> Site:
    """A host, two links deep its items, and as deep the pages of the adversary."""
    items, missing_items = (APART, DEAD_APART) if is_apart else (ITEMS, DEAD)
    known: dict[str, Page] = {path: page(path, story(path)) for path in items}
    lists = [f"/list/{word(chance('list', n), 4)}" for n in range(LISTS)]
    for n, path in enumerate(lists):
        known[path] = page(f"List {n}", story(path), [(item, item) for item in items[n::LISTS]])
    own = [folder + word(chance("eve", n), 4) for n in range(pages)]
    for n, path in enumerate(own):
        known[path] = page(path, story(path), [(url, url) for url in missing_items[n * dead : n * dead + dead]])
    front = [*own, "/about", *(f"/doc/{n}" for n in range(8))]
    known["/"] = page("Home", story("home"), [(path, path) for path in front])
    known["/about"] = page("About", story("about"), [(path, path) for path in lists])
    known |= {f"/doc/{n}": page(f"Doc {n}", story("doc", n)) for n in range(8)}
    missing = page("Item", answer) if answer else None
    dead_paths = {*missing_items}
    return Site(lambda path: known.get(path) or (missing if path in dead_paths else None), str, len(known))


def rounds_of_items(
    pages: int, dead: int, answer: str | None, secret: bytes, is_apart: bool, folder: str = "/eve/"
) -> list[int]:
    """The rounds in which the good items are visited, in order."""
    visited = crawl_rounds(site(pages, dead, answer, is_apart, folder), ROUNDS, secret=secret).visited
    found = {path: number for number, paths in enumerate(visited, 1) for path in paths}
    return sorted(found.get(path, 99) for path in (APART if is_apart else ITEMS))


@pytest.fixture(scope="module")
def undisturbed() -> dict[bool, list[int]]:
    return {is_apart: rounds_of_items(0, 0, None, b"", is_apart) for is_apart in (False, True)}


@pytest.mark.slow("traps")
@pytest.mark.parametrize("name", ADVERSARIES)
def test_no_good_page_waits_much_longer(name: str, undisturbed: dict[bool, list[int]]) -> None:
    """Which of the good pages come first is drawn, with or without the adversary."""
    *_, is_apart = ADVERSARIES[name]
    found, alone = rounds_of_items(*ADVERSARIES[name]), undisturbed[is_apart]
    assert max(alone) <= 5
    late = [after - before for before, after in zip(alone, found, strict=True)]
    assert max(late) <= LATER, (alone[::20], found[::20])


@pytest.mark.slow("traps")
@pytest.mark.parametrize("secret", [b"one", b"other", b"third"])
@pytest.mark.parametrize("is_apart", [False, True], ids=["one template", "new templates"])
def test_no_good_page_waits_for_pages_like_those_that_link_it(is_apart: bool, secret: bytes, undisturbed) -> None:
    """The pages of a wiki, which anybody may write, have one template."""
    found = rounds_of_items(20 if is_apart else 60, 12, None, secret, is_apart, "/list/")
    late = [after - before for before, after in zip(undisturbed[is_apart], found, strict=True)]
    assert max(late) <= LATER, (undisturbed[is_apart][::20], found[::20])
