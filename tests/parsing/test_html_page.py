"""A page gives its text and a digest of its content, whatever its bytes are."""

import doctest
import threading
from collections.abc import Sequence

import pytest
from hypothesis import given, settings, strategies as st

from beamtrawl.transforms.parsing import html_page, main_text
from beamtrawl.transforms.parsing.html_page import Page, parse_page
from beamtrawl.transforms.urls.canonical import canonicalize
from tests.support.sample_pages import DOCUMENTATION, PAGES, real_pages
from tests.support.tables import each_row

URL = "http://a.org/dir/page.html"


def page(html: str | bytes, content_type: str | None = "text/html") -> Page:
    body = html.encode() if isinstance(html, str) else html
    parsed = parse_page(body, URL, content_type, [], "Our-Bot/1.0")
    assert parsed is not None
    return parsed


TEXTS = {
    "blocks are lines": ("<p>a\n b<p>c<br>d<ul><li>e<li>f</ul>", "a b\nc\nd\ne\nf"),
    "inline is not": ("<p>a<b>b</b> <i>c</i>", "ab c"),
    "preformatted lines": ("<pre>a <b>b\n  c</b>\n\nd<br>e<script>no</script></pre>f", "\ta b\n\t  c\n\td\n\te\nf"),
    "blocks around preformatted lines": (
        "a<pre>\n\tb\n\t\tc\n</pre>d<pre>e",
        f"a\n\t{' ' * 8}b\n\t{' ' * 16}c\nd\n\te",
    ),
    "bounded indentation": (f"<pre>{' ' * 500}a b  c", f"\t{' ' * 32}a b c"),
    "texts of SVG are blocks, as in Chromium": (
        "<p>a</p><svg><title>t</title><desc>d</desc><defs><text>e</text></defs><text>b</text><g><text>c</text></g>"
        "<foreignObject><span>f</span></foreignObject><foreignObject>g</foreignObject></svg><p>h",
        "a\ne\nb\nc\nf\ng\nh",
    ),
    "lines of a text of SVG": (  # of d3, of mermaid, of Inkscape; the last one is of a word that Illustrator has kerned
        "<svg><text><tspan x=0 dy=0>a</tspan><tspan x=0 dy=1.1em>b</tspan></text>"
        "<text y=-10><tspan x=0 y=-9 dy=9><tspan>c</tspan><tspan> d</tspan></tspan><tspan x=0 y=1em>e</tspan></text>"
        "<text><tspan x=0 y=0>f</tspan><tspan x=0 y=9>g</tspan></text>"
        "<text><tspan x=0 y=0>T</tspan><tspan x=5 y=0>ext</tspan> x<tspan dy=-3>2</tspan></text></svg>",
        "a b\nc d e\nf g\nText x2",
    ),
    "no text of SVG": ("<p>a<text>b</text><desc>c</desc>d", "abcd"),
    "cells": ("<table><tr><td>a<td>b<tr><td>c</table>", "a\nb\nc"),
    "what is not shown": (
        "<title>t</title><p>a<script>b</script><style>c</style><template>d</template><noscript>e</noscript><!--f-->",
        "a",
    ),
    "what surrounds it": ("<header>a</header><nav>b</nav><main>c</main><aside>d</aside><footer>e</footer>", "c"),
    "roles": ("<div role=navigation>a</div><p>b<div role='Search'>c</div><p role=note>d", "b\nd"),
    "hidden": ("<p>a<p hidden>b<p>c", "a\nc"),
    "a header's title stays": ("<header><p>a<h1>b</h1></header><p>c", "b\nc"),
    "nothing else": ("<nav>a</nav><footer>b</footer>", "a\nb"),
    "nothing else, in code": ("<pre><nav>a</nav></pre><pre><aside>b</aside></pre>", "a\nb"),
    "all hidden": ("<body hidden><p>a<p>b", "a\nb"),
    "no text": ("<p><img src=a>", ""),
    "broken": ("a</p></div><b>b<p>c</b><td>d", "a\nb\ncd"),
    "deep": ("<div>" * 1000 + "a", "a"),
    "references": ("&lt;&eacute;&#x1f600;&#xd800;&bogus;", "<é😀\ufffd&bogus;"),
    "our own separators": ("<p>a\u2029b\u2028c", "a b c"),
    "our own mark of a pre in a line": ("<p>a\u1680b\nc", "a b c"),
    "highlighted code": ("<pre>a <b>b\n\n  c</b><br>d<nav>e</nav>\n</pre>f", "\ta b\n\t  c\n\td\nf"),
    "controls of forms": ("<p>a<button>b</button><select><option>c</select>", "a"),
    "named by class": ("<div class='navheader'>a</div><p>b<div class='x Site-Footer'>c</div>", "b"),
    "named by id": ("<table id=sidebar><tr><td>a</table><p>b<ul id=main_menu><li>c</ul>", "b"),
    "a name is the last word": (
        "<div class='footer-note navigate nav-content'>a</div><div class=toolbars>b</div>",
        "a\nb",
    ),
    "a name around the heading": ("<div class=header><div id=nav><h1>a</h1><p>b</div></div>", "a\nb"),
    "a name around the main element": ("<div class=menu><p>a<main>b</main></div>", "a\nb"),
    "a section's id is its heading": (
        "<section id=toolbar><h2>a</h2></section><div class='x section' id=menu><h2>b</h2></div><div id=menu>c</div>",
        "a\nb",
    ),
    "a section's class is a name": ("<p>a<section class=sidebar><h2>b</h2></section>", "a"),
    "a name as long as a book": (f"<p>a<div class='{'x ' * 300}nav'>b</div>", "a\nb"),
    "a style in a heading that another tag ends": (
        f"<h2>a</h1><style>.b{{}}</style>c<p>{'b' * 20}",
        f"a\nc\n{'b' * 20}",
    ),
    "words before the heading": (f"<p>Home<p>Docs<h2>a</h2><p>{'b' * 20}", f"a\n{'b' * 20}"),
    "a sentence before it": (f"<p>Home<p>Go on.<h2>a</h2><p>{'b' * 20}", f"Home\nGo on.\na\n{'b' * 20}"),
    "a long line before it": (f"<p>{'a' * 61}<h2>b</h2><p>{'c' * 99}", f"{'a' * 61}\nb\n{'c' * 99}"),
    "more before it than after": ("<p>a<p>b<h2>c</h2>", "a\nb\nc"),
    "a page that scripts make": (
        f"<p>Skip<noscript><h1>a</h1><p>{'b ' * 300}</noscript><script>{'c ' * 900}</script>",
        f"a\n{' '.join('b' * 300)}",
    ),
    "advice to turn on scripts": (f"<p>a<noscript>{'Turn it on. ' * 40}</noscript>", "a"),
    "a long one on a longer page": (f"<p>{'a' * 700}<noscript>{'Turn it on. ' * 50}</noscript>", "a" * 700),
    "what React will show": ("<p>a<div hidden id=S:1f><p>b</div><div hidden id=S:g>c</div>", "a\nb"),
    "a name of what is within": ("<p>a<div class='page has-sidebar'>b</div><div class=sidebar>c</div>", "a\nb"),
    # As in stork#341, calibre#2218 and w3c/clreq#357: searches find the word without what is above its characters.
    "ruby of each character": ("<ruby>漢<rp>(</rp><rt>かん</rt><rp>)</rp>字<rt>じ</rt></ruby>検定", "漢字検定"),
    "ruby of two kinds": ("<ruby><rb>東<rb>京<rt>とう<rt>きょう<rtc>tō</rtc></ruby>都", "東京都"),
    "blocks in phrases": ("a<b>b<p>c</p>d</b>e<br>f<span><br>g</span>", "ab\nc\nde\nf\ng"),
    "lists and cells": ("<ol><li>a<li>b</ol><table><tr><td>c<td>d</table><form>e</form>f", "a\nb\nc\nd\ne\nf"),
    "white space of any kind": ("<p>a\u00a0 \u3000b\x1cc\u2028d</p>\u00a0<p>e\u00a0", "a b c d\ne"),
    "blocks in a heading": ("<h1>a<br>b<div>c</div>d</h1><p>e", "a b c d\ne"),
    "nothing but names and an empty heading": ("<h1></h1><div class=menu>a</div>", "a"),
    "nothing but names": ("<div class=menu>a</div><div class=footer>b</div>", "a\nb"),
}


