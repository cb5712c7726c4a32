"""Sites where an alias rule holds for some pages and not for others, with what a crawl of each must find.

The front page links to pages that teach a rule; the other pages are behind two doors, so they are found when the rule
is in use.
"""

import hashlib
from collections.abc import Iterable, Mapping

from tests.support.web import Page, html

PAIRS = range(10)  # pages that teach a rule
TWICE = 50  # pages with two URLs each


def words(*names: object) -> str:
    """A text that no other page has."""
    digest = hashlib.blake2b(repr(names).encode(), digest_size=60).hexdigest()
    letters = digest.translate(str.maketrans("0123456789", "ghijklmnop"))
    return " ".join(letters[n : n + 6] for n in range(0, 120, 6))


def page(*names: object) -> Page:
    return html(f"About {words(*names).split()[0]}", words(*names))


def behind_doors(first: Iterable[str], then: Iterable[str], pages: Mapping[str, Page]) -> dict[str, Page]:
    """A site whose front page links to some URLs, and two links further on, to others."""
    doors = {"/": html("Front", words("front", *first), [*first, "/doors/a"])}
    doors["/doors/a"] = html("First door", words("door"), ["/doors/b"])
    doors["/doors/b"] = html("Second door", words("second"), list(then))
    return doors | dict(pages)


def one_page(urls: Iterable[str], *names: object) -> dict[str, Page]:
    """Several URLs of one page."""
    return dict.fromkeys(urls, page(*names))


def copies() -> dict[str, dict[str, Page]]:
    """A site, one that copies a third of it and has spam elsewhere, and one that copies it with two changes."""
    paths = [f"/p/{n}" for n in range(66)]
    own = behind_doors(paths[:22], paths[22:], {path: page(path) for path in paths})
    spam = {path: page("spam", path) for path in paths[22:]}
    changed = {path: page("ad", path) for path in paths[30:32]}
    return {"victim.test": own, "copier.test": own | spam, "proxy.test": own | changed}


def sisters() -> dict[str, dict[str, Page]]:
    """Two shops with the same help pages, and books of their own at equal paths."""
    help_, books = [f"/help/{n}" for n in range(30)], [f"/books/{n}" for n in range(40)]
    return {
        name: behind_doors(help_, books, {url: page(url) for url in help_} | {url: page(name, url) for url in books})
        for name in ("sister-a.test", "sister-b.test")
    }


def bare_and_www() -> dict[str, dict[str, Page]]:
    """Two names of a host that are one but for a folder, where each has pages of its own."""
    docs, news = [f"/docs/{n}" for n in PAIRS], [f"/news/{n}" for n in range(48)]
    links = {"first": [f"//{name}{url}" for url in docs for name in ("part.test", "www.part.test")]}
    links["then"] = [f"//{name}{url}" for url in news for name in ("part.test", "www.part.test")]
    shared = behind_doors(links["first"], links["then"], {url: page(url) for url in docs})
    return {name: shared | {url: page(name, url) for url in news} for name in ("part.test", "www.part.test")}


def twins() -> dict[str, dict[str, Page]]:
    """Two names of a host that share 16 pages of a folder and differ in 87."""
    names, paths = ("twin.test", "www.twin.test"), [f"/p/{n}" for n in range(103)]
    first, then = ([f"//{name}{url}" for url in some for name in names] for some in (paths[:16], paths[16:]))
    own = lambda name: {url: page(url) if n < 16 else page(name, url) for n, url in enumerate(paths)}  # noqa: E731
    return {name: behind_doors(first, then, own(name)) for name in names}


def menu() -> dict[str, Page]:
    """A parameter of the menu that does nothing on static pages, and names the articles of a script."""
    pages = [f"/{name}.php" for name in ("about", "team", "map", "jobs", "press", "terms")]
    urls = {url: (url, f"{url}?id=7") for url in pages}
    articles = {url: page(url) for url in ("/show.php", *(f"/show.php?id={n}" for n in range(24)))}
    taught = {url: found for path in pages for url, found in one_page(urls[path], path).items()}
    return behind_doors([url for path in pages for url in urls[path]], articles, taught | articles)


def languages() -> dict[str, Page]:
    """A parameter that does nothing on eight pages, and translates the others."""
    first = {f"/text/{n}{query}": page(n) for n in range(8) for query in ("", "?lang=de")}
    then = {f"/text/{n}{query}": page(n, query) for n in range(8, 19) for query in ("", "?lang=de")}
    return behind_doors(first, then, first | then)


def letter_case() -> dict[str, Page]:
    """Letter case that does nothing but in a dictionary."""
    first = {url: page(n) for n in PAIRS for url in (f"/docs/Page{n}x", f"/docs/page{n}x")}
    entries = ["Polish", "August", "March", "Turkey", "China", "Job", "Nice"]
    then = {f"/dictionary/{name}": page(name) for entry in entries for name in (entry, entry.lower())}
    return behind_doors(first, then, first | then)


def slashes() -> dict[str, Page]:
    """A slash at the end that does nothing but in a folder."""
    first = {url: page(n) for n in PAIRS for url in (f"/docs/{n}", f"/docs/{n}/")}
    then = {url: page(url) for n in range(12) for url in (f"/repo/x{n}", f"/repo/x{n}/")}
    return behind_doors(first, then, first | then)


def users() -> dict[str, Page]:
    """The pages of two users of a host: one has a parameter without effect, the other names pages by it."""
    first = {url: page(n) for n in PAIRS for url in (f"/~eve/{n}", f"/~eve/{n}?id=1")}
    then = {f"/~bob/item?id={n}": page("bob", n) for n in range(17)}
    return behind_doors(first, then, first | then)


def honest() -> dict[str, dict[str, Page]]:
    """The sites that lost pages while a rule held for a whole origin, or between any two hosts."""
    one = {
        "menu.test": menu(),
        "lang.test": languages(),
        "case.test": letter_case(),
        "slash.test": slashes(),
        "users.test": users(),
    }
    return copies() | sisters() | bare_and_www() | twins() | one


def twice(other: str, count: int = TWICE) -> dict[str, Page]:
    """A site with so many pages, each at two paths; `other` has a place for the number of the page."""
    urls = [(f"/a/{n}/", other.format(n)) for n in range(count)]
    pages = {url: found for pair in urls for url, found in one_page(pair, pair).items()}
    first, then = urls[: len(PAIRS)], urls[len(PAIRS) :]
    return behind_doors([url for pair in first for url in pair], [url for pair in then for url in pair], pages)


def www_twice(name: str, count: int = TWICE) -> dict[str, dict[str, Page]]:
    """A host with so many pages under two names, all of which link to both."""
    paths = [f"/a/{n}" for n in range(count)]
    links = [
        [f"//{host}{path}" for path in some for host in (name, f"www.{name}")] for some in (paths[:10], paths[10:])
    ]
    site = behind_doors(*links, {path: page(path) for path in paths})
    return {name: site, f"www.{name}": site}


def saving() -> dict[str, dict[str, Page]]:
    """Sites with two URLs of each of TWICE pages."""
    one = {"index.test": twice("/a/{}/index.html"), "noise.test": twice("/a/{}/?ref=1")}
    return one | www_twice("twice.test")
