"""What the client makes of servers that say anything at all, and how it gets away from those that never end."""

import contextlib
import dataclasses
import gzip
import threading
import zlib
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor

import brotli
import pytest

from beamtrawl.transforms.http.client import HostClient, opener
from beamtrawl.transforms.http.content_coding import zstd
from beamtrawl.transforms.http.reply import Reply, outcome
from beamtrawl.transforms.http.response_body import CUT
from beamtrawl.transforms.outcomes import Outcome
from beamtrawl.transforms.settings import Fetch
from tests.support.raw import GZIP, HTML, PAGE, Peer, Talk, answer, chunked, dripping, says, serve, silent, sized

LIMIT = 1000
PATIENT = Fetch(total_timeout=30, max_body_bytes=LIMIT, allow_addresses=["127.0.0.0/8"])
HASTY = Fetch(total_timeout=2.0, allow_addresses=["127.0.0.0/8"])  # far from what a busy machine takes for an answer
HEADERS = {"User-Agent": "Robot/1"}
DEFLATE = b"Content-Encoding: deflate"
BROTLI = b"Content-Encoding: br"
ZSTD = b"Content-Encoding: zstd"


Open = Callable[[Fetch], HostClient]


@pytest.fixture(params=["direct", "requests"])
def client_of(request: pytest.FixtureRequest) -> Open:
    """Opens a client by each of the ways to send a request, between which nobody can tell."""
    return lambda fetch: opener(dataclasses.replace(fetch, client=request.param), public=True)()


def ask(client_of: Open, talk: Talk, fetch: Fetch = PATIENT) -> Reply:
    with serve(talk) as server, contextlib.closing(client_of(fetch)) as client:
        return client.get(server.url(), HEADERS)


