"""Sites where one place links many addresses that are gone, of the template of pages that other places link.

Each has `useful` pages; `listed` are the entries of its sitemap. They are functions of a number of dead addresses.
"""

from collections.abc import Callable, Mapping
from typing import NamedTuple

from tests.support.honest_sites import page, story
from tests.support.trap_sites import Site, chance, word
from tests.support.web import Page, redirect

LIVE, LISTS = 200, 10
_TEXTS = [f"/doc/{n}" for n in range(8)]


class Stale(NamedTuple):
    site: Mapping[str, Page]
    useful: set[str]
    listed: list[str]


def _live(*more: str) -> dict[str, Page]:
    """A home page, lists, and two links deep their items; the home page links `more`."""
    items = [f"/item/{word(chance('item', n), 3)}-{n}" for n in range(LIVE)]
    lists = [f"/list/{word(chance('list', n), 3)}" for n in range(LISTS)]
    site = {"/": page("Home", story("home"), [(path, path) for path in [*lists, *_TEXTS, *more]])}
    site |= {path: page(path, story(path)) for path in [*_TEXTS, *items]}
    for n, path in enumerate(lists):
        site[path] = page(f"List {path}", story(path), [(item, item) for item in items[n::LISTS]])
    return site


def _dead(count: int) -> list[str]:
    return [f"/item/{word(chance('dead', n), 3)}-{5000 + n}" for n in range(count)]


GONE: dict[str, Callable[[str], Page | None]] = {
    "gone": lambda path: None,
    "home": lambda path: redirect("/"),
    "login": lambda path: (
        page("Log in", "Please enter your name.") if path[:2] == "/l" else redirect(f"/login?to={path}")
    ),
    "same": lambda path: page("Sorry", "This page is not here any more.", [("/", "home")]),
    "named": lambda path: page("Sorry", f"There is no {path} here any more.", [("/", "home")]),
    "soon": lambda path: page("Coming soon", "There is nothing on this page yet.", [("/", "home")]),
}
"""What a site answers to its dead addresses."""


def _site(pages: Mapping[str, Page], answer: Callable[[str], Page | None], dead: list[str]) -> Site:
    known, folder = dict(pages), dead[0].rpartition("/")[0] + "/"

    def answered(path: str) -> Page | None:
        return known.get(path) or (answer(path) if path.startswith((folder, "/login")) or path in dead else None)

    return Site(answered, lambda path: path if path in known else None, len(known))


def sitemap(count: int, answer: str) -> Stale:
    """The site's own sitemap lists dead addresses."""
    pages, dead = _live(), _dead(count)
    return Stale(_site(pages, GONE[answer], dead), {*pages}, dead)


def front(count: int, answer: str) -> Stale:
    """The home page links dead addresses."""
    dead = _dead(count)
    pages = _live(*dead)
    return Stale(_site(pages, GONE[answer], dead), {*pages}, [])


def folders(count: int, answer: str) -> Stale:
    """The site's own sitemap lists dead addresses in folders that are gone; its lists lead to other new folders."""
    dead = [f"/{word(chance('dead', n), 3)}/{n}" for n in range(count)]
    sections = [f"/{word(chance('section', n), 3)}/" for n in range(20)]
    pages = _live("/about")
    pages["/about"] = page("About", story("about"), [(path, path) for path in sections])
    for path in sections:
        inside = [f"{path}{word(chance(path, n), 3)}" for n in range(5)]
        pages[path] = page(f"Section {path}", story(path), [(one, one) for one in inside])
        pages |= {one: page(one, story(one)) for one in inside}
    return Stale(_site(pages, GONE[answer], dead), {*pages}, dead)


def register() -> Stale:
    """Ten lists lead to 600 entries that say that there is none, a list two clicks further to 100 real ones."""
    pages = {path: page(path, story(path)) for path in _TEXTS}
    old = [f"/entry?id={n}" for n in range(600)]
    new = [f"/entry?id={n}" for n in range(600, 700)]
    years = [f"/year/{1990 + n}" for n in range(10)]
    pages["/"] = page("Register", story("register"), [(path, path) for path in [*years, *_TEXTS, "/about"]])
    pages["/about"] = page("About", story("about"), [("/about/recent", "recent")])
    pages["/about/recent"] = page("Recent", story("recent"), [("/year/2020", "2020")])
    pages["/year/2020"] = page("Year 2020", story("2020"), [(path, path) for path in new])
    for n, path in enumerate(years):
        pages[path] = page(f"Year {path}", story(path), [(entry, entry) for entry in old[60 * n : 60 * n + 60]])
    pages |= {path: page(f"Entry {path}", story(path)) for path in new}
    return Stale(_site(pages, lambda path: page("Register", "There is no entry."), old), {*pages}, [])


STALE: dict[str, Callable[[], Stale]] = {
    **{f"sitemap of {n} gone": (lambda n=n: sitemap(n, "gone")) for n in (80, 150, 300, 1000, 3000)},
    "sitemap of 300 redirects home": lambda: sitemap(300, "home"),
    "sitemap of 300 soft 404s": lambda: sitemap(300, "same"),
    "sitemap of 3000 soft 404s in words of the URL": lambda: sitemap(3000, "named"),
    "front page with 80 empty pages": lambda: front(80, "soon"),
    "front page with 150 empty pages": lambda: front(150, "soon"),
    "front page with 150 redirects to a login": lambda: front(150, "login"),
    "sitemap of 300 in folders that are gone": lambda: folders(300, "gone"),
    "sitemap of 300 soft 404s in as many folders": lambda: folders(300, "same"),
    "register": register,
}
