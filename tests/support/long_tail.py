"""A web with a long tail: most hosts answer at once, a quarter of them is slow, dead, overloaded or broken.

tail = LongTail(hosts=200, pages=30)
with WebProcess(tail.sites) as web:
    ...  # crawl `tail.urls(web)`
share(web.requests, tail.hosts("healthy"), since, until, delay)
"""

import time
from collections.abc import Callable, Collection, Iterable, Mapping

from tests.support.access_log import ROBOTS
from tests.support.simulation import SimulatedWeb
from tests.support.web import CLOSED, MUTE, NEVER, Overload, Page, Request, html, overloaded, plain, slow, status
from tests.support.web_process import WebProcess

SLOW_ANSWER = 5.0  # seconds
BUSY = 10.0  # seconds for which some of the overloaded hosts want to be left alone; the others: for good

# Of twenty hosts each; all that are not named are healthy.
_TAIL = {
    3: "slow",
    7: "robots 5xx",
    11: "dead",
    15: "429",
    19: "slow",
}


class LongTail:
    """Hosts by kind: of 200, 150 are healthy, 20 slow, 10 dead, 10 answer 429, 10 have no robots.txt but 503."""

    def __init__(self, hosts: int, pages: int, now: Callable[[], float] = time.time) -> None:
        self._now = now
        self._paths = [f"/{number}.html" for number in range(pages)]
        self._kinds = {f"h{number}.test": _TAIL.get(number % 20, "healthy") for number in range(hosts)}

    @property
    def sites(self) -> dict[str, Mapping[str, Page]]:
        pages: dict[str, Page] = {path: html(f"Page {path}", "Some words. " * 20) for path in self._paths}
        pages[ROBOTS] = plain("User-agent: *\nDisallow: /private/\n")
        return {
            host: _site(kind, number // 20, pages, self._now) for number, (host, kind) in enumerate(self._kinds.items())
        }

    def hosts(self, kind: str) -> set[str]:
        """The hosts of a kind: healthy, slow, dead, 429 or robots 5xx."""
        return {host for host, its in self._kinds.items() if its == kind}

    def urls(self, web: WebProcess | SimulatedWeb) -> list[str]:
        """All URLs there are."""
        return [web.url(host, path) for host in self._kinds for path in self._paths]


def _site(kind: str, number: int, pages: Mapping[str, Page], now: Callable[[], float]) -> Mapping[str, Page]:
    """A site of a kind; of those that can misbehave in several ways, every other host takes the other way."""
    odd = bool(number % 2)
    match kind:
        case "slow":
            return {path: slow(SLOW_ANSWER, page) for path, page in pages.items()}  # type: ignore[arg-type]
        case "dead":
            return MUTE if odd else CLOSED
        case "429":
            return overloaded(Overload(after=2, seconds=BUSY if odd else NEVER, as_date=number % 4 > 1, now=now), pages)
        case "robots 5xx":
            return {**pages, ROBOTS: status(503)}
        case _:
            return pages


def share(requests: Iterable[Request], hosts: Collection[str], since: float, until: float, delay: float) -> float:
    """How much of what the delay allows between two moments (seconds since the epoch) these hosts were asked for.

    The first request of a host is for robots.txt; then a page fits into each delay, and never more.
    """
    pages = [r for r in requests if r.host in hosts and r.path != ROBOTS and r.status == 200 and r.wall <= until]
    return len(pages) / (len(hosts) * int((until - since) / delay))
