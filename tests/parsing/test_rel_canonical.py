"""Canonical links: what a page names, when that is believed, and that no content is lost by it."""

import doctest
from pathlib import Path

import pytest
from hypothesis import given, strategies as st

from beamtrawl.transforms.http import link_header
from beamtrawl.transforms.http.link_header import parse_link
from beamtrawl.transforms.parsing.html_links import followed
from beamtrawl.transforms.parsing.html_page import parse_page
from beamtrawl.transforms.parsing.rel_canonical import Ignored, declared, header_links, judge
from beamtrawl.transforms.urls.canonical import url_key
from tests.support.crawls import crawl, rows
from tests.support.tables import each_row
from tests.support.web import Answer, Web, html, status

# Stated here and not imported: a changed limit fails a test.
CROWD = 5

URL = "http://www.a.test/x?print=1"

# a header's value, (target, relations) of its links
HEADERS = {
    "one": ('</x>; rel="canonical"', [("/x", {"canonical"})]),
    "several": ('</x>; rel=canonical, <y>; rel="next prev"', [("/x", {"canonical"}), ("y", {"next", "prev"})]),
    "a comma and a semicolon in the target": ("</x,y;z>; rel=canonical", [("/x,y;z", {"canonical"})]),
    "a comma in a title": ('</x>; title="a, <b>; rel=no"; rel=canonical', [("/x", {"canonical"})]),
    "letter case and blanks": (' < /x > ;REL = "Canonical"', [("/x", {"canonical"})]),
    "the first of two": ("</x>; rel=canonical; rel=next", [("/x", {"canonical"})]),
    "no relation": ("</x>", [("/x", set())]),
    "a quote that does not end": ('</x>; rel="canonical', [("/x", {"canonical"})]),
    "an escape": (r'</x>; title="\"<"; rel=canonical', [("/x", {"canonical"})]),
    "no end": ("</x; rel=canonical", []),
    # of Chromium's components/link_header_util/link_header_util_unittest.cc, and RFC 8288, 3.5 and appendix B
    "single quotes": (r"</x>; title='a \' DQUOTE \' b: '; rel=canonical; ", [("/x", {"canonical"})]),
    "words without quotes": ("</x>; title=a b/c (d); rel=canonical", [("/x", {"canonical"})]),
    "a parameter without a name": ('</x>; =x; "y"; rel=canonical', [("/x", {"canonical"})]),
    "empty parameters": ("</x>;;;;; rel=next", [("/x", {"next"})]),
    "no comma between": ("</x>; rel=next </y>; rel=prev", [("/x", {"next"}), ("/y", {"prev"})]),
    "other languages": (
        "</2>;\n rel=\"previous\"; title*=UTF-8'de'letztes%20Kapitel,\n </4>; rel=next; title*=UTF-8'de'n%c3%a4chstes",
        [("/2", {"previous"}), ("/4", {"next"})],
    ),
    "nothing": ("", []),
}


@each_row(HEADERS)
def test_links_in_a_header(value: str, links: list[tuple[str, set[str]]]) -> None:
    assert [(link.target, set(link.relations)) for link in parse_link(value)] == links


@given(st.text('<>;,="\\ relcanonical', max_size=60))
def test_any_header_can_be_read(value: str) -> None:
    for link in parse_link(value):
        assert link.target in value


def test_canonical_links_of_headers_are_relative_to_the_page() -> None:
    headers = [("Link", "<y>; rel=canonical, <z>; rel=next"), ("link", '<q>; rel=canonical; anchor="/other"')]
    named = [link.url for link in header_links(URL, headers) if link.kind == "canonical"]
    assert named == ["http://www.a.test/y"]


# developers.google.com/search/docs, "Localized versions", of files that have no `link` elements
VERSIONS = """<http://www.a.test/x?print=1>; rel="alternate"; hreflang="en", </de>; rel="alternate"; hreflang="de",
 </2>; rel=next; title=two, <0>; rel="prev start", </feed>; rel=alternate; type="application/atom+xml",
 </a.css>; rel="alternate stylesheet", </wp-json/>; rel="https://api.w.org/", </p>; rel=preload; as=script"""


def test_links_of_headers_lead_to_the_pages_that_link_elements_lead_to() -> None:
    found = header_links(URL, [("Link", VERSIONS)])
    assert [(link.url.removeprefix("http://www.a.test"), link.rel, link.kind) for link in found] == [
        ("/de", "alternate", "link"),
        ("/2", "next", "link"),
        ("/0", "prev start", "link"),
    ]