def ask_dripping(client_of: Open, drips: Mapping[str, tuple[bytes, bytes]], fetch: Fetch) -> dict[str, Reply]:
    """The replies of servers that start with some bytes and then drip others, by name; all are asked at once."""
    with ThreadPoolExecutor(len(drips)) as pool:
        asked = {name: pool.submit(ask, client_of, dripping(*drip), fetch) for name, drip in drips.items()}
        return {name: reply.result() for name, reply in asked.items()}


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
    "gzip in two parts": (sized(GZIP, body=gzip.compress(PAGE) * 2), 200, "fetched", PAGE * 2, False),
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
    "a head of 70 kB": (answer(*(b"X%d: " % n + b"y" * 700 for n in range(100))), None, "too_long", b"", False),
    "hints of 70 kB": (b"HTTP/1.1 103 Hint\r\nX: " + b"y" * 70_000 + b"\r\n\r\n", None, "too_long", b"", False),
    "500 headers": (answer(*(b"X%d: y" % n for n in range(500))), 200, "fetched", PAGE, False),
    "headers beyond the limit": (answer(*(b"X%d: y" % n for n in range(9000))), None, "too_long", b"", False),
    "gzip of nothing, and much of it": (sized(GZIP, body=gzip.compress(b"") * 4000), 200, "too_long", b"", False),
    "a redirect with a body beyond the limit": (
        sized(b"Location: /elsewhere", body=b"x" * 70_000, status=b"301 Moved"),
        301,
        "redirected",
        b"x" * LIMIT,
        True,
    ),
    # too little
    "nothing": (b"", None, "connect_error", b"", False),
    "a length beyond the body": (answer(b"Content-Length: 99"), 200, "bad_response", PAGE, False),
    "chunks cut short": (chunked(PAGE, end=b""), 200, "bad_response", PAGE, False),
    "cut inside a chunk": (chunked(PAGE, end=b"f\r\nabc"), 200, "bad_response", PAGE + b"abc", False),
    "gzip cut short": (sized(GZIP, body=gzip.compress(PAGE)[:-8]), 200, "fetched", PAGE, True),
    "gzip cut in its own head": (sized(GZIP, body=gzip.compress(PAGE)[:10]), 200, "bad_response", b"", False),
    "a head without its end": (b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n", None, "bad_response", b"", False),
    "a status line without its end": (b"HTTP/1.1 200 OK", None, "bad_response", b"", False),
    "gzip cut short in its second part": (
        sized(GZIP, body=gzip.compress(PAGE) + gzip.compress(PAGE)[:-8]),
        200,
        "fetched",
        PAGE * 2,
        True,
    ),
    # contradictions
    "a length and chunks": (chunked(PAGE, header=b"Content-Length: 3"), 200, "fetched", PAGE, False),
    "the same length twice": (sized(b"Content-Length: 10"), 200, "fetched", PAGE, False),
    "a transfer coding that nobody asked for": (
        answer(b"Transfer-Encoding: gzip, chunked"),
        200,
        "bad_response",
        b"",
        False,
    ),
    "a charset as a transfer coding": (answer(b"Transfer-Encoding: utf-8"), 200, "fetched", PAGE, False),
    "a body after no content": (sized(HTML, status=b"204 No Content"), 204, "fetched", b"", False),
    "a body after not modified": (sized(HTML, status=b"304 Not Modified"), 304, "bad_response", b"", False),
    "HTTP/0.9": (b"<html><p>herring", None, "bad_response", b"", False),
    "HTTP/2 by name": (b"HTTP/2 200\r\n\r\n" + PAGE, 200, "fetched", PAGE, False),
    "the proxy of nobody": (sized(status=b"407 Login"), 407, "client_error", PAGE, False),
    "another protocol": (b"SSH-2.0-OpenSSH_9.6\r\n", None, "bad_response", b"", False),
    "bytes": (bytes(range(256)) * 4, None, "bad_response", b"", False),
    "a body and no head": (PAGE, None, "bad_response", b"", False),
    "a status that is no number": (answer(status=b"ok"), None, "bad_response", b"", False),
    "a length below the body's": (answer(b"Content-Length: 3"), 200, "fetched", PAGE[:3], False),
    "two lengths": (sized(b"Content-Length: 3"), None, "bad_response", b"", False),
    "a chunk of negative length": (chunked(PAGE, end=b"-5\r\nabc\r\n0\r\n\r\n"), 200, "bad_response", PAGE, False),
    "a chunk that says it is endless": (chunked(end=b"-1\r\n" + b"x" * 9999), 200, "bad_response", b"", False),
    "a chunk beyond its length": (
        chunked(end=b"3\r\n" + PAGE + b"\r\n0\r\n\r\n"),
        200,
        "bad_response",
        PAGE[:3],
        False,
    ),
    "a chunk size of endless digits": (chunked(end=b"0" * 99_999), 200, "too_long", b"", False),
    "endless lines after the last chunk": (
        chunked(PAGE, end=b"0\r\n" + b"X: y\r\n" * 99_999),
        200,
        "too_long",
        PAGE,
        False,
    ),
    "a chunk of no length": (chunked(PAGE, end=b"soon\r\n"), 200, "bad_response", PAGE, False),
    "gzip that is none": (sized(GZIP), 200, "bad_response", b"", False),
    "gzip and then something else": (
        sized(GZIP, body=gzip.compress(PAGE) + b"\0" * 99),
        200,
        "fetched",
        PAGE,
        False,
    ),
    "an encoding that nobody asked for": (sized(b"Content-Encoding: compress"), 200, "bad_response", b"", False),
    "br": (sized(BROTLI, body=brotli.compress(PAGE)), 200, "fetched", PAGE, False),
    "br and then something else": (sized(BROTLI, body=brotli.compress(PAGE) + b"more"), 200, "fetched", PAGE, False),
    "br that is none": (sized(BROTLI), 200, "bad_response", b"", False),
    "a bomb of br": (sized(BROTLI, body=brotli.compress(bytes(10**7))), 200, "fetched", bytes(LIMIT), True),
    "zstd": (sized(ZSTD, body=zstd.compress(PAGE)), 200, "fetched", PAGE, False),
    "zstd in chunks of a byte": (
        chunked(*(bytes([byte]) for byte in zstd.compress(PAGE)), header=ZSTD),
        200,
        "fetched",
        PAGE,
        False,
    ),
    "zstd that is none": (sized(ZSTD), 200, "bad_response", b"", False),
    "zstd cut short": (sized(ZSTD, body=zstd.compress(PAGE)[:-1]), 200, "fetched", PAGE[:-1], True),
    "zstd with a window of 2 GB": (
        sized(ZSTD, body=b"\x28\xb5\x2f\xfd\x00\xa8\x01\x00\x00"),
        200,
        "bad_response",
        b"",
        False,
    ),
    "a bomb of zstd": (sized(ZSTD, body=zstd.compress(bytes(10**7))), 200, "fetched", bytes(LIMIT), True),
    "not modified, but nobody asked": (
        answer(body=b"", status=b"304 Not Modified"),
        304,
        "bad_response",
        b"",
        False,
    ),
    "a part, but nobody asked": (sized(HTML, status=b"206 Partial Content"), 206, "bad_response", PAGE, False),
    "a status without a meaning": (sized(HTML, status=b"999 No"), 999, "client_error", PAGE, False),
    "a header without a colon": (sized(b"nonsense", HTML), 200, "fetched", PAGE, False),
}


