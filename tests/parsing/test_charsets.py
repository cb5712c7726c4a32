"""Bodies become text: media types are read as the MIME Sniffing standard does, charsets as browsers do."""

import base64
import codecs
import doctest
import re

import pytest
from hypothesis import given, strategies as st

from beamtrawl.transforms.http import media_types
from beamtrawl.transforms.http.reply import content_type
from beamtrawl.transforms.kinds.image import Image
from beamtrawl.transforms.parsing import charsets
from tests.support import encoding_standard
from tests.support.conformance import each_case
from tests.support.tables import each_row


@each_case("charset", "html_sniff")
def test_pages_declare_their_charset(row):
    declared = charsets.declared(base64.b64decode(row["input"]["html_b64"]), None, is_html=True)
    assert (declared or "windows-1252") == row["expected"].lower()


@each_case("charset", "label")
def test_labels_mean_what_the_standard_says(row):
    declared = charsets.declared(b"", row["input"]["label"], is_html=False)
    assert declared == (row["expected"] and row["expected"].lower())


def test_each_label_of_the_standard_means_its_encoding():
    assert len(encoding_standard.LABELS) == 228
    for label, name in encoding_standard.LABELS.items():
        assert {charsets.named(form) for form in (label, label.upper(), f"\t\n\f\r {label} ")} == {name}


@pytest.mark.parametrize("label", ["", "nonsense", "utf-8\0", "latin1 x", "\xa0utf-8", "ut\udcfff-8", "x" * 10_000])
def test_other_labels_mean_nothing(label):
    assert charsets.named(label) is None


def test_every_sequence_of_bytes_becomes_what_the_index_tables_say():
    """But for one private character of gb18030 (docs/decisions/field.md)."""
    for name, digest in encoding_standard.DIGESTS.items():
        data = encoding_standard.sequences(name)
        standard = codecs.decode(data, f"whatwg-{name}").replace("\0", "")
        assert encoding_standard.digest(standard) == digest
        expected = standard.replace("\ue7c7", "ḿ") if name in ("gbk", "gb18030") else standard
        assert charsets.decode(data, name, is_html=False) == (expected, name)


KOREAN = "안녕하세요. 이 문서는 한국어로 쓰여 있습니다. " * 5
JAPANESE = "これは日本語で書かれた文章です。" * 5
FRENCH = "Le café où nous étions était très élégant à cette époque-là. " * 5

# body, HTTP charset, is HTML: text, charset
DECODED = {
    "nothing": (b"", None, True, "", "utf-8"),
    "ASCII is UTF-8": (b"plain", None, False, "plain", "utf-8"),
    "undeclared UTF-8": (KOREAN.encode(), None, False, KOREAN, "utf-8"),
    "UTF-8 that was cut within a character": ("가나".encode()[:-1], None, False, "가", "utf-8"),
    "a mark goes before the header": (b"\xef\xbb\xbf" + KOREAN.encode(), "euc-kr", True, KOREAN, "utf-8"),
    "UTF-16 by its mark": (b"\xff\xfe" + KOREAN.encode("utf-16le"), None, True, KOREAN, "utf-16le"),
    "the header goes before the page": (
        b"<meta charset=euc-kr>\xc3\xa9",
        "utf-8",
        True,
        "<meta charset=euc-kr>é",
        "utf-8",
    ),
    "an unknown header counts for nothing": (b"<meta charset=big5>", "x", True, "<meta charset=big5>", "big5"),
    "plain text declares nothing": (b"<meta charset=big5>", None, False, "<meta charset=big5>", "utf-8"),
    "the web's name for Latin-1": (b"\x93x\x94", "iso-8859-1", False, "“x”", "windows-1252"),
    "an XML declaration": (
        b'<?xml version="1.0" encoding="koi8-r"?>\xc1',
        None,
        True,
        '<?xml version="1.0" encoding="koi8-r"?>а',
        "koi8-r",
    ),
    "a late declaration": (
        b" " * 60_000 + b"<meta charset=koi8-r>",
        None,
        True,
        " " * 60_000 + "<meta charset=koi8-r>",
        "koi8-r",
    ),
    "too late a declaration": (
        b" " * 66_000 + b"<meta charset=koi8-r>",
        None,
        True,
        " " * 66_000 + "<meta charset=koi8-r>",
        "utf-8",
    ),
    "bytes that are not allowed": (b"a\xffb", "utf-8", False, "a\ufffdb", "utf-8"),
    "null characters": (b"a\0b", "utf-8", False, "ab", "utf-8"),
    "null characters in UTF-16": ("a\0b".encode("utf-16-le"), "utf-16le", False, "ab", "utf-16le"),
    "guessed Korean": (KOREAN.encode("euc-kr"), None, False, KOREAN, "euc-kr"),
    "guessed Japanese": (JAPANESE.encode("shift_jis"), None, False, JAPANESE, "shift_jis"),
    "guessed French": (FRENCH.encode("cp1252"), None, False, FRENCH, "windows-1252"),
}


