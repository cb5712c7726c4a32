"""Sends requests to one host, one at a time, through sockets and HTTP libraries."""

import functools
import http.client
import ipaddress
import socket
import threading
import time
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple, Protocol

from ..outcomes import Outcome
from ..settings import Fetch
from ..signatures.signer import Signer
from ..urls.canonical import host
from . import media_types
from .address_guard import BlockedAddress, Resolver, connect, is_loopback
from .body_buffer import BodyBuffer, BodyMemory
from .connect import Dialer, OpenSocket, Proxy, refused, through
from .deadline_socket import Exchange
from .errors import TOO_SLOW, RequestError, request_error
from .reply import Reply, content_type, joined, wanted
from .request_headers import own_headers
from .response_body import Body, Pace, read_body
from .transport import Direct, Method, ResponseStream, Transport

_TYPES = media_types.HTML | media_types.TEXT
_UNWANTED = "its media type is of no kind that documents.kinds names"
_READING_BYTES = _LOADED_BYTES = 16 << 20  # memory for the bodies of a worker (`BodyMemory`)
_LONGEST_RESEND_PAUSE = 10.0  # seconds; no connection is kept longer than half of this
_REFUSED = (401, 403)  # statuses after which a request is sent again with the signature that the host asks for
_REDIRECT_BODY = 65_536  # unused, but reading a short one to its end keeps the connection open


class Client(Protocol):
    """Sends requests to one host. Failures of the server never raise: they are in the Reply."""

    def get(self, url: str, headers: Mapping[str, str], any_type: bool = False) -> Reply:
        """The reply; the body of an unwanted media type is read only with `any_type`."""

    def head(self, url: str, headers: Mapping[str, str], method: Method = "HEAD") -> Reply:
        """The reply without its body, which is not read; `method` GET is for servers that refuse HEAD."""

    def abort(self) -> None:
        """End the current request, from another thread."""

    def forget(self) -> None:
        """Release the memory of the last reply's body."""

    def close(self) -> None: ...


def opener(
    fetch: Fetch,
    public: bool,
    types: frozenset[str] = _TYPES,
    resolver: Resolver = socket.getaddrinfo,
    signer: Signer | None = None,
) -> "Callable[..., HostClient]":
    """A function that opens a client for a host; the resolver looks up names, or the proxy if one is set.

    Bodies are read for the media types in `types`. The signer signs requests.
    A robot without a name and a contact is not `public`: it sends requests to loopback only.
    """
    allowed = allowed_networks(fetch)
    if not public:
        resolver = functools.partial(_loopback_only, resolver)
    proxy = Proxy.of(fetch.proxy)
    open_socket: OpenSocket = functools.partial(connect, allowed=allowed, resolver=resolver)
    if proxy:
        open_socket = through(proxy, allowed, public)
    memory = BodyMemory(_READING_BYTES, max(_LOADED_BYTES, fetch.max_body_bytes))
    return functools.partial(HostClient, fetch, open_socket, _transport(fetch.client), memory, types, signer)


def _transport(client: str) -> Callable[[Dialer, int], Transport]:
    """The transport by its name in `fetch.client`."""
    if client == "direct":
        return Direct
    from .requests_transport import ThroughRequests  # noqa: PLC0415 - its libraries take 0.1 s of each start

    return ThroughRequests


def allowed_networks(fetch: Fetch) -> list[ipaddress.IPv4Network | ipaddress.IPv6Network]:
    """The ranges of special addresses that the settings allow."""
    return [ipaddress.ip_network(text) for text in fetch.allow_addresses]


def _loopback_only(resolver: Resolver, host: str, *args: Any, **kwargs: Any) -> list[Any]:
    found = resolver(host, *args, **kwargs)
    if not any(is_loopback(str(sockaddr[0])) for *_, sockaddr in found):
        raise BlockedAddress(host, str(found[0][4][0]), "not loopback, and the robot has no name and contact")
    return [entry for entry in found if is_loopback(str(entry[4][0]))]


class _Wish(NamedTuple):
    """What is asked for, and what is read of the answer."""

    method: Method
    reads_body: bool
    any_type: bool = True  # of bodies that are read


