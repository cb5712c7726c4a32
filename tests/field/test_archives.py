"""Records of archives that people met, and their siblings.

Right is what warcio's and jwarc's iterators read (counts of 40 files of their and others' test data are in
docs/decisions/field.md), and WARC 1.1 (ISO 28500:2017).
"""

import gzip
import hashlib
import zlib
from datetime import UTC, datetime

import brotli
import pyarrow as pa
import pytest

from beamtrawl.transforms.archives.answers import reply_of
from beamtrawl.transforms.archives.captures import SCAN, parse_date
from beamtrawl.transforms.archives.choose import KNOWN, Choice
from beamtrawl.transforms.archives.reader import read_records
from beamtrawl.transforms.archives.sources import Source
from beamtrawl.transforms.http.content_coding import zstd
from tests.archives.test_captures import record, scan
from tests.support.tables import each_row

HEAD = "Content-Type: text/html\r\n"


@pytest.mark.parametrize(
    "line",
    [
        "HTTP/2 200",  # Browsertrix, archiveweb.page and others write the version of the connection
        "HTTP/2.0 200 OK",
        "HTTP/3 200 ",
        "http/1.1 200 OK",
        "HTTP/1.1 200",
        "HTTP/1.0 200 \xa0",
        "Http/2 200",
        "HTTP/1.1  200\tOK",
        "HTTP/1.1 200OK",  # Chromium reads the digits
        "HTTP/1.1 200: OK",  # as Data4Democracy/internal-displacement#148 met 404:
    ],
)
def test_status_lines(tmp_path, line):
    rows, counts, troubles = scan(tmp_path, record(f"{line}\r\n{HEAD}\r\n<p>walrus"))
    assert (len(rows), counts, troubles) == (1, {"records": 1}, [])


@pytest.mark.parametrize("line", ["HTTPX/1.1 200 OK", "HTTP/1.1 2000 OK", "200 OK", "HTTP/1.1"])
def test_what_is_no_status_line(tmp_path, line):
    rows, counts, _ = scan(tmp_path, record(f"{line}\r\n{HEAD}\r\n<p>walrus"))
    assert (rows, counts) == ([], {"records": 1, "bad_http": 1})


PAGE = f"HTTP/2 200\r\n{HEAD}\r\n<p>walrus"


def to(location, status=307):
    return f"HTTP/2 {status}\r\nLocation: {location}\r\n\r\n"


# records (block, second): the second and the number of the one that counts; None: there is no page
CHOSEN = {
    "a redirect to itself before the page, in one second": ([(to("http://a.test/p"), 5), (PAGE, 5)], 1),
    "behind the page": ([(PAGE, 5), (to("http://a.test/p"), 5)], 0),
    "a second later": ([(PAGE, 5), (to("/p"), 6)], 0),
    "with a fragment": ([(to("#top"), 5), (PAGE, 5)], 1),
    "that sets a cookie": ([(to("/p").replace("Loc", "Set-Cookie: a=b\r\nLoc"), 5), (PAGE, 5)], 1),
    "by a parameter that does not count": ([(to("/p?utm_source=x", 301), 5), (PAGE, 5)], 1),
    "to another page": ([(PAGE, 5), (to("/q"), 6)], 1),
    "alone": ([(to("/p"), 5)], 0),
    "two pages of one second": ([(PAGE, 5), (PAGE, 5)], 0),
}


@pytest.mark.parametrize("name", CHOSEN)
def test_redirects_to_themselves(tmp_path, name):
    records, chosen = CHOSEN[name]
    rows, _, _ = scan(tmp_path, *(record(block, Date=f"2025-01-02T03:04:{second:02}Z") for block, second in records))
    choice = Choice(str(tmp_path))
    choice.add("captures", pa.Table.from_pylist(rows, schema=SCAN), 0)
    choice.add("known", KNOWN.empty_table())
    choice.choose()
    assert [row["number"] for _, found in choice.plans() for batch in found for row in batch.to_pylist()] == [chosen]
    choice.close()


