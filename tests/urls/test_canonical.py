"""URLs resolve as in browsers, and have one spelling that is safe to fetch."""

import doctest

import pytest
from hypothesis import example, given, strategies as st
from requests.models import PreparedRequest

from beamtrawl.transforms.urls import canonical
from tests.support.conformance import each_case
from tests.support.tables import each_row

RESOLVED_OTHERWISE = {
    "url_parse/rfc3986-resolve-00491": ("http://g/", "the URL standard writes an empty path as /"),
    "url_parse/rfc3986-resolve-00527": ("http://a/b/c/g", "browsers take http:g as relative, RFC 3986 allows it"),
}


@each_case("urls", "resolve")
def test_references_resolve_by_the_standard(row):
    expected = RESOLVED_OTHERWISE.get(row["id"], [row["expected"]])[0]
    assert canonical.resolve(row["input"]["url"], row["input"]["base"]) == expected


@each_case("urls", "resolve")
def test_canonical_forms_of_the_standards_cases_are_fetched_as_they_are(row):
    url = canonical.canonicalize(row["input"]["url"], row["input"]["base"])
    if url is not None:
        assert canonical.canonicalize(url) == url
        assert prepared(url) == url


def prepared(url: str) -> str | None:
    """The URL that requests would ask for."""
    request = PreparedRequest()
    request.prepare_url(url, None)
    return request.url


CANONICAL = {
    # same resource, one spelling
    "HTTP://Example.ORG": "http://example.org/",
    "http://example.org:80/": "http://example.org/",
    "https://example.org:443/": "https://example.org/",
    "https://example.org:80/": "https://example.org:80/",
    "http://example.org./": "http://example.org/",
    "http://user:secret@example.org/": "http://example.org/",
    "http://user@example.org/%7e/http://b.test@c": "http://example.org/~/http://b.test@c",  # a path may have an @
    "http://example.org/%7e/http://b.test@c": "http://example.org/~/http://b.test@c",
    "http://example.org/#top": "http://example.org/",
    "http://example.org/?": "http://example.org/",
    "http://example.org/?#x": "http://example.org/",
    "http://example.org/a/./b/../c": "http://example.org/a/c",
    "http://example.org/%7euser/%41": "http://example.org/~user/A",
    "http://example.org/a%2fb%c3%a9": "http://example.org/a%2Fb%C3%A9",
    "http://example.org/é?ü": "http://example.org/%C3%A9?%C3%BC",
    "http://münchen.example/": "http://xn--mnchen-3ya.example/",
    "http://0x7f.1/": "http://127.0.0.1/",
    "http://[::1]:8080/": "http://[::1]:8080/",
    "  http://example.org/\n": "http://example.org/",
    "http://example.org\\a": "http://example.org/a",
    # strays that requests would escape differently, or twice
    "http://example.org/100%": "http://example.org/100%25",
    "http://example.org/%zz%4": "http://example.org/%25zz%254",
    "http://example.org/%%34%31": "http://example.org/%2541",
    "http://example.org/a|b[c]^`{}?a|b[c]": "http://example.org/a%7Cb%5Bc%5D%5E%60%7B%7D?a%7Cb%5Bc%5D",
    # different resources stay different
    "http://example.org//a//b": "http://example.org//a//b",
    "http://example.org/a?b=2&a=1": "http://example.org/a?b=2&a=1",
    "http://example.org/A": "http://example.org/A",
    "http://example.org/a?b=c%26d+e%20f": "http://example.org/a?b=c%26d+e%20f",
    # nothing to fetch
    "ftp://example.org/": None,
    "mailto:me@example.org": None,
    "javascript:void(0)": None,
    "data:text/html,x": None,
    "/relative": None,
    "": None,
    "http://": None,
    "http://a..b/": None,
    "http://*.example.org/": None,
    "http://example.org:0/": None,
    "http://example.org:65536/": None,
    "http://" + "a" * 64 + ".org/": None,
    "http://" + "a." * 130 + "org/": None,
    "http://\ud800/": None,
    "http://example.org/\ud800": None,
}


@each_row({url: (url, expected) for url, expected in CANONICAL.items()})
def test_canonical(url, expected):
    assert canonical.canonicalize(url) == expected
    assert expected is None or prepared(expected) == expected


@given(st.text() | st.builds("http://a.org/{}".format, st.text()), st.none() | st.text())
@example("http://[\ud800", None)
def test_any_string_is_resolved_or_rejected(reference, base):
    canonical.resolve(reference, base)
    canonical.canonicalize(reference, base)


