"""Where a head ends, what it says, and where it says that its body ends."""

import io

import pytest

from beamtrawl.transforms.http.errors import RequestError
from beamtrawl.transforms.http.response_head import Framing, Head, framing, read_head
from beamtrawl.transforms.outcomes import Outcome
from tests.support.tables import each_row

BAD, LONG = Outcome.BAD_RESPONSE, Outcome.TOO_LONG
LIMIT = 1000

# bytes, headers
FIELDS = {
    "as usual": (b"A: b\r\nC-D: e; f\r\n", [("A", "b"), ("C-D", "e; f")]),
    "none": (b"", []),
    "LF": (b"A: b\nC: d\n", [("A", "b"), ("C", "d")]),
    "no space": (b"A:b\r\n", [("A", "b")]),
    "much space": (b"A: \t b \t\r\n", [("A", "b")]),
    "no value": (b"A:\r\n", [("A", "")]),
    "colons": (b"A: b:c\r\n", [("A", "b:c")]),
    "twice": (b"A: b\r\na: c\r\n", [("A", "b"), ("a", "c")]),
    "Latin-1": (b"A: \xe9\xa0\r\n", [("A", "\xe9\xa0")]),
    "no colon": (b"nonsense\r\nA: b\r\n", [("A", "b")]),
    "no name": (b": nonsense\r\nA: b\r\n", [("A", "b")]),
    "a space before the colon": (b"A : b\r\n", [("A", "b")]),
    "two lines": (b"A: b\r\n\t c\r\nD: e\r\n", [("A", "b c"), ("D", "e")]),
    "a second line without a first": (b" A: b\r\nC: d\r\n", [("C", "d")]),
    "what must not be sent back": (b"A: b\rc\0d\r\n", [("A", "b c d")]),
}


@each_row(FIELDS)
def test_the_headers_of_a_head(lines: bytes, fields: list[tuple[str, str]]) -> None:
    stream = io.BytesIO(b"HTTP/1.1 200 OK\r\n" + lines + b"\r\nbody")
    assert read_head(stream.readline, LIMIT) == Head(200, 11, fields)
    assert stream.read() == b"body"


# status line, status and version
STATUS_LINES = {
    b"HTTP/1.1 200 OK": (200, 11),
    b"HTTP/1.0 404 Not Found": (404, 10),
    b"HTTP/1.9 200 OK": (200, 11),
    b"HTTP/1.1 200": (200, 11),
    b"HTTP/1.1 200 ": (200, 11),
    b"HTTP/1.1  200\tOK": (200, 11),
    b"HTTP/1.1 999 \xff\0": (999, 11),
    b"HTTP/1.1 099 No": BAD,
    b"HTTP/1.1 20 OK": BAD,
    b"HTTP/1.1 2000 OK": BAD,
    b"HTTP/1.1 200OK": (200, 11),  # Chromium reads the digits
    b"HTTP/1.1 -20 OK": BAD,
    b"HTTP/1.1": BAD,
    b"HTTP/2 200 OK": (200, 11),
    b"HTTP/3 200 ": (200, 11),
    b"HTTP/0.9 200 OK": (200, 10),
    b"http/1.1 200 OK": (200, 11),
    b"HTTP/x 200 OK": BAD,
    b" HTTP/1.1 200 OK": BAD,
    b"ICY 200 OK": BAD,
    b"<p>": BAD,
    b"": Outcome.CONNECT_ERROR,
    b"\r\nHTTP/1.1 200 OK": (200, 11),
}


@pytest.mark.parametrize(("line", "expected"), STATUS_LINES.items())
def test_a_head_begins_with_a_status_line(line: bytes, expected: tuple[int, int] | Outcome) -> None:
    found: tuple[int, int] | Outcome
    try:
        found = read_head(io.BytesIO(line + b"\r\n\r\n").readline, LIMIT)[:2]
    except RequestError as trouble:
        found = trouble.outcome
    assert found == expected


OK = b"HTTP/1.1 200 OK\r\n\r\n"
HINT = b"HTTP/1.1 103 Hint\r\nA: b\r\n\r\n"

# bytes, status or what is wrong with them, the limit of bytes
ENDS = {
    "all that may be": (OK, 200, len(OK)),
    "one byte more": (OK, LONG, len(OK) - 1),
    "a status line without end": (b"HTTP/1.1 200 " + b"x" * LIMIT, LONG, LIMIT),
    "a header without end": (OK[:-2] + b"A: " + b"x" * LIMIT, LONG, LIMIT),
    "no HTTP without end": (b"x" * 2 * LIMIT, BAD, LIMIT),
    "hints count": (HINT + OK, LONG, len(HINT) + len(OK) - 1),
    "500 lines": (OK[:-2] + b"a:\r\n" * 500 + b"\r\n", 200, len(OK) + 2000),
    "500 lines and a byte": (OK[:-2] + b"a:\r\n" * 500 + b"\r\n", LONG, len(OK) + 1999),
    "as many lines as fit": (OK[:-2] + b"a\n" * 30_000 + b"\r\n", 200, 65_536),
    "a value of as many lines": (OK[:-2] + b"a:\n" + b" \n" * 30_000 + b"\r\n", 200, 65_536),
    "lines without end": (OK[:-2] + b"a\n" * 40_000, LONG, 65_536),
    "empty lines before it": (b"\r\n\n" + OK, 200, LIMIT),
    "endless ones": (b"\r\n" * LIMIT, BAD, LIMIT),
    "nothing but one": (b"\r\n", Outcome.CONNECT_ERROR, LIMIT),
    "nothing": (b"", Outcome.CONNECT_ERROR, LIMIT),
    "half a status line": (b"HTTP/1.1 20", BAD, LIMIT),
    "a status line": (b"HTTP/1.1 200 OK\r\n", BAD, LIMIT),
    "half a header": (b"HTTP/1.1 200 OK\r\nA: b", BAD, LIMIT),
    "no empty line": (b"HTTP/1.1 200 OK\r\nA: b\r\n", BAD, LIMIT),
    "an interim answer": (b"HTTP/1.1 100 Continue\r\n\r\n" + OK, 200, LIMIT),
    "one that there is not": (b"HTTP/1.1 199 What\r\n\r\n" + OK, 200, LIMIT),
    "another protocol": (b"HTTP/1.1 101 Switch\r\n\r\n" + OK, 101, LIMIT),
    "a hundred": (HINT * 100 + OK, 200, 10**6),
    "a hundred and one": (HINT * 101 + OK, BAD, 10**6),
}


