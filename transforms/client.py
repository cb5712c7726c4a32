"""Ask one host for one thing at a time: the thin acting shell around requests.

Only requests' transport adapter is used: no redirects, cookies, .netrc, proxy variables or body reading behind our
back (FINDINGS, "requests"). The socket is made by `addresses.connect`, so it leads to the address that was checked.
"""

import contextlib
import functools
import http.client
import ipaddress
import socket
import time
import zlib
from collections.abc import Callable, Mapping
from types import UnionType
from typing import Any, Protocol

import requests
import urllib3
from requests.adapters import HTTPAdapter
from requests.structures import CaseInsensitiveDict
from urllib3.connection import HTTPConnection, HTTPSConnection
from urllib3.connectionpool import HTTPConnectionPool, HTTPSConnectionPool
from urllib3.util import Timeout

from transforms.addresses import BlockedAddress, NameNotResolved, connect, is_loopback
from transforms.outcomes import Outcome
from transforms.replies import Reply, wanted
from transforms.settings import Fetch

OpenSocket = Callable[[str, int, float], tuple[socket.socket, str]]
"""Connects to (host, port) within a timeout; gives the socket and the address it leads to."""

_CHUNK = 65_536
_TOO_SLOW = "the whole request took too long"


class Client(Protocol):
    """Asks one host. Never raises for what a server does: trouble is in the Reply."""

    def get(self, url: str, headers: Mapping[str, str], any_type: bool = False) -> Reply:
        """The reply; the body of an unwanted media type is not read, unless any will do."""

    def abort(self) -> None:
        """Cut the request under way, from another thread."""

    def close(self) -> None: ...


def opener(fetch: Fetch, public: bool) -> "Callable[[], HostClient]":
    """What opens a client for a host; all of its clients share what they learn of names.

    A robot without a name and a contact is not `public`: loopback is all it asks.
    """
    resolver = socket.getaddrinfo if public else _loopback_only
    open_socket = functools.partial(connect, allowed=allowed_networks(fetch), resolver=resolver)
    return functools.partial(HostClient, fetch, open_socket)


def allowed_networks(fetch: Fetch) -> list[ipaddress.IPv4Network | ipaddress.IPv6Network]:
    """The ranges of special addresses that the settings allow."""
    return [ipaddress.ip_network(text) for text in fetch.allow_addresses]


def _loopback_only(host: str, *args: Any, **kwargs: Any) -> list[Any]:
    found = socket.getaddrinfo(host, *args, **kwargs)
    if not any(is_loopback(str(sockaddr[0])) for *_, sockaddr in found):
        raise BlockedAddress(host, str(found[0][4][0]), "not loopback, and the robot has no name and contact")
    return [entry for entry in found if is_loopback(str(entry[4][0]))]


class HostClient:
    """A Client that keeps one connection to its host alive."""

    def __init__(self, fetch: Fetch, open_socket: OpenSocket) -> None:
        self._fetch = fetch
        self._open_socket = open_socket
        self._adapter = _Adapter(self._connect, self._connected)
        self._socket: socket.socket | None = None  # while an answer ends with its connection, urllib3 hides it
        self._address: str | None = None
        self._refusal: OSError | None = None
        self._aborted = False
        self._kept = False  # whether the request under way went out on the connection of an earlier one

    def get(self, url: str, headers: Mapping[str, str], any_type: bool = False) -> Reply:
        started = time.monotonic()
        self._aborted, self._kept = False, True
        reply = self._try(url, headers, any_type, started + self._fetch.total_timeout)
        if reply.trouble is Outcome.CONNECT_ERROR and self._kept and not self._aborted:
            # The server closed a connection that was kept, as it may at any time (RFC 9112, 9.5).
            reply = self._try(url, headers, any_type, started + self._fetch.total_timeout)
        if self._aborted:  # an answer that was cut may look like a short one
            reply = Reply(trouble=Outcome.TIMEOUT, error=_TOO_SLOW)
            self.close()
        return reply._replace(address=self._address, elapsed=time.monotonic() - started)

    def abort(self) -> None:
        self._aborted = True
        if sock := self._socket:
            with contextlib.suppress(OSError):  # it ended by itself in between
                sock.shutdown(socket.SHUT_RDWR)

    def close(self) -> None:
        self._adapter.close()
        self._socket = None

    def _connect(self, connection: HTTPConnection) -> socket.socket:
        self._kept = False
        try:
            opened, self._address = self._open_socket(connection.host, connection.port, self._fetch.connect_timeout)
        except OSError as error:
            self._refusal = error
            raise
        opened.settimeout(self._fetch.read_timeout)
        return opened

    def _connected(self, sock: socket.socket) -> None:
        self._socket = sock

    def _try(self, url: str, headers: Mapping[str, str], any_type: bool, deadline: float) -> Reply:
        self._refusal = None
        try:
            return self._exchange(url, headers, any_type, deadline)
        except (requests.RequestException, urllib3.exceptions.HTTPError, http.client.HTTPException, OSError) as error:
            self.close()
            return Reply(trouble=_trouble(self._refusal or error), error=_first_line(self._refusal or error))

    def _exchange(self, url: str, headers: Mapping[str, str], any_type: bool, deadline: float) -> Reply:
        request = requests.PreparedRequest()
        request.method, request.url = "GET", url  # as it is: prepare_url would change some escapes
        request.headers = CaseInsensitiveDict(headers)
        timeout = Timeout(connect=self._fetch.connect_timeout, read=self._fetch.read_timeout)
        # Closing takes the connection along, unless the body was read to its end.
        with contextlib.closing(self._adapter.send(request, stream=True, timeout=timeout).raw) as raw:
            received = list(raw.headers.iteritems())
            if raw.status < 300 and not any_type and not wanted(received):
                return Reply(raw.status, received)
            body, truncated, problem = _read(raw, self._fetch.max_body_bytes, deadline)
        if raw.status < 200:
            self.close()  # the real answer is still to come, and must not be taken for that to the next request
        if problem:
            return Reply(raw.status, received, body, trouble=problem[0], error=problem[1])
        return Reply(raw.status, received, body, truncated)


