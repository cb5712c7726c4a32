"""A page gives its text and a digest of its content, whatever its bytes are."""

import doctest
import threading
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from transforms import page_text, pages, urls
from transforms.pages import Page, parse_page

URL = "http://a.org/dir/page.html"


def page(html: str | bytes, content_type: str | None = "text/html") -> Page:
    body = html.encode() if isinstance(html, str) else html
    parsed = parse_page(body, URL, content_type, [], "Our-Bot/1.0")
    assert parsed is not None
    return parsed


TEXTS = {
    "blocks are lines": ("<p>a\n b<p>c<br>d<ul><li>e<li>f</ul>", "a b\nc\nd\ne\nf"),
    "inline is not": ("<p>a<b>b</b> <i>c</i>", "ab c"),
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
    "all hidden": ("<body hidden><p>a<p>b", "a\nb"),
    "no text": ("<p><img src=a>", ""),
    "broken": ("a</p></div><b>b<p>c</b><td>d", "ab\nc\nd"),
    "deep": ("<div>" * 1000 + "a", "a"),
    "references": ("&lt;&eacute;&#x1f600;&#xd800;&bogus;", "<é😀\ufffd&bogus;"),
    "our own separators": ("<p>a\u2029b\u2028c", "a\nb c"),
}


@pytest.mark.parametrize(("html", "text"), TEXTS.values(), ids=TEXTS)
def test_text(html, text):
    assert page(html).text == text


def test_headings_are_those_of_the_text():
    parsed = page("<nav><h2>menu</h2></nav><header><h1>A <b>b</b></h1></header><h2>C¶</h2><p>d<h6> </h6><h3>e</h3>")
    assert parsed.headings == ["A b", "C", "e"]
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


HOSTILE = {
    "links within links": b"".join(b"<a href=%d><div>" % i for i in range(900)) + b"<b></b>" * 200_000,
    "titles within pictures": b"<div>" * 900 + b"<svg><title>a</title></svg>" * 50_000,
    "beyond all depth": b"<div>" * 100_000,
    "commas": b"<img srcset='" + b"," * 500_000,
    "digits": b"<meta http-equiv=refresh content='" + b"1" * 500_000 + b"'>",
}


@pytest.mark.parametrize("body", HOSTILE.values(), ids=HOSTILE)
def test_time_does_not_grow_with_malice(body):
    """Each takes well under a second; without its guard, the first takes a minute."""
    start = time.process_time()
    page(body)
    assert time.process_time() - start < 10


REAL = f"""<!DOCTYPE html><html lang=en><head><meta charset=utf-8><title>Title</title><base href=/x/>
<meta name=robots content="index, follow"><meta name=date content=2024-03-05><link rel=canonical href=y>
<meta http-equiv=refresh content="5; url=z"></head><body><header><h1>Head</h1></header><nav role=navigation>
<a href=a>One</a> <a href="b?c=d&amp;e#f"><img src=i alt=Two srcset="i 1x, j 2x"></a></nav><main>{STORY}<pre> x
</pre><table><tr><td>1<td>2</table><svg><title>t</title></svg></main><footer hidden>Foot</footer></body></html>"""
MARKUP = [b"<", b">", b'"', b"'", b"<!--", b"-->", b"<![CDATA[", b"<?xml encoding='x'?>", b"<meta charset=utf-16>"]
ELEMENTS = [b"<plaintext>", b"<frameset>", b"<svg>", b"<template>", b"<base href=//b.org>", b"<title>"]
BYTES = [b"\0", b"\xff", b"&#xd800;", b"&#0;", b"\xed\xa0\x80", b"\xe2\x80\xa9"]
NASTY = st.sampled_from(MARKUP + ELEMENTS + BYTES)


@st.composite
def mutations(draw: st.DrawFn) -> bytes:
    """A real page with bytes inserted, overwritten and cut out."""
    body = REAL.encode()
    for _ in range(draw(st.integers(1, 6))):
        start = draw(st.integers(0, len(body)))
        end = start + draw(st.sampled_from([0, 0, 1, 10, 200]))
        body = body[:start] + draw(NASTY | st.binary(max_size=8)) + body[end:]
    return body


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


@settings(max_examples=300, deadline=None)
@given(st.binary(max_size=300) | mutations(), CONTENT_TYPES | st.text(), st.text())
def test_any_bytes_give_a_page_that_can_be_stored(body, content_type, header):
    headers = [("X-Robots-Tag", header), ("Content-Language", header)]
    parsed = parse_page(body, URL, content_type, headers, "Our-Bot/1.0")
    if parsed is not None:
        strings = [value for value in vars(parsed).values() if isinstance(value, str)]
        for text in (*strings, *parsed.headings, *(part for link in parsed.links for part in link)):
            text.encode()
        assert all(urls.canonical(link.url) == link.url for link in parsed.links)


def test_threads_find_the_same():
    bodies = [f"<p>{'Text in no declared language, number '}{n}.{REAL}" for n in range(20)]
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


@pytest.mark.parametrize("module", [page_text, pages])
def test_examples_in_docstrings(module):
    assert doctest.testmod(module).failed == 0
