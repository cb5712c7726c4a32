"""What the client makes of servers that say anything at all, and how it gets away from those that never end."""

import contextlib
import gzip
import threading
import zlib

import pytest

from tests.raw import GZIP, HTML, PAGE, Peer, Talk, answer, chunked, dripping, says, serve, silent, sized
from transforms.client import opener
from transforms.outcomes import Outcome
from transforms.replies import Reply, outcome
from transforms.settings import Fetch

LIMIT = 1000
PATIENT = Fetch(total_timeout=30, max_body_bytes=LIMIT, allow_addresses=["127.0.0.0/8"])
HASTY = Fetch(total_timeout=0.3, allow_addresses=["127.0.0.0/8"])
HEADERS = {"User-Agent": "Robot/1"}
DEFLATE = b"Content-Encoding: deflate"


def ask(talk: Talk, fetch: Fetch = PATIENT) -> Reply:
    with serve(talk) as server, contextlib.closing(opener(fetch, public=True)()) as client:
        return client.get(server.url(), HEADERS)


def raw_deflate(data: bytes) -> bytes:
    engine = zlib.compressobj(wbits=-zlib.MAX_WBITS)
    return engine.compress(data) + engine.flush()


# answer: status, how the visit ends, body, whether that was cut
ANSWERS: dict[str, tuple[bytes, int | None, str, bytes, bool]] = {
    # as it should be
    "a length": (sized(HTML), 200, "fetched", PAGE, False),
    "no length": (answer(HTML), 200, "fetched", PAGE, False),
    "HTTP/1.0": (b"HTTP/1.0 200 OK\r\n\r\n" + PAGE, 200, "fetched", PAGE, False),
    "no content": (answer(body=b"", status=b"204 No Content"), 204, "fetched", b"", False),
    "continue": (b"HTTP/1.1 100 Continue\r\n\r\n" * 3 + sized(HTML), 200, "fetched", PAGE, False),
    "chunked": (chunked(b"<p>", b"herring"), 200, "fetched", PAGE, False),
    "gzip": (sized(GZIP, body=gzip.compress(PAGE)), 200, "fetched", PAGE, False),
    "gzip by its old name": (
        sized(b"Content-Encoding: X-GZIP", body=gzip.compress(PAGE)),
        200,
        "fetched",
        PAGE,
        False,
    ),
    "gzip in chunks of a byte": (
        chunked(*(bytes([byte]) for byte in gzip.compress(PAGE)), header=GZIP),
        200,
        "fetched",
        PAGE,
        False,
    ),
    "gzip of nothing": (sized(GZIP, body=b""), 200, "fetched", b"", False),
    "deflate as it is meant": (sized(DEFLATE, body=zlib.compress(PAGE)), 200, "fetched", PAGE, False),
    "deflate as some send it": (sized(DEFLATE, body=raw_deflate(PAGE)), 200, "fetched", PAGE, False),
    "not found": (sized(HTML, status=b"404 Not Found"), 404, "gone", PAGE, False),
    # too much
    "a body of the limit": (sized(body=b"x" * LIMIT), 200, "fetched", b"x" * LIMIT, False),
    "a body beyond the limit": (sized(body=b"x" * (LIMIT + 1)), 200, "fetched", b"x" * LIMIT, True),
    "a body without a length beyond it": (answer(body=b"x" * LIMIT * 9), 200, "fetched", b"x" * LIMIT, True),
    "a gzip bomb": (sized(GZIP, body=gzip.compress(bytes(50_000_000))), 200, "fetched", bytes(LIMIT), True),
    "a header line of 70 kB": (sized(b"X: " + b"y" * 70_000), None, "too_long", b"", False),
    "a status line of 70 kB": (answer(status=b"200 " + b"y" * 70_000), None, "too_long", b"", False),
    "99 headers": (answer(*(b"X%d: y" % n for n in range(99))), 200, "fetched", PAGE, False),
    "100 headers": (answer(*(b"X%d: y" % n for n in range(100))), None, "too_long", b"", False),
    # too little
    "nothing": (b"", None, "connect_error", b"", False),
    "a length beyond the body": (answer(b"Content-Length: 99"), None, "bad_response", b"", False),
    "chunks cut short": (chunked(PAGE, end=b""), None, "bad_response", b"", False),
    "cut inside a chunk": (chunked(PAGE, end=b"f\r\nabc"), None, "bad_response", b"", False),
    "gzip cut short": (sized(GZIP, body=gzip.compress(PAGE)[:-8]), 200, "bad_response", PAGE, False),
    "gzip cut in its own head": (sized(GZIP, body=gzip.compress(PAGE)[:10]), 200, "bad_response", b"", False),
    # contradictions
    "another protocol": (b"SSH-2.0-OpenSSH_9.6\r\n", None, "bad_response", b"", False),
    "bytes": (bytes(range(256)) * 4, None, "bad_response", b"", False),
    "a body and no head": (PAGE, None, "bad_response", b"", False),
    "a status that is no number": (answer(status=b"ok"), None, "bad_response", b"", False),
    "a length below the body's": (answer(b"Content-Length: 3"), 200, "fetched", PAGE[:3], False),
    "two lengths": (sized(b"Content-Length: 3"), None, "bad_response", b"", False),
    "a chunk of negative length": (chunked(PAGE, end=b"-5\r\nabc\r\n0\r\n\r\n"), None, "bad_response", b"", False),
    "a chunk that says it is endless": (chunked(end=b"-1\r\n" + b"x" * 9999), 200, "fetched", b"x" * LIMIT, True),
    "a chunk of no length": (chunked(PAGE, end=b"soon\r\n"), None, "bad_response", b"", False),
    "gzip that is none": (sized(GZIP), 200, "bad_response", b"", False),
    "gzip and then something else": (
        sized(GZIP, body=gzip.compress(PAGE) + b"\0" * 99),
        200,
        "fetched",
        PAGE,
        False,
    ),
    "an encoding that nobody asked for": (sized(b"Content-Encoding: br"), 200, "bad_response", b"", False),
    "not modified, but nobody asked": (
        answer(body=b"", status=b"304 Not Modified"),
        304,
        "bad_response",
        b"",
        False,
    ),
    "a part, but nobody asked": (sized(HTML, status=b"206 Partial Content"), 206, "bad_response", PAGE, False),
    "a status without a meaning": (sized(HTML, status=b"999 No"), 999, "bad_response", PAGE, False),
    "a header without a colon": (sized(b"nonsense", HTML), 200, "fetched", PAGE, False),
}


