"""The independent walk keeps the crawl's rules; each is a small web and what must be found in it."""

import pytest

from tests.support.walk import walk
from tests.support.web import Answer, Web, html, plain, redirect, status

LONG = "A text that is long enough to tell whether two pages hold the same, whatever is around it."


def page(number, *links, **options):
    return html(f"Page {number}", f"{LONG} {number}", links, **options)


def same(body):
    """A page with the same content as its like, in other bytes."""
    return Answer(body=f"<title>Same</title><p>{LONG}</p>{body}".encode())


# name: (pages of the host, depth, documents)
RULES = {
    "the seed": ({"/": page(1)}, 0, ["/"]),
    "links to a depth": ({"/": page(1, "/a"), "/a": page(2, "/b"), "/b": page(3)}, 1, ["/", "/a"]),
    "links in any tag": (
        {
            "/": '<area href=/a><iframe src=/b></iframe><link rel=next href=/c><img src=/d><a name=x href="#y">',
            **{path: page(path) for path in ("/a", "/b", "/c", "/d")},
        },
        1,
        ["/", "/a", "/b", "/c"],
    ),
    "link relations": (
        {
            "/": "<link rel=stylesheet href=/a><link rel='alternate' type='application/atom+xml' href=/b>"
            "<link rel=alternate hreflang=ko href=/c>",
            **{path: page(path) for path in ("/a", "/b", "/c")},
        },
        1,
        ["/", "/c"],
    ),
    "robots.txt": (
        {"/robots.txt": plain("User-agent: *\nDisallow: /a"), "/": page(1, "/a", "/b"), "/b": page(2)},
        1,
        ["/", "/b"],
    ),
    "no other host": ({"/": page(1, "http://b.test/", "mailto:x@y.z", "https://a.test/")}, 5, ["/"]),
    "a redirect costs no depth": ({"/": redirect("/a"), "/a": page(1, "/b"), "/b": page(2)}, 1, ["/a", "/b"]),
    "a meta refresh neither": (
        {"/": page(1, head='<meta http-equiv=refresh content="0; url=/a">'), "/a": page(2)},
        0,
        ["/", "/a"],
    ),
    "ten redirects": (
        {**{f"/{i}": redirect(f"/{i + 1}") for i in range(10)}, "/": redirect("/1"), "/10": page(1)},
        0,
        ["/10"],
    ),
    "eleven redirects": (
        {**{f"/{i}": redirect(f"/{i + 1}") for i in range(11)}, "/": redirect("/1"), "/11": page(1)},
        0,
        [],
    ),
    "a loop of redirects": ({"/": redirect("/a"), "/a": redirect("/")}, 5, []),
    "errors are no documents": ({"/": page(1, "/a", "/b"), "/a": status(404), "/b": status(503)}, 1, ["/"]),
    "other types are none": (
        {
            "/": page(1, "/a", "/b"),
            "/a": Answer(body=b"%PDF", headers=(("Content-Type", "application/pdf"),)),
            "/b": plain("text"),
        },
        1,
        ["/", "/b"],
    ),
    "nor are some extensions": (
        {"/": page(1, "/a.PNG", "/a.png/", "/b.html"), "/a.PNG": page(2), "/a.png/": page(3), "/b.html": page(4)},
        1,
        ["/", "/a.png/", "/b.html"],
    ),
    "queries count, fragments do not": (
        {"/": page(1, "/a?x=1", "/a?x=2#y", "/a?#z", "#top"), **{f"/a{q}": page(q) for q in ("?x=1", "?x=2", "")}},
        1,
        ["/", "/a", "/a?x=1", "/a?x=2"],
    ),
    "too long": ({"/": page(1, "/" + "a" * 1024), "/" + "a" * 1024: page(2)}, 1, ["/"]),
    "nofollow links": (
        {"/": "<a rel=nofollow href=/a></a><a rel='x ugc' href=/b></a><a rel=sponsored href=/c></a>"},
        1,
        ["/"],
    ),
    "nofollow pages": ({"/": page(1, "/a", head='<meta name=robots content="NoFollow">'), "/a": page(2)}, 1, ["/"]),
    "base": ({"/": "<base href=/d/><a href=a>", "/d/a": page(1), "/a": page(2)}, 1, ["/", "/d/a"]),
    "escapes": (
        {"/": page(1, "/%c3%a9", "/é", "/a b", "/[x]"), "/%C3%A9": page(2), "/a%20b": page(3), "/%5Bx%5D": page(4)},
        1,
        ["/", "/%5Bx%5D", "/%C3%A9", "/a%20b"],
    ),
    "an empty page": ({"/": Answer()}, 1, ["/"]),
    "a duplicate leads on": (
        {
            "/": page(0, "/a", "/bb"),
            "/a": same("<nav><a href=/c>"),
            "/bb": same("<nav><a href=/d>"),
            "/c": page(1),
            "/d": page(2),
        },
        2,
        ["/", "/a", "/bb", "/c", "/d"],
    ),
}