def test_a_crawl_follows_links_of_headers_unless_the_headers_say_nofollow(tmp_path: Path) -> None:
    def linking(target: str, robots: str) -> Answer:
        return Answer(body=b"Text.", headers=(("Link", f"<{target}>; rel=next"), ("X-Robots-Tag", robots)))

    site = {"/": linking("/2", "all"), "/2": linking("/3", "nofollow"), "/3": html("Not linked")}
    with Web({"a.test": site}) as web:
        crawl(tmp_path, [web.url("a.test")], rounds=3)
        assert {request.path for request in web.requests} - {"/robots.txt"} == {"/", "/2"}


# in the page, in a header; (canonical URL, why it is not believed)
DECLARED = {
    "nothing": (None, None, (None, None)),
    "in the page": ("http://www.a.test/x", None, ("http://www.a.test/x", None)),
    "in a header": (None, "/x", ("http://www.a.test/x", None)),
    "in both": ("http://www.a.test/x", "/x", ("http://www.a.test/x", None)),
    "another in a header": ("http://www.a.test/x", "/y", ("http://www.a.test/x", Ignored.AMBIGUOUS)),
    "itself": (URL, None, (URL, Ignored.ITSELF)),
    "itself, with noise": (URL + "&utm_source=a", None, (URL + "&utm_source=a", Ignored.ITSELF)),
    "another host of the domain": ("https://a.test/x", None, ("https://a.test/x", None)),
    "without a scheme": ("http://www.a.test/d/a.test/x", None, ("http://www.a.test/d/a.test/x", Ignored.NO_SCHEME)),
    "another domain": ("http://b.test/x", None, ("http://b.test/x", Ignored.OTHER_DOMAIN)),
}


@each_row(DECLARED)
def test_what_a_page_names(in_page: str | None, in_header: str | None, expected: tuple[str, str]) -> None:
    headers = [("Link", f"<{in_header}>; rel=canonical")] if in_header else []
    assert declared(URL, in_page, headers) == expected


# Google, "5 common mistakes with rel=canonical": absolute URLs mistakenly written as relative URLs
@pytest.mark.parametrize(
    "reference",
    ["www.a.test/x", "WWW.A.test", "a.test/x", "/www.a.test/x", "http:/www.a.test/x", "http//www.a.test/x"],
)
def test_a_canonical_link_without_scheme_is_no_request(reference: str) -> None:
    body = f"<title>T</title><link rel=canonical href='{reference}'><p>x<a href='www.a.test/x'>x</a>".encode()
    found = parse_page(body, "http://www.a.test/d/p", "text/html", [], "robot")
    assert [(link.url, link.kind) for link in found.links if followed(link, False)] == [
        ("http://www.a.test/d/www.a.test/x", "a")  # as in browsers
    ]


WORDS = " ".join(f"word{n}" for n in range(100))


def more(count):
    """Words that the others do not have; a shingle of eight words each, beside the 93 of WORDS."""
    return " ".join(f"more{n}" for n in range(count))


def page(name, canonical=None, text="", ignored=None, duplicate_of=None):
    url = name if "//" in name else f"http://a.test/{name}"
    row = {"url_key": url_key(url), "url": url, "canonical_ignored": ignored, "duplicate_of": duplicate_of}
    row |= {"canonical_url": canonical and f"http://a.test/{canonical}", "digest": (text or name).encode()}
    return row | {"text": text or f"What {name} says."}


