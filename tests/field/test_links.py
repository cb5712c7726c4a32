"""Links without the tree of a page: feeds, `Refresh`, `Location`, `Link`; cases that people met, and their siblings."""

import pytest

from beamtrawl.transforms.http.link_header import parse_link
from beamtrawl.transforms.http.reply import Reply, outcome, redirect_target
from beamtrawl.transforms.parsing.html_links import refresh
from beamtrawl.transforms.parsing.html_page import parse_page
from beamtrawl.transforms.urls.canonical import canonicalize
from tests.support.tables import each_row

RSS = "<rss version='2.0'><channel><title>F</title><item><title>I</title>{}</item></channel></rss>"
ATOM = "<feed xmlns='http://www.w3.org/2005/Atom'{}><title>F</title><entry><title>I</title>{}</entry></feed>"

# feed: links (RSS 2.0, RFC 4287, XML Base)
FEEDS = {
    "a link": (RSS.format("<link>http://a.test/x</link>"), ["http://a.test/x"]),
    "blanks around it": (RSS.format("<link>\n http://a.test/x \n</link>"), ["http://a.test/x"]),
    "CDATA": (RSS.format("<link><![CDATA[http://a.test/x?a=1&b=2]]></link>"), ["http://a.test/x?a=1&b=2"]),
    "a guid that is a URL": (RSS.format("<guid>http://a.test/x</guid>"), ["http://a.test/x"]),
    "a guid that is none": (RSS.format("<guid isPermaLink='false'>http://a.test/x</guid>"), []),
    # RSS 2.0: a permalink is a URL; Ranchero-Software/NetNewsWire#1012, RssBandit/RssBandit#399
    "a guid that is a number": (RSS.format("<guid> 12345 </guid>"), []),
    "a guid that is a path": (RSS.format("<guid>/x</guid>"), []),
    "a link and a guid": (RSS.format("<guid>http://a.test/g</guid><link>http://a.test/x</link>"), ["http://a.test/x"]),
    "an enclosure is no page": (RSS.format("<enclosure url='http://a.test/x.mp3'/>"), []),
    "alternate": (
        ATOM.format("", "<link rel='alternate' href='/x'/><link rel='edit' href='/e'/>"),
        ["http://a.test/x"],
    ),
    "no relation": (ATOM.format("", "<link href='x'/>"), ["http://a.test/x"]),
    "xml:base of the feed": (ATOM.format(" xml:base='http://b.test/d/'", "<link href='x'/>"), ["http://b.test/d/x"]),
    "xml:base of the link": (ATOM.format("", "<link xml:base='http://b.test/' href='x'/>"), ["http://b.test/x"]),
    "xml:base that is no URL": (ATOM.format(" xml:base='http://[bad/'", "<link href='http://[b/'/>"), []),
    "gb2312": (
        "<?xml version='1.0' encoding='gb2312'?>" + RSS.format("<link>/洪</link>"),
        ["http://a.test/%E6%B4%AA"],
    ),
}


@each_row(FEEDS)
def test_feeds(feed, links):
    body = feed.encode("gb2312" if "gb2312" in feed else "utf-8")
    page = parse_page(body, "http://a.test/feed", "application/xml", [], "robot", ("feed",))
    assert [link.url for link in page.links] == links
    assert page.title == "F"


# content: seconds and URL (HTML standard, shared declarative refresh steps)
REFRESHES = {
    "plain": ("0;url=/x", (0, "/x")),
    "blanks": (" 0 ; URL = /x", (0, "/x")),
    "a comma": ("0,/x", (0, "/x")),
    "quotes": ("0; url='/x'", (0, "/x")),
    "quotes that do not end": ('0; url="/x', (0, "/x")),
    "no name": ("0; /x", (0, "/x")),
    "a fraction": ("0.5; url=/x", (0, "/x")),
    "no URL": ("5", (5, "")),
    "no number": ("url=/x", None),
    "nothing but a name": ("; url=/x", None),
    "negative": ("-1; url=/x", None),
}


@each_row(REFRESHES)
def test_refresh(content, found):
    assert refresh(content) == found


# Location: target (RFC 9110, 10.2.2; Fetch standard, location URL)
LOCATIONS = {
    "relative": ("x", "http://a.test/d/x"),
    "a fragment": ("/x#y", "http://a.test/x"),
    "of another scheme": ("//b.test/x", "http://b.test/x"),
    "blanks": (" /x ", "http://a.test/x"),
    "UTF-8": ("/\xc3\xa9", "http://a.test/%C3%A9"),
    "Latin-1": ("/\xe9", "http://a.test/%E9"),
    "a blank inside": ("/x y", "http://a.test/x%20y"),
    "backslashes": ("\\x\\y", "http://a.test/x/y"),
    "mail": ("mailto:a@b.test", None),
    "nothing": ("", None),
    "brackets": ("http://[bad/", None),
    "a port beyond 65535": ("http://a.test:99999/", None),
    "a host of two dots": ("http://a..test/", None),
}


@each_row(LOCATIONS)
def test_locations(location, target):
    reply = Reply(302, [("Location", location)])
    assert redirect_target("http://a.test/d/p", reply) == target
    assert outcome("http://a.test/d/p", reply, conditional=False) == ("redirected" if target else "bad_redirect")


@pytest.mark.parametrize(
    ("value", "found"),
    [
        ('</x>; rel="canonical"', [("/x", {"canonical"})]),
        ("</x>;rel=canonical,</y>;rel=next", [("/x", {"canonical"}), ("/y", {"next"})]),
        ('</x?a,b>; rel="next prev"; title="a, b"', [("/x?a,b", {"next", "prev"})]),
        ("</x>; REL=Next", [("/x", {"next"})]),
        ("</x>", [("/x", set())]),
        ("/x; rel=next", []),
    ],
)
def test_link_headers(value, found):
    assert [(link.target, set(link.relations)) for link in parse_link(value)] == found


@pytest.mark.parametrize(
    "reference", ["http://[bad/", "http://a.test:99999/", "http://a b/", "http:///", "http://%zz/"]
)
def test_malformed_urls_are_none(reference):
    assert canonicalize(reference, "http://a.test/") is None
