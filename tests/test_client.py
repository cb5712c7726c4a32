"""What the client makes of servers that say anything at all, and what it sends them."""

import contextlib
import gzip
import ipaddress
import socket
import ssl
import threading
import zlib
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec

from tests.raw import Peer, Talk, says, serve
from transforms.client import HostClient, open_client
from transforms.outcomes import Outcome
from transforms.replies import Reply, outcome
from transforms.settings import Fetch

LIMIT = 1000
PATIENT = Fetch(total_timeout=30, max_body_bytes=LIMIT, allow_addresses=["127.0.0.0/8"])
HASTY = Fetch(total_timeout=0.3, allow_addresses=["127.0.0.0/8"])
HEADERS = {"User-Agent": "Robot/1", "Accept-Encoding": "gzip, deflate"}
HTML = b"Content-Type: text/html"
GZIP = b"Content-Encoding: gzip"
DEFLATE = b"Content-Encoding: deflate"
PAGE = b"<p>herring"


@contextlib.contextmanager
def client(fetch: Fetch = PATIENT) -> Iterator[HostClient]:
    with contextlib.closing(open_client(fetch, public=True)) as opened:
        yield opened


def ask(talk: Talk, fetch: Fetch = PATIENT) -> Reply:
    with serve(talk) as server, client(fetch) as asking:
        return asking.get(server.url(), HEADERS)


def answer(*headers: bytes, body: bytes = PAGE, status: bytes = b"200 OK") -> bytes:
    """An answer that ends with its connection."""
    return b"HTTP/1.1 " + b"\r\n".join([status, *headers]) + b"\r\n\r\n" + body


def sized(*headers: bytes, body: bytes = PAGE, status: bytes = b"200 OK") -> bytes:
    """An answer that declares the length of its body."""
    return answer(b"Content-Length: %d" % len(body), *headers, body=body, status=status)


def chunked(*chunks: bytes, end: bytes = b"0\r\n\r\n", header: bytes = HTML) -> bytes:
    body = b"".join(b"%x\r\n%s\r\n" % (len(chunk), chunk) for chunk in chunks)
    return answer(b"Transfer-Encoding: chunked", header, body=body + end)


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


def dripping(start: bytes, drop: bytes) -> Talk:
    """Something every hundredth of a second, for ever: no single read takes long."""

    def talk(peer: Peer) -> None:
        peer.read_head()
        peer.send(start)
        peer.drip(drop, 0.01)

    return talk


def silent(start: bytes) -> Talk:
    def talk(peer: Peer) -> None:
        peer.read_head()
        peer.send(start)
        peer.wait_for_hang_up()

    return talk


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
    with serve(talk) as server, client() as asking:
        thread = threading.Thread(target=lambda: replies.append(asking.get(server.url(), HEADERS)))
        thread.start()
        assert server.asked.wait(10)
        while thread.is_alive():
            asking.abort()  # again and again, as the scheduler does
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

    with serve(talk) as server, client() as asking:
        thread = threading.Thread(target=asking.get, args=(server.url(), HEADERS))
        thread.start()
        assert server.asked.wait(10)
        while thread.is_alive():
            asking.abort()
            thread.join(0.05)
        asking.abort()  # between two requests, it changes nothing
        assert asking.get(server.url(), HEADERS).body == PAGE


# Content-Type: how the visit ends, for a page and for a robots.txt, which may be of any type
TYPES = {
    "text/html;charset=utf-8": ("fetched", PAGE),
    "TEXT/PLAIN": ("fetched", PAGE),
    "image/png": ("unwanted_type", b""),
    "application/pdf": ("unwanted_type", b""),
}


@pytest.mark.parametrize(("media_type", "end", "body"), [(name, *rest) for name, rest in TYPES.items()])
def test_a_type_that_nobody_wants_is_not_read(media_type: str, end: str, body: bytes) -> None:
    with serve(says(sized(b"Content-Type: " + media_type.encode()))) as server, client() as asking:
        reply = asking.get(server.url(), HEADERS)
        assert (outcome("http://a.test/", reply, conditional=False), reply.body) == (end, body)
        assert asking.get(server.url(), HEADERS, any_type=True).body == PAGE


LEFT_EARLY = {
    "an unwanted type": (b"Content-Type: video/mp4", 200),
    "a body beyond the limit": (HTML, 200),
    "an encoding that nobody asked for": (b"Content-Encoding: br", 200),
    "an endless body of a redirect": (b"Location: /elsewhere", 302),
}


@pytest.mark.parametrize(("header", "status"), LEFT_EARLY.values(), ids=LEFT_EARLY)
def test_what_is_not_read_to_its_end_is_hung_up(header: bytes, status: int) -> None:
    """At once, and not when the client is closed: the server need not send the rest."""
    talk = dripping(answer(header, b"Content-Length: 999999999", body=b"", status=b"%d X" % status), b"x" * 9999)
    with serve(talk) as server, client() as asking:
        assert asking.get(server.url(), HEADERS).status == status
        assert server.hung_up.wait(10)


