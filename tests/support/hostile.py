"""What broken servers, middleboxes, tarpits and attackers do: a table of faults, and what has to come of each.

    FAULTS["framing: two lengths"]  # Fault(talk, outcome, body, at, is_endless)

Faults in what a server says are in `hostile_messages`; here are those in when it speaks and how it ends, and those of
robots.txt, where the outcome is that of the page.
"""

import gzip
from collections.abc import Mapping

from beamtrawl.transforms.outcomes import Outcome
from tests.support.hostile_host import (
    At,
    Fault,
    drip,
    flood,
    hang_up_on_the_next,
    hops,
    keep,
    leave,
    reset,
    shake_hands,
    stall,
)
from tests.support.hostile_messages import CONTENTS, ENCODINGS, FRAMING, HEADS, OK, REDIRECTS, STATUSES, bomb
from tests.support.raw import GZIP, HTML, PAGE, answer, chunked, sized

FETCHED, REDIRECTED, BAD, TOO_LONG = Outcome.FETCHED, Outcome.REDIRECTED, Outcome.BAD_RESPONSE, Outcome.TOO_LONG
TIMEOUT, CONNECT, TLS = Outcome.TIMEOUT, Outcome.CONNECT_ERROR, Outcome.TLS_ERROR
DENIED, UNREACHABLE = Outcome.DENIED_ROBOTS, Outcome.UNREACHABLE_ROBOTS

OTHER = sized(HTML, body=b"<p>not asked for")

TIME = {
    "silence": Fault(stall(b""), TIMEOUT),
    "a head that drips": Fault(drip(OK + b"X-A: ", b"x"), TIMEOUT),
    "headers that drip": Fault(drip(OK, b"X-A: a\r\n"), TIMEOUT),
    "please continue, for ever": Fault(drip(b"", b"HTTP/1.1 100 Continue\r\n\r\n"), TIMEOUT),
    "hints, for ever": Fault(drip(b"", b"HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n"), TIMEOUT),
    "continue, and then silence": Fault(stall(b"HTTP/1.1 100 Continue\r\n\r\n"), TIMEOUT),
    "silence after the head": Fault(stall(answer(b"Content-Length: 99", body=b"")), TIMEOUT),
    "silence in the body": Fault(stall(answer(b"Content-Length: 99")), TIMEOUT),
    "silence between chunks": Fault(stall(chunked(PAGE, end=b"")), TIMEOUT),
    "silence instead of the end": Fault(stall(answer(HTML)), TIMEOUT),
    "a body that drips": Fault(drip(answer(b"Content-Length: 999", body=b""), b"x"), TIMEOUT),
    "a body without a length that drips": Fault(drip(answer(body=b""), b"x"), TIMEOUT),
    "chunks that drip": Fault(drip(chunked(end=b""), b"1\r\nx\r\n"), TIMEOUT),
    "a chunk size that drips": Fault(drip(chunked(end=b""), b"0"), TIMEOUT),
    "a chunk extension that drips": Fault(drip(chunked(end=b"a;"), b"x"), TIMEOUT),
    "trailers that drip": Fault(drip(chunked(PAGE, end=b"0\r\n"), b"X-A: a\r\n"), TIMEOUT),
    "gzip that drips": Fault(drip(answer(GZIP, body=gzip.compress(PAGE)[:10]), b"\0\0\0\xff\xff"), TIMEOUT),
    "a redirect that drips": Fault(
        drip(answer(b"Location: /next", b"Content-Length: 999", body=b"", status=b"301 Moved"), b"x"), TIMEOUT
    ),
}

