"""What each kind of content is read as."""

import doctest
import struct
from datetime import UTC, datetime

import pytest
from hypothesis import given, settings, strategies as st

from beamtrawl.transforms.kinds import pdf as pdf_kind
from beamtrawl.transforms.kinds.image import Size, read_size
from beamtrawl.transforms.kinds.pdf import Pdf
from beamtrawl.transforms.parsing.html_page import parse_page
from beamtrawl.transforms.parsing.registry import PARSE_ERROR, Kinds
from beamtrawl.transforms.parsing.robots_meta import Directives
from beamtrawl.transforms.parsing.source import Source
from beamtrawl.transforms.plugins import PluginError
from beamtrawl.transforms.sections.section import place
from tests.support.files import pdf, pdf_of, png
from tests.support.tables import each_row

# Stated here and not imported: a changed limit fails a test.
MAX_LINKS = 20_000

URL = "http://a.test/dir/file"
ALL = ("html", "text", "pdf", "feed", "xml", "json", "image")


def parse(body, content_type, kinds=ALL, headers=()):
    body = body.encode() if isinstance(body, str) else body
    return parse_page(body, URL, content_type, headers, "robot", kinds)


def error_of(page):
    return page.facts[PARSE_ERROR]


REPORT = pdf(
    ["Herring in March", "and cod in \\(April\\)"],
    info="/Title (Catch) /Author (A. Skipper) /Subject (Fish) /Keywords (cod) /CreationDate (D:20260305193000+09'00')",
    link="../boats?a=b",
    bookmark="Part one",
)


def test_a_pdf():
    page = parse(REPORT, "application/pdf", headers=[("X-Robots-Tag", "noindex"), ("Content-Language", "en-GB")])
    assert page.text == "Herring in March\nand cod in (April)"
    assert (page.title, page.description, page.keywords, page.headings) == ("Catch", "Fish", "cod", ["Part one"])
    assert page.facts == {"author": "A. Skipper", "pages": "2", "pages_read": "2"}
    assert page.published_at == datetime(2026, 3, 5, 10, 30, tzinfo=UTC)
    assert [link.url for link in page.links] == ["http://a.test/boats?a=b"]
    assert (page.media_type, page.charset, page.language) == ("application/pdf", "", "en")
    assert (page.noindex, page.nofollow) == (True, False)


def test_the_pages_of_a_pdf_are_sections_that_a_url_can_lead_to():
    page = parse(pdf(["Herring in March", "", "and cod in April"]), "application/pdf")
    assert page.text == "Herring in March\nand cod in April"
    assert [place(page.sections, page.text.index(word)).id for word in ("March", "cod")] == ["page=1", "page=3"]


def test_a_pdf_without_a_title_is_called_by_its_first_bookmark():
    assert parse(pdf(["x"], bookmark="Part one"), None).title == "Part one"


def test_a_broken_pdf_is_a_failed_document():
    page = parse(b"%PDF-1.7 and no more", None)
    assert (page.text, page.title, page.media_type) == ("", "", "application/pdf")
    assert error_of(page).startswith("ValueError: PdfiumError: Failed to load document")
    assert page.digest != parse(b"%PDF-1.7 and no less", None).digest


def source(body, media_type="application/pdf"):
    return Source(body, media_type, None, URL, "robot", Directives(), "")


def test_a_pdf_whose_process_does_not_answer_is_given_up():
    with pytest.raises(ValueError, match="the PDF process timed out"):
        Pdf(wait=0.0).parse(source(REPORT))