SECTIONS = "<body><p>a <![CDATA[b < c &amp; <br/>]]> d<script>//<![CDATA[\n'e'//]]></script><!-- <![CDATA[ --><p>f"
# content type, text: of XML, a section is text, of HTML a comment that ends at the first ">"; as Chromium shows them
SHOWN_SECTIONS = {"application/xhtml+xml": "a b < c &amp; <br/> d\nf", "text/html": "a ]]> d\nf"}


@pytest.mark.parametrize("content_type", SHOWN_SECTIONS)
def test_sections_of_characters(content_type):
    assert page(SECTIONS, content_type).text == SHOWN_SECTIONS[content_type]
    assert page("<svg><text><![CDATA[a<b>]]></text></svg>", content_type).text == "a<b>"


@each_row(TEXTS)
def test_text(html, text):
    assert page(html).text == text


# html, the passages of the text that no snippet may contain
NOSNIPPET = {
    "none": ("<p>a", []),
    "inline": ("<p>a <span data-nosnippet>b <b>c</b></span> d", ["b c"]),
    "blocks": ("<p>a<div data-nosnippet><p>b<pre>c\nd</pre></div>e", ["b\n\tc\n\td\n"]),
    "nested": ("<section data-nosnippet>a<div data-nosnippet>b</div>c</section>d", ["a\nb\nc\n"]),
    "two": ("<p data-nosnippet>a<p>b<p data-nosnippet>c", ["a\n", "c"]),
    "a heading": ("<h1 data-nosnippet>a</h1><p>b", ["a\n"]),
    "a header, of which the title is read": ("<header data-nosnippet>a<h1>b</h1></header>c", ["b\n"]),
    "with marks of its own": (
        "<p data-nosnippet>a&#xd801;b<b>c&#xd802;0&#xd802;</b>d</p>e",
        ["a\ufffdbc\ufffd0\ufffdd"],
    ),
    "left out anyway": ("<nav data-nosnippet>a</nav><p>b", []),
    "empty": ("<p>a<p data-nosnippet><p>b", [""]),
}