CONNECTIONS = {
    "a reset instead of an answer": Fault(reset(b""), CONNECT),
    "a reset in the status line": Fault(reset(b"HTTP/1.1 2"), CONNECT),
    "a reset in the head": Fault(reset(OK + b"X-A: "), CONNECT),
    "a reset after the head": Fault(reset(answer(b"Content-Length: 99", body=b"")), CONNECT),
    "a reset in the body": Fault(reset(answer(b"Content-Length: 99")), CONNECT),
    "a reset between chunks": Fault(reset(chunked(PAGE, end=b"")), CONNECT),
    "a reset instead of the end": Fault(reset(answer(HTML)), CONNECT),
    "a reset in a gzip body": Fault(reset(answer(GZIP, body=gzip.compress(PAGE)[:-9])), CONNECT),
    "an end in spite of a promise": Fault(leave(sized(HTML, b"Connection: keep-alive")), FETCHED),
    "an end when the next request comes": Fault(hang_up_on_the_next(sized(HTML)), FETCHED),
    "silence after the announced end": Fault(stall(sized(HTML, b"Connection: close")), FETCHED),
    "silence after HTTP/1.0": Fault(stall(sized(HTML).replace(b"HTTP/1.1", b"HTTP/1.0")), FETCHED),
    "two answers": Fault(keep(sized(HTML) + OTHER), FETCHED),
    "two answers, the first in chunks": Fault(keep(chunked(PAGE) + OTHER), FETCHED),
    "two answers, the first without a body": Fault(
        keep(sized(b"Location: /next", body=b"", status=b"302 Found") + OTHER), REDIRECTED
    ),
    "a second answer beyond all buffers": Fault(keep(sized(HTML) + sized(HTML, body=b"other" * 200_000)), FETCHED),
    "half an answer more": Fault(keep(sized(HTML) + OTHER[:30]), FETCHED),
    "an empty line more": Fault(keep(sized(HTML) + b"\r\n"), FETCHED),
    "too late, said after the answer": Fault(
        leave(sized(HTML) + sized(body=b"", status=b"408 Request Timeout")), FETCHED
    ),
    "a body of a redirect without end": Fault(
        flood(answer(b"Location: /next", body=b"", status=b"301 Moved"), b"x" * 65_536), REDIRECTED
    ),
}

GREETINGS = {
    "an end at once": Fault(leave(b""), CONNECT),
    "a reset at once": Fault(reset(b""), CONNECT),
    "SSH": Fault(stall(b"SSH-2.0-OpenSSH_9.6\r\n"), BAD),
    "mail": Fault(stall(b"220 mail.test ESMTP\r\n"), BAD),
    "telnet": Fault(stall(b"\xff\xfd\x18\xff\xfd\x20"), TIMEOUT),
    "an answer before the question": Fault(leave(sized(status=b"408 Request Timeout")), Outcome.CLIENT_ERROR),
}

HANDSHAKES = {
    "plain text": Fault(leave(sized(HTML)), TLS),
    "noise": Fault(leave(bytes(range(256)) * 40), TLS),
    "an alert": Fault(leave(b"\x15\x03\x03\0\x02\x02\x28"), TLS),
    "an end": Fault(leave(b""), TLS),
    "a reset": Fault(reset(b""), CONNECT),
    "silence": Fault(stall(b""), TIMEOUT),
    "a record that drips": Fault(drip(b"\x16\x03\x03\x40\0", b"\x02"), TIMEOUT),
    "a certificate of its own": Fault(shake_hands(), TLS),
    "a certificate of last year": Fault(shake_hands(age=365), TLS),
    "a certificate of another": Fault(shake_hands("192.0.2.1"), TLS),
}

INSIDE_TLS = {
    "two answers": Fault(keep(sized(HTML) + OTHER), FETCHED),
    "two answers in one record": Fault(keep(sized(HTML) + sized(HTML, body=b"other" * 3000)), FETCHED),
    "a length beyond the body": Fault(leave(answer(b"Content-Length: 99")), BAD),
    "silence in the body": Fault(stall(answer(b"Content-Length: 99")), TIMEOUT),
    "a body that drips": Fault(drip(answer(b"Content-Length: 999", body=b""), b"x"), TIMEOUT),
    "headers without end": Fault(flood(OK, b"X-A: a\r\n" * 1000), TOO_LONG),
    "a body without end": Fault(flood(answer(HTML), b"<p>" * 10_000), FETCHED, None),
}


def _robots(body: bytes) -> bytes:
    return sized(b"Content-Type: text/plain", body=body)


_RULES = _robots(b"User-agent: *\nDisallow: /\n")

