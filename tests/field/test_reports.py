"""Reports from the trackers of crawlers, archives and search engines, 2024 and later where no year is named.

Each row is an input of our own; docs/decisions/field.md says what was reported, and by which standard a row is right.
"""

import contextlib
import gzip
import ipaddress
import socket
import ssl
from datetime import UTC, datetime

import pytest

from beamtrawl.transforms.documents.parse_visits import refresh_links
from beamtrawl.transforms.http.address_guard import connect
from beamtrawl.transforms.http.deadline_socket import Exchange, Line
from beamtrawl.transforms.http.dns import FAILURE_LIFETIME
from beamtrawl.transforms.http.reply import retry_after
from beamtrawl.transforms.indexing.analysis import tokens
from beamtrawl.transforms.parsing.html_page import parse_page
from beamtrawl.transforms.robots import rules
from beamtrawl.transforms.sitemaps.parse import parse_sitemap
from beamtrawl.transforms.urls.canonical import canonicalize
from beamtrawl.transforms.urls.filters import repeats
from tests.support.hostile_host import certificate
from tests.support.raw import says, serve
from tests.support.tables import each_row

NOON = datetime(2026, 7, 1, 12, tzinfo=UTC)
ONE, NINE = "Wed, 01 Jul 2026 13:00:00 GMT", "Wed, 01 Jul 2026 09:00:00 GMT"

# Retry-After, Date: seconds at noon (RFC 9110, 10.2.3)
WAITS = {
    "negative": ("-5", "", None),
    "zero": ("0", "", 0.0),
    "a date that has passed": (NINE, "", 0.0),
    "a date": (ONE, "", 3600.0),
    "a date, by a clock that is two hours slow": (ONE, "Wed, 01 Jul 2026 10:00:00 GMT", 3 * 3600.0),
    "a date of RFC 850": ("Wednesday, 01-Jul-26 13:00:00 GMT", "", 3600.0),
    "a date of asctime": ("Wed Jul  1 13:00:00 2026", "", 3600.0),
    "ISO 8601": ("2026-07-01T13:00:00Z", "", None),
    "more than a clock has": ("9" * 20, "", 1e9),
    "a word": ("soon", "", None),
}


@each_row(WAITS)
def test_waits(value, date, seconds):
    headers = [("Retry-After", value), *([("Date", date)] if date else [])]
    assert retry_after(headers, NOON) == seconds


# robots.txt, path: may it be fetched? (RFC 9309)
ROBOTS = {
    "a byte order mark": (b"\xef\xbb\xbfUser-agent: *\nDisallow: /", "/x", False),
    "UTF-16": ("\ufeffUser-agent: *\nDisallow: /".encode("utf-16-le"), "/x", False),
    "carriage returns alone": (b"User-agent: *\rDisallow: /", "/x", False),
    "an encoded slash is no slash": (b"User-agent: *\nDisallow: /*%2F*", "/a/b", True),
    "an encoded slash": (b"User-agent: *\nDisallow: /*%2F*", "/a%2Fb", False),
    "an encoded star is a star": (b"User-agent: *\nDisallow: /a%2Ab", "/acb", True),
    "a line with a blank between groups": (
        b"User-agent: *\nDisallow: /j/*?\n \nSitemap: http://a.test/s",
        "/j/x?y",
        False,
    ),
    "a page in place of the file": (b"<html><body><p>Disallow: /</p></body></html>", "/x", True),
    "a version behind the name": (b"User-agent: robot/1.0\nDisallow: /", "/x", False),
    "letters in UTF-8": ("User-agent: *\nDisallow: /café".encode(), "/caf%C3%A9", False),
}


@each_row(ROBOTS)
def test_robots(body, path, is_allowed):
    assert rules.parse(body, "robot", "http://a.test").allows(f"http://a.test{path}")[0] is is_allowed


# RFC 9309, 2.3.1.3 and 2.3.1.4; what is refused, and too many requests, as the site means it
VERDICTS = {
    "no answer": (None, "unreachable"),
    "an error of the server": (500, "unreachable"),
    "too busy": (503, "unreachable"),
    "too many requests": (429, "unreachable"),
    "none": (404, "allow_all"),
    "gone": (410, "allow_all"),
    "forbidden": (403, "deny_all"),
}


@each_row(VERDICTS)
def test_verdicts_on_robots(status, verdict):
    assert rules.verdict_of(status) == verdict


# paths of links, as a page appends to its own URL: is it a trap?
TRAPS = {
    "a host that is taken for a folder": ("/p" + "/www.b.test/intl/partners" * 3 + "/", True),
    "twice": ("/p" + "/www.b.test/intl/partners" * 2 + "/", False),
    "empty segments": ("/x" + "/" * 9, True),
    "a calendar": ("/2024/01/2024/01/2024/01/", True),
}


@each_row(TRAPS)
def test_traps(path, is_trap):
    assert repeats(f"http://a.test{path}") is is_trap


