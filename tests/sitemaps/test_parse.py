"""Sitemaps in all forms, as people really write them."""

import base64
import doctest
import gzip
import time
from collections.abc import Callable
from datetime import UTC, datetime

import pytest
from hypothesis import given, strategies as st

from beamtrawl.transforms.parsing import dates
from beamtrawl.transforms.parsing.dates import feed_date
from beamtrawl.transforms.sitemaps.parse import Entry, Sitemap, parse_sitemap
from beamtrawl.transforms.urls.canonical import canonicalize
from tests.support.conformance import each_case
from tests.support.tables import each_row

# Stated here and not imported: a changed limit fails a test.
MAX_BYTES = 50 << 20
MAX_ENTRIES = 50_000

URL = "http://www.example.com/maps/sitemap.xml"
SITE = "http://www.example.com"

OTHERWISE = {
    "07": "the case leaves out all entries of another host; here that is decided later, by robots.txt",
    "18": "what can be read of broken XML counts; the case wants an error",
    "34": "a URL may lie outside of the sitemap's directory (docs/sitemaps.md)",
    "42": "a document type declaration is passed over; the case wants an error",
    "46": "a wrong namespace is taken as well, as case 47 has it",
}


@each_case("sitemaps", "sitemap")
def test_conformance_but_for_the_named_exceptions(row: dict) -> None:
    given_, expected = row["input"], row["expected"]
    body = given_["body"].encode() if "body" in given_ else base64.b64decode(given_["body_b64"])
    found = parse_sitemap(body, given_["url"])
    assert (told(found) == wanted(expected)) is (row["id"][-2:] not in OTHERWISE)


def told(found: Sitemap | None) -> object:
    """What the parser found, in the terms of the cases."""
    if found is None:
        return None
    entries = [(entry.url, _milliseconds(entry.lastmod)) for entry in found.entries]
    facts = [(entry.changefreq, 0.5 if entry.priority is None else entry.priority) for entry in found.entries]
    return found.form, entries, facts if found.form != "index" else None


def wanted(expected: dict) -> object:
    if "error" in expected:
        return None
    form = {"XML": "xml", "INDEX": "index", "TEXT": "text", "RSS": "rss", "ATOM": "atom"}[expected["type"]]
    rows = expected["sitemaps" if expected["index"] else "urls"]
    facts = [(row["changefreq"] and row["changefreq"].lower(), row["priority"]) for row in rows if "priority" in row]
    return form, [(row["loc"], row["lastmod_ms"]) for row in rows], None if expected["index"] else facts


URLSET = "<urlset><url><loc>{}</loc></url></urlset>"

