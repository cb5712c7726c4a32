"""The client's side of a connection: what it sends, whom it asks, and when it hangs up."""

import contextlib
import dataclasses
import functools
import gzip
import socket
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from hypothesis import given

from beamtrawl.transforms.http.address_guard import connect
from beamtrawl.transforms.http.client import HostClient, opener
from beamtrawl.transforms.http.deadline_socket import Exchange
from beamtrawl.transforms.http.reply import outcome
from beamtrawl.transforms.http.request_headers import Identity, basic
from beamtrawl.transforms.outcomes import Outcome
from beamtrawl.transforms.settings import Fetch, Robot
from beamtrawl.transforms.urls.canonical import canonicalize, dedup_form
from tests.support.raw import GZIP, HTML, PAGE, Peer, Talk, answer, answering, chunked, says, serve, sized
from tests.urls.test_dedup import PATHS_AND_QUERIES

LOOPBACK = Fetch(total_timeout=30, max_body_bytes=1000, allow_addresses=["127.0.0.0/8"])
HEADERS = {"User-Agent": "Robot/1", "Accept-Encoding": "gzip, deflate"}


Open = Callable[..., contextlib.AbstractContextManager[HostClient]]


@pytest.fixture(params=["direct", "requests"])
def client(request: pytest.FixtureRequest) -> Open:
    """Opens a client by each of the ways to send a request; its settings may be changed."""

    @contextlib.contextmanager
    def opened(public: bool = True, **changes: Any) -> Iterator[HostClient]:
        fetch = dataclasses.replace(LOOPBACK, client=request.param, **changes)
        with contextlib.closing(opener(fetch, public)()) as client:
            yield client

    return opened


# Content-Type: how the visit ends, for a page and for a robots.txt, which may be of any type
TYPES = {
    "text/html;charset=utf-8": ("fetched", PAGE),
    "TEXT/PLAIN": ("fetched", PAGE),
    "image/png": ("unwanted_type", b""),
    "application/pdf": ("unwanted_type", b""),
}


@pytest.mark.parametrize(("media_type", "end", "body"), [(name, *rest) for name, rest in TYPES.items()])
def test_a_type_that_nobody_wants_is_not_read(client: Open, media_type: str, end: str, body: bytes) -> None:
    with serve(says(sized(b"Content-Type: " + media_type.encode()))) as server, client() as asking:
        reply = asking.get(server.url(), HEADERS)
        assert (outcome("http://a.test/", reply, conditional=False), reply.body) == (end, body)
        assert asking.get(server.url(), HEADERS, any_type=True).body == PAGE


def endless(start: bytes, wave: bytes) -> Talk:
    """An answer that goes on as fast as it is taken, until the client hangs up."""

    def talk(peer: Peer) -> None:
        peer.read_head()
        peer.send(start)
        while True:
            peer.send(wave)

    return talk


LEFT_EARLY = {
    "an unwanted type": (b"Content-Type: video/mp4", 200),
    "a body beyond the limit": (HTML, 200),
    "an encoding that nobody asked for": (b"Content-Encoding: compress", 200),
    "an endless body of a redirect": (b"Location: /elsewhere", 302),
}


@pytest.mark.parametrize(("header", "status"), LEFT_EARLY.values(), ids=LEFT_EARLY)
def test_what_is_not_read_to_its_end_is_hung_up(client: Open, header: bytes, status: int) -> None:
    """At once, and not when the client is closed: the server need not send the rest."""
    talk = endless(answer(header, b"Content-Length: 999999999", body=b"", status=b"%d X" % status), b"x" * 9999)
    with serve(talk) as server, client() as asking:
        assert asking.get(server.url(), HEADERS).status == status
        assert server.hung_up.wait(60)


def test_a_compressed_body_is_read_to_its_end_and_no_further(client: Open) -> None:
    talk = endless(answer(GZIP, body=gzip.compress(PAGE)), b"x" * 9999)
    with serve(talk) as server, client() as asking:
        reply = asking.get(server.url(), HEADERS)
        assert (reply.body, reply.failure) == (PAGE, None)
        assert server.hung_up.wait(60)


@pytest.mark.parametrize("location", [b"/elsewhere", b"http://[", b"\xff\xfe", b"//a b/", b""])
def test_a_redirect_is_not_followed(client: Open, location: bytes) -> None:
    talk = says(sized(b"Location: " + location, status=b"301 Moved Permanently"))
    with serve(talk) as server, client() as asking:
        reply = asking.get(server.url(), HEADERS)
        assert (reply.status, reply.body) == (301, PAGE)
        assert len(server.heads) == 1


