"""What broken and malicious servers say: faults in the text of an answer, whenever it comes.

Where RFC 9110 and 9112 leave it to the recipient, the lenient reading counts if nothing can be lost or mistaken by it,
and `bad_response` otherwise: what is kept of a page is all of the page and nothing else.
"""

import gzip
import zlib

from beamtrawl.transforms.outcomes import Outcome
from tests.support.hostile_host import Fault, drip, flood, keep, leave
from tests.support.raw import GZIP, HTML, PAGE, answer, chunked, sized

FETCHED, REDIRECTED, BAD, TOO_LONG = Outcome.FETCHED, Outcome.REDIRECTED, Outcome.BAD_RESPONSE, Outcome.TOO_LONG
CLIENT_ERROR, SERVER_ERROR = Outcome.CLIENT_ERROR, Outcome.SERVER_ERROR

OK = b"HTTP/1.1 200 OK\r\n"

FRAMING = {
    "two lengths": Fault(leave(sized(b"Content-Length: 3")), BAD),
    "the same length twice": Fault(keep(sized(b"Content-Length: 10")), FETCHED),
    "a negative length": Fault(leave(answer(b"Content-Length: -10")), FETCHED),
    "a length with a sign": Fault(leave(answer(b"Content-Length: +10")), FETCHED),
    "a length in words": Fault(leave(answer(b"Content-Length: ten")), FETCHED),
    "a length of ten thousand digits": Fault(leave(answer(b"Content-Length: " + b"9" * 10_000)), FETCHED),
    "a length beyond the body": Fault(leave(answer(b"Content-Length: 99")), BAD),
    "a length below the body's": Fault(keep(answer(b"Content-Length: 3")), FETCHED, PAGE[:3]),
    "a length and chunks": Fault(leave(chunked(PAGE, header=b"Content-Length: 3")), FETCHED),
    "chunks in HTTP/1.0": Fault(leave(chunked(PAGE).replace(b"HTTP/1.1", b"HTTP/1.0")), FETCHED),
    "a coding that nobody asked for": Fault(
        leave(
            answer(
                HTML, b"Transfer-Encoding: gzip, chunked", body=chunked(gzip.compress(PAGE)).partition(b"\r\n\r\n")[2]
            )
        ),
        FETCHED,
    ),
    "a coding that does not exist": Fault(leave(answer(b"Transfer-Encoding: xchunked")), FETCHED),
    "chunks that are named twice": Fault(leave(chunked(PAGE, header=b"Transfer-Encoding: chunked")), FETCHED),
    "a chunk size with a sign": Fault(leave(chunked(end=b"+a\r\n" + PAGE + b"\r\n0\r\n\r\n")), BAD),
    "a chunk size with spaces after it": Fault(keep(chunked(end=b"a   \r\n" + PAGE + b"\r\n0\r\n\r\n")), FETCHED),
    "a chunk size of nothing": Fault(leave(chunked(PAGE, end=b"\r\n0\r\n\r\n")), BAD),
    "a chunk size of 65 bits": Fault(leave(chunked(end=b"1000000000000000a\r\n" + PAGE + b"\r\n0\r\n\r\n")), BAD),
    "a chunk size of a hundred digits": Fault(leave(chunked(end=b"f" * 100 + b"\r\n" + PAGE)), BAD),
    "a chunk longer than its size": Fault(leave(chunked(end=b"3\r\n" + PAGE + b"\r\n0\r\n\r\n")), BAD),
    "a chunk extension": Fault(keep(chunked(end=b"a;a=b;c\r\n" + PAGE + b"\r\n0\r\n\r\n")), FETCHED),
    "a chunk extension of a megabyte": Fault(leave(chunked(end=b"a;" + b"x" * 10**6 + b"\r\n" + PAGE)), TOO_LONG),
    "a chunk extension without end": Fault(flood(chunked(end=b"a;"), b"x" * 65_536), TOO_LONG),
    "no last chunk": Fault(leave(chunked(PAGE, end=b"")), BAD),
    "an end inside a chunk": Fault(leave(chunked(end=b"ff\r\n" + PAGE)), BAD),
    "trailers that contradict the head": Fault(
        keep(chunked(PAGE, end=b"0\r\nContent-Length: 3\r\nLocation: /\r\n\r\n")), FETCHED
    ),
    "trailers without end": Fault(flood(chunked(PAGE, end=b"0\r\n"), b"X-A: a\r\n" * 1000), TOO_LONG),
    "gzip with the length of what it holds": Fault(
        leave(answer(GZIP, b"Content-Length: 5000", body=gzip.compress(PAGE * 500))), BAD
    ),
}