# body, form, URLs
FORMS = {
    "nothing": ("", None),
    "prose": ("This is no sitemap.", None),
    "an HTML page": ("<!doctype html><title>Not found</title><p>http://www.example.com/a", None),
    "XHTML": ('<?xml version="1.0"?><html xmlns="http://www.w3.org/1999/xhtml"><url><loc>/a</loc></url></html>', None),
    "an XML file": ("<catalog><url><loc>/a</loc></url></catalog>", None),
    "binary": (bytes(range(256)), None),
    "an empty urlset": ("<urlset/>", ("xml", [])),
    "no namespace": (URLSET.format("/a"), ("xml", ["/a"])),
    "prefixed": ("<s:urlset xmlns:s='x'><s:url><s:loc>/a</s:loc></s:url></s:urlset>", ("xml", ["/a"])),
    "prefixed with nothing declared": ("<s:urlset><s:url><s:loc>/a</s:loc></s:url></s:urlset>", ("xml", ["/a"])),
    "white space and a mark first": (
        "\ufeff\n <?xml version='1.0'?>" + URLSET.format("\n\u2003/a\xa0\n"),
        ("xml", ["/a"]),
    ),
    "UTF-16": (b"\xff\xfe" + URLSET.format("/\u00fc").encode("utf-16le"), ("xml", ["/%C3%BC"])),
    "Latin-1, declared": (
        ("<?xml version='1.0' encoding='ISO-8859-1'?>" + URLSET.format("/\u00fc")).encode("latin-1"),
        ("xml", ["/%C3%BC"]),
    ),
    "UTF-8, declared as UTF-16": ("<?xml version='1.0' encoding='UTF-16'?>" + URLSET.format("/a"), ("xml", ["/a"])),
    "an &": (URLSET.format("/a?b=1&c=2&amp;d=3&#38;e=4&copy=5"), ("xml", ["/a?b=1&c=2&d=3&e=4&copy=5"])),
    "an & in CDATA": (URLSET.format("<![CDATA[/a?b=1&c=2]]>"), ("xml", ["/a?b=1&c=2"])),
    "a name of HTML": (URLSET.format("/caf&eacute;"), ("xml", ["/caf%C3%A9"])),
    "a control character": (URLSET.format("/a\x0bb\x01"), ("xml", ["/a%20b"])),
    "relative": (URLSET.format("b/../a?c#d"), ("xml", ["/maps/a?c"])),
    "the host without a scheme": (URLSET.format("www.Example.com/a"), ("xml", ["/a"])),
    "no URL": (URLSET.format("mailto:me@example.com"), ("xml", [])),
    "several loc": ("<urlset><url><loc>/a</loc><loc>/b</loc></url></urlset>", ("xml", ["/a", "/b"])),
    "a url never closed": ("<urlset><url><loc>/a</loc><url><loc>/b</loc></urlset>", ("xml", ["/a", "/b"])),
    "cut short": ("<urlset><url><loc>/a</loc></url><url><loc>/b</loc><last", ("xml", ["/a", "/b"])),
    "pictures": (
        "<urlset><url><image:image><image:loc>/i.png</image:loc></image:image><loc>/a</loc></url></urlset>",
        ("xml", ["/a"]),
    ),
    "pictures beside the page, in an undeclared namespace": (
        "<urlset><url><image:loc>/i.png</image:loc><loc>/a</loc><image:loc>/j.png</image:loc></url></urlset>",
        ("xml", ["/a"]),
    ),
    "pictures beside the page, declared": (
        "<urlset xmlns='s' xmlns:i='i'><url><i:loc>/i.png</i:loc><loc>/a</loc><i:url>/j.png</i:url></url></urlset>",
        ("xml", ["/a"]),
    ),
    "entries without namespace in one": (
        "<urlset xmlns='s'><url xmlns=''><loc>/a</loc></url><url><loc xmlns=''>/b</loc></url></urlset>",
        ("xml", ["/a", "/b"]),
    ),
    "a feed with links of others": (
        "<rss xmlns:x='x'><item><x:link>/x</x:link><link>/a</link><x:id>http://www.example.com/y</x:id></item></rss>",
        ("rss", ["/a"]),
    ),
    "RSS 1.0": (
        "<r:RDF xmlns:r='r' xmlns='rss'><channel><link>/</link></channel><item><link>/a</link></item></r:RDF>",
        ("rss", ["/a"]),
    ),
    "an index": ("<sitemapindex><sitemap><loc>/a</loc></sitemap></sitemapindex>", ("index", ["/a"])),
    "an index without loc": ("<sitemapindex><sitemap>/a</sitemap></sitemapindex>", ("index", ["/a"])),
    "text": (
        f"{SITE}/a\r\n\r\n{SITE}/b?x=<y>\nhttps://else.where/",
        ("text", ["/a", "/b?x=%3Cy%3E", "https://else.where/"]),
    ),
    "text with a comment": (f"{SITE}/a\n# all for now", ("text", ["/a"])),
    "gzip": (gzip.compress(URLSET.format("/a").encode()), ("xml", ["/a"])),
    "gzip, cut short": (gzip.compress(f"{SITE}/a\n{SITE}/b\n".encode())[:-9], ("text", ["/a", "/b"])),
    "gzip of two members": (
        gzip.compress(f"{SITE}/a\n".encode()) + gzip.compress(f"{SITE}/b\n".encode()),
        ("text", ["/a", "/b"]),
    ),
    "what only starts as gzip": (b"\x1f\x8b\x08" + bytes(99), None),
    "RSS": ("<rss><channel><link>/</link><item><link>/a</link><guid>/b</guid></item></channel></rss>", ("rss", ["/a"])),
    "RSS by guid": (f"<rss><item><guid>{SITE}/b</guid></item><item><guid>12</guid></item></rss>", ("rss", ["/b"])),
    "Atom": (
        "<feed><link href='/'/><entry><link rel='edit' href='/e'/><link href='/a'/><link href='/b'/></entry></feed>",
        ("atom", ["/a"]),
    ),
    "an entity of its own": (
        '<!DOCTYPE u [<!ENTITY x "/x"><!ENTITY f SYSTEM "file:///etc/hostname">]>' + URLSET.format("/a&x;&f;"),
        ("xml", ["/a"]),
    ),
}