@each_row(NOSNIPPET)
def test_passages_that_no_snippet_may_contain(html, passages):
    parsed = page(html)
    assert parsed.text == page(html.replace(" data-nosnippet", "")).text
    assert parsed.headings == page(html.replace(" data-nosnippet", "")).headings
    found = zip(parsed.nosnippet[::2], parsed.nosnippet[1::2], strict=True)
    assert [parsed.text[start:end].strip() for start, end in found] == [passage.strip() for passage in passages]


def test_headings_are_those_of_the_text():
    parsed = page("<nav><h2>menu</h2></nav><header><h1>A <b>b</b></h1></header><h2>C¶</h2><p>d<h6> </h6><h3>e</h3>")
    assert parsed.headings == ["A b", "C", "e"]
    assert parsed.text == "A b\nC\nd\ne"
    assert parsed.title == "A b"


STORY = "<p>A text that is long enough to tell one page from another page without doubt."


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        (f"<nav>12:00</nav>{STORY}", f"<nav>12:01</nav>{STORY}<!-- x -->", True),
        (f"<div>{STORY}</div>", f"<section>{STORY}\n\n</section>", True),
        (STORY, STORY + "!", False),
        (f"<title>a</title>{STORY}", f"<title>b</title>{STORY}", False),
        ("<p>short", "<p>short", True),
        ("<nav>a</nav><p>short", "<nav>b</nav><p>short", False),
    ],
)
def test_digests_are_equal_for_equal_content(one, other, same):
    digests = page(one).digest, page(other).digest
    assert (digests[0] == digests[1]) is same
    assert len(digests[0]) == 16


@pytest.mark.parametrize(
    ("body", "content_type", "media_type", "charset", "text"),
    [
        (b"<p>a", "text/html", "text/html", "utf-8", "a"),
        (b"<html><p>a", None, "text/html", "utf-8", "a"),
        (b"a <p>\n\n b\r\nc", "text/plain", "text/plain", "utf-8", "a <p>\nb\nc"),
        (b"a", None, "text/plain", "utf-8", "a"),
        ("<p>가".encode("euc-kr"), "text/html; charset=ks_c_5601-1987", "text/html", "euc-kr", "가"),
        ("<meta charset=shift_jis><p>あ".encode("shift_jis"), "text/html", "text/html", "shift_jis", "あ"),
        (
            '<?xml version="1.0" encoding="koi8-r"?><html xmlns="http://www.w3.org/1999/xhtml"><body><p>а</p>'
            "<script src='x'/><p>б</p></body></html>".encode("koi8-r"),
            "application/xhtml+xml",
            "application/xhtml+xml",
            "koi8-r",
            "а\nб",
        ),
        (b"", "text/html", "text/html", "utf-8", ""),
        (b"<!-- only -->", "text/html", "text/html", "utf-8", ""),
        (b"a\0b", "text/html", "text/html", "utf-8", "ab"),
    ],
)
def test_kinds_and_charsets(body, content_type, media_type, charset, text):
    parsed = page(body, content_type)
    assert (parsed.media_type, parsed.charset, parsed.text) == (media_type, charset, text)


@pytest.mark.parametrize(
    ("body", "content_type"),
    [
        (b"<p>a", "application/json"),
        (b"%PDF-1.7", "application/pdf"),
        (b"\x89PNG\r\n\x1a\n", None),
        (b"a", "image/png"),
    ],
)
def test_other_kinds_are_no_pages(body, content_type):
    assert parse_page(body, URL, content_type, [], "x") is None