def _page(headers: bytes, end: bytes = b"\r\n") -> bytes:
    """A page whose headers are said just so; the one for its length follows them."""
    return OK + headers + end + b"Content-Length: %d" % len(PAGE) + end + end + PAGE


HEADS = {
    "nothing": Fault(leave(b""), Outcome.CONNECT_ERROR),
    "an end after the status": Fault(leave(b"HTTP/1.1 200 OK"), BAD),
    "an end inside a header": Fault(leave(OK + b"Content-Ty"), BAD),
    "an end between headers": Fault(leave(OK + HTML + b"\r\n"), BAD),
    "lines that end in LF": Fault(keep(_page(HTML, end=b"\n").replace(b"\r", b"")), FETCHED),
    "lines that end in CR": Fault(leave(_page(HTML, end=b"\r").replace(b"\n", b"")), BAD),
    "a header in two lines": Fault(keep(_page(b'ETag: "a\r\n b"')), FETCHED),
    "a header with NUL": Fault(keep(_page(b"X-A: a\0b")), FETCHED),
    "a header that is not ASCII": Fault(keep(_page("X-Ort: Köln, 한국".encode() + b"\xff")), FETCHED),
    "a header without a colon": Fault(keep(_page(b"nonsense\r\nContent-Type: text/html")), FETCHED),
    "a space before the colon": Fault(leave(_page(b"Content-Type : text/html")), FETCHED),
    "a header of a megabyte": Fault(leave(sized(b"X-A: " + b"x" * 10**6)), TOO_LONG),
    "ten thousand headers": Fault(leave(sized(*(b"X-%d: a" % n for n in range(10_000)))), TOO_LONG),
    "headers without end": Fault(flood(OK, b"X-A: a\r\n" * 1000), TOO_LONG),
    "a header without end": Fault(flood(OK + b"X-A: ", b"x" * 65_536), TOO_LONG),
    "a header that is folded without end": Fault(flood(OK + b"X-A: a\r\n", b" a\r\n" * 1000), TOO_LONG),
    "a status line without end": Fault(flood(b"HTTP/1.1 200 ", b"x" * 65_536), TOO_LONG),
    "fifty cookies": Fault(keep(sized(*(b"Set-Cookie: c%d=" % n + b"v" * 1000 for n in range(50)))), FETCHED),
    "no phrase": Fault(keep(sized(HTML, status=b"200")), FETCHED),
    "a phrase for a terminal": Fault(keep(sized(HTML, status=b"200 \x1b[2J\x07")), FETCHED),
    "an empty line first": Fault(keep(b"\r\n" + sized(HTML)), FETCHED),
    "a status that is no number": Fault(leave(sized(HTML, status=b"2OO OK")), BAD),
    "a status of four digits": Fault(leave(sized(HTML, status=b"2000 OK")), BAD),
    "HTTP/0.9": Fault(leave(PAGE), BAD),
    "HTTP/2 by name": Fault(leave(sized(HTML).replace(b"HTTP/1.1", b"HTTP/2")), FETCHED),
    "HTTP/2 in frames": Fault(leave(b"\0\0\x06\x04\0\0\0\0\0\0\x03\0\0\0\x64\0\0\0\x07\0\0\0\0\0"), BAD),
    "a radio station": Fault(leave(sized(HTML).replace(b"HTTP/1.1", b"ICY")), BAD),
    "an echo": Fault(leave(b"GET /fault HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n"), BAD),
    "noise": Fault(leave(bytes(range(256)) * 40), BAD),
    "an alert of TLS": Fault(leave(b"\x15\x03\x01\0\x02\x02\x16"), BAD),
}