@each_row(FORMS)
def test_forms(body: str | bytes, expected: tuple[str, list[str]] | None) -> None:
    found = parse_sitemap(body if isinstance(body, bytes) else body.encode(), URL)
    assert (found and (found.form, [entry.url.removeprefix(SITE) for entry in found.entries])) == expected


def test_an_entry_keeps_what_makes_sense() -> None:
    fields = "<loc>/a</loc><lastmod>2026-03-05</lastmod><changefreq> Daily </changefreq><priority>0,8</priority>"
    others = "<loc>/b</loc><lastmod>soon</lastmod><changefreq>often</changefreq><priority>7</priority>"
    found = parse_sitemap(f"<urlset><url>{fields}</url><url>{others}</url></urlset>".encode(), URL)
    moment = datetime(2026, 3, 5, tzinfo=UTC)
    foreign = "<x:lastmod>2027-01-01</x:lastmod><x:priority>0.1</x:priority><x:changefreq>never</x:changefreq>"
    assert found == parse_sitemap(f"<urlset><url>{foreign}{fields}</url><url>{others}</url></urlset>".encode(), URL)
    dated = parse_sitemap(b"<rss><item><link>/a</link><dc:date>2026-03-05</dc:date></item></rss>", URL)
    assert dated and dated.entries == [Entry(f"{SITE}/a", moment)]
    assert found == Sitemap("xml", [Entry(f"{SITE}/a", moment, "daily", 0.8), Entry(f"{SITE}/b")], 0, 0)


def test_entries_beyond_the_limit_are_counted_and_not_kept() -> None:
    body = "<urlset><url/>" + "<url><loc>/a</loc></url>" * 5 + "<url><loc>data:x</loc></url></urlset>"
    assert parse_sitemap(body.encode(), URL, max_entries=3) == Sitemap("xml", [Entry(f"{SITE}/a")] * 3, 1, 3)