@each_row(DECODED)
def test_decode(body, http, is_html, text, charset):
    assert charsets.decode(body, http, is_html) == (text, charset)


LABELS = st.none() | st.sampled_from(sorted(encoding_standard.LABELS)) | st.text(st.characters(codec="utf-8"))


@given(st.binary(max_size=200), LABELS, st.booleans())
def test_any_bytes_become_text_that_can_be_stored(body, label, is_html):
    text, charset = charsets.decode(body, label, is_html)
    text.encode()
    assert charsets.named(charset) == charset


PARSED_OTHERWISE = {
    'text/html;charset="";charset=GBK': ("text/html", "gbk", "an empty charset says nothing; the next one does"),
}


@each_case("media_types", "parse_mime")
def test_content_types_are_parsed_by_the_standard(row):
    essence, label = media_types.parse(row["input"]["content_type"])
    encoding = charsets.named(label) if label else None
    expected = row["expected"] or {"serialized": None}
    wanted = PARSED_OTHERWISE.get(row["input"]["content_type"]) or (
        expected["serialized"] and expected["serialized"].partition(";")[0],
        expected.get("encoding") and expected["encoding"].lower(),
    )
    assert (essence, encoding) == wanted[:2]


@each_case("media_types", "extract_mime")
def test_of_several_content_types_the_last_counts(row):
    headers = [("Content-Type", value) for value in row["input"]["content_type_headers"]]
    essence, label = media_types.parse(content_type(headers))
    encoding = charsets.named(label) if label else None
    expected = row["expected"]
    assert (essence, encoding) == (
        expected["essence"],
        expected["encoding"] and expected["encoding"].lower(),
    )


@each_case("media_types", "sniff")
def test_undeclared_bodies_are_sniffed_as_what_can_be_read_or_not(row):
    is_read = row["expected"].startswith("text/") or row["expected"] in Image.media_types
    expected = row["expected"] if is_read else "application/octet-stream"
    assert media_types.sniff(bytes.fromhex(row["input"]["payload_hex"])) == expected


XHTML = b"""<?xml version="1.0"?>
<!DOCTYPE html PUBLIC "-//W3C//DTD XHTML 1.0 Strict//EN" "http://www.w3.org/TR/xhtml1/DTD/xhtml1-strict.dtd">
<!-- <a> --><html lang="en" xmlns="http://www.w3.org/1999/xhtml"><title>T</title></html>"""


@pytest.mark.parametrize(
    ("content_type", "body", "media_type"),
    [
        ("Text/HTML; charset=x", b"\0", "text/html"),
        ("application/pdf", b"<html>", "application/pdf"),
        (None, b" \n<!DOCTYPE HTML><p>", "text/html"),
        ("", b"<!-- x --><p>", "text/html"),
        ("nonsense", b"hello", "text/plain"),
        ("text/html", b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR", "image/png"),
        ("text/html; charset=utf-8", b"\xff\xd8\xff\xe0\0\x10JFIF\0", "image/jpeg"),
        ("text/plain", b"GIF89a\x01\0\x01\0", "image/gif"),
        ("text/html", b"RIFF\x24\0\0\0WEBPVP8 ", "image/webp"),
        ("text/html", b"GIF89a is a format", "text/html"),
        ("text/html", b"BMW and others", "text/html"),
        ("application/json", b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR", "application/json"),
        ("*/*", b"<body >", "text/html"),
        (None, b"<bodyguard>", "text/plain"),
        (None, b"%PDF-1.7", "application/pdf"),
        (None, b"\n<?xml version='1.0'?>", "text/xml"),
        (None, b"<?xm", "text/plain"),
        *((declared, XHTML, "application/xhtml+xml") for declared in (None, "text/xml", "application/xml")),
        ("text/html", XHTML, "text/html"),
        ("text/xml", XHTML.replace(b"<html", b"<a/><html"), "text/xml"),
        ("text/xml", XHTML.replace(b"1999", b"2099"), "text/xml"),
        ("text/xml", b"<!--a-->" * 170, "text/xml"),
        (None, b"%!PS-Adobe-3.0", "application/octet-stream"),
        (None, b"", "text/plain"),
    ],
)
def test_media_type(content_type, body, media_type):
    assert media_types.media_type(content_type, body) == media_type


@given(st.text())
def test_any_content_type_is_parsed(content_type):
    essence, _ = media_types.parse(content_type)
    assert essence is None or re.fullmatch(r"[^\s/;]+/[^\s/;]+", essence)


def test_examples_in_docstrings():
    assert doctest.testmod(media_types) == (0, 4)
