"""Sends requests and reads responses through requests' transport adapter."""

import contextlib
import functools
import http.client
from collections.abc import Iterator, Mapping
from typing import Any

import requests
from requests.adapters import HTTPAdapter
from urllib3 import HTTPConnectionPool, HTTPResponse, HTTPSConnectionPool
from urllib3.connection import HTTPConnection, HTTPSConnection
from urllib3.exceptions import HTTPError

from .connect import Dialer, Origin
from .deadline_socket import Line
from .response import Response
from .transport import ORIGINS, Method


class ThroughRequests(HTTPAdapter):
    """requests' transport adapter and urllib3's connection pools, with `Line` as socket and `Response` as parser.

    No session: it would follow redirects, keep cookies, and apply .netrc and proxy variables.
    """

    def __init__(self, dialer: Dialer, max_header_bytes: int) -> None:
        class Dialled(HTTPConnection):
            sock: Line | None
            response_class = functools.partial(Response, limit=max_header_bytes)  # type: ignore[assignment]

            def connect(self) -> None:
                scheme = "https" if isinstance(self, HTTPSConnection) else "http"
                self.sock = dialer.dial(Origin(scheme, self.host, self.port))
                self.is_verified = True  # or verification is disabled: urllib3 must not warn

            @property
            def is_connected(self) -> bool:
                return self.sock is not None and not self.sock.has_news()

        class DialledTls(Dialled, HTTPSConnection):
            pass

        class Pool(HTTPConnectionPool):
            ConnectionCls = Dialled

        class TlsPool(HTTPSConnectionPool):
            ConnectionCls = DialledTls

        self._dialer = dialer
        self._pool_classes = {"http": Pool, "https": TlsPool}
        super().__init__(pool_connections=ORIGINS, pool_maxsize=1)

    def init_poolmanager(self, *args: Any, **kwargs: Any) -> None:
        super().init_poolmanager(*args, **kwargs)
        self.poolmanager.pool_classes_by_scheme = self._pool_classes

    def request_url(self, request: requests.PreparedRequest, proxies: Any) -> str:
        target: str = request.target
        return target

    def ask(self, method: Method, url: str, headers: Mapping[str, str]) -> "_Pooled":
        request = requests.PreparedRequest()
        request.method, request.url = method, url  # unchanged: prepare_url would change some escapes
        request.target, request.headers = self._dialer.request(url, headers)
        with _errors_of_http_client():
            return _Pooled(self.send(request, stream=True).raw)


class _Pooled:
    """A ResponseStream around urllib3's response."""

    def __init__(self, raw: HTTPResponse) -> None:
        self._raw = raw
        self.status = raw.status
        self.fields = list(raw.headers.iteritems())

    def read1(self, limit: int) -> bytes:
        with _errors_of_http_client():
            return self._raw.read1(limit, decode_content=False)

    def close(self) -> None:
        self._raw.close()


@contextlib.contextmanager
def _errors_of_http_client() -> Iterator[None]:
    """Converts exceptions of requests and urllib3, so that only this module needs the two libraries."""
    try:
        yield
    except (HTTPError, requests.RequestException) as error:
        raise http.client.HTTPException(str(error) or type(error).__name__) from error.__cause__
