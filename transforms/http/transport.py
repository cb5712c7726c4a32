"""Sends requests and reads responses through http.client."""

import functools
import http.client
from collections.abc import Mapping
from typing import Literal, Protocol

from ..urls.canonical import origin
from .connect import Dialer, Origin
from .deadline_socket import Line
from .response import Response

ORIGINS = 2
"""Number of origins with a persistent connection: http and https of a host."""

Method = Literal["GET", "HEAD"]
"""A method that asks for a page, or for all of its answer but the body (RFC 9110, 9.3)."""


class ResponseStream(Protocol):
    """A response whose head has been read."""

    status: int
    fields: list[tuple[str, str]]  # the headers, in order

    def read1(self, n: int) -> bytes:
        """The next bytes of the undecoded body, at most `n`; b"" at its end. Raises RequestError."""

    def close(self) -> None: ...


class Transport(Protocol):
    """Sends requests to the origins of a host on persistent connections."""

    def ask(self, method: Method, url: str, headers: Mapping[str, str]) -> ResponseStream:
        """Sends a request for a canonical URL with exactly these headers; returns the answer. Raises RequestError."""

    def close(self) -> None:
        """Close the connections; required after a response that was not read to its end."""


class _Connection(http.client.HTTPConnection):
    """Sends requests on a `Line`."""

    sock: Line | None

    def __init__(self, origin: Origin, dialer: Dialer, max_header_bytes: int) -> None:
        super().__init__(origin.host, origin.port)
        self.response_class = functools.partial(Response, limit=max_header_bytes)  # type: ignore[assignment]
        self._dial = functools.partial(dialer.dial, origin)

    def connect(self) -> None:
        self.sock = self._dial()


class Direct:
    """http.client with `Line` as socket and `Response` as parser; takes half of the CPU time of requests."""

    def __init__(self, dialer: Dialer, max_header_bytes: int) -> None:
        self._dialer = dialer
        self._max_header_bytes = max_header_bytes
        self._connections: dict[str, _Connection] = {}  # by origin

    def ask(self, method: Method, url: str, headers: Mapping[str, str]) -> Response:
        key = origin(url)
        connection = self._connections.get(key)
        if connection is None:
            if len(self._connections) >= ORIGINS:
                self.close()
            connection = self._connections[key] = _Connection(Origin.of(url), self._dialer, self._max_header_bytes)
        elif connection.sock and connection.sock.has_news():
            connection.close()
        target, fields = self._dialer.request(url, headers)
        connection.putrequest(method, target, skip_host=True, skip_accept_encoding=True)
        for name, value in fields.items():
            connection.putheader(name, value)
        connection.endheaders()
        response: Response = connection.getresponse()  # type: ignore[assignment]  # it is of response_class
        return response

    def close(self) -> None:
        for connection in self._connections.values():
            connection.close()
        self._connections.clear()
