"""A site whose pages are edited, moved, removed and added between two rounds of a crawl."""

from pathlib import Path

from tests.support import crawls
from tests.support.web import Answer, Web, html

_THEN = {
    "/": html("Home", "Start.", ["/edited", "/moved", "/gone", "/same"]),
    "/edited": html("Page", "The old sentence."),
    "/moved": html("Moved", "Once here, a page of its own."),
    "/gone": html("Gone", "This will be removed."),
    "/same": html("Same", "This stays as it is."),
    "/added": Answer(404),
}
_NOW = {
    "/": html("Home", "Start.", ["/edited", "/moved", "/gone", "/same", "/added"]),
    "/edited": html("Page", "The new sentence."),
    "/moved": Answer(301, b"", (("Location", "/same"),)),
    "/gone": Answer(404),
    "/same": html("Same", "This stays as it is."),
    "/added": html("Added", "A page that was not there."),
}


def crawl_changing_site(folder: Path) -> str:
    """Crawl the site, which changes after round 2, in four rounds; return its origin."""
    versions, now = [_THEN, _NOW], [0]
    with Web({"a.test": {path: (lambda _, path=path: versions[now[0]][path]) for path in _THEN}}) as web:
        home = web.url("a.test").removesuffix("/")
        crawls.crawl(folder, [f"{home}/"], rounds=2)
        now[0] = 1
        crawls.crawl(folder, rounds=2, recrawl__after=1e-6)
    return home