@each_row(ENDS)
def test_a_head_ends_within_its_limits(data: bytes, expected: int | Outcome, limit: int) -> None:
    found: int | Outcome
    try:
        found = read_head(io.BytesIO(data).readline, limit).status
    except RequestError as trouble:
        found = trouble.outcome
    assert found == expected


# status, version, headers; how to read the body
FRAMINGS = {
    "a length": (200, 11, ["Content-Length: 5"], Framing(False, 5, False)),
    "no length": (200, 11, [], Framing(False, None, True)),
    "chunks": (200, 11, ["Transfer-Encoding: Chunked"], Framing(True, None, False)),
    "the end of the connection": (200, 11, ["Content-Length: 5", "Connection: Close"], Framing(False, 5, True)),
    "among others": (200, 11, ["Content-Length: 5", "Connection: te, close"], Framing(False, 5, True)),
    "a word that holds it": (200, 11, ["Content-Length: 5", "Connection: foreclose"], Framing(False, 5, False)),
    "HTTP/1.0": (200, 10, ["Content-Length: 5"], Framing(False, 5, True)),
    "HTTP/1.0 kept": (200, 10, ["Content-Length: 5", "Connection: keep-alive"], Framing(False, 5, False)),
    "no content": (204, 11, ["Content-Length: 5"], Framing(False, 0, False)),
    "no content in chunks": (204, 11, ["Transfer-Encoding: chunked"], Framing(False, 0, False)),
    "not modified": (304, 11, ["Content-Length: 5"], Framing(False, 0, False)),
    "another protocol": (101, 11, [], Framing(False, 0, True)),
    "twice the same": (200, 11, ["Content-Length: 5", "content-length: 5, 5"], Framing(False, 5, False)),
    "two lengths": (200, 11, ["Content-Length: 5", "Content-Length: 6"], BAD),
    "two in one": (200, 11, ["Content-Length: 5, 6"], BAD),
    # No number is none: Fetch standard, "extract a length", and headless Chromium; Heritrix takes such pages, too
    # (internetarchive/heritrix3#91, #452).
    "a sign": (200, 11, ["Content-Length: +5"], Framing(False, None, True)),
    "negative": (200, 11, ["Content-Length: -5"], Framing(False, None, True)),
    "a fraction": (200, 11, ["Content-Length: 5.0"], Framing(False, None, True)),
    "as Python writes it": (200, 11, ["Content-Length: 1_0"], Framing(False, None, True)),
    "digits of another script": (200, 11, ["Content-Length: ٥"], Framing(False, None, True)),
    "no number": (200, 11, ["Content-Length: "], Framing(False, None, True)),
    "a number beyond all bounds": (200, 11, ["Content-Length: " + "9" * 5000], Framing(False, None, True)),
    "a length and chunks": (200, 11, ["Content-Length: 5", "Transfer-Encoding: chunked"], Framing(True, None, True)),
    "no coding": (200, 11, ["Content-Length: 5", "Transfer-Encoding: identity"], Framing(False, 5, False)),
    # Browsers know chunked alone, wherever it stands (curl/curl#16956; headless Chromium); RFC 9112, 6.3: to the end.
    "another coding": (200, 11, ["Transfer-Encoding: gzip, chunked"], Framing(True, None, True)),
    "behind the chunks": (200, 11, ["Transfer-Encoding: chunked, utf-8"], Framing(True, None, True)),
    "an unknown coding": (200, 11, ["Transfer-Encoding: xchunked"], Framing(False, None, True)),
    "a charset, and a length": (200, 11, ["Transfer-Encoding: utf-8", "Content-Length: 5"], Framing(False, 5, True)),
    # As behind some proxies (mitmproxy#5423, curl#13451): the chunks are simple.
    "chunks in two lines": (200, 11, ["Transfer-Encoding: chunked"] * 2, Framing(True, None, True)),
    "chunks in one line": (200, 11, ["Transfer-Encoding: chunked, Chunked"], Framing(True, None, True)),
}


@each_row(FRAMINGS)
def test_where_a_body_ends(status: int, version: int, lines: list[str], expected: Framing | Outcome) -> None:
    fields = [(name, value.strip()) for name, _, value in (line.partition(":") for line in lines)]
    found: Framing | Outcome
    try:
        found = framing(Head(status, version, fields))
    except RequestError as trouble:
        found = trouble.outcome
    assert found == expected