def test_a_compressed_body_is_read_to_its_end_and_no_further() -> None:
    talk = dripping(answer(GZIP, body=gzip.compress(PAGE)), b"x" * 9999)
    with serve(talk) as server, client() as asking:
        reply = asking.get(server.url(), HEADERS)
        assert (reply.body, reply.trouble) == (PAGE, None)
        assert server.hung_up.wait(10)


@pytest.mark.parametrize("location", [b"/elsewhere", b"http://[", b"\xff\xfe", b"//a b/", b""])
def test_a_redirect_is_not_followed(location: bytes) -> None:
    talk = says(sized(b"Location: " + location, status=b"301 Moved Permanently"))
    with serve(talk) as server, client() as asking:
        reply = asking.get(server.url(), HEADERS)
        assert (reply.status, reply.body) == (301, PAGE)
        assert len(server.heads) == 1


def answering(*answers: bytes) -> Talk:
    """One answer after the other on a connection, as long as there are any."""
    remaining = iter(answers)

    def talk(peer: Peer) -> None:
        for data in remaining:
            peer.read_head()
            peer.send(data)

    return talk


KEPT = {
    "a length": sized(HTML),
    "chunks": chunked(PAGE),
    "gzip": sized(GZIP, body=gzip.compress(PAGE)),
    "gzip in chunks": chunked(gzip.compress(PAGE), header=GZIP),
    "not found": sized(HTML, status=b"404 Not Found"),
    "no content": answer(body=b"", status=b"204 No Content"),
}


@pytest.mark.parametrize("first", KEPT.values(), ids=KEPT)
def test_a_connection_is_used_again(first: bytes) -> None:
    with serve(answering(first, first, sized(HTML))) as server, client() as asking:
        replies = [asking.get(server.url(f"/{n}"), HEADERS) for n in range(3)]
        assert replies[0]._replace(elapsed=0) == replies[1]._replace(elapsed=0)
        assert replies[2].body == PAGE
        assert (len(server.connections), len(server.heads)) == (1, 3)


NOT_KEPT = {
    "more than was declared": answer(b"Content-Length: 3", body=PAGE + sized(HTML, body=b"not asked for")),
    "a body where there is none": sized(HTML, body=b"not asked for", status=b"204 No Content"),
}


@pytest.mark.parametrize("first", NOT_KEPT.values(), ids=NOT_KEPT)
def test_what_is_left_over_is_not_the_next_answer(first: bytes) -> None:
    with serve(says(first)) as server, client() as asking:
        first_reply, second_reply = (asking.get(server.url(), HEADERS) for _ in range(2))
        assert first_reply.body == second_reply.body != b"not asked for"
        assert len(server.connections) == 2


def test_the_answer_after_an_early_hint_is_not_the_next_one() -> None:
    hint = answer(body=b"", status=b"103 Early Hints")
    with serve(answering(hint, sized(body=b"the hinted one"), sized(HTML))) as server, client() as asking:
        assert outcome(server.url(), asking.get(server.url(), HEADERS), conditional=False) == Outcome.BAD_RESPONSE
        assert asking.get(server.url(), HEADERS).body == PAGE


def test_a_connection_that_the_server_has_closed_is_made_anew() -> None:
    with serve(says(sized(HTML))) as server, client() as asking:
        assert [asking.get(server.url(), HEADERS).body for _ in range(3)] == [PAGE] * 3
        assert len(server.connections) == 3


def test_a_server_that_closes_while_the_next_request_is_on_its_way_is_asked_again() -> None:
    def talk(peer: Peer) -> None:
        peer.read_head()
        peer.send(sized(HTML))
        peer.read_head()

    with serve(talk) as server, client() as asking:
        assert [asking.get(server.url(path), HEADERS).body for path in ("/1", "/2")] == [PAGE] * 2
        assert [head.split()[1] for head in server.heads] == [b"/1", b"/2", b"/2"]


def test_a_server_that_never_answers_is_asked_once() -> None:
    with serve(says(b"")) as server, client() as asking:
        assert [asking.get(server.url(), HEADERS).trouble for _ in range(2)] == [Outcome.CONNECT_ERROR] * 2
        assert len(server.heads) == 2