# reference: canonical URL (URL standard)
URLS = {
    "encoded twice": ("http://a.test/x?u=a%252Fb", "http://a.test/x?u=a%252Fb"),
    "a seed with a fragment": ("http://a.test/x#y", "http://a.test/x"),
    "a percent sign": ("http://a.test/90%+of", "http://a.test/90%25+of"),
    "sharp s (UTS #46, not transitional)": ("http://straße.test/", "http://xn--strae-oqa.test/"),
    "an encoded dot in the host": ("http://a%2Etest/", "http://a.test/"),
    "an address in hexadecimal": ("http://0x7f.1/", "http://127.0.0.1/"),
    "no port": ("http://a.test:/x", "http://a.test/x"),
    "five numbers": ("http://1.2.3.4.5/", None),
    "a zone": ("http://[fe80::1%25eth0]/", None),
    "line ends": ("\n http://a.test/x\ny\n", "http://a.test/xy"),
}


@each_row(URLS)
def test_urls(reference, url):
    assert canonicalize(reference, "http://a.test/") == url


ENTRY = "<url><loc>http://a.test/x</loc></url>"
# sitemap: URLs (sitemaps.org; XML 1.0)
SITEMAPS = {
    "no namespace": (f"<urlset>{ENTRY}</urlset>".encode(), ["x"]),
    "a prefix": (
        b"<s:urlset xmlns:s='http://www.sitemaps.org/schemas/sitemap/0.9'><s:url><s:loc>http://a.test/x</s:loc></s:url>",
        ["x"],
    ),
    "blanks before the declaration": (f"\n <?xml version='1.0'?><urlset>{ENTRY}</urlset>".encode(), ["x"]),
    "a byte order mark": (f"\ufeff<urlset>{ENTRY}</urlset>".encode(), ["x"]),
    "gzip under the name of XML": (gzip.compress(f"<urlset>{ENTRY}</urlset>".encode()), ["x"]),
    "a bare ampersand": (b"<urlset><url><loc>http://a.test/?a=1&b=2</loc></url></urlset>", ["?a=1&b=2"]),
    "cut between entries": (f"<urlset>{ENTRY}<url>".encode(), ["x"]),
    "cut in a URL": (f"<urlset>{ENTRY}<url><loc>http://a.test/art".encode(), ["x"]),
    "cut behind a URL": (f"<urlset>{ENTRY}<url><loc>http://a.test/y</loc><lastmod>20".encode(), ["x", "y"]),
    "an image": (
        b"<urlset><url><loc>http://a.test/x</loc><image:image><image:loc>http://a.test/i</image:loc></image:image></url>",
        ["x"],
    ),
    "a comment first": (b"# all pages\r\nhttp://a.test/x\n# end", ["x"]),
    "a byte order mark, then a comment": ("\ufeff#\nhttp://a.test/x".encode(), ["x"]),
    "capital names": (
        f"<URLSET>{ENTRY.upper().replace('HTTP://A.TEST/X', 'http://a.test/x')}</URLSET>".encode(),
        ["x"],
    ),
    "some capitals": (b"<sitemapIndex><Sitemap><Loc>http://a.test/x</Loc></Sitemap></sitemapIndex>", ["x"]),
    "URLs outside of entries": (
        f"<urlset><loc>http://a.test/w</loc>{ENTRY}<loc>http://a.test/y</loc>".encode(),
        [*"wxy"],
    ),
    "an entry of another kind": (f"<sitemapindex>{ENTRY}</sitemapindex>".encode(), []),
}


@each_row(SITEMAPS)
def test_sitemaps(body, paths):
    found = parse_sitemap(body, "http://a.test/sitemap.xml")
    assert [entry.url.removeprefix("http://a.test/") for entry in found.entries] == paths


DATES = {
    "text around it": "garbage2024-01-15T09:30:00Zjunk",
    "a day that there is not": "2024-02-30",
}


@pytest.mark.parametrize("lastmod", DATES.values(), ids=DATES)
def test_dates_of_sitemaps_that_are_none(lastmod):
    body = f"<urlset><url><loc>http://a.test/x</loc><lastmod>{lastmod}</lastmod></url></urlset>".encode()
    assert [entry.lastmod for entry in parse_sitemap(body, "http://a.test/sitemap.xml").entries] == [None]


MARCH, JANUARY = "<time datetime=2024-03-05>t</time>", "<time datetime=2023-01-01 pubdate>t</time>"
# what a page has: the date of the page (HTML, 4.3.2: an article in an article is a comment)
TIMES = {
    "beside comments": (f"{MARCH}<div class=comments><p>{JANUARY}</div>", "2024-03-05"),
    "of comments alone": (f"<section id=comments>{JANUARY}</section>", None),
    "of a list of comments": (f"<ol class='commentlist x'><li>{JANUARY}</ol>", None),
    "of an article in an article": (f"<article>{MARCH}<article>{JANUARY}</article></article>", "2024-03-05"),
    "of a comment by schema.org": (f"<div itemscope itemtype='http://schema.org/Comment'>{JANUARY}</div>", None),
    "of a post that may be commented": (f"<article class='post comments-open'>{MARCH}</article>", "2024-03-05"),
}