STATUSES = {
    "a hint, and then the answer": Fault(
        keep(answer(b"Link: </a.css>", body=b"", status=b"103 Early Hints") + sized(HTML)), FETCHED
    ),
    "ten times continue": Fault(keep(b"HTTP/1.1 100 Continue\r\n\r\n" * 10 + sized(HTML)), FETCHED),
    "continue, without end": Fault(flood(b"", b"HTTP/1.1 100 Continue\r\n\r\n" * 1000), BAD),
    "another protocol from here": Fault(
        leave(answer(b"Upgrade: h2c", body=b"\0\0\0\x04", status=b"101 Switching Protocols")), BAD
    ),
    "a 204 with a body": Fault(keep(sized(HTML, status=b"204 No Content")), FETCHED, b""),
    "a 204 with chunks": Fault(keep(chunked(PAGE).replace(b"200 OK", b"204 No Content")), FETCHED, b""),
    "a 205 with a body": Fault(keep(sized(HTML, status=b"205 Reset Content")), FETCHED),
    "a part that nobody asked for": Fault(
        keep(sized(HTML, b"Content-Range: bytes 0-9/99", status=b"206 Partial Content")), BAD
    ),
    "not modified, unasked": Fault(keep(answer(body=b"", status=b"304 Not Modified")), BAD),
    "not modified, with a body": Fault(keep(sized(HTML, status=b"304 Not Modified")), BAD),
    "status 000": Fault(keep(sized(HTML, status=b"000 No")), BAD),
    "status 999": Fault(keep(sized(HTML, status=b"999 Request Denied")), CLIENT_ERROR),
    "a proxy's login": Fault(keep(sized(b"Proxy-Authenticate: Basic", status=b"407 Proxy")), CLIENT_ERROR),
    "come back in a while": Fault(
        keep(sized(b"Retry-After: soon", status=b"429 Slow down")), Outcome.TOO_MANY_REQUESTS
    ),
    "come back on the 99th": Fault(
        keep(sized(b"Retry-After: Fri, 99 Nov 9999 25:61:00 GMT", status=b"503 Busy")), SERVER_ERROR
    ),
    "come back never": Fault(keep(sized(b"Retry-After: " + b"9" * 5000, status=b"503 Busy")), SERVER_ERROR),
}


def bomb(megabytes: int) -> bytes:
    """So many megabytes of nothing in gzip, a thousandth of that on the wire; the end is missing."""
    engine = zlib.compressobj(wbits=-zlib.MAX_WBITS)
    block = engine.compress(bytes(10**6)) + engine.flush(zlib.Z_FULL_FLUSH)
    return b"\x1f\x8b\x08\0\0\0\0\0\0\xff" + block * megabytes


def _deflated(data: bytes, wbits: int = zlib.MAX_WBITS, dictionary: bytes = b"") -> bytes:
    engine = zlib.compressobj(wbits=wbits, zdict=dictionary)
    return engine.compress(data) + engine.flush()


_GZIPPED = gzip.compress(PAGE, mtime=0)
_NOTHING = gzip.compress(b"", mtime=0)
_DEFLATE = b"Content-Encoding: deflate"

