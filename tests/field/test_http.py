"""Codings and status lines that people met, and their siblings, read from a socket and from an archive.

Right is what headless Chromium shows (B), what curl --compressed writes (C), or the standard that is named.
"""

import gzip
import zlib

import brotli

from beamtrawl.transforms.http import media_types
from beamtrawl.transforms.http.response_body import Pace, read_body
from beamtrawl.transforms.outcomes import Outcome
from tests.support.tables import each_row

PAGE = b"<title>Walrus</title>" + b"The walrus stands in this page. " * 40
GZIP = gzip.compress(PAGE)
HTML = "text/html; charset=utf-8"
BAD = Outcome.BAD_RESPONSE
ODD = "names no coding"
UNDECLARED = "not declared"
CUT = "ends too early"

# Content-Encoding, Content-Type, body: text, what is odd, failure
CODINGS = {
    "UTF-8 (B)": ("UTF-8", HTML, PAGE, PAGE, ODD, None),
    "none (B)": ("none", HTML, PAGE, PAGE, ODD, None),
    "8bit (B)": ("8bit", HTML, PAGE, PAGE, ODD, None),
    "binary (B)": ("binary", HTML, PAGE, PAGE, ODD, None),
    "a charset (B)": ("iso-8859-1", HTML, PAGE, PAGE, ODD, None),
    "a media type (B)": ("text/html", HTML, PAGE, PAGE, ODD, None),
    "br without its letters (B)": ("brotli", HTML, PAGE, PAGE, ODD, None),
    "identity (RFC 9110, 12.5.3)": ("identity", HTML, PAGE, PAGE, None, None),
    "Identity, identity": ("Identity, identity", HTML, PAGE, PAGE, None, None),
    "nothing": ("", HTML, PAGE, PAGE, None, None),
    "commas": (" , ,", HTML, PAGE, PAGE, None, None),
    "x-gzip (RFC 9110, 8.4.1.3)": ("x-gzip", HTML, GZIP, PAGE, None, None),
    "upper case (RFC 9110, 8.4.1)": ("GZIP", HTML, GZIP, PAGE, None, None),
    "quoted": ('"gzip"', HTML, GZIP, PAGE, None, None),
    "with a parameter": ("gzip;q=1.0", HTML, GZIP, PAGE, None, None),
    "gzip, none (C)": ("gzip, none", HTML, GZIP, PAGE, ODD, None),
    "none, gzip (C)": ("none, gzip", HTML, GZIP, PAGE, ODD, None),
    "misspelt, and gzip after all": ("gziped", HTML, GZIP, PAGE, UNDECLARED, None),
    "UTF-8, and gzip after all": ("UTF-8", HTML, GZIP, PAGE, UNDECLARED, None),
    "undeclared gzip of a page": (None, HTML, GZIP, PAGE, UNDECLARED, None),
    "undeclared gzip of a feed": (None, "application/rss+xml", GZIP, PAGE, UNDECLARED, None),
    "undeclared gzip of plain text": (None, "text/plain", GZIP, PAGE, UNDECLARED, None),
    "a gzip file": (None, "application/gzip", GZIP, GZIP, None, None),
    "a file of no type": (None, None, GZIP, GZIP, None, None),
    "two members (B, RFC 1952, 2.2)": (
        "gzip",
        HTML,
        gzip.compress(PAGE[:99]) + gzip.compress(PAGE[99:]),
        PAGE,
        None,
        None,
    ),
    "bytes behind it (B)": ("gzip", HTML, GZIP + b"trailing", PAGE, None, None),
    "no checksum (B, C)": ("gzip", HTML, GZIP[:-8], PAGE, CUT, None),
    "half a checksum (B, C)": ("gzip", HTML, GZIP[:-4], PAGE, CUT, None),
    "cut (B, C)": ("gzip", HTML, GZIP[:60], ..., CUT, None),
    "nothing of it (B)": ("gzip", HTML, b"", b"", None, None),
    "deflate without zlib (B, C)": ("deflate", HTML, zlib.compress(PAGE)[2:-4], PAGE, None, None),
    "zlib as gzip (C)": ("gzip", HTML, zlib.compress(PAGE), PAGE, None, None),
    "br": ("br", HTML, brotli.compress(PAGE), PAGE, None, None),
    # What contradicts itself stays an outcome: browsers and curl show an error.
    "plain as gzip": ("gzip", HTML, PAGE, b"", None, BAD),
    "plain as br": ("br", HTML, PAGE, b"", None, BAD),
    "plain as deflate": ("deflate", HTML, PAGE, b"", None, BAD),
    "gzip twice, once done": ("gzip, gzip", HTML, GZIP, b"", None, BAD),
    "a wrong checksum (C)": ("gzip", HTML, GZIP[:-8] + bytes(8), b"", None, BAD),
    "a coding that is not decoded": ("dcb", HTML, GZIP, b"", None, BAD),
}


@each_row(CODINGS)
def test_content_codings(encoding, content_type, body, text, odd, failure):
    pieces, found = iter([body]), bytearray()
    result = read_body(
        lambda _: next(pieces, b""), encoding or "", 100_000, Pace(0, 1, 0), lambda: 0.0, found.extend, content_type
    )
    assert (result.failure.outcome if result.failure else None) == failure
    assert (odd or "") in (result.oddity or "") and bool(odd) == bool(result.oddity)
    assert result.truncated == (odd == CUT)
    assert bytes(found) == text if text is not ... else PAGE.startswith(found) and found


# Content-Type, body: media type (MIME Sniffing and Fetch standards)
TYPES = {
    "none": (None, PAGE, "text/html"),
    "empty": ("", PAGE, "text/html"),
    "no type at all": ("html", PAGE, "text/html"),
    "two, the last counts": ("text/plain, text/html", PAGE, "text/html"),
    "two, the last is no type": ("text/html, x", PAGE, "text/html"),
    "any type behind it": ("text/html, */*", PAGE, "text/html"),
    "an empty parameter": ("text/html;;charset=utf-8;", PAGE, "text/html"),
    "blanks": (" text/html ; charset = utf-8", PAGE, "text/html"),
    "upper case": ("TEXT/HTML", PAGE, "text/html"),
    "quotes that do not end": ('text/html; charset="utf-8', PAGE, "text/html"),
    "a colon for a semicolon": ("text/html: charset=utf-8", PAGE, "text/html"),
}


@each_row(TYPES)
def test_content_types(content_type, body, media_type):
    assert media_types.media_type(content_type, body) == media_type
