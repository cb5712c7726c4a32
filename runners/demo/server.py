"""A small web on loopback for `beamtrawl demo`: five hosts, about fifty pages, and typical obstacles.

| name    | what it shows                                                                          |
|---------|----------------------------------------------------------------------------------------|
| museum  | a site in sections, in English                                                         |
| port    | a site in Korean                                                                       |
| mirror  | copies of the museum's pages, and no robots.txt                                        |
| almanac | a robots.txt with Disallow and Crawl-delay, a redirect, a broken link, a NOINDEX page  |
| club    | two traps: a calendar without end, and a path that grows for ever                      |

Every page but those of the traps is at most two links from a front page: three rounds reach them all.
"""

import contextlib
import dataclasses
import re
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler
from socketserver import ThreadingTCPServer
from typing import Any, NamedTuple
from urllib.parse import unquote

from .pages import Page, pages_of, render, trap_page

QUERIES: list[tuple[str, str]] = [
    ("fresnel lens", "/lighthouses/fresnel-lens.html"),
    ("plaice change colour", "/species/plaice.html"),
    ("otter boards", "/nets/otter-trawl.html"),
    ("고등어 제철", "/fish/mackerel.html"),
    ("등대지기", "/lighthouse/keeper.html"),
]
"""Queries, and the path of the page that must come first."""


class Request(NamedTuple):
    """One request as a server saw it."""

    time: float  # seconds since the epoch, when it was read
    host: str  # address:port
    method: str
    path: str
    status: int
    user_agent: str


@dataclasses.dataclass(frozen=True)
class DemoWeb:
    """The web while it is served."""

    seeds: list[str]
    """The front page of every site."""
    origins: dict[str, str]
    """`http://address:port` by name of the site."""
    log: list[Request]
    """All requests so far, in the order of their answers."""


class Answer(NamedTuple):
    """A site's response to a request."""

    status: int
    body: str
    media_type: str = "text/html; charset=utf-8"
    location: str = ""


@dataclasses.dataclass(frozen=True)
class Site:
    """The content of a host."""

    title: str
    language: str
    pages: Mapping[str, Page]
    robots: str | None = "User-agent: *\nDisallow:\n"
    redirects: Mapping[str, str] = dataclasses.field(default_factory=dict)
    noindex: frozenset[str] = frozenset()
    generated: Callable[[str], Page | None] = lambda path: None
    """Generates pages that are not in `pages`, by path; None if there is none."""


_SITE_LINK = re.compile(r"(?<=href=\")//(\w+)/")
_MUSEUM = pages_of("museum")

SITES: dict[str, Site] = {
    "museum": Site("Skarvholm Museum of Fishing", "en", _MUSEUM),
    "port": Site("푸른만 항구 마을", "ko", pages_of("port")),
    "mirror": Site("Skarvholm Museum of Fishing", "en", _MUSEUM | pages_of("mirror"), robots=None),
    "almanac": Site(
        "The Skarvholm Almanac",
        "en",
        pages_of("almanac"),
        robots="User-agent: *\nDisallow: /private/\nCrawl-delay: 0.1\n",
        redirects={"/tide-tables.html": "/tides.html"},
        noindex=frozenset(["/drafts.html"]),
    ),
    "club": Site("Skarvholm Rowing Club", "en", pages_of("club"), generated=trap_page),
}


def answer(site: Site, path: str) -> Answer:
    """Return a site's response to a GET of a path; links to other sites contain their names, not their origins."""
    if path == "/robots.txt" and site.robots is not None:
        return Answer(HTTPStatus.OK, site.robots, "text/plain; charset=utf-8")
    if target := site.redirects.get(path):
        return Answer(HTTPStatus.MOVED_PERMANENTLY, "", location=target)
    page = site.pages.get(path) or site.generated(path)
    if page is None:
        return Answer(HTTPStatus.NOT_FOUND, render(Page("Not found", ()), site.language, site.title))
    robots = "noindex" if path in site.noindex else ""
    return Answer(HTTPStatus.OK, render(page, site.language, site.title, robots))


@contextlib.contextmanager
def demo_web(first_port: int = 0) -> Iterator[DemoWeb]:
    """Serve the bundled web until the block ends, each site on a port of 127.0.0.1: free ones, or from a number on.

    OSError if a port is taken.
    """
    log: list[Request] = []
    with contextlib.ExitStack() as stack:
        servers = {
            name: stack.enter_context(_Server(site, log, first_port and first_port + number))
            for number, (name, site) in enumerate(SITES.items())
        }
        origins = {name: f"http://{server.host}" for name, server in servers.items()}
        for server in servers.values():
            server.origins = origins
            threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True).start()
            stack.callback(server.shutdown)
        yield DemoWeb([f"{origin}/" for origin in origins.values()], origins, log)


class _Server(ThreadingTCPServer):  # not HTTPServer, which looks up its own name in DNS
    daemon_threads = True
    block_on_close = False  # a client may hold its connection open
    request_queue_size = 64

    allow_reuse_address = True

    def __init__(self, site: Site, log: list[Request], port: int) -> None:
        super().__init__(("127.0.0.1", port), _Handler)
        self.host = "{}:{}".format(*self.server_address)
        self.site = site
        self.log = log
        self.origins: Mapping[str, str] = {}

    def handle_error(self, request: Any, client_address: Any) -> None:
        if not isinstance(sys.exception(), ConnectionError):  # the client closed the connection
            super().handle_error(request, client_address)


class _Handler(BaseHTTPRequestHandler):
    server: _Server
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    timeout = 60  # seconds that an idle connection is kept

    def do_GET(self) -> None:
        started = time.time()
        reply = answer(self.server.site, unquote(self.path))
        body = _SITE_LINK.sub(lambda link: f"{self.server.origins[link[1]]}/", reply.body).encode()
        self.send_response(reply.status)
        self.send_header("Content-Type", reply.media_type)
        self.send_header("Content-Length", str(len(body)))
        if reply.location:
            self.send_header("Location", reply.location)
        # Logged before it is sent, so that a client that has a response finds its request in the log.
        self.server.log.append(
            Request(
                started,
                self.server.host,
                self.command,
                self.path,
                int(reply.status),
                self.headers.get("User-Agent", ""),
            )
        )
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    do_HEAD = do_GET

    def log_message(self, format: str, *args: Any) -> None:
        """Write nothing to stderr: requests are in `log`."""