PIECES = st.sampled_from(list("/.?&=#%:@|[]{}^~;'\\\" aA é\t\x7f\U0001f600"))
ESCAPES = st.sampled_from(["%2", "%2e", "%2E", "%252e", "%25", "%zz", "%41", "%c3", "//", ".."])
HOSTS = st.sampled_from(["a.org", "A.org.", "127.1", "[::1]:80", "a.org:8080", "u:p@a.org", "a_b.org", "ü.org", "-a"])


@given(HOSTS, st.lists(PIECES | ESCAPES, max_size=12).map("".join))
def test_a_canonical_form_is_final(host, rest):
    url = canonical.canonicalize(f"http://{host}/{rest}")
    if url is not None:
        assert url.isascii()
        assert canonical.canonicalize(url) == url
        assert prepared(url) == url


BASES = st.sampled_from(
    [
        *("http://a.org/", "http://a.org/b/c", "http://a.org/b//c/", "https://a.org:8080/b/c?d=e/f", "http://a.org/?/"),
        *("http://a.org/%7eb/c", "http://a.org/%C3%A9/", "http://a.org/b;c/d", "http://me@a.org/b/", "http://[::1]/b/"),
        *("http://A.org./b/", "http://127.1/b/c", "http://a.org/b/../c/", "file:///c:/d", "http://a", "data:,a/b", ""),
    ]
)
PARTS = st.sampled_from(
    ["../", "..", "./", "/", "//", "b", "b.html", ".b", "~b", "B_c-d", "b;c", "?b/c", "#b/c", "%41"]
)
STARTS = st.sampled_from(
    ["", "", "/", "http:", "http://", "https://", "http://d.org/", "https://D.org:443/", "HTTP://d/"]
)


@given(STARTS, st.lists(PARTS | PIECES, max_size=6).map("".join), st.none() | BASES)
@example("", "../" * 21 + "b", "http://a.org/" + "b/" * 30)
@example("", "b", "http://a.org/" + "b/" * 1_000)
@example("", "../../b", "http://a.org/b/c")
@example("/", "../b/c", "https://a.org:8080/b/c")
@example("/", "b/d", "http://a.org/b/c")
@example("http://d.org/", "b", "")
@example("", "b", "http://a.org/c\\d")
@example("", "b", "http://a.org/?c/d")
@example("", "", "http://a.org/b")
def test_a_canonical_form_is_what_the_rules_give_in_order(start, rest, base):
    expected = canonical.resolve(start + rest, base)
    if expected is not None and expected.startswith(("http://", "https://")):
        for rule in canonical.CANONICAL_RULES:
            expected = rule(expected)
        assert canonical.canonicalize(start + rest, base) in (expected, None)
    else:
        assert canonical.canonicalize(start + rest, base) is None


def test_keys_are_16_bytes_and_differ_as_urls_do():
    keys = {canonical.url_key(f"http://a.org/{number}") for number in range(100)}
    assert len(keys) == 100
    assert {len(key) for key in keys} == {16}
    assert canonical.url_key("http://a.org/0") in keys


@pytest.mark.parametrize(
    ("url", "host", "origin"),
    [
        ("http://a.org/b//c?d=http://e/", "a.org", "http://a.org"),
        ("https://a.org:8443/", "a.org:8443", "https://a.org:8443"),
        ("http://[::1]:8080/x", "[::1]:8080", "http://[::1]:8080"),
    ],
)
def test_host_and_origin(url, host, origin):
    assert (canonical.host(url), canonical.origin(url)) == (host, origin)


@pytest.mark.parametrize(
    ("host", "domain"),
    [
        ("example.org", "example.org"),
        ("a.b.example.org:8080", "example.org"),
        ("www.example.co.kr", "example.co.kr"),
        ("me.github.io", "me.github.io"),
        ("github.io", "github.io"),
        ("www.xn--mnchen-3ya.de", "xn--mnchen-3ya.de"),
        ("localhost:80", "localhost"),
        ("127.0.0.1:8080", "127.0.0.1"),
        ("[::1]:8080", "[::1]"),
        ("[::1]", "[::1]"),
    ],
)
def test_domain(host, domain):
    assert canonical.domain(host) == domain


def test_examples_in_docstrings():
    assert doctest.testmod(canonical) == (0, 12)