def nested(depth):
    """A PDF of one page that draws a form eight times, which draws another eight times, and so on."""

    def form(number, resources, content):
        head = f"/Type /XObject /Subtype /Form /BBox [0 0 999 999] /Resources << {resources} >> /Length {len(content)}"
        return number, f"<< {head} >>\nstream\n{content}\nendstream"

    page = "/MediaBox [0 0 999 999] /Contents 20 0 R /Resources << /XObject << /X 21 0 R >> >>"
    objects = {
        1: "<< /Type /Catalog /Pages 2 0 R >>",
        2: "<< /Type /Pages /Count 1 /Kids [10 0 R] >>",
        3: "<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>",
        4: "<< >>",
        10: f"<< /Type /Page /Parent 2 0 R {page} >>",
    }
    forms = [form(20 + n, f"/XObject << /X {21 + n} 0 R >>", "/X Do " * (8 if n else 1)) for n in range(depth)]
    last = form(20 + depth, "/Font << /F 3 0 R >>", "BT /F 9 Tf 9 99 Td (end) Tj ET")
    return pdf_of(objects | dict([*forms, last]))


def test_a_page_that_takes_too_much_cpu_time_is_given_up_and_the_next_pdf_is_read():
    assert Pdf().parse(source(nested(3))).text == "end"
    parser = Pdf(seconds=0.2, patience=0.2)  # a second: so much memory that it is refused takes two
    with pytest.raises(ValueError, match="the PDF process timed out"):
        parser.parse(source(nested(8)))
    assert parser.parse(source(REPORT)).title == "Catch"


def test_pages_that_there_is_no_time_for_are_left_out():
    page = Pdf(seconds=0.0, patience=60.0).parse(source(REPORT))
    assert (page.text, page.facts["pages"], page.facts["pages_read"]) == ("", "2", "0")
    assert page.truncated == "text"
    assert parse(REPORT, "application/pdf").truncated == ""


def test_a_process_stays_whatever_memory_its_parent_has_used():
    parser, ballast = Pdf(), bytearray(b"x") * (600 << 20)
    parser.parse(source(REPORT))
    del ballast
    assert parser._guarded.process is not None


def test_a_process_that_ends_is_replaced():
    parser = Pdf()
    parser.parse(source(REPORT))
    parser._guarded.process.kill()
    with pytest.raises(ValueError, match="the PDF process ended with -9"):
        parser.parse(source(REPORT))
    assert parser.parse(source(REPORT)).title == "Catch"


RSS = """<?xml version="1.0"?><rss version="2.0" xmlns:content="c"><channel><title>Harbour &amp; sea</title>
<link>/home</link><description>News</description><language>en-gb</language>
<pubDate>Thu, 05 Mar 2026 10:30:00 GMT</pubDate>
<item><title>Cod</title><link>http://a.test/cod</link><description>short</description>
<content:encoded><![CDATA[<p>Cod &amp; <b>more</b>.<script>x</script>]]></content:encoded></item>
<item><title>A &lt;i&gt;herring&lt;/i&gt;</title>
<link>herring?a=1&b=2</link><description>&lt;p&gt;Silver&amp;nbsp;fish</description></item>
<item><description>no link</description></item></channel></rss>"""
ATOM = """<feed xmlns="http://www.w3.org/2005/Atom" xml:lang="de"><title>Hafen</title><subtitle>Neues</subtitle>
<link rel="self" href="/feed"/><link href="/"/><updated>2026-03-05T19:30:00+09:00</updated>
<entry><title>Dorsch</title><link rel="alternate" href="dorsch"/><link rel="edit" href="edit"/><summary>kurz</summary>
<content type="xhtml"><div xmlns="http://www.w3.org/1999/xhtml">lang</div></content></entry></feed>"""
RDF = """<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#" xmlns="http://purl.org/rss/1.0/">
<channel><title>Old</title><link>http://a.test/old</link></channel><item><title>One</title><link>one</link></item></rdf:RDF>"""

