"""The gateway's server on a socket: slow requests, and clients with many connections."""

import contextlib
import http.client
import re
import socket
import threading
import time
from collections.abc import Iterator
from typing import Any

import pytest

from beamtrawl.search.gateway.app import Receipt, create_app
from beamtrawl.search.gateway.server import ServerLimits, create_server
from tests.support.corpus import indexed
from tests.support.tables import each_row


def app(environ, start_response):
    start_response("200 OK", [("Content-Type", "text/plain")])
    return [environ["REMOTE_ADDR"].encode()]


@contextlib.contextmanager
def running(limits: ServerLimits, proxy: str | None = None) -> Iterator[int]:
    """The port of a server."""
    with serving(app, limits, proxy) as server:
        yield server.effective_port


@contextlib.contextmanager
def serving(app: Any, limits: ServerLimits, proxy: str | None = None, prefix: str = "") -> Iterator[Any]:
    """A server that runs."""
    server = create_server(app, "127.0.0.1", 0, limits, proxy, prefix)
    thread = threading.Thread(target=server.run)
    thread.start()
    try:
        yield server
    finally:
        server.task_dispatcher.shutdown()
        server.asyncore.close_all(server._map)
        thread.join()


@contextlib.contextmanager
def connected(port: int, count: int, source: str = "127.0.0.1") -> Iterator[list[socket.socket]]:
    with contextlib.ExitStack() as stack:
        made = (socket.create_connection(("127.0.0.1", port), 60, (source, 0)) for _ in range(count))
        yield [stack.enter_context(connection) for connection in made]


def answer(port: int, source: str) -> bytes:
    with contextlib.closing(http.client.HTTPConnection("127.0.0.1", port, 60, (source, 0))) as connection:
        connection.request("GET", "/")
        return connection.getresponse().read()


def is_closed(connection: socket.socket) -> bool:
    """Whether the server closes a connection before the time-out of a minute."""
    try:
        return connection.recv(1) == b""
    except ConnectionResetError:
        return True
    except TimeoutError:
        return False


def test_a_client_with_many_connections_leaves_room_for_others() -> None:
    limits = ServerLimits(connections=30, client_connections=10)
    with running(limits) as port, connected(port, 40, "127.0.0.2") as connections:
        assert answer(port, "127.0.0.3") == b"127.0.0.3"
        assert [is_closed(connection) for connection in connections[10:]] == [True] * 30
        connections[0].sendall(b"GET / HTTP/1.1\r\nHost: a\r\n\r\n")  # the first ones work
        assert connections[0].recv(12) == b"HTTP/1.1 200"


def test_a_proxy_has_as_many_connections_as_it_needs() -> None:
    limits = ServerLimits(client_connections=2)
    with running(limits, proxy="127.0.0.1") as port, connected(port, 20) as connections:
        for connection in connections:
            connection.sendall(b"GET / HTTP/1.1\r\nHost: a\r\n\r\n")
            assert connection.recv(12) == b"HTTP/1.1 200"


