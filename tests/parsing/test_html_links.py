"""A page gives its links, each once, as browsers would follow them."""

import doctest

import pytest

from beamtrawl.transforms.parsing import html_links, html_tree
from beamtrawl.transforms.parsing.html_links import FOLLOWED_KINDS, Link, followed
from beamtrawl.transforms.parsing.html_page import parse_page
from beamtrawl.transforms.urls.canonical import resolve
from tests.support.conformance import each_case
from tests.support.tables import each_row

URL = "http://a.org/dir/page.html"
A, B = "http://a.org/dir/a", "http://a.org/dir/b"

LINKS = {
    "each kind": (
        "<a href=a>1</a><map><area href=a alt=2></map><iframe src=a title=3></iframe><img src=a alt=4>"
        "<form action=a></form><object data=a></object><embed src=a><link rel=next href=a>"
        '<img srcset="a 2x"><picture><source srcset="b, a"></picture><meta http-equiv=Refresh content="3; url=a">',
        [
            (A, "1", "", "a"),
            (A, "2", "", "area"),
            (A, "3", "", "iframe"),
            (A, "4", "", "img"),
            (A, "", "", "form"),
            (A, "", "", "object"),
            (A, "", "", "embed"),
            (A, "", "next", "link"),
            (A, "", "", "srcset"),
            (B, "", "", "srcset"),
            (A, "", "", "redirect"),
        ],
    ),
    "frames": ("<frameset><frame src=a><frame src=b></frameset>", [(A, "", "", "frame"), (B, "", "", "frame")]),
    "once, with the first anchor": (
        "<a href=a></a><a href=b>x</a><a href=./a#y rel=nofollow>late</a><a href=a>later</a>",
        [(A, "late", "", "a"), (B, "x", "", "a")],
    ),
    "endorsed once": (
        "<a href=a rel=nofollow>x</a><a href=a>y</a><a href=b>z</a><a href=b rel=ugc>z</a>",
        [(A, "x", "", "a"), (B, "z", "", "a")],
    ),
    # developers.google.com/search/docs, "Qualify your outbound links to Google"
    "relations between commas": ("<a href=a rel='ugc,nofollow'>x</a>", [(A, "x", "ugc nofollow", "a")]),
    "two relations": (
        "<link rel=shortlink href=a><link rel=canonical href=a><link rel=icon href=b><link rel=preload href=b>",
        [(A, "", "shortlink", "link"), (A, "", "canonical", "canonical"), (B, "", "icon", "link")],
    ),
    "a posted form": ("<form action=a method=post></form><form action=b method=GET></form>", [(B, "", "", "form")]),
    "a feed": (
        "<link rel=alternate type=application/rss+xml href=a><link rel=alternate type=text/html href=b>",
        [(A, "", "alternate", "alternate"), (B, "", "alternate", "link")],
    ),
    "nothing to crawl": (
        "<a href=javascript:x>x</a><a href=mailto:x@y>x</a><a href='http://['>x</a><a name=x>x</a><a href>x</a>",
        [],
    ),
    "the page itself": ("<a href='#x'>x</a><a href=''>x</a><a href=page.html#y>x</a><a href='?'>x</a>", []),
    "a query of the page": ("<a href='?x=1'>x</a>", [("http://a.org/dir/page.html?x=1", "x", "", "a")]),
    "other hosts": ("<a href=//b.org>x</a>", [("http://b.org/", "x", "", "a")]),
    "blanks around": ("<a href='\n a\t#x'>x</a>", [(A, "x", "", "a")]),
    "a base": ("<base href=//b.org/c/d><a href=a>x</a>", [("http://b.org/c/a", "x", "", "a")]),
    "a base makes fragments links": ("<base href=b><a href='#x'>x</a>", [(B, "x", "", "a")]),
    "base and query": ("<base href='b?c'><a href='?d'>x</a>", [(B + "?d", "x", "", "a")]),
    "a base for browsers without scripts": (
        "<noscript><base href=//b.org></noscript><a href=a>x</a>",
        [("http://a.org/dir/a", "x", "", "a")],
    ),
    "an unusable base": ("<base href=data:,x><a href=a>x</a>", [(A, "x", "", "a")]),
    "an anchor of pieces": (
        "<a href=a> one\n<b>two <i>three</i> four</b> <!-- no --> five </a>",
        [(A, "one two three four five", "", "a")],
    ),
    "an anchor of blocks": (  # a card
        "<a href=a><h3>one</h3><p>two<b>2</b></p>three<br>four</a><a href=b><div>x</div><div>y</div></a>",
        [(A, "one two2 three four", "", "a"), (B, "x y", "", "a")],
    ),
    "an anchor of images": (
        "<a href=a><img src=b><img src=b alt='the alt'></a>",
        [(A, "the alt", "", "a"), (B, "the alt", "", "img")],
    ),
    "a titled anchor": ("<a href=a title='the title'></a>", [(A, "the title", "", "a")]),
    "a labelled anchor": (
        "<a href=a aria-label='the label' title=t><svg></svg></a><a href=b aria-label=l>x</a>",
        [(A, "the label", "", "a"), (B, "x", "", "a")],
    ),
    "a long anchor": (f"<a href=a>{'x' * 300}</a>", [(A, "x" * 200, "", "a")]),
    "a refresh redirects, further ones are links": (
        "<meta http-equiv=refresh content=7><meta http-equiv=refresh content='0; url=a'>"
        "<meta http-equiv=refresh content='0; url=b'><meta http-equiv=refresh content='0; url=a'>",
        [(A, "", "", "redirect"), (B, "", "", "a"), (A, "", "", "a")],
    ),
    "in navigation": (
        "<nav><a href=a>x</a></nav><noscript><a href=b>y</a></noscript>",
        [(A, "x", "", "a"), (B, "y", "", "a")],
    ),
}