HOSTILE: dict[str, Callable[[], bytes]] = {
    "a bomb of gzip": lambda: gzip.compress(gzip.compress(bytes(10 * MAX_BYTES), 9), 9),
    "a bomb of URLs": lambda: gzip.compress(f"{SITE}/a\n".encode() * (3 * MAX_BYTES // 25)),
    "elements": lambda: b"<urlset>" + b"<a/>" * 6_000_000,
    "depth": lambda: b"<urlset>" + b"<url>" * 1_000_000,
    "one long field": lambda: b"<urlset><url><loc>/" + b"a" * 30_000_000,
    "sections that never end": lambda: b"<urlset>" + b"<![CDATA[" * 1_000_000,
    "declarations": lambda: b"<?xml " * 1_000_000,
    "blanks": lambda: b"<urlset><url><loc>" + b" " * 30_000_000,
    "references": lambda: b"<urlset><url><loc>" + b"&" * 5_000_000,
    "laughs": lambda: (
        b"<!DOCTYPE u [<!ENTITY a0 'ha'>"
        + b"".join(b"<!ENTITY a%d '%s'>" % (n + 1, b"&a%d;" % n * 10) for n in range(12))
        + b"]><urlset><url><loc>&a12;</loc></url></urlset>"
    ),
    "laughs of parameters": lambda: (
        b"<!DOCTYPE u [<!ENTITY % a0 'ha'>"
        + b"".join(b"<!ENTITY %% a%d '%s'>" % (n + 1, b"&#37;a%d;" % n * 10) for n in range(12))
        + b"%a12;]><urlset/>"
    ),
    "lines": lambda: b"http://www.example.com/\n" + b"x\n" * 5_000_000,
}


@pytest.mark.slow("large inputs")
@pytest.mark.parametrize("make", HOSTILE.values(), ids=HOSTILE)
def test_hostile_bodies_cost_bounded_time(make: Callable[[], bytes]) -> None:
    body = make()
    started = time.process_time()
    found = parse_sitemap(body, URL)
    assert time.process_time() - started < 60  # 12 at most on an idle machine; the laughs would take hours
    assert found is None or len(found.entries) <= MAX_ENTRIES


PIECES = [
    *(
        "<urlset>",
        "<url>",
        "</url>",
        "<loc>",
        "</loc>",
        "<lastmod>",
        "<sitemapindex>",
        "<sitemap>",
        "<feed>",
        "<entry>",
    ),
    *(
        "<link href='",
        "'/>",
        "<rss>",
        "<item>",
        "<!DOCTYPE x [",
        "<!ENTITY a '",
        "&a;",
        "&",
        "<![CDATA[",
        "]]>",
        "<!--",
    ),
    *(
        "<?xml version='1.0' encoding='",
        "utf-16",
        "'?>",
        "http://a.test/",
        "2026-01-01",
        "\n",
        "\x00",
        "\ud800",
        "\ufeff",
    ),
]


@given(
    st.lists(st.sampled_from(PIECES) | st.text(max_size=5)),
    st.sampled_from(["utf-8", "utf-16", "latin-1"]),
    st.booleans(),
)
def test_whatever_stands_in_it_every_entry_is_canonical(pieces: list[str], charset: str, zipped: bool) -> None:
    body = "".join(pieces).encode(charset, "replace" if charset == "latin-1" else "surrogatepass")
    found = parse_sitemap(gzip.compress(body) if zipped else body, URL)
    for entry in found.entries if found else ():
        assert canonicalize(entry.url) == entry.url


@given(st.binary())
def test_any_bytes_are_taken(body: bytes) -> None:
    parse_sitemap(body, URL)
    parse_sitemap(b"\x1f\x8b\x08" + body, URL)


# text, in UTC
DATES = [
    ("2026", "2026-01-01T00:00:00"),
    ("2026-03", "2026-03-01T00:00:00"),
    ("2026-03-05", "2026-03-05T00:00:00"),
    ("2026-03-05T10:20+09:00", "2026-03-05T01:20:00"),
    ("2026-03-05T10:20Z", "2026-03-05T10:20:00"),
    ("2026-03-05T10:20:30Z", "2026-03-05T10:20:30"),
    ("2026-03-05T10:20:30.45-01:30", "2026-03-05T11:50:30.450000"),
    # as people write
    (" 2026-03-05 ", "2026-03-05T00:00:00"),
    ("20260305", "2026-03-05T00:00:00"),
    ("2026-3-5", "2026-03-05T00:00:00"),
    ("2026/03/05", "2026-03-05T00:00:00"),
    ("2026-03-05 10:20:30", "2026-03-05T10:20:30"),
    ("2026-03-05 10:20:30 UTC", "2026-03-05T10:20:30"),
    ("2026-03-05T10:20:30 +0900", "2026-03-05T01:20:30"),
    ("2026-03-05t10:20:30z", "2026-03-05T10:20:30"),
    ("2026-03-05T10:20:30.1234567890Z", "2026-03-05T10:20:30.123456"),
    ("2026-03-05T10:20:60Z", "2026-03-05T10:20:59"),
    ("2026-03-05T10:20:30+09", "2026-03-05T01:20:30"),
    ("Thu, 05 Mar 2026 10:20:30 +0900", "2026-03-05T01:20:30"),
    ("5 Mar 26 10:20:30 GMT", "2026-03-05T10:20:30"),
    # nothing that makes sense
    ("", None),
    ("05.03.2026", None),
    ("2026-13-01", None),
    ("2026-02-30", None),
    ("0000-00-00", None),
    ("-001-11-30T00:00:00+00:00", None),
    ("1601-01-01T00:00:00Z", None),
    ("9999-12-31T23:59:59-01:00", None),
    ("2026-03-05T25:00Z", None),
    ("2026-03-05T10:20:30+99:99", None),
    ("05 Mar 2026 10:20:30", None),
    ("1772706030", None),
]


@pytest.mark.parametrize(("text", "moment"), DATES)
def test_dates(text: str, moment: str | None) -> None:
    assert (found := feed_date(text)) is None or found.tzinfo is UTC
    assert (found and found.isoformat()) == (moment and moment + "+00:00")


@given(
    st.text(max_size=40)
    | st.from_regex(r"\d{1,4}-\d{1,2}-\d{1,2}[T ]\d\d:\d\d(:\d\d)?([+-]\d\d:?\d\d)?", fullmatch=True)
)
def test_any_text_may_be_a_date(text: str) -> None:
    feed_date(text)


def test_examples() -> None:
    assert doctest.testmod(dates).failed == 0


def _milliseconds(moment: datetime | None) -> int | None:
    return None if moment is None else round(moment.timestamp() * 1000)