DATES = {
    "WARC 1.0": ("2008-10-20T05:21:46Z", 0),
    "fractions": ("2008-10-20T05:21:46.000Z", 0),
    "nanoseconds": ("2008-10-20T05:21:46.000000001Z", 0),
    "digits, as in ARC files": ("20081020052146", 0),
    "a zone": ("2008-10-20T05:21:46-0700", 7),
    "the day of the year behind the month (ClueWeb09)": ("2008-10-294T05:21:46-0700", 7),
    "a blank": (" 2008-10-20T05:21:46Z ", 0),
}


@each_row(DATES)
def test_dates(text, later):
    assert parse_date(text) == datetime(2008, 10, 20, 5 + later, 21, 46, tzinfo=UTC)


COARSE = {  # WARC 1.1, 5.4
    "year": ("2008", (2008, 1, 1)),
    "month": ("2008-10", (2008, 10, 1)),
    "day": ("2008-10-20", (2008, 10, 20)),
    "minute": ("2008-10-20T05:21Z", (2008, 10, 20, 5, 21)),
    "tenth of a second": ("2008-10-20T05:21:46.1Z", (2008, 10, 20, 5, 21, 46, 100_000)),
    "leap second": ("2008-12-31T23:59:60Z", (2008, 12, 31, 23, 59, 59)),
}


@each_row(COARSE)
def test_dates_of_other_precision(text, moment):
    assert parse_date(text) == datetime(*moment, tzinfo=UTC)


TEXT = "<p>The walrus stands in this page. " * 20
# headers, body: text, whether it is cut, what is odd
BODIES = {
    "Content-Encoding: UTF-8": ("Content-Encoding: UTF-8\r\n", TEXT.encode(), TEXT, "names no coding"),
    "Content-Encoding: none": ("Content-Encoding: none\r\n", TEXT.encode(), TEXT, "names no coding"),
    "declared gzip, stored plain": ("Content-Encoding: gzip\r\n", TEXT.encode(), TEXT, ""),
    "declared br, stored plain": ("Content-Encoding: br\r\n", TEXT.encode(), TEXT, ""),
    "declared br, stored plain, with a mark": (
        "Content-Encoding: br\r\n",
        b"\xef\xbb\xbf" + TEXT.encode(),
        "\ufeff" + TEXT,
        "",
    ),
    "declared br, stored as a short text": ("Content-Encoding: br\r\n", b"[1, 2]", "[1, 2]", ""),
    "declared deflate, stored plain": ("Content-Encoding: deflate\r\n", TEXT.encode(), TEXT, ""),
    "deflate": ("Content-Encoding: deflate\r\n", zlib.compress(TEXT.encode()), TEXT, ""),
    "deflate without a header": ("Content-Encoding: deflate\r\n", zlib.compress(TEXT.encode(), wbits=-15), TEXT, ""),
    "br": ("Content-Encoding: br\r\n", brotli.compress(TEXT.encode()), TEXT, ""),
    "undeclared gzip": ("", gzip.compress(TEXT.encode()), TEXT, "not declared"),
    "cut gzip": ("Content-Encoding: gzip\r\n", gzip.compress(TEXT.encode())[:-8], TEXT, "too early"),
    "chunked left in": (
        "Transfer-Encoding: chunked\r\n",
        b"%x\r\n%b\r\n0\r\n\r\n" % (len(TEXT), TEXT.encode()),
        TEXT,
        "",
    ),
    "chunked in name only": ("Transfer-Encoding: chunked\r\n", TEXT.encode(), TEXT, ""),
    "chunked, and gzip in it": (
        "Transfer-Encoding: chunked\r\nContent-Encoding: gzip\r\n",
        b"%x\r\n%b\r\n0\r\n\r\n" % (len(gzip.compress(TEXT.encode(), mtime=0)), gzip.compress(TEXT.encode(), mtime=0)),
        TEXT,
        "",
    ),
}