@each_row(LINKS)
def test_links(html, links):
    parsed = parse_page(html.encode(), URL, "text/html", [], "")
    assert parsed is not None
    assert [tuple(link)[:4] for link in parsed.links] == links


@pytest.mark.parametrize(
    ("kind", "rel", "is_followed"),
    [
        *(
            (kind, "", kind in {"a", "area", "frame", "iframe", "redirect", "canonical"})
            for kind in (*sorted(FOLLOWED_KINDS), "img", "form")
        ),
        ("a", "noopener external", True),
        ("a", "external NoFollow", False),
        ("a", "ugc", False),
        ("area", "sponsored", False),
        ("img", "next", False),
        ("alternate", "alternate", False),
        ("canonical", "Canonical", True),
        ("canonical", "canonical nofollow", False),
        ("link", "next", True),
        ("link", "prev", True),
        ("link", "alternate", True),
        ("link", "alternate stylesheet", False),
        ("link", "icon", False),
    ],
)
def test_followed(kind, rel, is_followed):
    link = Link(A, "", rel, kind)
    assert followed(link, nofollow=False) is is_followed
    assert followed(link, nofollow=True) is False


@each_case("refresh_and_base", "refresh_content")
def test_refreshes_are_read_by_the_standard(row):
    refresh, expected = html_links.refresh(row["input"]["content"]), row["expected"]
    assert (refresh is None) == (expected is None)
    if refresh and expected:
        assert refresh[0] == expected[0]
        assert resolve(refresh[1], URL) == resolve(expected[1], URL)


@each_case("refresh_and_base", "base_url")
def test_base_urls_are_read_by_the_standard(row):
    root = html_tree.parse(row["input"]["html"]).root
    assert html_links.base_url(html_tree.elements(root), row["input"]["base"]) == row["expected"]


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("a", ["a"]),
        ("a 1x, b 2x", ["a", "b"]),
        ("a, b", ["a", "b"]),
        ("a,b 100w,c", ["a,b", "c"]),
        (" ,, a 1x ,, b", ["a", "b"]),
        ("a (x, y) 1x, b", ["a", "b"]),
        ("a (x", ["a"]),
        ("data:,a 1x,\nb", ["data:,a", "b"]),
        ("", []),
    ],
)
def test_srcset(value, expected):
    assert list(html_links.srcset(value)) == expected


def test_examples_in_docstrings():
    assert doctest.testmod(html_links) == (0, 1)


FRAGMENTS = {
    "each section once, with its first text": (
        "<a href=a#x></a><a href=a#x>X</a><a href=a#x>late</a>",
        {A: {"x": "X"}},
    ),
    "several of a page, and none of the page itself": (
        "<a href=a>A</a><a href=a#x>X</a><a href='a#%C3%A9'>E</a><a href=#y>Y</a><a href=page.html#z>Z</a>",
        {A: {"x": "X", "é": "E"}},
    ),
    "the rel of each link to a page": (
        "<a href=a rel=prev>Prev</a><a href=a#x>X</a><a href=a#y rel='PREV up'>Prev</a>",
        {A: {"x": "X"}},
    ),
    "no endorsement": ("<a href=a>A</a><a href=a#x rel='UGC nofollow'>buy</a>", {}),
    "no id of a section": (f"<a href=a#>A</a><a href=a#:~:text=x>A</a><a href=a#{'x' * 201}>A</a>", {}),
    "a huge one": (f"<a href=a#{'x' * 20_000}>A</a>", {}),
    "no link of a person": ("<map><area href=a#x alt=2></map>", {}),
}


@each_row(FRAGMENTS)
def test_fragments_of_links(html, expected):
    parsed = parse_page(html.encode(), URL, "text/html", [], "")
    assert {link.url: dict(link.fragments) for link in parsed.links if link.fragments} == expected


def test_so_many_fragments_are_kept():
    html = "".join(f"<a href=a#{number}>x</a>" for number in range(html_links.MAX_FRAGMENTS + 10))
    (link,) = parse_page(html.encode(), URL, "text/html", [], "").links
    assert len(link.fragments) == html_links.MAX_FRAGMENTS