@pytest.mark.parametrize(("sent", "status", "end", "body", "truncated"), ANSWERS.values(), ids=ANSWERS)
def test_what_an_answer_comes_to(sent: bytes, status: int | None, end: str, body: bytes, truncated: bool) -> None:
    reply = ask(says(sent))
    assert (reply.status, outcome("http://a.test/", reply, conditional=False)) == (status, end)
    assert (reply.body, reply.truncated) == (body, truncated)
    assert (reply.error is None) == (reply.trouble is None)
    assert reply.address == "127.0.0.1"


SLOW_BODIES = {
    "a length": (b"Content-Length: 9999\r\n\r\n", b"x"),
    "no length": (b"\r\n", b"x"),
    "chunks": (b"Transfer-Encoding: chunked\r\n\r\n", b"1\r\nx\r\n"),
    "gzip": (GZIP + b"\r\n\r\n" + gzip.compress(PAGE)[:10], b"\0\0\0\xff\xff"),  # empty blocks
}


@pytest.mark.parametrize(("framing", "drop"), SLOW_BODIES.values(), ids=SLOW_BODIES)
def test_a_body_that_drips_ends_with_the_time_for_a_request(framing: bytes, drop: bytes) -> None:
    reply = ask(dripping(b"HTTP/1.1 200 OK\r\n" + framing, drop), HASTY)
    assert (reply.status, reply.trouble) == (200, Outcome.TIMEOUT)
    assert reply.elapsed >= HASTY.total_timeout


def test_a_server_that_says_nothing_is_left_after_the_time_for_a_read() -> None:
    reply = ask(silent(b""), Fetch(read_timeout=0.2, allow_addresses=["127.0.0.0/8"]))
    assert reply.trouble == Outcome.TIMEOUT


ENDLESS = {
    "nothing": silent(b""),
    "a head without end": dripping(b"HTTP/1.1 200 OK\r\nX: ", b"y"),
    "please continue": dripping(b"", b"HTTP/1.1 100 Continue\r\n\r\n"),
    "a body with a length": silent(b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nx"),
    "a body that ends with its connection": silent(b"HTTP/1.1 200 OK\r\n\r\nx"),
    "a body that does not start": silent(b"HTTP/1.1 200 OK\r\n\r\n"),
    "chunks without a last one": silent(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nx\r\n"),
}


@pytest.mark.parametrize("talk", ENDLESS.values(), ids=ENDLESS)
def test_a_request_is_cut_from_another_thread(talk: Talk) -> None:
    """Whatever it waits for: what arrived until then does not pass for a short answer."""
    replies = []
    with serve(talk) as server, contextlib.closing(opener(PATIENT, public=True)()) as client:
        thread = threading.Thread(target=lambda: replies.append(client.get(server.url(), HEADERS)))
        thread.start()
        assert server.asked.wait(10)
        while thread.is_alive():
            client.abort()  # again and again, as the scheduler does
            thread.join(0.05)
    (reply,) = replies
    assert reply == Reply(trouble=Outcome.TIMEOUT, address="127.0.0.1", elapsed=reply.elapsed, error=reply.error)


def test_after_a_request_that_was_cut_the_next_one_is_another() -> None:
    answers = iter([b"", sized(HTML)])

    def talk(peer: Peer) -> None:
        peer.read_head()
        if not (data := next(answers)):
            peer.wait_for_hang_up()
        peer.send(data)

    with serve(talk) as server, contextlib.closing(opener(PATIENT, public=True)()) as client:
        thread = threading.Thread(target=client.get, args=(server.url(), HEADERS))
        thread.start()
        assert server.asked.wait(10)
        while thread.is_alive():
            client.abort()
            thread.join(0.05)
        client.abort()  # between two requests, it changes nothing
        assert client.get(server.url(), HEADERS).body == PAGE


# Content-Type: how the visit ends, for a page and for a robots.txt, which may be of any type