ENCODINGS = {
    "a gzip bomb": Fault(leave(sized(GZIP, body=bomb(100))), FETCHED, None),
    "a gzip bomb in chunks": Fault(leave(chunked(bomb(100), header=GZIP)), FETCHED, None),
    "a gzip bomb without end": Fault(flood(answer(GZIP, body=bomb(1)), bomb(1)[10:]), FETCHED, None),
    "a gzip bomb with an error's status": Fault(leave(sized(GZIP, body=bomb(100), status=b"500 Bomb")), SERVER_ERROR),
    "a deflate bomb": Fault(leave(sized(_DEFLATE, body=b"\x78\x9c" + bomb(50)[10:])), FETCHED, None),
    "a gzip bomb in its second part": Fault(leave(sized(GZIP, body=_GZIPPED + bomb(100))), FETCHED, None),
    "empty gzip blocks without end": Fault(
        flood(answer(GZIP, body=_GZIPPED[:10]), b"\0\0\0\xff\xff" * 10_000), TOO_LONG
    ),
    "a file name in gzip without end": Fault(
        flood(answer(GZIP, body=b"\x1f\x8b\x08\x08\0\0\0\0\0\xff"), b"x" * 65_536), TOO_LONG
    ),
    "gzip in gzip": Fault(keep(sized(GZIP, body=gzip.compress(_GZIPPED))), FETCHED, _GZIPPED),
    "gzip in gzip, and it says so": Fault(
        keep(sized(b"Content-Encoding: gzip, gzip", body=gzip.compress(_GZIPPED))), FETCHED
    ),
    "a bomb of gzip in gzip, and it says so": Fault(
        leave(sized(b"Content-Encoding: gzip, gzip", body=gzip.compress(bomb(100)))), FETCHED, None
    ),
    "gzip, said twice": Fault(leave(sized(GZIP, GZIP, body=_GZIPPED)), BAD),
    "gzip in two parts": Fault(keep(sized(GZIP, body=gzip.compress(PAGE[:5]) + gzip.compress(PAGE[5:]))), FETCHED),
    "gzip in ten thousand parts": Fault(keep(sized(GZIP, body=_NOTHING * 10_000 + _GZIPPED)), FETCHED),
    "gzip cut short": Fault(
        leave(sized(GZIP, body=_GZIPPED[:-9])), FETCHED, zlib.decompressobj(31).decompress(_GZIPPED[:-9])
    ),
    "gzip without its checksum": Fault(leave(sized(GZIP, body=_GZIPPED[:-8])), FETCHED),
    "gzip with a wrong checksum": Fault(leave(sized(GZIP, body=_GZIPPED[:-8] + bytes(8))), BAD),
    "gzip with a wrong length": Fault(leave(sized(GZIP, body=_GZIPPED[:-4] + b"\xff" * 4)), BAD),
    "gzip and padding": Fault(leave(sized(GZIP, body=_GZIPPED + bytes(99))), FETCHED),
    "gzip that is none": Fault(leave(sized(GZIP)), BAD),
    "gzip that does not say so": Fault(keep(sized(HTML, body=_GZIPPED)), FETCHED),
    "gzip that calls itself deflate": Fault(keep(sized(_DEFLATE, body=_GZIPPED)), FETCHED),
    "deflate": Fault(keep(sized(_DEFLATE, body=_deflated(PAGE))), FETCHED),
    "deflate without its frame": Fault(keep(sized(_DEFLATE, body=_deflated(PAGE, -zlib.MAX_WBITS))), FETCHED),
    "deflate with a wrong checksum": Fault(leave(sized(_DEFLATE, body=_deflated(PAGE)[:-4] + bytes(4))), BAD),
    "deflate with a dictionary": Fault(leave(sized(_DEFLATE, body=_deflated(PAGE, dictionary=PAGE))), BAD),
    "an encoding that nobody asked for": Fault(leave(sized(b"Content-Encoding: br")), BAD),
    "an encoding that nobody knows": Fault(leave(sized(b"Content-Encoding: x-sdch-" + b"x" * 9999)), FETCHED),
    "an encoding without a name": Fault(keep(sized(b"Content-Encoding: ")), FETCHED),
}


def _to(location: bytes) -> bytes:
    return sized(b"Location: " + location, status=b"302 Found")