class HostClient:
    """A Client that keeps a connection to its host alive. `transport` sends the requests."""

    def __init__(
        self,
        fetch: Fetch,
        open_socket: OpenSocket,
        transport: Callable[[Dialer, int], Transport] = Direct,
        memory: BodyMemory | None = None,
        types: frozenset[str] = _TYPES,
        signer: Signer | None = None,
        pause: Callable[[float], float] = lambda elapsed_s: 0.0,
    ) -> None:
        self._fetch = fetch
        self._pause = pause  # seconds to wait after a request, by the seconds that it took
        self._aborted = threading.Event()
        self._types = types
        self._signer = signer
        self._memory = memory or BodyMemory(_READING_BYTES, max(_LOADED_BYTES, fetch.max_body_bytes))
        self._buffer = BodyBuffer(self._memory)
        self._exchange = Exchange(fetch.read_timeout)
        self._dialer = Dialer(fetch, open_socket, self._exchange)
        self._transport = transport(self._dialer, fetch.max_header_bytes)

    def get(self, url: str, headers: Mapping[str, str], any_type: bool = False) -> Reply:
        return self._request(_Wish("GET", True, any_type), url, headers)

    def head(self, url: str, headers: Mapping[str, str], method: Method = "HEAD") -> Reply:
        return self._request(_Wish(method, False), url, headers)

    def _request(self, wish: _Wish, url: str, headers: Mapping[str, str]) -> Reply:
        """The reply to a request, which is sent again if that is permitted and may help."""
        self.forget()
        self._aborted.clear()
        exchange = self._exchange
        exchange.begin(self._fetch.total_timeout)
        if own := own_headers(self._fetch, url):
            names = {name.lower() for name in own}
            headers = {name: value for name, value in headers.items() if name.lower() not in names} | own
        reply = self._signed(wish, url, headers)
        # The server closed a persistent connection, as it may at any time (RFC 9112, 9.5). If bytes of the request
        # may have arrived, it counts as a request: the delay between requests applies before the next.
        closed = (reply.failure, reply.status, exchange.kept) == (Outcome.CONNECT_ERROR, None, True)
        if closed and self._may_resend(0.0, exchange.sent):
            reply = self._signed(wish, url, headers)
        asks = self._signer is not None and self._signer.learn(host(url), reply.headers)
        if asks and reply.status in _REFUSED and self._may_resend(exchange.elapsed_s()):
            self.forget()
            reply = self._signed(wish, url, headers)
        is_cut = exchange.end()
        address = exchange.line.address if exchange.line else None
        reply = reply._replace(address=address, elapsed_s=exchange.elapsed_s())
        if is_cut:  # a cut answer may look like a complete short one
            self.close()
            return Reply(failure=Outcome.TIMEOUT, error=TOO_SLOW, address=address, elapsed_s=reply.elapsed_s)
        try:
            return reply._replace(body=self._buffer.load()) if reply.failure is not Outcome.DEFERRED else reply
        except RequestError as error:  # no memory for a complete body: not a failure of the server
            return _failed(error)._replace(address=address, elapsed_s=reply.elapsed_s)

    def abort(self) -> None:
        self._aborted.set()
        self._exchange.cut()

    def forget(self) -> None:
        self._buffer.release()
        self._buffer = BodyBuffer(self._memory)

    def close(self) -> None:
        self.forget()
        self._transport.close()

    def _signed(self, wish: _Wish, url: str, headers: Mapping[str, str]) -> Reply:
        """The answer to a request, which is signed for the URL's own host if that is to be."""
        signature = self._signer.headers(host(url)) if self._signer else {}
        return self._ask(wish, url, {**headers, **signature})

    def _may_resend(self, elapsed_s: float, sent: bool = True) -> bool:
        """Wait the delay after a request, if one was sent, and begin anew; False if it is too long, or after abort."""
        seconds = self._pause(elapsed_s) if sent else 0.0
        if seconds > _LONGEST_RESEND_PAUSE or self._aborted.wait(seconds):
            return False
        self._exchange.begin(self._fetch.total_timeout)
        return True

    def _ask(self, wish: _Wish, url: str, headers: Mapping[str, str]) -> Reply:
        try:
            answer = self._transport.ask(wish.method, url, headers)
        except _ERRORS as error:
            self._transport.close()
            return _failed(request_error(error))
        body = Body()
        try:
            if answer.status == 407 and self._dialer.proxy:
                return _failed(refused(answer.status))
            if not wish.reads_body:
                body = Body(ended=wish.method == "HEAD")
                return Reply(answer.status, answer.fields)
            is_page = answer.status < 300 and answer.status != 206  # no range was requested
            if is_page and not wish.any_type and not wanted(url, answer.fields, self._types):
                return Reply(answer.status, answer.fields, failure=Outcome.UNWANTED_TYPE, error=_UNWANTED)
            body = self._read(answer)
        finally:
            answer.close()
            if not body.ended:
                self._transport.close()
        if body.failure and not is_page and body.failure.outcome not in (Outcome.TIMEOUT, Outcome.DEFERRED):
            body = Body(truncated=True, oddity=body.failure.text)  # the status says it all
        reply = _failed(body.failure) if body.failure else Reply(error=body.oddity)
        if reply.failure is Outcome.DEFERRED:
            return reply
        return reply._replace(status=answer.status, headers=answer.fields, truncated=body.truncated)

    def _read(self, answer: ResponseStream) -> Body:
        encoding = joined(answer.fields, "content-encoding")
        limit = self._fetch.max_body_bytes
        if 300 <= answer.status < 400:
            limit = min(limit, _REDIRECT_BODY)
        pace = Pace(self._fetch.min_rate, self._fetch.read_timeout, time.monotonic())
        declared = content_type(answer.fields)
        return read_body(answer.read1, encoding, limit, pace, time.monotonic, self._buffer.append, declared)


_ERRORS = (RequestError, OSError, http.client.HTTPException)


def _failed(error: RequestError) -> Reply:
    return Reply(failure=error.outcome, error=error.text)
