"""A server of raw bytes on loopback, for all that a well-behaved one would never say.

    def talk(peer):
        peer.read_head()
        peer.send(b"HTTP/1.1 200 OK\\r\\n")
        peer.wait_for_hang_up()

    with serve(talk) as server:
        ...  # ask server.url("/"); then look at server.heads

`answer`, `sized` and `chunked` write answers; `says`, `answering`, `dripping` and `silent` are talks.
"""

import contextlib
import socket
import ssl
import struct
import threading
from collections.abc import Callable, Iterator


class Server:
    """Where it listens, and what it has seen so far."""

    def __init__(self, port: int) -> None:
        self.port = port
        self.heads: list[bytes] = []  # of requests, as they came
        self.connections: list[socket.socket] = []
        self.asked = threading.Event()  # the head of a request is there
        self.hung_up = threading.Event()  # a client has left

    def url(self, path: str = "/", scheme: str = "http") -> str:
        return f"{scheme}://127.0.0.1:{self.port}{path}"


class Peer:
    """The server's end of one connection."""

    def __init__(self, connection: socket.socket, server: Server) -> None:
        self._connection = connection
        self._server = server
        self.target = b""  # of the last request: path and query

    def first_byte(self) -> bytes:
        """What a client says first, which stays to be read; nothing if it hangs up instead."""
        return self._connection.recv(1, socket.MSG_PEEK)

    def start_tls(self, context: ssl.SSLContext) -> None:
        """Shake hands as a server of TLS; what is said from now on is encrypted."""
        self._connection = context.wrap_socket(self._connection, server_side=True)

    def read_head(self) -> None:
        """Wait for the head of a request; EOFError if the client hangs up instead."""
        head = bytearray()
        while not head.endswith(b"\r\n\r\n"):
            if not (byte := self._connection.recv(1)):
                raise EOFError
            head += byte
        self.target = bytes(head).split(b" ")[1]
        self._server.heads.append(bytes(head))
        self._server.asked.set()

    def send(self, data: bytes) -> None:
        self._connection.sendall(data)

    def drip(self, data: bytes, seconds: float) -> None:
        """Send the data again and again, with a pause after each time, until the client hangs up."""
        self._connection.settimeout(seconds)
        while self._says_more():
            self.send(data)

    def _says_more(self) -> bool:
        try:
            return bool(self._connection.recv(65_536))
        except TimeoutError:
            return True

    def end(self) -> None:
        """Say that nothing more will come."""
        self._connection.shutdown(socket.SHUT_WR)

    def reset(self) -> None:
        """End at once, with an error for the client; raises, because there is nothing left to say."""
        self._connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        raise ConnectionResetError

    def wait_for_hang_up(self) -> None:
        while self._connection.recv(65_536):
            pass

    def close(self) -> None:
        self._connection.close()


Talk = Callable[[Peer], None]
HTML = b"Content-Type: text/html"
GZIP = b"Content-Encoding: gzip"
PAGE = b"<p>herring"


def answer(*headers: bytes, body: bytes = PAGE, status: bytes = b"200 OK") -> bytes:
    """An answer that ends with its connection."""
    return b"HTTP/1.1 " + b"\r\n".join([status, *headers]) + b"\r\n\r\n" + body


def sized(*headers: bytes, body: bytes = PAGE, status: bytes = b"200 OK") -> bytes:
    """An answer that declares the length of its body."""
    return answer(b"Content-Length: %d" % len(body), *headers, body=body, status=status)


def chunked(*chunks: bytes, end: bytes = b"0\r\n\r\n", header: bytes = HTML) -> bytes:
    """An answer in chunks; `end` takes the place of the last one."""
    body = b"".join(b"%x\r\n%s\r\n" % (len(chunk), chunk) for chunk in chunks)
    return answer(b"Transfer-Encoding: chunked", header, body=body + end)


def says(data: bytes) -> Talk:
    """Answer a request with these bytes, and hang up."""

    def talk(peer: Peer) -> None:
        peer.read_head()
        peer.send(data)

    return talk


def answering(*answers: bytes) -> Talk:
    """One answer after the other on a connection, as long as there are any."""
    remaining = iter(answers)

    def talk(peer: Peer) -> None:
        for data in remaining:
            peer.read_head()
            peer.send(data)

    return talk


def dripping(start: bytes, drop: bytes) -> Talk:
    """Something every twentieth of a second, for ever: no single read takes long."""

    def talk(peer: Peer) -> None:
        peer.read_head()
        peer.send(start)
        peer.drip(drop, 0.05)

    return talk


def silent(start: bytes) -> Talk:
    """These bytes, and then nothing, for ever."""

    def talk(peer: Peer) -> None:
        peer.read_head()
        peer.send(start)
        peer.wait_for_hang_up()

    return talk


@contextlib.contextmanager
def serve(talk: Talk, tls: ssl.SSLContext | None = None) -> Iterator[Server]:
    """A server that says `talk` on each connection, and then hangs up; it ends with the context."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        server = Server(listener.getsockname()[1])
        thread = threading.Thread(target=_listen, args=(listener, server, talk, tls))
        thread.start()
        try:
            yield server
        finally:
            listener.shutdown(socket.SHUT_RDWR)
            thread.join()


def _listen(listener: socket.socket, server: Server, talk: Talk, tls: ssl.SSLContext | None) -> None:
    threads = []
    with contextlib.suppress(OSError):  # accept fails when the context has ended
        while True:
            connection = listener.accept()[0]
            server.connections.append(connection)
            threads.append(threading.Thread(target=_talk, args=(connection, server, talk, tls)))
            threads[-1].start()
    for connection in server.connections:
        with contextlib.suppress(OSError):  # most have ended by themselves
            connection.shutdown(socket.SHUT_RDWR)
    for thread in threads:
        thread.join()


def _talk(connection: socket.socket, server: Server, talk: Talk, tls: ssl.SSLContext | None) -> None:
    with contextlib.ExitStack() as stack:
        stack.enter_context(contextlib.suppress(OSError, EOFError))  # the client may leave first
        stack.enter_context(connection)
        peer = Peer(connection.dup(), server)  # TLS takes it over, and `connection` stays what ends both
        stack.callback(peer.close)
        if tls:
            peer.start_tls(tls)
        talk(peer)
        peer.end()
        peer.wait_for_hang_up()  # to close while more is coming would take back what was sent
    server.hung_up.set()