# body, title, description, headings, text, language, links as (path, anchor)
FEEDS = {
    "RSS 2.0": (
        *(RSS, "Harbour & sea", "News", ["Cod", "A herring"]),
        *("Cod\nCod & more.\nA herring\nSilver fish\nno link", "en"),
        [("/home", "Harbour & sea"), ("/cod", "Cod"), ("/dir/herring?a=1&b=2", "A herring")],
    ),
    "Atom": (
        *(ATOM, "Hafen", "Neues", ["Dorsch"], "Dorsch\nlang", "de"),
        [("/", "Hafen"), ("/dir/dorsch", "Dorsch")],
    ),
    "RSS 1.0": (RDF, "Old", "", ["One"], "One", "", [("/old", "Old"), ("/dir/one", "One")]),
    "Atom: text is literal, and XHTML has blocks (RFC 4287, 3.1.1)": (
        '<feed xmlns="http://www.w3.org/2005/Atom"><title>The &lt;title&gt;</title>'
        '<subtitle type="xhtml">a<div>b&lt;c</div></subtitle>'
        "<entry><title>Use of &lt;canvas&gt; &amp;amp; co</title><link href='b'/><summary>short</summary>"
        '<content type="xhtml"><x:div xmlns:x="http://www.w3.org/1999/xhtml"><x:p>one</x:p>'
        "<x:p>two &lt;br&gt;</x:p>three<x:script/></x:div></content></entry></feed>",
        *("The <title>", "a b<c", ["Use of <canvas> &amp; co"], "Use of <canvas> &amp; co\none\ntwo <br>\nthree", ""),
        [("/dir/b", "Use of <canvas> &amp; co")],
    ),
    "Atom: Base64 is no text (RFC 4287, 4.1.3.3)": (
        '<feed xmlns="http://www.w3.org/2005/Atom"><title>A</title>'
        '<entry><title>B</title><summary>a map</summary><content type="image/png">iVBORw0KGgo=</content></entry>'
        '<entry><title>C</title><content type="text/plain">words</content></entry>'
        '<entry><title>D</title><content type="application/xhtml+xml; charset=utf-8">words</content></entry>'
        '<entry><title>E</title><content mode="base64" type="text/html">RXhhbXBsZQ==</content></entry></feed>',
        *("A", "", ["B", "C", "D", "E"], "B\na map\nC\nwords\nD\nwords\nE", "", []),
    ),
    "RSS: elements of other namespaces stand back, and markup that was not escaped has blocks": (
        '<rss xmlns:media="http://search.yahoo.com/mrss/"><channel><title>A</title><item><media:title>m</media:title>'
        "<title>B</title><link>b</link><media:content><media:title>Logo</media:title></media:content>"
        "<media:description>m</media:description><description><p>one</p><p>two</p></description></item></channel></rss>",
        *("A", "", ["B"], "B\none\ntwo", "", [("/dir/b", "B")]),
    ),
    "RSS: an element of another namespace serves where there is no other": (
        '<rss xmlns:dc="http://purl.org/dc/elements/1.1/"><channel><title>A</title><item><dc:title>B</dc:title>'
        "<dc:description>words</dc:description></item></channel></rss>",
        *("A", "", ["B"], "B\nwords", "", []),
    ),
    "Atom: a group of Media RSS serves where there is no other (kurtmckee/feedparser, media_group.xml)": (
        '<feed xmlns="http://www.w3.org/2005/Atom" xmlns:media="http://search.yahoo.com/mrss/"><title>A</title><entry>'
        '<title>B</title><link href="b"/><media:group><media:title>m</media:title><media:content url="m.mp4"/>'
        "<media:description>words</media:description></media:group></entry></feed>",
        *("A", "", ["B"], "B\nwords", "", [("/dir/b", "B")]),
    ),
    "broken": (
        "<rss><channel><title>A</title></x><item><title>B</title><link>b</item><y>\x00",
        *("A", "", ["B"], "B", "", [("/dir/b", "B")]),
    ),
}


@pytest.mark.parametrize("content_type", ["application/rss+xml", "application/atom+xml", "text/xml", "application/xml"])
@pytest.mark.parametrize(
    ("body", "title", "description", "headings", "text", "language", "links"), FEEDS.values(), ids=FEEDS
)
def test_feeds(content_type, body, title, description, headings, text, language, links):
    page = parse(body, content_type)
    assert (page.title, page.description, page.headings) == (title, description, headings)
    assert (page.text, page.language) == (text, language)
    assert [(link.url.removeprefix("http://a.test"), link.anchor) for link in page.links] == links
    assert page.facts == {"entries": str(len(headings) + (title == "Harbour & sea"))}