REDIRECTS = {
    "to nowhere": Fault(keep(sized(status=b"302 Found")), Outcome.BAD_REDIRECT),
    "to nothing": Fault(keep(_to(b"")), Outcome.BAD_REDIRECT),
    "to a mailbox": Fault(keep(_to(b"mailto:a@b.test")), Outcome.BAD_REDIRECT),
    "to a script": Fault(keep(_to(b"javascript:alert(1)")), Outcome.BAD_REDIRECT),
    "to data": Fault(keep(_to(b"data:text/html,<p>herring")), Outcome.BAD_REDIRECT),
    "to a file": Fault(keep(_to(b"file:///etc/passwd")), Outcome.BAD_REDIRECT),
    "to a port that cannot be": Fault(keep(_to(b"http://127.0.0.1:99999/")), Outcome.BAD_REDIRECT),
    "to control characters": Fault(keep(_to(b"/a\x01\x7f\tb")), REDIRECTED),
    "to bytes": Fault(keep(_to(b"/\xff\xfe\xc3")), REDIRECTED),
    "to somebody's account": Fault(keep(_to(b"http://me:secret@192.0.2.1/")), REDIRECTED),
    "to a cloud's secrets": Fault(keep(_to(b"http://169.254.169.254/latest/meta-data/")), REDIRECTED),
    "to a number": Fault(keep(_to(b"http://2130706433/")), REDIRECTED),
    "to itself": Fault(keep(_to(b"/fault")), Outcome.REDIRECT_LOOP),
    "to a path of ten kilobytes": Fault(keep(_to(b"/" + b"a/" * 5000)), REDIRECTED),
    "to a path of a megabyte": Fault(leave(_to(b"/" + b"a" * 10**6)), TOO_LONG),
    "by a header for ever": Fault(keep(sized(HTML, b"Refresh: 0; url=/fault")), FETCHED),
}

CONTENTS = {
    "a type of nonsense": Fault(keep(sized(b"Content-Type: ????")), FETCHED),
    "a type of 200 kilobytes": Fault(leave(sized(b"Content-Type: text/html;" + b"x" * 200_000)), TOO_LONG),
    "a type of sixty thousand semicolons": Fault(keep(sized(b"Content-Type: text/html" + b";" * 60_000)), FETCHED),
    "a file name of six thousand file names": Fault(
        keep(
            sized(
                b"Content-Type: application/octet-stream",
                b"Content-Disposition: " + b"filename=a." * 5900 + b"filename=",
            )
        ),
        Outcome.UNWANTED_TYPE,
    ),
    "sixty thousand commas for robots": Fault(keep(sized(b"X-Robots-Tag: a" + b"," * 60_000)), FETCHED),
    "a charset of backslashes": Fault(keep(sized(b'Content-Type: text/html; charset="' + b"\\" * 60_000)), FETCHED),
    "two types": Fault(keep(sized(HTML, b"Content-Type: image/png")), Outcome.UNWANTED_TYPE),  # the last counts
    "a charset that does not exist": Fault(keep(sized(HTML + b"; charset=klingon")), FETCHED),
    "a film without end": Fault(
        flood(answer(b"Content-Type: video/mp4", body=b""), bytes(65_536)), Outcome.UNWANTED_TYPE
    ),
    "a camera": Fault(
        drip(answer(b"Content-Type: multipart/x-mixed-replace; boundary=a"), b"--a\r\n"), Outcome.UNWANTED_TYPE
    ),
    "a page without end": Fault(flood(answer(HTML), b"<p>" * 10_000), FETCHED, None),
    "tiny chunks without end": Fault(flood(chunked(end=b""), b"8\r\nxxxxxxxx\r\n" * 10_000), FETCHED, None),
    "a page of nothing": Fault(leave(sized(HTML, body=bytes(10**6))), FETCHED, None),
    "a page that is one tag": Fault(flood(answer(HTML, body=b"<a href='"), b"x" * 65_536), FETCHED, None),
    "a page twenty thousand deep": Fault(keep(sized(HTML, body=b"<div>" * 20_000)), FETCHED, b"<div>" * 20_000),
}
