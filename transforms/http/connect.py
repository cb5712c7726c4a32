"""Opens the connection for a request, directly or through a proxy, with TLS for https."""

import dataclasses
import functools
import ipaddress
import socket
import ssl
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple
from urllib.parse import unquote, urlsplit

import certifi

from ..outcomes import Outcome
from ..settings import Fetch
from ..urls.canonical import host
from .address_guard import (
    BlockedAddress,
    Connector,
    Network,
    Resolver,
    blocked,
    connect,
    is_internal_name,
    is_loopback,
    literal,
    literal_loopback,
)
from .deadline_socket import Exchange, Line
from .errors import RequestError, request_error
from .request_headers import basic
from .response_head import read_head

OpenSocket = Callable[[str, int, float], tuple[socket.socket, str | None]]
"""Connects to (host, port) within a timeout; returns the socket, and the host's address if it is known."""

_ANYWHERE = (ipaddress.ip_network("0.0.0.0/0"), ipaddress.ip_network("::/0"))

_DEFAULT_PORTS = {"http": 80, "https": 443}


class Origin(NamedTuple):
    """The scheme, host and port of a connection."""

    scheme: str
    host: str  # without the brackets of an IPv6 address
    port: int

    @classmethod
    def of(cls, url: str) -> "Origin":
        """The origin of a canonical URL."""
        parts = urlsplit(url)
        return cls(parts.scheme, parts.hostname or "", parts.port or _DEFAULT_PORTS[parts.scheme])


@dataclasses.dataclass(frozen=True)
class Proxy:
    """An HTTP proxy, and the headers for it in each request."""

    host: str
    port: int
    headers: dict[str, str] = dataclasses.field(repr=False)

    @classmethod
    def of(cls, url: str) -> "Proxy | None":
        """The proxy for a URL like `http://USER:PASSWORD@HOST:PORT`; None for an empty one."""
        if not url:
            return None
        parts = urlsplit(url)
        headers = {}
        if parts.username is not None:
            headers["Proxy-Authorization"] = basic(f"{unquote(parts.username)}:{unquote(parts.password or '')}")
        return cls(parts.hostname or "", parts.port or 80, headers)


def through(
    proxy: Proxy,
    allowed: Sequence[Network],
    public: bool,
    resolver: Resolver = socket.getaddrinfo,
    connector: Connector = socket.create_connection,
) -> OpenSocket:
    """A function that connects to the proxy, for hosts that are not blocked.

    The proxy resolves names, so only literal addresses and internal names can be checked here; without `public`,
    all hosts but loopback are refused. The proxy's own address is not checked.
    """

    def open_socket(host: str, port: int, timeout: float) -> tuple[socket.socket, None]:
        address = _literal(host)
        if address and (reason := blocked(address, allowed)):
            raise BlockedAddress(host, address, reason)
        if not address and is_internal_name(host) and not any(network.is_private for network in allowed):
            raise BlockedAddress(host, "a proxy", "an internal name")
        if not public and not (address and is_loopback(address)):
            raise BlockedAddress(host, "a proxy", "not loopback, and the robot has no name and contact")
        try:
            opened, _ = connect(proxy.host, proxy.port, timeout, _ANYWHERE, resolver=resolver, connector=connector)
        except OSError as error:
            raise RequestError(
                Outcome.CONNECT_ERROR, f"the proxy cannot be reached: {request_error(error).text}"
            ) from error
        return opened, None

    return open_socket


def _literal(host: str) -> str | None:
    """The address of a host that is an address in any spelling that the system accepts; None for a name."""
    if entries := literal(host):
        return str(entries[0][4][0])
    return "127.0.0.1" if literal_loopback(host) else None


class Dialer:
    """Opens the connections of one client."""

    def __init__(self, fetch: Fetch, open_socket: OpenSocket, exchange: Exchange) -> None:
        self._fetch = fetch
        self._open_socket = open_socket
        self._exchange = exchange
        self.proxy = Proxy.of(fetch.proxy)

    def dial(self, origin: Origin) -> Line:
        """Opens a connection for requests to the origin; any failure is a RequestError."""
        limit = self._fetch.connect_timeout
        self._exchange.line, self._exchange.kept = None, False
        try:
            sock, address = self._open_socket(origin.host, origin.port, self._exchange.patience(limit))
        except OSError as error:
            raise request_error(error) from error
        self._exchange.connected()
        line = Line(sock, address, self._exchange)
        try:
            if origin.scheme == "https":
                if self.proxy:
                    self._tunnel(line, self.proxy, origin)
                line.secure(tls_context(self._fetch.verify_tls), origin.host, limit)
        except RequestError:
            line.close()
            raise
        return line

    def request(self, url: str, headers: Mapping[str, str]) -> tuple[str, dict[str, str]]:
        """The request target and headers for a canonical URL; for a forwarding proxy the target is the URL."""
        if self.proxy and url.startswith("http:"):
            return url, {"Host": host(url), **headers, **self.proxy.headers}
        return "/" + url.split("/", 3)[3], {"Host": host(url), **headers}

    def _tunnel(self, line: Line, proxy: Proxy, origin: Origin) -> None:
        """Open a tunnel to the origin through the proxy (RFC 9110, 9.3.6)."""
        authority = f"[{origin.host}]:{origin.port}" if ":" in origin.host else f"{origin.host}:{origin.port}"
        fields = {"Host": authority, **proxy.headers}
        lines = [f"CONNECT {authority} HTTP/1.1", *(f"{name}: {value}" for name, value in fields.items())]
        line.sendall("".join(f"{text}\r\n" for text in [*lines, ""]).encode("latin-1"))
        with line.makefile() as incoming:
            status = read_head(incoming.readline, self._fetch.max_header_bytes).status
        if not 200 <= status < 300:
            raise refused(status)


def refused(status: int) -> RequestError:
    """The error for a request that the proxy refuses: the host's state is unknown."""
    return RequestError(Outcome.CONNECT_ERROR, f"the proxy refuses with status {status}")


@functools.cache
def tls_context(verify: bool) -> ssl.SSLContext:
    """The client's TLS context, one per process: loading all CA certificates takes longer than many handshakes."""
    context = ssl.create_default_context(cafile=certifi.where())
    context.set_alpn_protocols(["http/1.1"])
    if not verify:
        context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    return context
