"""Servers in memory, for tests of what asks them: each request is recorded, and can be cut."""

import threading
import time
from collections.abc import Callable, Mapping
from urllib.parse import urlsplit

from beamtrawl.transforms.http.reply import Reply
from beamtrawl.transforms.http.transport import Method
from beamtrawl.transforms.outcomes import Outcome
from beamtrawl.transforms.politeness.host_queue import BrowserRules
from tests.support.simulation import SimulatedTime
from tests.support.web import Request

PAGE = Reply(200, [("Content-Type", "text/html")], b"<p>herring")
NO_ROBOTS = Reply(404)
Page = Callable[[str, Mapping[str, str]], Reply]
"""Answers a request, by URL and headers; it may wait or raise."""


class Wait:
    """Answers after some seconds."""

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds


class Servers:
    """All servers there are, in memory: a page for each URL, or one for all. What was asked is recorded."""

    def __init__(self, pages: Mapping[str, Page | Reply | Wait] | None = None) -> None:
        self._pages = pages or {}
        self.simulated: SimulatedTime | None = None  # instead of time that passes
        self.requests: list[Request] = []
        self.clients: list[FakeClient] = []

    def open_client(self, browser_rules: BrowserRules) -> "FakeClient":
        self.clients.append(FakeClient(self))
        return self.clients[-1]

    def page(self, url: str) -> Page | Reply | Wait:
        return self._pages.get(url, NO_ROBOTS if url.endswith("/robots.txt") else self._pages.get("*", PAGE))

    def monotonic(self) -> float:
        return self.simulated.monotonic() if self.simulated else time.monotonic()

    @property
    def urls(self) -> list[str]:
        return [f"http://{request.host}{request.path}" for request in self.requests]


class FakeClient:
    """A Client whose requests can be cut, as those of the real one."""

    def __init__(self, servers: Servers) -> None:
        self._servers = servers
        self._cut = threading.Event()
        self.aborts = 0
        self.closed = False

    def get(self, url: str, headers: Mapping[str, str], any_type: bool = False) -> Reply:
        return self._ask("GET", url, headers)

    def head(self, url: str, headers: Mapping[str, str], method: Method = "HEAD") -> Reply:
        return self._ask(method, url, headers)._replace(body=b"")

    def _ask(self, method: Method, url: str, headers: Mapping[str, str]) -> Reply:
        started = self._servers.monotonic()
        self._cut.clear()
        page = self._servers.page(url)
        if isinstance(page, Wait):
            reply = Reply(failure=Outcome.TIMEOUT) if self._is_cut(page.seconds) else PAGE
        else:
            reply = page if isinstance(page, Reply) else page(url, headers)
        parts = urlsplit(url)
        lower = {name.lower(): value for name, value in headers.items()}
        ended = self._servers.monotonic()
        answered = {name.lower(): value for name, value in reply.headers}
        self._servers.requests.append(
            Request(parts.netloc, method, parts.path, lower, started, ended, 0, reply.status or 0, 0, answered)
        )
        return reply

    def _is_cut(self, seconds: float) -> bool:
        if self._servers.simulated is None:
            return self._cut.wait(seconds)
        self._servers.simulated.sleep(seconds)
        return False

    def abort(self) -> None:
        self.aborts += 1
        self._cut.set()

    def forget(self) -> None:
        pass

    def close(self) -> None:
        self.closed = True