@pytest.mark.parametrize(("sent", "status", "end", "body", "truncated"), ANSWERS.values(), ids=ANSWERS)
def test_what_an_answer_comes_to(
    client_of: Open, sent: bytes, status: int | None, end: str, body: bytes, truncated: bool
) -> None:
    reply = ask(client_of, says(sent))
    assert (reply.status, outcome("http://a.test/", reply, conditional=False)) == (status, end)
    assert (reply.body, reply.truncated) == (body, truncated)
    assert reply.error in (None, CUT) if reply.failure is None else reply.error
    assert reply.address == "127.0.0.1"


BROKEN = {
    "gzip that is none": GZIP,
    "a length beyond the body": b"Content-Length: 99",
    "chunks that are none": b"Transfer-Encoding: chunked",
}
STATUSES = {
    b"301 Moved": "redirected",
    b"404 Not Found": "gone",
    b"403 Forbidden": "forbidden",
    b"503 No": "server_error",
}


@pytest.mark.parametrize("broken", BROKEN.values(), ids=BROKEN)
def test_a_status_counts_although_its_body_is_broken(client_of: Open, broken: bytes) -> None:
    """Chromium goes where such a redirect leads (scrapy/scrapy#78, #2388, projectdiscovery/httpx#303)."""
    for status, end in STATUSES.items():
        reply = ask(client_of, says(answer(HTML, broken, b"Location: /t", status=status)))
        assert (reply.failure, reply.truncated, outcome("http://a.test/", reply, conditional=False)) == (
            None,
            True,
            end,
        )
        assert reply.error
    reply = ask(client_of, says(answer(HTML, broken)))
    assert (reply.failure, reply.truncated) == (Outcome.BAD_RESPONSE, False)


OK = b"HTTP/1.1 200 OK\r\n"
SLOW_BODIES = {
    "a length": (OK + b"Content-Length: 9999\r\n\r\n", b"x"),
    "no length": (OK + b"\r\n", b"x"),
    "chunks": (OK + b"Transfer-Encoding: chunked\r\n\r\n", b"1\r\nx\r\n"),
    "gzip": (OK + GZIP + b"\r\n\r\n" + gzip.compress(PAGE)[:10], b"\0\0\0\xff\xff"),  # empty blocks
}


def test_a_body_that_drips_ends_with_the_time_for_a_request(client_of: Open) -> None:
    replies = ask_dripping(client_of, SLOW_BODIES, HASTY)
    ends = {name: (reply.status, reply.failure, reply.error) for name, reply in replies.items()}
    assert ends == dict.fromkeys(SLOW_BODIES, (200, Outcome.TIMEOUT, "the whole request took too long"))
    # Without the time to connect, which a busy machine may make long.
    assert max(reply.elapsed_s for reply in replies.values()) > 0.8 * HASTY.total_timeout


SLOW_HEADS = {
    "a status line": (b"", b"x"),
    "a header": (OK + b"X: ", b"x"),
    "headers": (OK, b"X: y\r\n"),
    "please continue": (b"", b"HTTP/1.1 100 Continue\r\n\r\n"),
    "the size of a chunk": (OK + b"Transfer-Encoding: chunked\r\n\r\n", b"0"),
    "what follows the last chunk": (OK + b"Transfer-Encoding: chunked\r\n\r\n0\r\n", b"X: y\r\n"),
}


def test_what_drips_and_is_no_body_ends_so_too(client_of: Open) -> None:
    """Nobody has to cut it: each read keeps to the time that is left."""
    replies = ask_dripping(client_of, SLOW_HEADS, HASTY)
    ends = {name: (reply.failure, reply.error) for name, reply in replies.items()}
    assert ends == dict.fromkeys(SLOW_HEADS, (Outcome.TIMEOUT, "the whole request took too long"))