@pytest.mark.parametrize(("pages", "depth", "documents"), RULES.values(), ids=RULES)
def test_finds(pages, depth, documents):
    with Web({"a.test": pages, "b.test": {"/": page("b")}}) as web:
        assert sorted(walk([web.url("a.test")], depth)) == [web.url("a.test", path) for path in documents]


def test_hosts_of_all_seeds_are_in_scope():
    with Web({"a.test": {"/": page(1, "http://b.test/x")}, "b.test": {"/": page(2), "/x": page(3)}}) as web:
        found = walk([web.url("a.test"), web.url("b.test")], 1)
        assert set(found) == {web.url("a.test"), web.url("b.test"), web.url("b.test", "/x")}


# name: (pages, duplicate: original)
DUPLICATES = {
    "the shorter URL keeps it": ({"/": page(0, "/aa", "/b"), "/aa": same(""), "/b": same("<br>")}, {"/aa": "/b"}),
    "then the alphabet": ({"/": page(0, "/b", "/a"), "/a": same(""), "/b": same("<br>")}, {"/b": "/a"}),
    "the earlier round before both": (
        {"/": page(0, "/bbb"), "/bbb": same("<nav><a href=/a>"), "/a": same("")},
        {"/a": "/bbb"},
    ),
    "the smaller depth before the length": (
        # Both are fetched in the third round, /deep after a redirect.
        {
            "/": page(0, "/r", "/x"),
            "/r": redirect("/deep"),
            "/deep": same(""),
            "/x": page(1, "/y"),
            "/y": same("<br>"),
        },
        {"/y": "/deep"},
    ),
    "what surrounds the text does not count": (
        {"/": page(0, "/a", "/b"), "/a": same("<footer>1</footer>"), "/b": same("<div role=banner>2</div>")},
        {"/b": "/a"},
    ),
    "another title is another content": (
        {"/": page(0, "/a", "/b"), "/a": f"<title>A</title>{LONG}", "/b": f"<title>B</title>{LONG}"},
        {},
    ),
    "nothing but surroundings is the text": (
        {"/": page(0, "/a", "/b"), "/a": f"<nav>{LONG} 1</nav>", "/b": f"<nav>{LONG} 2</nav>"},
        {},
    ),
    "short texts differ by their bytes": (
        {"/": page(0, "/a", "/b", "/c"), "/a": "<p>hi", "/b": "<p>hi<br>", "/c": "<p>hi"},
        {"/c": "/a"},
    ),
}


@pytest.mark.parametrize(("pages", "duplicates"), DUPLICATES.values(), ids=DUPLICATES)
def test_duplicates(pages, duplicates):
    with Web({"a.test": pages}) as web:
        found = {url: first for url, first in walk([web.url("a.test")], 2).items() if first}
        assert found == {web.url("a.test", a): web.url("a.test", b) for a, b in duplicates.items()}


def test_asks_politely():
    with Web({"a.test": {"/": page(1, "/a", "/b"), "/a": page(2), "/b": page(3)}}) as web:
        walk([web.url("a.test")], 1)
        assert [request.path for request in web.requests] == ["/robots.txt", "/", "/a", "/b"]
