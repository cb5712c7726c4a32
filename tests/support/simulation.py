"""Rounds of the host scheduler in simulated time: no thread, no socket, no second that passes.

    time = SimulatedTime()
    web = SimulatedWeb({"a.test": {"/": html("Home")}}, time)
    events = run_round(web, ["http://a.test/"], seconds=60.0, politeness__delay=1.0)
    assert [r.path for r in web.requests] == ["/robots.txt", "/"]

The sites are those of tests/support/web.py, and so is the log.
"""

import itertools
from collections.abc import Callable, Iterable, Mapping
from datetime import UTC, datetime, timedelta
from heapq import heappop, heappush
from typing import Any, TypeVar

from beamtrawl.transforms.frontier.selection import Due
from beamtrawl.transforms.http.reply import Reply
from beamtrawl.transforms.http.transport import Method
from beamtrawl.transforms.outcomes import Outcome
from beamtrawl.transforms.politeness.context import Event
from beamtrawl.transforms.politeness.host_queue import BrowserRules, HostTurn
from beamtrawl.transforms.politeness.scheduler import HostScheduler
from beamtrawl.transforms.politeness.url_queue import UrlQueue
from beamtrawl.transforms.urls.canonical import host, url_key
from tests.support.contexts import visit_context
from tests.support.web import NEVER, OTHERWISE, Answer, Page, Request, answer_of, status

T = TypeVar("T")

START = datetime(2026, 3, 1, 12, tzinfo=UTC)


class SimulatedTime:
    """A clock that `take` moves on, and calls that end when `sleep` has said that they do."""

    def __init__(self) -> None:
        self._now = 0.0
        self._ended: list[tuple[float, int, Any]] = []  # a heap
        self._count = itertools.count()

    def monotonic(self) -> float:
        return self._now

    def utc(self) -> datetime:
        return START + timedelta(seconds=self._now)

    def sleep(self, seconds: float) -> None:
        """Let time pass for the call that runs."""
        self._now += seconds

    def start(self, call: Callable[[], Any]) -> None:
        before = self._now
        result = call()
        heappush(self._ended, (self._now, next(self._count), result))
        self._now = before

    def take(self, timeout: float) -> Any:
        until = self._now + timeout
        if not self._ended or self._ended[0][0] > until:
            self._now = until
            return None
        ended, _, result = heappop(self._ended)
        self._now = max(self._now, ended)
        return result

    def close(self) -> None:
        pass


class SimulatedWeb:
    """What `Web` serves, asked by clients of its own; hosts have no port."""

    def __init__(
        self, sites: Mapping[str, Mapping[str, Page]], time: SimulatedTime, read_timeout: float = 15.0
    ) -> None:
        self.time = time
        self._sites = sites
        self._read_timeout = read_timeout
        self._requests: list[Request] = []

    def url(self, host: str, path: str = "/") -> str:
        return f"http://{host}{path}"

    @property
    def requests(self) -> list[Request]:
        """All requests, in the order of their start."""
        return sorted(self._requests, key=lambda request: request.started)

    def open_client(self, browser_rules: BrowserRules) -> "SimulatedWeb":
        return self

    def get(self, url: str, headers: Mapping[str, str], any_type: bool = False) -> Reply:
        return self._ask("GET", url, headers)

    def head(self, url: str, headers: Mapping[str, str], method: Method = "HEAD") -> Reply:
        return self._ask(method, url, headers)._replace(body=b"")

    def _ask(self, method: Method, url: str, headers: Mapping[str, str]) -> Reply:
        name, path = host(url), url.removeprefix(f"http://{host(url)}")
        if not (site := self._sites[name]):
            return Reply(failure=Outcome.CONNECT_ERROR)
        started, wall = self.time.monotonic(), self.time.utc().timestamp()
        lower = {name.lower(): value for name, value in headers.items()}
        answer = answer_of(site.get(f"{method} {path}", site.get(path, site.get(OTHERWISE, status(404)))), lower)
        self.time.sleep(min(answer.wait, self._read_timeout))
        if answer.wait == NEVER:
            answer = Answer(0, headers=())
        ended = self.time.monotonic()
        answered = {name.lower(): value for name, value in answer.headers}
        self._requests.append(Request(name, method, path, lower, started, ended, wall, answer.status, 0, answered))
        if not answer.status:
            return Reply(failure=Outcome.TIMEOUT, elapsed_s=ended - started)
        return Reply(answer.status, answer.headers, answer.body, elapsed_s=ended - started)

    def abort(self) -> None:
        raise AssertionError("a simulated request is over before it could be cut")

    def forget(self) -> None:
        pass

    def close(self) -> None:
        pass


def run_round(
    web: SimulatedWeb, urls: Iterable[str], seconds: float, queue_of: Callable[[str], str] = str, **changes: Any
) -> list[Event]:
    """All events of a round of so many seconds at most, in which these URLs are due; hosts may share a queue."""
    context = visit_context(web.open_client, changes, deadline=web.time.utc() + timedelta(seconds=seconds))
    scheduler = HostScheduler(context, {}, clock=web.time, calls=web.time)
    for name, group in itertools.groupby(urls, key=host):
        queue = UrlQueue(Due(url_key(url), url, name, 0, 1.0, None, None, None, 0, 0, 0) for url in group)
        scheduler.add(queue_of(name), [HostTurn(name, queue)])
    return list(scheduler.pump(wait=True))
