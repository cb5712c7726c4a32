"""`beamtrawl watch`: a page about a crawl while it runs."""

import argparse
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING

from ....search.gateway.limits import HEADERS, OWN_POLICY, is_named
from ....transforms.directory.crawl_dir import CrawlDir
from ....transforms.outcomes import CrawlDirError
from ...report.live import LivePage
from .serve import add_address, listen, own_names

if TYPE_CHECKING:
    from wsgiref.types import StartResponse, WSGIEnvironment


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("dir", metavar="DIR")
    add_address(parser, 8001)


def run(arguments: argparse.Namespace) -> None:
    """Serve the page at /, until Ctrl-C."""
    crawl = CrawlDir(arguments.dir)
    crawl.require_manifests()
    app = create_app(LivePage(crawl), own_names(arguments.host))
    listen(app, f"watching {crawl.root} at", arguments.host, arguments.port)


def create_app(
    page: Callable[[], str], names: Sequence[str]
) -> Callable[["WSGIEnvironment", "StartResponse"], Iterable[bytes]]:
    """Return a WSGI application with one page, for requests to one of the names (any if there are none)."""

    def answer(environ: "WSGIEnvironment") -> tuple[str, str, str]:
        host = str(environ.get("HTTP_HOST", ""))
        if names and not is_named(host, names):  # a page of another site whose name leads here (DNS rebinding)
            return "400 Bad Request", "text/plain", f"This page is not {host[:100]!r}; open the address that it has.\n"
        if environ["REQUEST_METHOD"] not in ("GET", "HEAD"):
            return "405 Method Not Allowed", "text/plain", "This page can only be read.\n"
        if environ.get("PATH_INFO", "/") != "/":
            return "404 Not Found", "text/plain", "The only page is /.\n"
        try:
            return "200 OK", "text/html", page()
        except CrawlDirError as error:
            return "503 Service Unavailable", "text/plain", f"The crawl cannot be read: {error}\n"

    def app(environ: "WSGIEnvironment", start: "StartResponse") -> Iterable[bytes]:
        status, kind, text = answer(environ)
        body = text.encode()
        headers = HEADERS | OWN_POLICY | {"Content-Type": f"{kind}; charset=utf-8", "Content-Length": str(len(body))}
        start(status, list((headers | {"Cache-Control": "no-store"}).items()))
        return [] if environ["REQUEST_METHOD"] == "HEAD" else [body]

    return app