# pages, names of URLs that gave nothing, {name: why not}, {name: yields to}
JUDGED = {
    "nothing named": ([page("a"), page("b")], "", {}, {}),
    "nothing known": ([page("a", "z")], "", {}, {}),
    "one content": ([page("a", "b", WORDS), page("b", None, WORDS)], "", {}, {}),
    "nearly one content": ([page("a", "b", WORDS), page("b", None, WORDS + " more")], "", {}, {"a": "b"}),
    "four fifths of one content": ([page("a", "b", WORDS), page("b", None, f"{WORDS} {more(23)}")], "", {}, {"a": "b"}),
    "less than four fifths": (
        [page("a", "b", WORDS), page("b", None, f"{WORDS} {more(24)}")],
        "",
        {"a": "different"},
        {},
    ),
    "another content": ([page("a", "b"), page("b")], "", {"a": "different"}, {}),
    "an error": ([page("a", "z")], "z", {"a": "dead"}, {}),
    "in a circle": ([page("a", "b", WORDS), page("b", "a", WORDS + " b")], "", {"a": "chain", "b": "chain"}, {}),
    "a chain": ([page("a", "b", WORDS), page("b", "z", WORDS + " b")], "", {"a": "chain"}, {}),
    "not believed anyway": ([page("a", "b", ignored="other_domain"), page("b")], "", {}, {}),
    "a crowd": (
        [page("b"), *(page(f"a{n}", "b", f"{WORDS} {n}") for n in range(CROWD))],
        "",
        {f"a{n}": "crowd" for n in range(CROWD)},
        {},
    ),
    "fewer than a crowd": (
        [page("b"), *(page(f"a{n}", "b", f"{WORDS} {n}") for n in range(CROWD - 1))],
        "",
        {f"a{n}": "different" for n in range(CROWD - 1)},
        {},
    ),
    "a crowd of another site of the domain, and of another user": (
        [
            page("b"),
            *(page(f"http://evil.a.test/{n}", "b", f"{WORDS} {n}") for n in range(CROWD)),
            *(page(f"~eve/{n}", "b", f"{WORDS} eve {n}") for n in range(CROWD)),
            page("http://www.a.test/print", "b", "What b says. " + WORDS),
        ],
        "",
        {f"http://evil.a.test/{n}": "crowd" for n in range(CROWD)}
        | {f"~eve/{n}": "crowd" for n in range(CROWD)}
        | {"http://www.a.test/print": "different"},
        {},
    ),
    "a page that is a duplicate": (
        [page("a", "b", WORDS), page("b", None, WORDS + " b", duplicate_of=b"c")],
        "",
        {"a": "different"},
        {},
    ),
}


@each_row(JUDGED)
def test_canonical_links_are_believed_where_contents_agree(pages, dead, ignored, joined):
    def key(name):
        return url_key(name if "//" in name else f"http://a.test/{name}")

    texts = {one["url_key"]: one["text"] for one in pages}
    assert judge(pages, map(key, dead), lambda compared: {one: texts[one] for one in compared}) == (
        {key(name): reason for name, reason in ignored.items()},
        {key(name): key(target) for name, target in joined.items()},
    )


def test_a_crawl_joins_what_is_one_and_keeps_what_is_not(tmp_path: Path) -> None:
    def naming(target: str) -> str:
        return f'<link rel=canonical href="{target}">'

    linked = ["/print", "/page-of-it", "/liar", "/of-an-error", "/abroad", "/error", "/by-header"]
    site = {
        "/": html("Home", "", linked),
        "/print": html("A page", WORDS, head=naming("/page-of-it")),
        "/page-of-it": html("A page", WORDS),
        "/liar": html("Liar", "Nothing like the home page, whatever it says.", head=naming("/")),
        "/of-an-error": html("Of an error", "The page that it names is not there.", head=naming("/error")),
        "/abroad": html("Abroad", "The page that it names is another's.", head=naming("http://b.example/")),
        "/error": status(404),
        "/by-header": Answer(body=b"Only the header names it.", headers=(("Link", "</hidden>; rel=canonical"),)),
        "/hidden": html("Hidden", "A canonical link leads here, and no other."),
    }
    with Web({"a.test": site}) as web:
        crawl(tmp_path, [web.url("a.test")])
        documents = {row["url"].removeprefix(web.url("a.test", "")): row for row in rows(tmp_path, "documents")}
        links = {(row["target_url"], row["kind"]) for row in rows(tmp_path, "links") if row["kind"] == "canonical"}
        assert (web.url("a.test", "/hidden"), "canonical") in links
    assert set(documents) == set(site) - {"/error"}
    assert {path for path, row in documents.items() if row["duplicate_of"]} == {"/print"}
    assert documents["/print"]["duplicate_of"] == documents["/page-of-it"]["url_key"]
    assert documents["/print"]["text"] is None
    assert {path: row["canonical_ignored"] for path, row in documents.items() if row["canonical_ignored"]} == {
        "/of-an-error": "dead",
        "/abroad": "other_domain",
    }


def test_examples() -> None:
    assert doctest.testmod(link_header).failed == 0