def test_a_body_below_the_floor_under_its_rate_is_given_up(client_of: Open) -> None:
    slow = Fetch(read_timeout=2.0, min_rate=10_000, allow_addresses=["127.0.0.0/8"])
    replies = ask_dripping(client_of, SLOW_BODIES, slow)
    ends = {name: (reply.status, reply.failure, reply.error) for name, reply in replies.items()}
    assert ends == dict.fromkeys(SLOW_BODIES, (200, Outcome.TIMEOUT, "the body came slower than fetch.min_rate"))
    assert all(slow.read_timeout <= reply.elapsed_s < slow.total_timeout for reply in replies.values())


def test_the_body_of_a_redirect_is_read_as_far_as_it_is_short(client_of: Open) -> None:
    fetch = Fetch(allow_addresses=["127.0.0.0/8"])
    reply = ask(client_of, says(sized(b"Location: /", body=b"x" * 70_000, status=b"301 Moved")), fetch)
    assert (reply.failure, reply.truncated, len(reply.body)) == (None, True, 65_536)


def test_hints_without_end_are_not_read_for_ever(client_of: Open) -> None:
    reply = ask(client_of, says(b"HTTP/1.1 103 Hint\r\n\r\n" * 200))
    assert (reply.failure, reply.error) == (Outcome.BAD_RESPONSE, "more than 100 interim answers")


def test_the_head_has_a_limit_of_its_own(client_of: Open) -> None:
    head = b"HTTP/1.1 200 OK\r\nX: y\r\n\r\n"
    ends = [
        ask(client_of, says(head + PAGE), Fetch(max_header_bytes=limit, allow_addresses=["127.0.0.0/8"])).failure
        for limit in (len(head), len(head) - 1)
    ]
    assert ends == [None, Outcome.TOO_LONG]


def test_a_server_that_says_nothing_is_left_after_the_time_for_a_read(client_of: Open) -> None:
    reply = ask(client_of, silent(b""), Fetch(read_timeout=0.2, allow_addresses=["127.0.0.0/8"]))
    assert reply.failure == Outcome.TIMEOUT


ENDLESS = {
    "nothing": silent(b""),
    "a head without end": dripping(b"HTTP/1.1 200 OK\r\nX: ", b"y"),
    "after please continue": silent(b"HTTP/1.1 100 Continue\r\n\r\n"),
    "a body with a length": silent(b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nx"),
    "a body that ends with its connection": silent(b"HTTP/1.1 200 OK\r\n\r\nx"),
    "a body that does not start": silent(b"HTTP/1.1 200 OK\r\n\r\n"),
    "chunks without a last one": silent(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nx\r\n"),
}


@pytest.mark.parametrize("talk", ENDLESS.values(), ids=ENDLESS)
def test_a_request_is_cut_from_another_thread(client_of: Open, talk: Talk) -> None:
    """Whatever it waits for: what arrived until then does not pass for a short answer."""
    replies = []
    with serve(talk) as server, contextlib.closing(client_of(PATIENT)) as client:
        thread = threading.Thread(target=lambda: replies.append(client.get(server.url(), HEADERS)))
        thread.start()
        assert server.asked.wait(60)
        while thread.is_alive():
            client.abort()  # again and again, as the scheduler does
            thread.join(0.05)
    (reply,) = replies
    assert reply == Reply(failure=Outcome.TIMEOUT, address="127.0.0.1", elapsed_s=reply.elapsed_s, error=reply.error)


def test_after_a_request_that_was_cut_the_next_one_is_another(client_of: Open) -> None:
    answers = iter([b"", sized(HTML)])

    def talk(peer: Peer) -> None:
        peer.read_head()
        if not (data := next(answers)):
            peer.wait_for_hang_up()
        peer.send(data)

    with serve(talk) as server, contextlib.closing(client_of(PATIENT)) as client:
        thread = threading.Thread(target=client.get, args=(server.url(), HEADERS))
        thread.start()
        assert server.asked.wait(60)
        while thread.is_alive():
            client.abort()
            thread.join(0.05)
        client.abort()  # between two requests, it changes nothing
        assert client.get(server.url(), HEADERS).body == PAGE


# Content-Type: how the visit ends, for a page and for a robots.txt, which may be of any type