def test_an_answer_whose_record_has_no_media_type(tmp_path):
    """warcio reads it by the type of the record and its URL."""
    page = record(PAGE).replace(b"Content-Type: application/http; msgtype=response\r\n", b"")
    other = record(PAGE).replace(b"application/http; msgtype=response", b"text/x")
    rows, counts, troubles = scan(tmp_path, page, other)
    assert (len(rows), counts, troubles) == (1, {"records": 2, "not_http": 1}, [])


def test_the_block_of_a_resource_is_its_body(tmp_path):
    """As wpull, warcio and Browsertrix write them; each was an empty page."""
    for size in (0, 1, 700, 200_000):
        body = TEXT.encode() * (size // len(TEXT)) + b"x" * (size % len(TEXT))
        head = b"WARC/1.1\r\nWARC-Type: resource\r\nContent-Type: text/html\r\nContent-Length: %d\r\n\r\n"
        (tmp_path / "a.warc").write_bytes(head % len(body) + body + b"\r\n\r\n")
        digest = f"sha1:{hashlib.sha1(body).hexdigest()}"
        replies = [reply_of(each, digest, 1_000_000, 65_536) for each in read_records(Source(str(tmp_path / "a.warc")))]
        assert [(reply.status, reply.body, reply.error) for reply in replies] == [(200, body, None)]


@pytest.mark.parametrize("name", BODIES)
def test_bodies(tmp_path, name):
    headers, body, text, odd = BODIES[name]
    head = record(f"HTTP/2 200\r\n{HEAD}{headers}\r\n")
    length = head.index(b"Content-Length: ") + 16
    end = head.index(b"\r\n", length)
    whole = head[:length] + str(int(head[length:end]) + len(body)).encode() + head[end:-4] + body + b"\r\n\r\n"
    (tmp_path / "a.warc").write_bytes(whole)
    for found in read_records(Source(str(tmp_path / "a.warc"))):
        reply = reply_of(found, None, 1_000_000, 65_536)
        assert (reply.status, reply.failure, reply.body.decode()) == (200, None, text)
        assert odd in (reply.error or "") and bool(odd) == bool(reply.error)


@pytest.mark.parametrize(("status", "failure"), [(200, "bad_response"), (301, None), (404, None)])
def test_a_status_counts_although_its_body_is_broken(tmp_path, status, failure):
    """As from a socket (scrapy/scrapy#78)."""
    body = b"\x1f\x8b\x08" + b"no gzip" * 9
    whole = record(f"HTTP/1.1 {status} X\r\n{HEAD}Content-Encoding: gzip\r\n\r\n" + "x" * len(body))
    (tmp_path / "a.warc").write_bytes(whole.replace(b"x" * len(body), body))
    found = next(read_records(Source(str(tmp_path / "a.warc"))))
    assert reply_of(found, None, 1_000_000, 65_536).failure == failure


@pytest.mark.parametrize("compress", [gzip.compress, zstd.compress], ids=["gzip", "zstd"])
@pytest.mark.parametrize("type_", ["response", "revisit", "robots"])
def test_a_member_that_is_damaged_anywhere_is_one_record(tmp_path, compress, type_):
    """A crawler that was killed, or a download that broke off (iipc/jwarc#17, webrecorder/warcio#138)."""
    fields = {"Target-URI": "http://a.test/robots.txt"} if type_ == "robots" else {"Type": type_}
    first, last = compress(record(PAGE)), compress(record(PAGE + "x" * 20, **fields))
    flipped = [last[:place] + bytes([last[place] ^ 0x55]) + last[place + 1 :] for place in range(len(last))]
    for number, data in enumerate([*(last[:cut] for cut in range(1, len(last) - 1)), *flipped]):
        rows, counts, troubles = scan(tmp_path, first + data)
        assert rows[0]["url"] == "http://a.test/p", number
        assert troubles or counts["records"] == 2, number