def test_the_head_of_an_answer_alone(client: Open) -> None:
    """No body is waited for, whatever length is declared; of the answer to GET, no more than the head is taken."""
    head = answer(HTML, b"Content-Length: 999999999", body=b"")
    with serve(says(head)) as server, client() as asking:
        replies = [asking.head(server.url(), HEADERS) for _ in range(2)]
        assert [(reply.status, reply.body, reply.failure) for reply in replies] == [(200, b"", None)] * 2
        assert [head.split(b" ")[0] for head in server.heads] == [b"HEAD"] * 2
    with serve(endless(head, b"x" * 9999)) as server, client() as asking:
        reply = asking.head(server.url(), HEADERS, "GET")
        assert (reply.status, reply.body, reply.failure) == (200, b"", None)
        assert server.hung_up.wait(60)
        assert server.heads[0].startswith(b"GET ")


def test_a_connection_is_used_again_after_head() -> None:
    head = answer(HTML, b"Content-Length: 999999999", body=b"")
    with serve(answering(head, sized(HTML))) as server, contextlib.closing(opener(LOOPBACK, True)()) as asking:
        assert asking.head(server.url(), HEADERS).status == 200
        assert asking.get(server.url(), HEADERS).body == PAGE
        assert len(server.connections) == 1


def test_a_body_after_head_is_not_the_next_answer(client: Open) -> None:
    with serve(says(sized(HTML, body=b"not asked for"))) as server, client() as asking:
        assert asking.head(server.url(), HEADERS).status == 200
        assert asking.get(server.url(), HEADERS).body == b"not asked for"
        assert len(server.connections) == 2


KEPT = {
    "a length": sized(HTML),
    "chunks": chunked(PAGE),
    "gzip": sized(GZIP, body=gzip.compress(PAGE)),
    "gzip in chunks": chunked(gzip.compress(PAGE), header=GZIP),
    "not found": sized(HTML, status=b"404 Not Found"),
    "no content": answer(body=b"", status=b"204 No Content"),
}


@pytest.mark.parametrize("first", KEPT.values(), ids=KEPT)
def test_a_connection_is_used_again(client: Open, first: bytes) -> None:
    with serve(answering(first, first, sized(HTML))) as server, client() as asking:
        replies = [asking.get(server.url(f"/{n}"), HEADERS) for n in range(3)]
        assert replies[0]._replace(elapsed_s=0) == replies[1]._replace(elapsed_s=0)
        assert replies[2].body == PAGE
        assert (len(server.connections), len(server.heads)) == (1, 3)


NOT_KEPT = {
    "more than was declared": answer(b"Content-Length: 3", body=PAGE + sized(HTML, body=b"not asked for")),
    "a body where there is none": sized(HTML, body=b"not asked for", status=b"204 No Content"),
}


@pytest.mark.parametrize("first", NOT_KEPT.values(), ids=NOT_KEPT)
def test_what_is_left_over_is_not_the_next_answer(client: Open, first: bytes) -> None:
    with serve(says(first)) as server, client() as asking:
        first_reply, second_reply = (asking.get(server.url(), HEADERS) for _ in range(2))
        assert first_reply.body == second_reply.body != b"not asked for"
        assert len(server.connections) == 2


def test_a_second_answer_is_not_that_to_the_second_request(client: Open) -> None:
    def talk(peer: Peer) -> None:
        while True:
            peer.read_head()
            peer.send(sized(HTML) + sized(HTML, body=b"not asked for" * 10_000))

    with serve(talk) as server, client() as asking:
        assert [asking.get(server.url(), HEADERS).body for _ in range(3)] == [PAGE] * 3


def test_no_more_than_two_connections_are_kept(client: Open) -> None:
    with contextlib.ExitStack() as stack:
        servers = [stack.enter_context(serve(answering(sized(HTML), sized(HTML)))) for _ in range(3)]
        asking = stack.enter_context(client())
        for server in servers[:2] * 2:
            assert asking.get(server.url(), HEADERS).body == PAGE
        assert [len(server.connections) for server in servers] == [1, 1, 0]
        asking.get(servers[2].url(), HEADERS)
        assert servers[0].hung_up.wait(60)


