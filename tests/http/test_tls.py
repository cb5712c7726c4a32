"""TLS: a host has to prove its name, unless the settings say otherwise, and has no more time than without."""

import contextlib
import socket
import ssl
import threading
from collections.abc import Iterator
from typing import Any

import pytest

from beamtrawl.transforms.http.client import HostClient, opener
from beamtrawl.transforms.http.connect import tls_context
from beamtrawl.transforms.http.deadline_socket import Exchange, Line
from beamtrawl.transforms.http.errors import RequestError
from beamtrawl.transforms.outcomes import Outcome
from beamtrawl.transforms.settings import Fetch
from tests.support.hostile_host import certificate
from tests.support.raw import HTML, PAGE, Peer, answering, says, serve, silent, sized

HEADERS = {"User-Agent": "Robot/1", "Accept-Encoding": "gzip"}


@pytest.fixture(params=["direct", "requests"])
def transport(request: pytest.FixtureRequest) -> str:
    """Each of the ways to send a request."""
    return str(request.param)


@contextlib.contextmanager
def client(transport: str, **changes: Any) -> Iterator[HostClient]:
    fetch = Fetch(allow_addresses=["127.0.0.0/8"], client=transport, **changes)
    with contextlib.closing(opener(fetch, public=True)()) as opened:
        yield opened


def test_a_certificate_that_nobody_vouches_for(transport: str) -> None:
    with serve(says(sized(HTML)), certificate()) as server, client(transport) as asking:
        reply = asking.get(server.url(scheme="https"), HEADERS)
        assert (reply.failure, reply.status) == (Outcome.TLS_ERROR, None)
        assert "certificate verify failed" in (reply.error or "")
        assert server.heads == []


@pytest.mark.parametrize("of", ["127.0.0.1", "192.0.2.1"])
def test_certificates_do_not_matter_if_the_settings_say_so(
    transport: str, of: str, capfd: pytest.CaptureFixture[str]
) -> None:
    with serve(answering(sized(HTML), sized(HTML)), certificate(of)) as server:
        with client(transport, verify_tls=False) as asking:
            assert [asking.get(server.url(scheme="https"), HEADERS).body for _ in range(2)] == [PAGE] * 2
        assert len(server.connections) == 1
    assert capfd.readouterr().err == ""  # no warning either, with each request


# name, what is wrong with it
NAMES = {
    "127.0.0.1": None,
    "127.0.0.2": "IP address mismatch",
    "shop.test": "Hostname mismatch",
    "a..test": "label empty",
}


@pytest.mark.parametrize(("name", "wrong"), NAMES.items())
def test_a_certificate_has_to_be_that_of_the_host(name: str, wrong: str | None) -> None:
    context = ssl.create_default_context()
    exchange = Exchange(read_timeout=10)
    exchange.begin(30)
    with serve(says(b""), certificate()) as server:
        context.load_verify_locations(cadata=ssl.get_server_certificate(("127.0.0.1", server.port)))
        line = Line(socket.create_connection(("127.0.0.1", server.port)), "127.0.0.1", exchange)
        with contextlib.closing(line):
            if wrong is None:
                line.secure(context, name, 10)
            else:
                with pytest.raises(RequestError, match=wrong) as raised:
                    line.secure(context, name, 10)
                assert raised.value.outcome is Outcome.TLS_ERROR


def test_names_and_certificates_are_checked_by_default() -> None:
    context = tls_context(Fetch().verify_tls)
    assert (context.check_hostname, context.verify_mode) == (True, ssl.CERT_REQUIRED)
    assert context.get_ca_certs()


def test_a_server_that_does_not_speak_tls(transport: str) -> None:
    def talk(peer: Peer) -> None:
        peer.send(sized(HTML))

    with serve(talk) as server, client(transport) as asking:
        assert asking.get(server.url(scheme="https"), HEADERS).failure == Outcome.TLS_ERROR


def drips(peer: Peer) -> None:
    peer.send(b"\x16\x03\x03\x40\0")
    peer.drip(b"\x02", 0.01)


@pytest.mark.parametrize("limits", [{"connect_timeout": 1.0}, {"total_timeout": 1.0}], ids=str)
def test_a_handshake_takes_no_longer_than_to_connect_may(transport: str, limits: dict[str, float]) -> None:
    with serve(drips) as server, client(transport, **limits) as asking:
        reply = asking.get(server.url(scheme="https"), HEADERS)
    assert (reply.failure, reply.error) == (Outcome.TIMEOUT, "the handshake of TLS took too long")


def test_a_handshake_is_cut_from_another_thread(transport: str) -> None:
    begun = threading.Event()

    def talk(peer: Peer) -> None:
        peer.first_byte()
        begun.set()
        drips(peer)

    replies = []
    with serve(talk) as server, client(transport, connect_timeout=60, total_timeout=60) as asking:
        thread = threading.Thread(target=lambda: replies.append(asking.get(server.url(scheme="https"), HEADERS)))
        thread.start()
        assert begun.wait(60)
        while thread.is_alive():
            asking.abort()
            thread.join(0.05)
    assert [(reply.failure, reply.elapsed_s < 30) for reply in replies] == [(Outcome.TIMEOUT, True)]


@pytest.mark.parametrize("start", [b"", b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nx"], ids=["head", "body"])
def test_a_request_inside_tls_is_cut_from_another_thread(transport: str, start: bytes) -> None:
    replies = []
    with serve(silent(start), certificate()) as server, client(transport, verify_tls=False) as asking:
        thread = threading.Thread(target=lambda: replies.append(asking.get(server.url(scheme="https"), HEADERS)))
        thread.start()
        assert server.asked.wait(60)
        while thread.is_alive():
            asking.abort()
            thread.join(0.05)
    assert [reply.failure for reply in replies] == [Outcome.TIMEOUT]


def test_what_is_left_over_inside_tls_is_not_the_next_answer(transport: str) -> None:
    """It was decrypted with the first answer, so the socket itself has nothing to say of it."""

    def talk(peer: Peer) -> None:
        while True:
            peer.read_head()
            peer.send(sized(HTML) + sized(HTML, body=b"not asked for" * 1000))

    with serve(talk, certificate()) as server, client(transport, verify_tls=False) as asking:
        assert [asking.get(server.url(scheme="https"), HEADERS).body for _ in range(2)] == [PAGE] * 2


def test_http_and_https_of_a_host_have_a_connection_each(transport: str) -> None:
    def talk(peer: Peer) -> None:
        if peer.first_byte() == b"\x16":
            peer.start_tls(certificate())
        answering(*[sized(HTML)] * 3)(peer)

    with serve(talk) as server, client(transport, verify_tls=False) as asking:
        for scheme in ("http", "https") * 3:
            assert asking.get(server.url(scheme=scheme), HEADERS).body == PAGE
        assert len(server.connections) == 2