def test_a_feed_has_a_date():
    moment = datetime(2026, 3, 5, 10, 30, tzinfo=UTC)
    assert [parse(body, "text/xml").published_at for body in (RSS, ATOM, RDF)] == [moment, moment, None]


BOMB = "<!DOCTYPE a [<!ENTITY b 'bbbbbbbbbb'><!ENTITY c '&b;&b;&b;'><!ENTITY f SYSTEM 'file:///etc/passwd'>]>"

# body, content type, title, text, facts
OTHERS = {
    "XML": (
        *("<?xml version='1.0' encoding='koi8-r'?><a><title>т</title><b>one</b> two<!-- x --></a>".encode("koi8-r"),),
        *("application/xml", "т", "т\none\ntwo", {"root": "a"}),
    ),
    "XML with entities of its own": (f"{BOMB}<a>1&b;&c;&f;2&amp;</a>", "text/xml", "", "12&", {"root": "a"}),
    "JSON": (
        '{"title": "T", "n": 1, "list": ["a b", {"x": "c", "y": null}], "z": "\\ud800d"}',
        *("application/json; charset=utf-8", "T", "T\na b\nc\n?d", {}),
    ),
    "JSON of one string": ('\ufeff"a"', "application/json", "", "a", {}),
    "JSON of no string": ("[1, 2]", "application/json", "", "", {}),
    "text": ("one\n\n  two ", "text/plain", "", "one\ntwo", {}),
    "an image": (png([[0, 1, 2]]), "image/png", "", "", {"format": "png", "width": "3", "height": "1"}),
}


@each_row(OTHERS)
def test_other_kinds(body, content_type, title, text, facts):
    page = parse(body, content_type)
    assert (page.title, page.text, page.facts) == (title, text, facts)


# body, content type, error
FAILURES = {
    "no JSON": ("{", "application/json", "JSONDecodeError: Expecting property name"),
    "JSON beyond all depth": ("[" * 100_000, "application/json", "RecursionError: "),
    "no XML": ("", "application/xml", "ValueError: no XML element"),
    "no image": (b"GIF87", "image/gif", "ValueError: not an image of a supported format"),
    "no PDF": ("x", "application/pdf", "ValueError: PdfiumError: "),
}


@each_row(FAILURES)
def test_what_is_not_what_it_says_is_a_failed_document(body, content_type, error):
    page = parse(body, content_type)
    assert error_of(page).startswith(error)
    assert page.text == ""


def riff(kind, data):
    return b"RIFF" + bytes(4) + b"WEBP" + kind + struct.pack("<I", len(data)) + data


JPEG = b"\xff\xd8\xff\xe0\x00\x04ab\xff\xff\xc4\x00\x03x\xff\xc2\x00\x0b\x08\x00\x02\x01\x00"
SIZES = {
    "PNG": (png([[0] * 300] * 2), Size("png", 300, 2)),
    "GIF": (b"GIF89a" + struct.pack("<HH", 300, 2), Size("gif", 300, 2)),
    "BMP": (b"BM" + bytes(12) + struct.pack("<Iii", 40, 300, -2), Size("bmp", 300, 2)),
    "BMP of old": (b"BM" + bytes(12) + struct.pack("<IHH", 12, 300, 2), Size("bmp", 300, 2)),
    "JPEG": (JPEG, Size("jpeg", 256, 2)),
    "WebP, lossy": (riff(b"VP8 ", b"\0\0\0\x9d\x01\x2a" + struct.pack("<HH", 300, 2)), Size("webp", 300, 2)),
    "WebP, lossless": (riff(b"VP8L", b"\x2f" + struct.pack("<I", 299 | 1 << 14)), Size("webp", 300, 2)),
    "WebP, extended": (riff(b"VP8X", bytes(4) + b"\x2b\x01\0\x01\0\0"), Size("webp", 300, 2)),
    "cut": (png([[0]])[:20], None),
    "JPEG without a frame": (b"\xff\xd8\xff" + b"\xe0\0\0\xff" * 9, None),
    "nothing": (b"", None),
}