def test_an_early_hint_is_not_the_answer(client: Open) -> None:
    hint = answer(b"Link: </a.css>", body=b"", status=b"103 Early Hints")
    with serve(answering(hint + sized(body=b"the hinted one"), sized(HTML))) as server, client() as asking:
        assert [asking.get(server.url(), HEADERS).body for _ in range(2)] == [b"the hinted one", PAGE]
        assert len(server.connections) == 1


def test_a_connection_that_the_server_has_closed_is_made_anew(client: Open) -> None:
    with serve(says(sized(HTML))) as server, client() as asking:
        assert [asking.get(server.url(), HEADERS).body for _ in range(3)] == [PAGE] * 3
        assert len(server.connections) == 3


def test_a_server_that_closes_while_the_next_request_is_on_its_way_is_asked_again(client: Open) -> None:
    def talk(peer: Peer) -> None:
        peer.read_head()
        peer.send(sized(HTML))
        peer.read_head()

    with serve(talk) as server, client() as asking:
        assert [asking.get(server.url(path), HEADERS).body for path in ("/1", "/2")] == [PAGE] * 2
        assert [head.split()[1] for head in server.heads] == [b"/1", b"/2", b"/2"]


@pytest.mark.parametrize("transport", ["direct", "requests"])
def test_a_request_that_may_have_arrived_is_sent_again_after_the_hosts_pause(transport: str) -> None:
    pauses: list[float] = []
    times: list[float] = []

    def pause(elapsed_s: float) -> float:
        pauses.append(elapsed_s)
        return 0.3

    def talk(peer: Peer) -> None:
        peer.read_head()
        times.append(time.monotonic())
        peer.send(sized(HTML))
        peer.read_head()
        times.append(time.monotonic())

    fetch = dataclasses.replace(LOOPBACK, client=transport)
    with serve(talk) as server, contextlib.closing(opener(fetch, True)(pause=pause)) as asking:
        assert [asking.get(server.url(path), HEADERS).body for path in ("/1", "/2")] == [PAGE] * 2
    assert pauses == [0.0]
    _, lost, again = times
    assert again - lost >= 0.3


def test_a_pause_ends_when_the_request_is_cut() -> None:
    def talk(peer: Peer) -> None:
        peer.read_head()
        peer.send(sized(HTML))
        peer.read_head()

    with serve(talk) as server, contextlib.closing(opener(LOOPBACK, True)(pause=lambda elapsed_s: 9.0)) as asking:
        asking.get(server.url("/1"), HEADERS)
        threading.Timer(0.3, asking.abort).start()
        started = time.monotonic()
        assert asking.get(server.url("/2"), HEADERS).failure is not None
        assert time.monotonic() - started < 5


def test_a_server_that_never_answers_is_asked_once(client: Open) -> None:
    with serve(says(b"")) as server, client() as asking:
        assert [asking.get(server.url(), HEADERS).failure for _ in range(2)] == [Outcome.CONNECT_ERROR] * 2
        assert len(server.heads) == 2


def test_the_head_of_a_request(client: Open) -> None:
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


def test_a_url_is_sent_as_it_is(client: Open) -> None:
    with serve(answering(*[sized(HTML)] * len(PATHS))) as server, client() as asking:
        for path in PATHS:
            asking.get(server.url(path), HEADERS)
        assert [head.split(b" ")[1].decode() for head in server.heads] == PATHS


@pytest.mark.parametrize("way", ["direct", "requests"])
def test_every_canonical_url_is_sent_as_it_is(way: str) -> None:
    """All over one connection, which stays in step whatever is asked for."""

    def talk(peer: Peer) -> None:
        while True:
            peer.read_head()
            peer.send(sized(HTML))

    fetch = dataclasses.replace(LOOPBACK, client=way)
    with serve(talk) as server, contextlib.closing(opener(fetch, True)()) as asking:

        @given(PATHS_AND_QUERIES)
        def check(rest: str) -> None:
            url = canonicalize(server.url(f"/{rest}"))
            assert url is not None
            for form in (url, dedup_form(url)):
                assert asking.get(form, HEADERS).body == PAGE
                assert server.url(server.heads[-1].split(b" ")[1].decode()) == form

        check()
        assert len(server.connections) == 1


# settings, whether the robot has a name, the host that is asked, how that ends
REFUSED = {
    "loopback, not allowed": ([], True, "127.0.0.1", Outcome.BLOCKED_ADDRESS),
    "by name": ([], True, "localhost", Outcome.BLOCKED_ADDRESS),
    "in other words": ([], True, "[::ffff:127.0.0.1]", Outcome.BLOCKED_ADDRESS),
    "metadata of a cloud": (["127.0.0.0/8"], True, "169.254.169.254", Outcome.BLOCKED_ADDRESS),
    "elsewhere, without a name": (["0.0.0.0/0"], False, "192.0.2.1", Outcome.BLOCKED_ADDRESS),
    "a name that cannot be asked for": ([], True, "a" * 64 + ".test", Outcome.DNS_ERROR),
}


