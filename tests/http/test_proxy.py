"""Requests through a proxy: what it is told, what it is not asked for, and what its refusals mean."""

import contextlib
import socket
from collections.abc import Iterator
from typing import Any

import pytest

from beamtrawl.transforms.http.client import HostClient, allowed_networks, opener
from beamtrawl.transforms.http.connect import Proxy, through
from beamtrawl.transforms.http.request_headers import basic
from beamtrawl.transforms.http.requests_transport import ThroughRequests
from beamtrawl.transforms.http.transport import Direct
from beamtrawl.transforms.outcomes import Outcome
from beamtrawl.transforms.settings import Fetch
from beamtrawl.transforms.urls.canonical import canonicalize
from tests.support.hostile_host import certificate
from tests.support.raw import HTML, PAGE, Peer, Server, Talk, answer, answering, says, serve, silent, sized
from tests.support.recorders import Connector, Resolver

HEADERS = {"User-Agent": "Robot/1", "Accept-Encoding": "gzip"}
SECRET = basic("me:pass:w@rd")


@pytest.fixture(params=["direct", "requests"])
def transport(request: pytest.FixtureRequest) -> str:
    """Each of the ways to send a request, between which a proxy cannot tell."""
    return str(request.param)


@contextlib.contextmanager
def proxied(talk: Talk, transport: str, public: bool = True, **changes: Any) -> Iterator[tuple[Server, HostClient]]:
    """A proxy that says `talk`, and a client that goes through it."""
    with serve(talk) as server:
        fetch = Fetch(proxy=f"http://me:pass%3Aw%40rd@127.0.0.1:{server.port}", client=transport, **changes)
        with contextlib.closing(opener(fetch, public)()) as client:
            yield server, client


def fields(head: bytes) -> tuple[str, dict[str, str]]:
    """The request line and the headers of a request."""
    start, *lines = head.decode().removesuffix("\r\n\r\n").split("\r\n")
    return start, dict(line.split(": ", 1) for line in lines)


def test_a_proxy_that_forwards_is_told_the_whole_url(transport: str) -> None:
    with proxied(answering(sized(HTML), sized(HTML)), transport) as (server, client):
        replies = [client.get(f"http://shop.test:81/fish?x=%20{n}", HEADERS) for n in range(2)]
        assert [(reply.body, reply.address) for reply in replies] == [(PAGE, None)] * 2
        assert len(server.connections) == 1
        for number, head in enumerate(server.heads):
            assert fields(head) == (
                f"GET http://shop.test:81/fish?x=%20{number} HTTP/1.1",
                {"Host": "shop.test:81", **HEADERS, "Proxy-Authorization": SECRET},
            )


def connected(peer: Peer) -> None:
    """A proxy that does as it is told, and the host behind it."""
    peer.read_head()
    peer.send(b"HTTP/1.1 200 Connection established\r\nVia: me\r\n\r\n")
    peer.start_tls(certificate())
    for _ in range(2):
        peer.read_head()
        peer.send(sized(HTML))


@pytest.mark.parametrize(
    ("authority", "told"), [("shop.test", "shop.test:443"), ("[2606:4700::1111]:8443", "[2606:4700::1111]:8443")]
)
def test_a_proxy_that_passes_tls_on_learns_the_host_and_no_more(transport: str, authority: str, told: str) -> None:
    with proxied(connected, transport, verify_tls=False) as (server, client):
        for path in ("/1", "/2"):
            assert client.get(f"https://{authority}{path}", HEADERS).body == PAGE
    assert [fields(head) for head in server.heads] == [
        (f"CONNECT {told} HTTP/1.1", {"Host": told, "Proxy-Authorization": SECRET}),
        ("GET /1 HTTP/1.1", {"Host": authority, **HEADERS}),
        ("GET /2 HTTP/1.1", {"Host": authority, **HEADERS}),
    ]


def test_the_host_behind_a_proxy_has_to_prove_who_it_is(transport: str) -> None:
    with proxied(connected, transport) as (server, client):
        assert client.get("https://shop.test/", HEADERS).failure is Outcome.TLS_ERROR
        assert len(server.heads) == 1


# A proxy that says again what it was told
ECHO = b"HTTP/1.1 407 %b\r\nX: %b\r\nContent-Length: 0\r\n\r\n" % (SECRET.encode(), SECRET.encode())

# What a proxy says to either kind of request, and what that means
REFUSALS = {
    "a login": (says(answer(b"Proxy-Authenticate: Basic", body=b"", status=b"407 Login")), Outcome.CONNECT_ERROR),
    "an echo of what it was told": (says(ECHO), Outcome.CONNECT_ERROR),
    "nothing": (says(b""), Outcome.CONNECT_ERROR),
    "silence": (silent(b""), Outcome.TIMEOUT),
    "no HTTP": (says(b"SSH-2.0\r\n"), Outcome.BAD_RESPONSE),
    "a long head": (says(b"HTTP/1.1 200 OK\r\nX: " + b"y" * 70_000), Outcome.TOO_LONG),
}


@pytest.mark.parametrize("scheme", ["http", "https"])
@pytest.mark.parametrize(("talk", "end"), REFUSALS.values(), ids=REFUSALS)
def test_a_proxy_that_does_not_help(
    transport: str, talk: Talk, end: Outcome, scheme: str, caplog: pytest.LogCaptureFixture
) -> None:
    """The trouble says nothing of the host, and none of our secrets."""
    with proxied(talk, transport, read_timeout=0.2 if end is Outcome.TIMEOUT else 30.0) as (_, client):
        reply = client.get(f"{scheme}://shop.test/", HEADERS)
    assert (reply.failure, reply.status) == (end, None)
    shown = repr(reply) + repr(client) + caplog.text
    assert not any(secret in shown for secret in (SECRET.split()[1], "w@rd", "w%40rd"))


