"""Bodies that are declared as HTML or text: files are known by their bytes, and text that looks like one stays text."""

import gzip
import io
import random
import zipfile
from pathlib import Path

import pytest

from beamtrawl.transforms.http.media_types import media_type
from tests.support import office
from tests.support.conformance import each_case
from tests.support.crawls import crawl, rows
from tests.support.files import pdf
from tests.support.tables import each_row
from tests.support.web import Answer, Web, html


def archive() -> bytes:
    written = io.BytesIO()
    with zipfile.ZipFile(written, "w", zipfile.ZIP_DEFLATED) as file:
        file.writestr("herring.txt", "herring " * 200)
    return written.getvalue()


OTHER, PDF = "application/octet-stream", "application/pdf"

# body, its type
FILES = {
    "ZIP": (archive(), OTHER),
    "ZIP without files": (b"PK\x05\x06" + b"\0" * 18, OTHER),
    "ZIP behind line ends": (b"\r\n\r\n" + archive(), OTHER),
    "ZIP behind a byte order mark": (b"\xef\xbb\xbf" + archive(), OTHER),
    "gzip": (gzip.compress(b"herring " * 200), OTHER),
    "bzip2": (b"BZh91AY&SY\x02\x03", OTHER),
    "xz": (b"\xfd7zXZ\0\0\x04", OTHER),
    "7z": (b"7z\xbc\xaf'\x1c\0\x04", OTHER),
    "RAR": (b"Rar!\x1a\x07\x01\0", OTHER),
    "tar": (b"herring.txt" + b"\0" * 89 + b"0000644\0" * 3 + b"0" * 133 + b"ustar\x0000", OTHER),
    "ELF": (b"\x7fELF\x02\x01\x01\0" + b"\0" * 60, OTHER),
    "a program for Windows": (b"MZ\x90\0\x03\0\0\0\x04\0\0\0\xff\xff" + b"\0" * 50, OTHER),
    "an old Word document": (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + b"\0" * 100, OTHER),
    "a font": (b"wOF2\0\x01\0\0" + b"\0" * 40, OTHER),
    "music": (b"ID3\x04\0\0\0\0\x01\x02TIT2", OTHER),
    "a film": (b"\0\0\0\x20ftypisom\0\0\x02\0", OTHER),
    "an icon": (b"\0\0\x01\0\x01\0\x10\x10", OTHER),
    "a database": (b"SQLite format 3\0\x10\0", OTHER),
    "noise": (random.Random(1).randbytes(5000), OTHER),
    "PDF": (b"%PDF-1.4\n%\xe2\xe3\xcf\xd3\n1 0 obj\n<<", PDF),
    "PDF of old Macs": (b"%PDF-1.2\r%\xe2\xe3\xcf\xd3\r", PDF),
    "PDF in ASCII": (b"%PDF-1.1\n\n1 0 obj\n<< /Type /Catalog >>\nendobj\n", PDF),
    "PDF behind a line end": (b"\n%PDF-1.4\n1 0 obj\n", PDF),
    "half a PDF": (b"%PDF-\0\1\2", PDF),
    "PNG": (b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR", "image/png"),
    "JPEG": (b"\xff\xd8\xff\xe0\0\x10JFIF\0", "image/jpeg"),
    "GIF": (b"GIF89a\x01\0\x01\0", "image/gif"),
    "WebP": (b"RIFF\x24\0\0\0WEBPVP8 ", "image/webp"),
    "BMP": (b"BM\x46\0\0\0\0\0\0\0\x36\0\0\0", "image/bmp"),
}
DECLARED = ["text/html", "text/html; charset=utf-8", "text/plain", "application/xhtml+xml"]


@each_row(FILES)
def test_a_file_is_known_by_its_bytes(body: bytes, expected: str) -> None:
    assert {media_type(declared, body) for declared in DECLARED} == {expected}


BOOK, WORDS = "application/epub+zip", "application/vnd.openxmlformats-officedocument.wordprocessingml.document"
SHEETS = "application/vnd.oasis.opendocument.spreadsheet"
# a ZIP file, and what it is where the server says little
ZIPS = {
    "a book": (office.archive(office.epub({"a.xhtml": "x"})), BOOK),
    "a book whose type is not first": (office.archive({"a/": "", **office.epub({"a.xhtml": "x"})}), BOOK),
    "a book without its type": (office.archive({"META-INF/container.xml": "<c/>"}), BOOK),
    "a text": (office.archive(office.docx("")), WORDS),
    "a text whose main part has another name": (
        office.archive({"[Content_Types].xml": "", "word/document2.xml": ""}),
        WORDS,
    ),
    "a spreadsheet": (office.archive(office.odf("spreadsheet", "")), SHEETS),
    "a drawing": (office.archive(office.odf("drawing", "")), None),
    "an archive of a text": (office.archive({"a.docx": office.archive(office.docx(""))}, zipfile.ZIP_STORED), None),
    "an archive with a folder of that name": (office.archive({"word/document.xml": "x"}), None),
    "a cut text": (office.archive(office.docx("<p/>" * 99))[:-40], None),
    "another archive": (office.archive({"a.txt": "word/document [Content_Types].xml"}), None),
}


@each_row(ZIPS)
def test_office_files_and_books_are_known_by_their_entries(body: bytes, expected: str | None) -> None:
    assert {media_type(declared, body) for declared in (None, OTHER, "text/html")} == {expected or OTHER}
    assert media_type("application/zip", body) == (expected or "application/zip")
    assert media_type("application/msword", body) == "application/msword"


RSS, ATOM, HTML = "application/rss+xml", "application/atom+xml", "text/html"
RDF = b"<?xml version='1.0'?>\n<rdf:RDF xmlns:rdf='http://www.w3.org/1999/02/22-rdf-syntax-ns#' xmlns='{}'>"
# what begins a body, what it is where HTML or any type is declared: jfroelich/rss-reader#152, dshanske/parse-this#67,
# FreshRSS/FreshRSS#2004; "Sniffing a mislabeled feed" of MIME Sniffing, which browsers without feeds do no longer need
FEEDS = {
    "RSS": (b"<rss version='2.0'>", RSS),
    "a declaration": (b"\n<?xml version='1.0'?>\n<!-- <html> --><?xml-stylesheet href='x'?><rss>", RSS),
    "a byte order mark": (b"\xef\xbb\xbf<?xml version='1.0'?><rss>", RSS),
    "RSS 0.91": (b'<!DOCTYPE rss PUBLIC "-//Netscape//DTD RSS 0.91//EN" "http://my.netscape.test/rss.dtd"><rss>', RSS),
    "RSS 1.0": (RDF.replace(b"{}", b"http://purl.org/rss/1.0/"), RSS),
    "other RDF": (RDF.replace(b"{}", b"http://a.test/"), HTML),
    "Atom": (b"<?xml version='1.0'?><feed xmlns='http://www.w3.org/2005/Atom'>", ATOM),
    "a page with such an element": (b"<!DOCTYPE html>News: <feed>", HTML),
    "a page with such a text": (b"<title>RSS</title><pre><rss>", HTML),
    "a text": (b"News: <rss>", HTML),
    "another element": (b"<feedback>", HTML),
    "other XML": (b"<?xml version='1.0'?><html>", HTML),
}


@each_row(FEEDS)
def test_feeds_that_are_declared_as_html(body: bytes, expected: str) -> None:
    assert media_type("text/html; charset=utf-8", body) == expected
    assert media_type(OTHER, body) == (OTHER if expected == HTML else expected)
    assert media_type("text/plain", body) == "text/plain"


TEXTS = {
    "nothing": b"",
    "a NUL": b"\0",
    "PK": b"PK is the mark of ZIP files, <p>PK\\x03\\x04",
    "PK and a NUL": b"PK\0 kept",
    "a page about PDF": b"%PDF-1.7 is how files begin.",
    "a page about PDF, in lines": b"%PDF-1.7\n\nThe line above begins a file, and an object with\n\n1 0 obj\n",
    "a comment": b"<!-- PK\x03\x04 %PDF-1.4 --><html><title>Files</title>",
    "a byte order mark and white space": b"\xef\xbb\xbf\r\n\t <!doctype html><title>Harbour</title>",
    "GIF89a": b"GIF89a is a format",
    "BMW": b"BMW and others\x01 with a control character",
    "MZ": b"MZ is for Mark Zbikowski\x01\x02",
    "ID3": b"ID3 tags\x01",
    "HTML with control characters": b"<html>" + b"\x01\x02 " * 20,
    "escape sequences": b"\x1b[1mHarbour\x1b[0m " * 20,
    "a manual page that strikes over": b"N\bNA\bAM\bME\bE " * 100,
    "Latin-1": "Zürich à côté ".encode("latin-1") * 50,
    "Shift_JIS": "港に船がいる。".encode("shift_jis") * 50,
    "ISO-2022-JP": "港に船がいる。".encode("iso-2022-jp") * 50,
    "ISO-2022-KR": "항구에 배가 있다 ".encode("iso-2022-kr") * 50,
    "UTF-16": "港上下 Harbour".encode("utf-16") * 20,
    "UTF-16, without a byte order mark": "Harbour and ships ".encode("utf-16-le") * 50,
}


@pytest.mark.parametrize("body", TEXTS.values(), ids=TEXTS)
def test_text_is_what_it_is_declared_as(body: bytes) -> None:
    assert [media_type(declared, body) for declared in DECLARED] == [
        declared.partition(";")[0] for declared in DECLARED
    ]


def test_a_declared_charset_counts() -> None:
    body = "上下一丂七丄丅丆万丈三".encode("utf-16-le") * 50
    assert media_type("text/plain; charset=UTF-16LE", body) == "text/plain"


@each_case("media_types", "sniff")
def test_no_text_of_the_standard_is_taken_for_a_file(row: dict) -> None:
    body = bytes.fromhex(row["input"]["payload_hex"])
    if row["expected"].startswith("text/"):
        assert media_type("text/html", body) == "text/html"


def test_a_crawl_reads_what_files_are_and_nothing_of_others(tmp_path: Path) -> None:
    """A PDF as text/html is a document with its text; a ZIP is none, and its names are not in the index."""
    bodies = {
        "/zip": archive(),
        "/pdf": pdf(["Tide tables"]),
        "/noise": FILES["noise"][0],
        "/pk": b"<p>PK opens ZIP files",
        "/feed": b"<rss><channel><title>A</title><item><title>Tides</title><link>/tides</link></item></channel></rss>",
    }
    site = {"/": html("Files", links=bodies)} | {path: Answer(body=body) for path, body in bodies.items()}
    with Web({"a.test": site}) as web:
        crawl(tmp_path, [web.url("a.test")])
    outcomes = {row["url"].rpartition("/")[2]: row["outcome"] for row in rows(tmp_path, "visits")}
    assert outcomes == dict.fromkeys(["", "zip", "pdf", "noise", "pk", "feed"], "fetched") | {"tides": "gone"}
    documents = {row["url"].rpartition("/")[2]: (row["media_type"], row["text"]) for row in rows(tmp_path, "documents")}
    assert documents.keys() == {"", "pdf", "pk", "feed"}
    assert documents["feed"] == ("application/rss+xml", "Tides")
    assert documents["pdf"] == ("application/pdf", "Tide tables")
    assert documents["pk"] == ("text/html", "PK opens ZIP files")
