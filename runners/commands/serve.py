"""`beamtrawl serve`: the search gateway on a port of its own."""

import argparse
import logging

from ...search.searcher import Index
from ...transforms.storage.crawl_dir import CrawlDir
from ..errors import Failure, Usage

THREADS = 4
"""Requests that are answered at the same time. More do not help: what they compute, Python computes in turns."""

MAX_CONNECTIONS = 500
"""Clients that are connected at the same time; others wait until one has left."""

MAX_HEADER = 16 << 10
"""Bytes of the head of a request."""

IDLE = 60
"""Seconds after which a connection without a request is closed."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("dir", metavar="DIR")
    parser.add_argument("--port", type=int, default=8000, metavar="N")
    parser.add_argument("--host", default="127.0.0.1", help="the address to listen at (127.0.0.1)")
    parser.add_argument("--submissions", action="store_true", help="let people submit URLs to the crawl, at /submit")
    parser.add_argument(
        "--rate", type=float, default=20.0, metavar="N", help="requests a second from one client (20; 0: any number)"
    )
    parser.add_argument(
        "--trust-proxy", metavar="ADDRESS", help="believe the proxy at this address who its clients are"
    )


def run(arguments: argparse.Namespace) -> None:
    """Serve a search page at / and JSON, until Ctrl-C."""
    import waitress  # only a server pays for importing these

    from ...search.gateway.app import create_app
    from ...search.gateway.rate_limits import Rate
    from .submissions import open_submissions

    if not 0 <= arguments.rate < float("inf"):
        raise Usage(f"--rate {arguments.rate}: must be at least 0")
    directory = CrawlDir(arguments.dir)
    Index.open(directory)  # says now, and in one line, what would otherwise be said on every page
    rate = Rate(arguments.rate, max(1, int(2 * arguments.rate))) if arguments.rate else None
    app = create_app(directory, rate, open_submissions(directory) if arguments.submissions else None)
    logging.getLogger("waitress.queue").setLevel(logging.ERROR)  # else a line for each request that waits
    try:
        server = waitress.create_server(
            app,
            host=arguments.host,
            port=arguments.port,
            ident=None,
            threads=THREADS,
            connection_limit=MAX_CONNECTIONS,
            channel_timeout=IDLE,
            max_request_header_size=MAX_HEADER,
            max_request_body_size=1 << 20,  # the application refuses much less, and says so in its own way
            **_proxy(arguments.trust_proxy),
        )
    except (OSError, ValueError, OverflowError) as error:
        raise Failure(f"cannot listen at {arguments.host}:{arguments.port}: {error}; choose another --port") from error
    host = f"[{arguments.host}]" if ":" in arguments.host else arguments.host
    port = getattr(server, "effective_port", arguments.port)  # a name with several addresses has no single one
    print(f"searching {directory.root} at http://{host}:{port}/ (Ctrl-C ends it)", flush=True)
    server.run()


def _proxy(address: str | None) -> dict[str, object]:
    if address is None:
        return {}
    headers = {"x-forwarded-for", "x-forwarded-host", "x-forwarded-proto"}
    return {"trusted_proxy": address, "trusted_proxy_headers": headers}
