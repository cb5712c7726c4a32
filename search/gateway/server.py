"""The HTTP server of the gateway: waitress, with limits on slow requests and on the connections of a client.

Requests wait in one queue, but monitoring does not wait behind searches.
"""

import dataclasses
import re
import time
from typing import Any

import waitress
from waitress.channel import HTTPChannel
from waitress.parser import HTTPRequestParser, ParsingError
from waitress.task import ThreadedTaskDispatcher

from .rate_limits import client_of

FIRST = ("/healthz", "/metrics")
"""The paths whose requests are answered before others that wait."""


@dataclasses.dataclass(frozen=True)
class ServerLimits:
    """What a server bounds."""

    threads: int = 4
    """Requests that are answered at the same time. More do not help: Python computes in one thread at a time."""

    connections: int = 500
    """Open connections; further clients wait until one is closed."""

    client_connections: int = 40
    """Open connections of one client (`client_of`); further ones are closed at once. A trusted proxy may have any."""

    request_s: float = 15.0
    """Seconds until a request has arrived as a whole: from the connection, or from its first byte on a kept one."""

    idle_s: int = 60
    """Seconds after which a kept connection without a request is closed."""

    head_bytes: int = 16 << 10
    """Bytes of the head of a request."""


def create_server(
    app: Any, host: str, port: int, limits: ServerLimits, trusted_proxy: str | None = None, prefix: str = ""
) -> Any:
    """A server that listens; its `run` blocks, its `close` ends it. OSError or ValueError if it cannot listen.

    Links begin with `prefix`, the path of the pages at a proxy, which may leave it out of requests or not.
    """
    proxy: dict[str, Any] = {}
    if trusted_proxy is not None:
        headers = {"x-forwarded-for", "x-forwarded-host", "x-forwarded-proto"}
        proxy = {"trusted_proxy": trusted_proxy, "trusted_proxy_headers": headers}
    # Each address of the host is bound by a server of its own, and waitress looks up the class of its channels.
    bound: dict[int, Any] = {}
    server = waitress.create_server(
        app,
        map=bound,
        url_prefix=prefix,
        _dispatcher=_Dispatcher(limits.threads, prefix),  # waitress has no setting for it
        host=host,
        port=port,
        ident=None,
        threads=limits.threads,
        connection_limit=limits.connections,
        channel_timeout=limits.idle_s,
        cleanup_interval=5,
        asyncore_use_poll=True,
        max_request_header_size=limits.head_bytes,
        max_request_body_size=1 << 20,  # the application refuses much less, with an error page
        **proxy,
    )
    channel = _channel_class(limits, trusted_proxy)
    for listener in bound.values():
        if hasattr(listener, "channel_class"):
            listener.channel_class = channel
    return server


class _Dispatcher(ThreadedTaskDispatcher):
    """waitress's queue of requests, with those for FIRST at its head."""

    def __init__(self, threads: int, prefix: str) -> None:
        super().__init__()
        self._prefix = prefix
        self.set_thread_count(threads)

    def add_task(self, task: Any) -> None:
        super().add_task(task)
        if getattr(task.requests[0], "path", "").removeprefix(self._prefix) in FIRST:  # a malformed request has no path
            with self.lock:
                if task in self.queue:  # no thread has taken it
                    self.queue.remove(task)
                    self.queue.appendleft(task)


_FRAMING = re.compile(
    rb"^(?:transfer-encoding|content-length)[ \t]*:[ \t]*([^\r\n]*?)[ \t]*\r?$", re.IGNORECASE | re.MULTILINE
)
_CODED = re.compile(rb"^transfer-encoding[ \t]*:", re.IGNORECASE | re.MULTILINE)


class _Parser(HTTPRequestParser):
    """waitress's parser, but for requests that a proxy in front may end elsewhere: they end their connection.

    RFC 9112, 6.1: a transfer coding beside a length, in HTTP/1.0, or another one than `chunked`, once.
    """

    def parse_header(self, header_plus: bytes) -> None:
        if _CODED.search(header_plus):
            framing = [value.lower() for value in _FRAMING.findall(header_plus)]
            if framing != [b"chunked"] or header_plus.partition(b"\r\n")[0].rstrip().endswith(b"HTTP/1.0"):
                raise ParsingError("The length of the request is ambiguous")
        super().parse_header(header_plus)


def _channel_class(limits: ServerLimits, trusted_proxy: str | None) -> type[HTTPChannel]:
    """waitress's connection, with the limits."""

    class Channel(HTTPChannel):
        parser_class = _Parser

        def __init__(self, server: Any, sock: Any, addr: Any, adj: Any, map: Any = None) -> None:
            self._request_began: float | None = time.monotonic()
            self._client = client_of(addr[0])
            super().__init__(server, sock, addr, adj, map=map)
            channels = [c for c in (map or {}).values() if getattr(c, "_client", None) == self._client]
            if len(channels) > limits.client_connections and addr[0] != trusted_proxy:
                self.handle_close()

        def received(self, data: bytes) -> bool:
            is_read: bool = super().received(data)
            if self.request is None:
                self._request_began = None
            elif self._request_began is None:
                self._request_began = time.monotonic()
            return is_read

        def readable(self) -> bool:
            """Whether to read; called in each turn of the server's loop, once a second at least."""
            now = time.monotonic()
            if self.requests or self.total_outbufs_len:  # the next request is not read meanwhile
                self._request_began = self._request_began and now
            elif self._request_began is not None and now - self._request_began > limits.request_s:
                self.will_close = True
            is_readable: bool = super().readable()
            return is_readable

    return Channel