def _read(raw: urllib3.HTTPResponse, limit: int, deadline: float) -> tuple[bytes, bool, tuple[Outcome, str] | None]:
    """The decoded body, whether it was cut at the limit, and what was wrong with it."""
    encoding = raw.headers.get("content-encoding", "").strip().lower()
    if encoding not in ("", "identity", "gzip", "x-gzip", "deflate"):
        return b"", False, (Outcome.BAD_RESPONSE, f"content-encoding {encoding[:40]} was not asked for")
    inflate = None if encoding in ("", "identity") else _Inflate()
    parts: list[bytes] = []
    size = 0
    while chunk := raw.read1(_CHUNK, decode_content=False):  # what there is: `stream` would wait for a whole chunk
        if time.monotonic() > deadline:
            return b"".join(parts), False, (Outcome.TIMEOUT, _TOO_SLOW)
        if inflate and inflate.ended:
            break  # what follows a compressed body is no part of it
        try:
            part = inflate(chunk, limit - size + 1) if inflate else chunk
        except zlib.error as error:
            return b"".join(parts), False, (Outcome.BAD_RESPONSE, str(error))
        parts.append(part)
        size += len(part)
        if size > limit:
            return b"".join(parts)[:limit], True, None
    if inflate and parts and not inflate.ended:
        return b"".join(parts), False, (Outcome.BAD_RESPONSE, "the compressed body ends too early")
    return b"".join(parts), False, None


class _Inflate:
    """gzip, or deflate with the zlib wrapper or without: servers send both under one name."""

    def __init__(self) -> None:
        self._engine: Any = zlib.decompressobj(zlib.MAX_WBITS | 32)
        self._fresh = True

    def __call__(self, chunk: bytes, room: int) -> bytes:
        try:
            return self._inflate(chunk, room)
        except zlib.error:
            if not self._fresh:
                raise
            self._engine = zlib.decompressobj(-zlib.MAX_WBITS)
            return self._inflate(chunk, room)

    @property
    def ended(self) -> bool:
        return bool(self._engine.eof)

    def _inflate(self, chunk: bytes, room: int) -> bytes:
        # What stays undecoded for lack of room needs no keeping: the caller stops there.
        part: bytes = self._engine.decompress(chunk, room)
        self._fresh = False
        return part


class _Adapter(HTTPAdapter):
    """requests' transport, with connections opened by a function of ours; another is told of each that stands."""

    def __init__(
        self, connect: Callable[[HTTPConnection], socket.socket], connected: Callable[[socket.socket], None]
    ) -> None:
        class Plain(HTTPConnection):
            def _new_conn(self) -> socket.socket:
                return connect(self)

            def connect(self) -> None:
                super().connect()
                connected(self.sock)

        class Secure(HTTPSConnection):
            def _new_conn(self) -> socket.socket:
                return connect(self)

            def connect(self) -> None:
                super().connect()
                connected(self.sock)

        class PlainPool(HTTPConnectionPool):
            ConnectionCls = Plain

        class SecurePool(HTTPSConnectionPool):
            ConnectionCls = Secure

        self._pool_classes = {"http": PlainPool, "https": SecurePool}
        super().__init__(pool_connections=2, pool_maxsize=1)

    def init_poolmanager(self, *args: Any, **kwargs: Any) -> None:
        super().init_poolmanager(*args, **kwargs)
        self.poolmanager.pool_classes_by_scheme = self._pool_classes


_TROUBLES: tuple[tuple[type[BaseException] | UnionType, Outcome], ...] = (
    (BlockedAddress, Outcome.BLOCKED_ADDRESS),
    (NameNotResolved, Outcome.DNS_ERROR),
    (requests.exceptions.SSLError | urllib3.exceptions.SSLError, Outcome.TLS_ERROR),
    (requests.Timeout | urllib3.exceptions.TimeoutError | TimeoutError, Outcome.TIMEOUT),
    (http.client.LineTooLong, Outcome.TOO_LONG),
    (http.client.RemoteDisconnected, Outcome.CONNECT_ERROR),
    (http.client.HTTPException | urllib3.exceptions.IncompleteRead, Outcome.BAD_RESPONSE),
    (ConnectionError | requests.ConnectionError, Outcome.CONNECT_ERROR),
)


def _trouble(error: BaseException) -> Outcome:
    """The outcome for an exception of the transport, or of whatever it wraps."""
    causes = _causes(error)
    if any("more than 100 headers" in str(cause) for cause in causes):
        return Outcome.TOO_LONG  # http.client has no exception of its own for it
    found = (end for kind, end in _TROUBLES if any(isinstance(cause, kind) for cause in causes))
    return next(found, Outcome.BAD_RESPONSE)


def _causes(error: BaseException) -> list[BaseException]:
    """The exception and those inside it: requests and urllib3 wrap each other's in args."""
    found: list[BaseException] = []
    todo = [error]
    while todo and len(found) < 20:
        cause = todo.pop(0)
        found.append(cause)
        inner = [a for a in (*cause.args, getattr(cause, "reason", None)) if isinstance(a, BaseException)]
        todo += [e for e in (*inner, cause.__cause__) if e is not None and e not in found]
    return found


def _first_line(error: BaseException) -> str:
    return (str(error) or type(error).__name__).splitlines()[0][:300]