@each_row(SIZES)
def test_images_have_a_size(body, size):
    assert read_size(body) == size


@given(st.sampled_from([JPEG, *(body for body, _ in SIZES.values())]), st.binary(max_size=40), st.integers(0, 40))
def test_any_bytes_have_a_size_or_none(start, rest, cut):
    size = read_size(start[:cut] + rest)
    assert size is None or (size.width >= 0 and size.height >= 0)


@settings(max_examples=100)
@given(st.binary(max_size=200) | st.text(), st.sampled_from([RSS, ATOM, RDF, BOMB, ""]), st.integers(0, 600))
def test_any_bytes_are_a_document_of_their_kind(rest, start, cut):
    body = start[:cut].encode() + (rest.encode("utf-8", "replace") if isinstance(rest, str) else rest)
    for content_type in ("text/xml", "application/json", "application/rss+xml", "image/png"):
        page = parse(body, content_type)
        if page is not None:
            for text in (
                page.title,
                page.text,
                *page.facts.values(),
                *(part for link in page.links for part in link[:4]),
            ):
                text.encode()


def test_a_kind_that_is_not_wanted_is_no_document():
    assert parse(REPORT, "application/pdf", kinds=("html", "text")) is None
    assert parse("<a/>", "text/xml", kinds=("html", "feed")) is None
    assert parse("<a/>", "text/xml", kinds=("feed", "xml")).facts == {"root": "a"}


def test_kinds_say_what_is_asked_for_and_followed():
    kinds = Kinds(["html", "text", "image"])
    assert {"text/html", "text/plain", "image/png"} <= kinds.media_types
    assert {"html", "txt", "png"} <= kinds.extensions
    assert kinds.link_kinds == {"img"}
    assert Kinds(["html", "text"]).accept == "text/html,application/xhtml+xml,text/plain;q=0.8,*/*;q=0.1"
    assert Kinds(["text"]).accept == "text/plain;q=0.8,*/*;q=0.1"
    assert Kinds(["html", "markdown", "epub"]).accept == (
        "text/html,application/xhtml+xml,application/epub+zip;q=0.8,text/markdown;q=0.8,text/x-markdown;q=0.8,*/*;q=0.1"
    )
    office = Kinds(["office"])
    assert office.accept.count("opendocument") == office.accept.count("openxmlformats") == 3
    assert "macroenabled" not in office.accept
    assert {"docm", "docx", "ods"} <= office.extensions


def test_a_kind_that_is_not_installed_is_named_with_those_that_are():
    with pytest.raises(PluginError) as caught:
        Kinds(["html", "doc"])
    assert str(caught.value) == (
        'no "doc" is installed among beamtrawl.parsers; there are: '
        "epub, feed, html, image, json, markdown, office, pdf, text, xml"
    )


def test_a_page_holds_what_can_be_stored_within_bounds():
    page = source(b"").page(
        "a\ud800 b\n\n  c",
        title=" t\nu\udfff",
        headings=["", " h "],
        links=[("../x", " one\n"), ("/x", "two"), ("javascript:a", ""), (URL, ""), ("\ud800", "")],
        facts={"a": "\ud800", "b": "", "c": "x" * 9999},
    )
    assert (page.text, page.title, page.headings) == ("a? b\nc", "t u?", ["h"])
    assert [(link.url, link.anchor) for link in page.links] == [("http://a.test/x", "one")]
    assert {name: len(value) for name, value in page.facts.items()} == {"a": 1, "c": 2000}
    many = source(b"").page("", links=((f"/{n}", "") for n in range(MAX_LINKS + 5)))
    assert len(many.links) == MAX_LINKS


def test_examples_in_docstrings():
    assert doctest.testmod(pdf_kind).failed == 0


def test_the_first_thousand_entries_of_a_feed_are_read():
    entries = "".join(f"<item><title>Entry {n}</title><link>/{n}</link></item>" for n in range(1_001))
    page = parse(f"<rss><channel>{entries}</channel></rss>", "application/rss+xml")
    assert (page.facts, page.links[-1].url) == ({"entries": "1000"}, "http://a.test/999")