LONG = "<p>" + "word " * (2_000_000 // 5 + 1)
MANY = "<b>" * 2 + "</b><b>" * (500_000 // 2)
TRUNCATED = {
    "not": (STORY, ""),
    "bytes": (f"<p>{' ' * (5 << 20)}", "bytes"),
    "text": (LONG, "text"),
    "just not": (LONG[:-7], ""),
    "not by depth": ("<div>" * 3000, ""),
    "nodes": (MANY, "nodes"),
    "just not nodes": (MANY[: -len("<b></b><b>")], ""),
    "links": ("".join(f"<a href={n}>" for n in range(20_000)), "links"),
    "just not links": ("".join(f"<a href={n}></a>" for n in range(20_000 - 1)), ""),
}


@each_row(TRUNCATED)
def test_a_page_that_was_not_read_to_its_end_says_why(html, truncated):
    assert page(html).truncated == truncated


def test_plain_text_is_bounded_as_well():
    assert page(LONG[3:].encode(), "text/plain").truncated == "text"
    assert page(b"a " * (10 << 20), "text/plain").truncated == "bytes"


def test_pages_that_begin_alike_are_not_the_same():
    assert page(LONG + "a").digest != page(LONG + "b").digest


def test_real_scripts_are_no_tags_with_attributes():
    script = f"<script>if (a<b) {{ {'word ' * 9_000} }}</script><p>a<a href=b>c</a>"
    parsed = page(script)
    assert parsed.text == "ac"
    assert [link.url for link in parsed.links] == ["http://a.org/dir/b"]


MARKUP = [b"<", b">", b'"', b"'", b"<!--", b"-->", b"<![CDATA[", b"<?xml encoding='x'?>", b"<meta charset=utf-16>"]
ELEMENTS = [b"<plaintext>", b"<frameset>", b"<svg>", b"<template>", b"<base href=//b.org>", b"<title>"]
BYTES = [b"\0", b"\xff", b"&#xd800;", b"&#0;", b"\xed\xa0\x80", b"\xe2\x80\xa9"]
ATTRIBUTES = [
    b" class=nav",
    b" id='",
    b" hidden",
    b" role=main",
    b' href="http://[',
    b" content=",
    b" datetime=9" + b"9" * 70,
]
NASTY = st.sampled_from(MARKUP + ELEMENTS + BYTES + ATTRIBUTES)


def mutated(bodies: Sequence[bytes]) -> st.SearchStrategy[bytes]:
    """One of the pages with bytes inserted, overwritten and cut out."""

    @st.composite
    def mutations(draw: st.DrawFn) -> bytes:
        body = draw(st.sampled_from(bodies))
        for _ in range(draw(st.integers(1, 6))):
            start = draw(st.integers(0, len(body)))
            end = start + draw(st.sampled_from([0, 0, 1, 10, 200]))
            body = body[:start] + draw(NASTY | st.binary(max_size=8)) + body[end:]
        return body

    return mutations()


CONTENT_TYPES = st.sampled_from(
    [
        None,
        "text/html",
        "text/html; charset=utf-16le",
        "text/html;charset=iso-2022-jp",
        "application/xhtml+xml",
        "text/plain",
    ]
)


def assert_storable(parsed: Page) -> None:
    strings = [value for value in vars(parsed).values() if isinstance(value, str)]
    of_links = [
        part for link in parsed.links for part in (*link[:4], *(text for each in link.fragments for text in each))
    ]
    for text in (*strings, *parsed.headings, *of_links):
        text.encode()
    assert all(canonicalize(link.url) == link.url for link in parsed.links)


@settings(max_examples=400)
@given(st.binary(max_size=300) | mutated(PAGES), CONTENT_TYPES | st.text(), st.text())
def test_any_bytes_give_a_page_that_can_be_stored(body, content_type, header):
    headers = [("X-Robots-Tag", header), ("Content-Language", header)]
    parsed = parse_page(body, URL, content_type, headers, "Our-Bot/1.0")
    if parsed is not None:
        assert_storable(parsed)


@settings(max_examples=200)
@given(st.deferred(lambda: mutated(real_pages(50) or PAGES)), CONTENT_TYPES)
def test_real_pages_that_were_damaged_can_be_stored(body, content_type):
    parsed = parse_page(body, URL, content_type, [], "Our-Bot/1.0")
    if parsed is not None:
        assert_storable(parsed)


def test_threads_find_the_same():
    bodies = [f"<p>{'Text in no declared language, number '}{n}.{DOCUMENTATION}" for n in range(20)]
    expected = [page(body) for body in bodies]
    results: dict[int, list[Page]] = {}
    threads = [
        threading.Thread(target=lambda n=n: results.update({n: [page(body) for body in bodies]})) for n in range(4)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert list(results.values()) == [expected] * 4


@pytest.mark.parametrize("module", [main_text, html_page])
def test_examples_in_docstrings(module):
    assert doctest.testmod(module).failed == 0