def test_a_request_that_does_not_arrive_ends_its_connection() -> None:
    with running(ServerLimits(request_s=0.5)) as port, connected(port, 3) as (silent, head, body):
        head.sendall(b"GET / HTTP/1.1\r\nHost: ")
        body.sendall(b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1000\r\n\r\nab")

        def drip() -> None:  # a byte now and then is no sign of life
            with contextlib.suppress(OSError):
                while not over.wait(0.1):
                    head.sendall(b"a")

        over = threading.Event()
        dripping = threading.Thread(target=drip)
        dripping.start()
        started = time.monotonic()
        assert [is_closed(connection) for connection in (silent, head, body)] == [True] * 3
        assert time.monotonic() - started > 0.4
        over.set()
        dripping.join()


def test_a_kept_connection_may_rest_between_requests() -> None:
    with running(ServerLimits(request_s=2.0)) as port, connected(port, 2) as (rested, other):
        for connection in (rested, other):
            connection.sendall(b"GET / HTTP/1.1\r\nHost: a\r\n\r\n")
            assert b"127.0.0.1" in read_answer(connection)
        other.sendall(b"G")
        assert is_closed(other)  # after more than the time that `rested` has rested, too
        rested.sendall(b"GET / HTTP/1.1\r\nHost: a\r\n\r\n")
        assert b"127.0.0.1" in read_answer(rested)


AMBIGUOUS = {
    "a coding beside a length": "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\nContent-Length: 5",
    "a length before a coding": "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\nTransfer-Encoding: chunked",
    "a length of nothing": "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 0\r\nTransfer-Encoding: chunked",
    "a coding twice": "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked, chunked",
    "two codings": "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\nTransfer-Encoding: identity",
    "an empty coding": "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding:\r\nContent-Length: 5",
    "a folded coding": "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding:\r\n chunked",
    "a coding of the old version": "POST / HTTP/1.0\r\nConnection: keep-alive\r\nTransfer-Encoding: chunked",
    "two lengths": "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\nContent-Length: 6",
    "a length with a sign": "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: +5",
    "a space before the colon": "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding : chunked",
    "a bare line feed": "POST / HTTP/1.1\r\nHost: a\r\nX: b\nTransfer-Encoding: chunked",
}


@each_row({name: (head,) for name, head in AMBIGUOUS.items()})
def test_a_request_of_ambiguous_length_ends_its_connection(head: str) -> None:
    """RFC 9112, 6.1 and 6.3: what follows is never read as another request."""
    hidden = "GET /hidden HTTP/1.1\r\nHost: a\r\n\r\n"
    with running(ServerLimits()) as port, connected(port, 1) as (connection,):
        connection.sendall(f"{head}\r\n\r\n0\r\n\r\n{hidden}".encode())
        found = b""
        with contextlib.suppress(ConnectionResetError):
            while found.count(b"HTTP/1.") < 2 and (part := connection.recv(1000)):
                found += part
        assert found[9:12] in (b"400", b"501"), found
        assert found.count(b"HTTP/1.") == 1


def test_a_body_in_chunks_is_read() -> None:
    with running(ServerLimits()) as port, connected(port, 1) as (connection,):
        for _ in range(2):  # on one connection
            connection.sendall(b"POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n1\r\na\r\n0\r\n\r\n")
            assert read_answer(connection).startswith(b"HTTP/1.1 200")


def read_answer(connection: socket.socket) -> bytes:
    found = b""
    while not found.endswith(b"127.0.0.1"):
        part = connection.recv(1000)
        assert part, found
        found += part
    return found


def test_monitoring_does_not_wait_behind_searches() -> None:
    begun, release, served = threading.Event(), threading.Event(), list[str]()

    def slow(environ, start_response):
        served.append(environ["PATH_INFO"])
        begun.set()
        release.wait(60)
        return app(environ, start_response)

    paths = ["/first", "/a", "/b", "/metrics", "/healthz?x"]
    with serving(slow, ServerLimits(threads=1)) as server, connected(server.effective_port, 5) as connections:
        for number, (connection, path) in enumerate(zip(connections, paths, strict=True)):
            connection.sendall(f"GET {path} HTTP/1.1\r\nHost: a\r\n\r\n".encode())
            assert begun.wait(60)
            while len(server.task_dispatcher.queue) < number:
                time.sleep(0.01)
        release.set()
        assert all(b"127.0.0.1" in read_answer(connection) for connection in connections)
    assert served == ["/first", "/healthz", "/metrics", "/a", "/b"]


def test_a_malformed_request_is_answered(caplog: pytest.LogCaptureFixture) -> None:
    with running(ServerLimits()) as port, connected(port, 1) as (connection,):
        connection.sendall(b"GET / HTTP/1.1\r\nno colon\r\n\r\n")
        assert connection.recv(12) == b"HTTP/1.0 400"
    assert "uncaptured" not in caplog.text


def test_links_begin_with_the_path_of_a_proxy_that_leaves_it_out_or_not(tmp_path):
    rows = [{"url": f"http://a.test/{n}", "title": "Page", "text": "common"} for n in range(11)]
    app = create_app(indexed(tmp_path, rows), submit=lambda url: Receipt(202, url))
    with serving(app, ServerLimits(), prefix="/our/search") as server:
        for path in ("/", "/our/search/"):
            client = http.client.HTTPConnection("127.0.0.1", server.effective_port, timeout=30)
            for page in ("?q=common", "help", "submit", "opensearch.xml"):
                client.request("GET", f"{path}{page}")
                answer = client.getresponse()
                text = answer.read().decode()
                own = re.findall(r'(?:href|src|action|data-suggestions)="(/[^"]*)"', text)
                assert answer.status == 200 and all(link.startswith("/our/search/") for link in own)
                assert 'template="http' not in text or "/our/search/?q=" in text
            client.close()
