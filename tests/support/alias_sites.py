"""Sites whose pages have several URLs each, and one where what looks the same is not.

Each is a tree of levels. The pages of a level are linked from every page of the level above, by each of their URLs, so
that a crawl which learns nothing fetches all of them.
"""

from collections.abc import Callable, Iterable, Mapping

from tests.support.web import Answer, Page, html

LEVELS, PAGES = 4, 10  # levels below the front page; pages on each


def text(*numbers: object) -> str:
    """What no other page says."""
    return f"Haul {numbers}: " + "cod end, warp and winch, " * 4


def names(level: int) -> list[str]:
    return [f"Reach-{level}-{n}" for n in range(PAGES)]


def site(host: str, spellings: Callable[[str], Iterable[str]]) -> dict[str, Page]:
    """A tree whose pages have, by their name, some URLs: paths here, `//HOST/…` elsewhere."""
    pages: dict[str, Page] = {"/": html("Front", text(host), links(spellings, 1))}
    for level in range(1, LEVELS + 1):
        for name in names(level):
            page = html(name, text(host, name), links(spellings, level + 1))
            pages |= dict.fromkeys(spellings(name), page)
    return pages


def links(spellings: Callable[[str], Iterable[str]], level: int) -> list[str]:
    return [url for name in names(level) for url in spellings(name)] if level <= LEVELS else []


def on_hosts(own: str, other: str) -> Callable[[str], list[str]]:
    """The spellings of a page that two hosts have."""
    return lambda name: [f"//{own}/{name}", f"//{other}/{name}"]


def two_hosts(own: str, other: str) -> dict[str, dict[str, Page]]:
    tree = site(own, on_hosts(own, other))
    pages = {url.rpartition("/")[2]: page for url, page in tree.items()}
    both = {f"/{name}": page for name, page in pages.items()}
    return {own: both, other: both}


ONE_HOST: Mapping[str, Callable[[str], list[str]]] = {
    "index.test": lambda name: [f"/{name}/", f"/{name}/index.html"],
    "case.test": lambda name: [f"/{name}", f"/{name.lower()}"],
    "slash.test": lambda name: [f"/{name}", f"/{name}/"],
    "parameter.test": lambda name: [f"/{name}?view=1", f"/{name}?view=2"],
}
"""Host: the URLs of a page."""

TWO_HOSTS = {"bare.test": "www.bare.test"}
"""A host with all its pages, and the same with `www.`."""

COPIES = {"first.test": "second.test"}
"""Another host with the same pages, which may be anybody's."""

OTHER_PAGES = "different.test"


def different() -> dict[str, Page]:
    """Half of the pages are the same with and without a slash at the end, and half are not."""
    spellings = ONE_HOST["slash.test"]
    pages = site(OTHER_PAGES, spellings)
    for level in range(1, LEVELS + 1):
        for name in names(level)[::2]:
            pages[f"/{name}/"] = html(name, text(OTHER_PAGES, name, "a list"), links(spellings, level + 1))
    return pages


def late(pages: int = 250) -> dict[str, Page]:
    """A site where a slash at the end does nothing, until behind one page every URL is a page of its own."""
    early = [f"/early-{n}" for n in range(8)]
    hidden = [f"/late-{n}{slash}" for n in range(pages) for slash in ("", "/")]
    site: dict[str, Page] = {"/": html("Front", text("late"), [url for path in early for url in (path, path + "/")])}
    for path in early:
        site |= dict.fromkeys((path, path + "/"), html(path, text(path), ["/door"]))
    site["/door"] = html("Door", text("door"), hidden)
    return site | {path: html(path, text(path)) for path in hidden}


def alias_web() -> dict[str, Mapping[str, Page]]:
    """All of them."""
    sites: dict[str, Mapping[str, Page]] = {host: site(host, spellings) for host, spellings in ONE_HOST.items()}
    for own, other in (TWO_HOSTS | COPIES).items():
        sites |= two_hosts(own, other)
    return sites | {OTHER_PAGES: different()}


def contents(sites: Mapping[str, Mapping[str, Page]], host: str) -> set[bytes]:
    """The bodies that a site has."""
    return {page.body for page in sites[host].values() if isinstance(page, Answer)}