def test_the_head_of_a_request() -> None:
    """Our headers and no others: no cookie, though one was set, and no account from anywhere."""
    first = sized(HTML, b"Set-Cookie: a=b; Path=/", b"Alt-Svc: h3")
    headers = {"User-Agent": "Robot/1 (+http://robot.test/)", "Accept-Encoding": "gzip, deflate", "From": "a@b.test"}
    with serve(answering(first, first)) as server, client() as asking:
        for path in ("/", "/fish?of=the+day&x"):
            asking.get(server.url(path), headers)
        for head, path in zip(server.heads, ("/", "/fish?of=the+day&x"), strict=True):
            start, *fields = head.decode().removesuffix("\r\n\r\n").split("\r\n")
            assert start == f"GET {path} HTTP/1.1"
            assert sorted(fields) == sorted(
                [f"Host: 127.0.0.1:{server.port}", *(f"{name}: {value}" for name, value in headers.items())]
            )


PATHS = [
    "/",
    "/?",
    "/%2F%25%00%FF",
    "/a%20b?c%20d=%26&e=+%2B",
    "//two//slashes//",
    "/;p=1,2/@:!$&'()*~",
    "/a/b?x=http://c.test/?y=/../z",
    "/%ED%95%9C%EA%B8%80",
    "/?q=a'b(c)*!;",
    "/%5B%5D%7B%7D%7C%5C%5E%60%22%3C%3E",
]


def test_a_url_is_sent_as_it_is() -> None:
    with serve(answering(*[sized(HTML)] * len(PATHS))) as server, client() as asking:
        for path in PATHS:
            asking.get(server.url(path), HEADERS)
        assert [head.split(b" ")[1].decode() for head in server.heads] == [path.removesuffix("?") for path in PATHS]


# settings, whether the robot has a name, the host that is asked, how that ends
REFUSED = {
    "loopback, not allowed": ([], True, "127.0.0.1", Outcome.BLOCKED_ADDRESS),
    "by name": ([], True, "localhost", Outcome.BLOCKED_ADDRESS),
    "in other words": ([], True, "[::ffff:127.0.0.1]", Outcome.BLOCKED_ADDRESS),
    "metadata of a cloud": (["127.0.0.0/8"], True, "169.254.169.254", Outcome.BLOCKED_ADDRESS),
    "elsewhere, without a name": (["0.0.0.0/0"], False, "192.0.2.1", Outcome.BLOCKED_ADDRESS),
    "a name that leads nowhere": (["0.0.0.0/0"], True, "nowhere.invalid", Outcome.DNS_ERROR),
    "a name that cannot be asked for": ([], True, "a" * 64 + ".test", Outcome.DNS_ERROR),
}


@pytest.mark.parametrize(("allowed", "public", "host", "end"), REFUSED.values(), ids=REFUSED)
def test_an_address_that_must_not_be_asked_is_not(allowed: list[str], public: bool, host: str, end: Outcome) -> None:
    with serve(says(sized(HTML))) as server:
        with contextlib.closing(open_client(Fetch(allow_addresses=allowed), public)) as asking:
            reply = asking.get(f"http://{host}:{server.port}/", HEADERS)
        assert (reply.trouble, reply.status, reply.address) == (end, None, None)
        assert reply.error
        assert server.connections == []


def test_a_robot_without_a_name_asks_this_machine() -> None:
    with serve(says(sized(HTML))) as server, contextlib.closing(open_client(PATIENT, public=False)) as asking:
        assert asking.get(server.url(), HEADERS).body == PAGE


def test_nobody_listens() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
    with client() as asking:
        assert asking.get(f"http://127.0.0.1:{port}/", HEADERS).trouble == Outcome.CONNECT_ERROR


@pytest.fixture(scope="module")
def self_signed(tmp_path_factory: pytest.TempPathFactory) -> ssl.SSLContext:
    """A server's side of TLS with a certificate that nobody vouches for."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "127.0.0.1")])
    now = datetime.now(UTC)
    certificate = (
        x509.CertificateBuilder(name, name, key.public_key(), x509.random_serial_number())
        .not_valid_before(now - timedelta(days=1))
        .not_valid_after(now + timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([x509.IPAddress(ipaddress.ip_address("127.0.0.1"))]), critical=False)
        .sign(key, hashes.SHA256())
    )
    file: Path = tmp_path_factory.mktemp("tls") / "both.pem"
    pem = serialization.Encoding.PEM
    secret = key.private_bytes(pem, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    file.write_bytes(secret + certificate.public_bytes(pem))
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(file)
    return context


def test_a_certificate_that_nobody_vouches_for(self_signed: ssl.SSLContext) -> None:
    with serve(says(sized(HTML)), self_signed) as server, client() as asking:
        reply = asking.get(server.url(scheme="https"), HEADERS)
        assert (reply.trouble, reply.status) == (Outcome.TLS_ERROR, None)
        assert "certificate verify failed" in (reply.error or "")
        assert server.heads == []


def test_a_server_that_does_not_speak_tls() -> None:
    def talk(peer: Peer) -> None:
        peer.send(sized(HTML))

    with serve(talk) as server, client() as asking:
        assert asking.get(server.url(scheme="https"), HEADERS).trouble == Outcome.TLS_ERROR