def test_a_proxy_that_refuses_a_host_says_so_with_a_status(transport: str) -> None:
    with proxied(says(sized(status=b"403 Not that one")), transport) as (_, client):
        reply = client.get("https://shop.test/", HEADERS)
    assert (reply.failure, reply.error) == (Outcome.CONNECT_ERROR, "the proxy refuses with status 403")


def test_a_proxy_that_is_not_there(transport: str) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))  # no other process gets the port meanwhile
        port = taken.getsockname()[1]
        for proxy in (f"http://127.0.0.1:{port}", f"http://{'a' * 64}.test:{port}"):
            with contextlib.closing(opener(Fetch(proxy=proxy, client=transport), public=True)()) as client:
                reply = client.get("http://shop.test/", HEADERS)
            assert reply.failure is Outcome.CONNECT_ERROR  # whatever it is: the host's name is not at fault
            assert (reply.error or "").startswith("the proxy cannot be reached: ")


# settings, whether the robot has a name, host: whether the proxy is asked
HOSTS = {
    "a name": ([], True, "shop.test", True),
    "an address": ([], True, "192.0.32.7", True),
    "this machine": ([], True, "127.0.0.1", False),
    "this machine, allowed": (["127.0.0.0/8"], True, "127.0.0.1", True),
    "this machine in other words": ([], True, "[::ffff:7f00:1]", False),
    "this machine in few words": ([], True, "127.1", False),
    "this machine by name": ([], True, "www.localhost", False),
    "a network within": ([], True, "10.0.0.1", False),
    "metadata of a cloud": (["10.0.0.0/8"], True, "169.254.169.254", False),
    "a name, for a robot without one": (["127.0.0.0/8"], False, "shop.test", False),
    "an address, for a robot without a name": (["127.0.0.0/8"], False, "192.0.32.7", False),
    "this machine, for a robot without a name": (["127.0.0.0/8"], False, "localhost", True),
}


@pytest.mark.parametrize(("allowed", "public", "host", "asked"), HOSTS.values(), ids=HOSTS)
def test_a_proxy_is_no_way_around_the_check_of_addresses(
    transport: str, allowed: list[str], public: bool, host: str, asked: bool
) -> None:
    """As far as it can be made here: names are the proxy's. Its own address is on loopback, and not checked."""
    with proxied(says(sized(HTML)), transport, public, allow_addresses=allowed) as (server, client):
        reply = client.get(f"http://{host}/", HEADERS)
        assert reply.failure == (None if asked else Outcome.BLOCKED_ADDRESS)
        assert len(server.connections) == asked


# Spellings in a link, of names that are internal; allowed ranges with which they are handed to the proxy
INTERNAL = [
    "printer",
    "PRINTER",
    "printer.",
    "localhost.localdomain",
    "db.internal",
    "DB.Internal",
    "db.internal.",
    "a.b.internal",
    "x.local",
    "X.LOCAL.",
    "nas.lan",
    "router.home",
    "wiki.corp",
    "git.intranet",
    "vault.private",
    "tv.home.arpa",
    "db%2einternal",
    "db。internal",
    "ｄｂ.internal",
    "metadata.google.internal",
    "user:password@db.internal",
]
EXTERNAL = ["shop.test", "internal.example.org", "local.test", "home.example", "127.0.0.1.example.org"]


@pytest.mark.parametrize("scheme", ["http", "https"])
def test_no_internal_name_is_handed_to_a_proxy(transport: str, scheme: str) -> None:
    """Neither the proxy's name is looked up, nor is it connected to: the recorders remember nothing."""

    def asked(link: str, *allowed: str) -> tuple[Outcome | None, list[str], list[tuple[str, int]]]:
        url = canonicalize(f"{scheme}://{link}:8080/x")
        assert url
        resolver, connector = Resolver(["8.8.8.8"]), Connector("8.8.8.8")
        fetch = Fetch(proxy="http://proxy.example:3128", client=transport, allow_addresses=list(allowed))
        proxy = Proxy.of(fetch.proxy)
        assert proxy
        open_socket = through(proxy, allowed_networks(fetch), True, resolver, connector)
        transport_of = {"direct": Direct, "requests": ThroughRequests}[transport]
        with contextlib.closing(HostClient(fetch, open_socket, transport_of)) as client:
            return client.get(url, HEADERS).failure, resolver.names, connector.addresses

    refused = {link: asked(link) for link in INTERNAL}
    assert refused == dict.fromkeys(INTERNAL, (Outcome.BLOCKED_ADDRESS, [], []))
    # A range that is not private allows none of them.
    assert asked("db.internal", "8.8.8.0/24") == (Outcome.BLOCKED_ADDRESS, [], [])
    # The recorders would have noticed.
    handed = Outcome.CONNECT_ERROR, ["proxy.example"], [("8.8.8.8", 3128)]
    assert {link: asked(link) for link in EXTERNAL} == dict.fromkeys(EXTERNAL, handed)
    assert {link: asked(link, "10.0.0.0/8") for link in INTERNAL} == dict.fromkeys(INTERNAL, handed)


def test_what_a_proxy_is_told_is_not_shown() -> None:
    assert "pass" not in repr(Proxy.of("http://me:pass@proxy.test:3128"))
    assert SECRET.split()[1] not in repr(Proxy.of("http://me:pass%3Aw%40rd@proxy.test"))