@each_row(TIMES)
def test_times_of_comments(html, day):
    page = parse_page(f"<title>T</title><main>{html}</main>".encode(), "http://a.test/", "text/html", [], "robot")
    assert (page.published_at and page.published_at.date().isoformat()) == day


# what stands around a link: what it leads to (HTML, 2.4.3: the base element is of HTML)
BASES = {
    "far behind the beginning": ("<!--" + "x" * 9000 + "--><base href=/b/>", "/b/x"),
    "behind the link": ("", "/b/x", "<base href=/b/>"),
    "without href before it": ("<base target=_top><base href=/b/>", "/b/x"),
    "the first of two": ("<base href=/b/><base href=/c/>", "/b/x"),
    "in SVG": ("<svg><base href=/b/></svg>", "/d/x"),
    "in a template": ("<template><base href=/b/></template>", "/d/x"),
}


@pytest.mark.parametrize(("before", "path", "behind"), [(*row, "")[:3] for row in BASES.values()], ids=BASES)
def test_bases(before, path, behind):
    body = f"<!doctype html><title>T</title>{before}<a href=x>x</a>{behind}".encode()
    page = parse_page(body, "http://a.test/d/p", "text/html", [], "robot")
    assert [link.url for link in page.links] == [f"http://a.test{path}"]


META = "<meta http-equiv=refresh content='{}; url=/r'>"
# what a page has: the kind of its link (Chromium; Scrapy's METAREFRESH_IGNORE_TAGS and METAREFRESH_MAXDELAY)
REFRESHES = {
    "without scripts (scrapy/scrapy#18, #6347)": (f"<noscript>{META.format(0)}</noscript>", ["a"]),
    "without scripts, in the body": (f"<p>x<noscript><p>y{META.format(0)}</noscript>", ["a"]),
    "without scripts, before another one": (
        f"<noscript>{META.format(0)}</noscript>{META.format(0)}",
        ["a", "redirect"],
    ),
    "of a session that ends (eucalyptus/eucaconsole#1456)": (META.format(1740), ["a"]),
    "of a front page of news (sparklemotion/mechanize#364)": (META.format(1800), ["a"]),
    "after a while": (META.format(100), ["redirect"]),
}


@each_row(REFRESHES)
def test_refreshes(html, kinds):
    page = parse_page(f"<!doctype html><title>T</title>{html}".encode(), "http://a.test/", "text/html", [], "robot")
    assert [link.kind for link in page.links] == kinds


@pytest.mark.parametrize(
    ("value", "kind"), [("0; url=/r", "redirect"), ("100; url=/r", "redirect"), ("1800; url=/r", "a")]
)
def test_refreshes_of_headers(value, kind):
    assert [link.kind for link in refresh_links("http://a.test/", [("Refresh", value)])] == [kind]


WORDS = {
    "underscores": ("woocommerce_ajax_init", ["woocommerce", "ajax", "init"]),
    "hyphens": ("Theme-Amoled", ["theme", "amoled"]),
    "languages": ("C C++ C# F# .NET", ["c", "c++", "c#", "f#", ".net"]),
    "letters that grow in lower case": ("İstanbul Straße", ["i̇stanbul", "strasse"]),
    "addresses": ("a@b.test /etc/passwd --verbose", ["a", "b", "test", "etc", "passwd", "verbose"]),
}


@each_row(WORDS)
def test_words(text, found):
    assert list(tokens(text)) == found


def test_an_address_that_does_not_answer_costs_a_part_of_the_time():
    """A host whose IPv6 address is dead is reached by IPv4 (RFC 8305)."""

    def resolver(host, port, **_):
        return [(0, 0, 6, "", (address, port)) for address in ("::1", "127.0.0.1")]

    def connector(place, timeout):
        if place[0] == "::1":
            raise TimeoutError
        return socket.create_connection(place, timeout)

    everywhere = [ipaddress.ip_network(network) for network in ("0.0.0.0/0", "::/0")]
    with serve(says(b"")) as server:
        opened, address = connect("a.test", server.port, 20, everywhere, resolver=resolver, connector=connector)
        opened.close()
    assert address == "127.0.0.1"


def test_a_failure_of_dns_is_remembered_for_minutes_at_most():
    """RFC 9520, 3.2: at least a second, five minutes at most."""
    assert 1 <= FAILURE_LIFETIME <= 300


def test_a_name_with_the_dot_of_the_root_is_that_without_it():
    """RFC 6066, 3; curl does the same for the certificate."""
    context = ssl.create_default_context()
    exchange = Exchange(read_timeout=10)
    exchange.begin(30)
    with serve(says(b""), certificate()) as server:
        context.load_verify_locations(cadata=ssl.get_server_certificate(("127.0.0.1", server.port)))
        line = Line(socket.create_connection(("127.0.0.1", server.port)), "127.0.0.1", exchange)
        with contextlib.closing(line):
            line.secure(context, "127.0.0.1.", 10)