@pytest.mark.parametrize(("allowed", "public", "host", "end"), REFUSED.values(), ids=REFUSED)
def test_an_address_that_must_not_be_asked_is_not(
    client: Open, allowed: list[str], public: bool, host: str, end: Outcome
) -> None:
    with serve(says(sized(HTML))) as server:
        with client(public, allow_addresses=allowed) as asking:
            reply = asking.get(f"http://{host}:{server.port}/", HEADERS)
        assert (reply.failure, reply.status, reply.address) == (end, None, None)
        assert reply.error
        assert server.connections == []


def test_a_robot_without_a_name_asks_this_machine(client: Open) -> None:
    with serve(says(sized(HTML))) as server, client(public=False) as asking:
        assert asking.get(server.url(), HEADERS).body == PAGE


def test_a_name_that_leads_nowhere() -> None:
    def resolver(host: str, port: int, **_: object) -> list[tuple]:
        raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")

    open_socket = functools.partial(connect, allowed=[], resolver=resolver)
    with contextlib.closing(HostClient(LOOPBACK, open_socket)) as asking:
        reply = asking.get("http://nowhere.invalid/", HEADERS)
    assert (reply.failure, reply.status) == (Outcome.DNS_ERROR, None)
    assert (reply.error or "").startswith("nowhere.invalid: ")


def test_nobody_listens(client: Open) -> None:
    with socket.socket() as taken, client() as asking:
        taken.bind(("127.0.0.1", 0))  # no other process gets the port meanwhile
        port = taken.getsockname()[1]
        assert asking.get(f"http://127.0.0.1:{port}/", HEADERS).failure == Outcome.CONNECT_ERROR


def test_a_page_that_is_known_is_asked_for_by_tag_and_by_date(client: Open) -> None:
    date = "Sun, 01 Mar 2026 12:00:00 GMT"
    headers = Identity.of(Robot()).headers("http://a.test/", None, 'W/"1"', date)
    same = answer(b'ETag: W/"1"', b"Content-Length: 99", body=b"", status=b"304 Not Modified")
    with serve(answering(same, same)) as server, client() as asking:
        replies = [asking.get(server.url(), headers) for _ in range(2)]
        assert [outcome("http://a.test/", reply, conditional=True) for reply in replies] == [Outcome.NOT_MODIFIED] * 2
        assert len(server.connections) == 1
        assert f'\r\nIf-None-Match: W/"1"\r\nIf-Modified-Since: {date}\r\n' in server.heads[0].decode()


def test_the_settings_say_more_in_each_request(client: Open, caplog: pytest.LogCaptureFixture) -> None:
    """Credentials for the host that they are for, and none of it in what comes back from a server that wants others."""
    answers = [sized(b"WWW-Authenticate: Basic", status=b"401 Who?")] * 2
    with serve(answering(*answers)) as server, serve(answering(*answers)) as other:
        secrets = [f"127.0.0.1:{server.port} me:sesame"]
        with client(headers=["X-Key: abracadabra", "accept-encoding: gzip"], credentials=secrets) as asking:
            replies = [asking.get(one.url(), HEADERS) for one in (server, other)]
            assert [outcome("http://a.test/", reply, conditional=False) for reply in replies] == ["client_error"] * 2
            shown = repr(replies) + repr(asking) + caplog.text
        heads = [set(one.heads[0].decode().split("\r\n")) for one in (server, other)]
    assert all({"X-Key: abracadabra", "accept-encoding: gzip"} < head for head in heads)
    assert [f"Authorization: {basic('me:sesame')}" in head for head in heads] == [True, False]
    assert not any(line.startswith("Accept-Encoding") for head in heads for line in head)
    assert not any(secret in shown for secret in ("sesame", "abracadabra", basic("me:sesame").split()[1]))


def test_the_way_to_a_host_is_not_part_of_the_time_that_it_took() -> None:
    clock = iter([100.0, 107.0, 107.5, 109.0])
    exchange = Exchange(20, clock=lambda: next(clock))
    exchange.begin(60)
    assert exchange.elapsed_s() == 7.0
    exchange.connected()
    assert exchange.elapsed_s() == 1.5