ROBOTS = {
    "silence": Fault(stall(b""), UNREACHABLE, is_endless=True),
    "a head that drips": Fault(drip(OK + b"X-A: ", b"x"), UNREACHABLE, is_endless=True),
    "rules that drip": Fault(drip(answer(), b"Disallow: /a\n"), UNREACHABLE, is_endless=True),
    "a reset": Fault(reset(b""), UNREACHABLE),
    "a reset in the rules": Fault(reset(answer(b"Content-Length: 99", body=b"User-agent: *\n")), UNREACHABLE),
    "an end in the rules": Fault(leave(answer(b"Content-Length: 99", body=b"User-agent: *\n")), UNREACHABLE),
    "an end in the head": Fault(leave(OK + b"Content-Type: te"), UNREACHABLE),
    "no answer": Fault(leave(b""), UNREACHABLE),
    "noise instead of an answer": Fault(leave(bytes(range(256)) * 40), UNREACHABLE),
    "headers without end": Fault(flood(OK, b"X-A: a\r\n" * 1000), UNREACHABLE),
    "gzip cut short": Fault(leave(sized(GZIP, body=gzip.compress(b"User-agent: *\n")[:-9])), UNREACHABLE),
    "a gzip bomb of 500 megabytes": Fault(leave(sized(GZIP, body=bomb(500))), FETCHED),
    "rules, and then no end": Fault(
        flood(answer(body=b"User-agent: *\nDisallow: /\n"), b"Disallow: /a\n" * 5000), DENIED
    ),
    "a comment without end": Fault(flood(answer(body=b"#"), b"x" * 65_536), FETCHED),
    "rules after a long line": Fault(keep(_robots(b"#" + b"x" * 99_999 + b"\nUser-agent: *\nDisallow: /")), DENIED),
    "four thousand agents": Fault(
        keep(_robots(b"".join(b"User-agent: a%d\n" % n for n in range(4000)) + b"Disallow: /a\n" * 4000)), FETCHED
    ),
    "stars": Fault(keep(_robots(b"User-agent: *\n" + (b"Disallow: /" + b"*a" * 1000 + b"$\n") * 20)), FETCHED),
    "bytes of any kind": Fault(keep(_robots(bytes(range(256)) * 400)), FETCHED),
    "UTF-16": Fault(keep(_robots("User-agent: *\nDisallow: /".encode("utf-16"))), DENIED),
    "a page": Fault(keep(sized(HTML, body=b"<!doctype html><title>Home</title><p>Disallow: nothing")), FETCHED),
    "a picture with rules": Fault(keep(_RULES.replace(b"text/plain", b"image/png")), DENIED),
    "a delay that is no number": Fault(keep(_robots(b"User-agent: *\nCrawl-delay: nan\nCrawl-delay: -1")), FETCHED),
    "two answers": Fault(keep(_robots(b"") + OTHER), FETCHED),
    "a redirect to itself": Fault(keep(sized(b"Location: /robots.txt", status=b"301 Moved")), FETCHED),
    "five redirects": Fault(hops(5, _RULES), DENIED),
    "redirects without end": Fault(hops(10**9, b""), FETCHED),
    "a redirect to nowhere": Fault(keep(sized(status=b"301 Moved")), FETCHED),
    "a redirect within the network": Fault(
        keep(sized(b"Location: http://10.0.0.1/robots.txt", status=b"302 Found")), UNREACHABLE
    ),
    "a redirect with a body without end": Fault(
        flood(answer(b"Location: /robots.txt", body=b"", status=b"301 Moved"), b"x" * 65_536), FETCHED
    ),
    **{
        f"status {status}": Fault(keep(sized(b"Retry-After: 0", status=b"%d No" % status)), outcome)
        for status, outcome in {
            304: UNREACHABLE,
            401: DENIED,
            403: DENIED,
            404: FETCHED,
            429: UNREACHABLE,
            500: UNREACHABLE,
            503: UNREACHABLE,
            999: UNREACHABLE,
        }.items()
    },
}


def _named(kind: str, faults: Mapping[str, Fault], at: At = At.PAGE) -> dict[str, Fault]:
    return {
        f"{kind}: {name}": fault._replace(at=at, is_endless=fault.is_endless or fault.outcome is TIMEOUT)
        for name, fault in faults.items()
    }


FAULTS = {
    **_named("framing", FRAMING),
    **_named("head", HEADS),
    **_named("status", STATUSES),
    **_named("time", TIME),
    **_named("connection", CONNECTIONS),
    **_named("greeting", GREETINGS, At.CONNECTION),
    **_named("handshake", HANDSHAKES, At.HANDSHAKE),
    **_named("inside TLS", INSIDE_TLS, At.INSIDE_TLS),
    **_named("encoding", ENCODINGS),
    **_named("redirect", REDIRECTS),
    **_named("content", CONTENTS),
    **_named("robots", ROBOTS, At.ROBOTS),
}
