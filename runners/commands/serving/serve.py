"""`beamtrawl serve`: the search gateway on a port of its own."""

import argparse
import contextlib
import ipaddress
import logging
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ....search.answers.searcher import Index
from ....search.index.segments import CACHE_BYTES
from ....transforms.directory.crawl_dir import CrawlDir
from ....transforms.directory.named_crawls import searched
from ...terminal.errors import Failure, Usage
from ...terminal.numbers import at_least_0, whole
from ..arguments import add_repeatable

LOCAL_NAMES = ("localhost", "127.0.0.1", "[::1]")
"""The names of a gateway that listens on this machine only."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("dir", metavar="DIR", help="the crawl directory, or NAME=DIR")
    parser.add_argument("further", metavar="DIR", nargs="*", help="further crawls that are searched with it")
    add_address(parser, 8000)
    add = parser.add_argument
    add("--submissions", action="store_true", help="let people submit URLs to the crawl, at /submit")
    about = "requests a second from one client (20; 0: any number)"
    add("--rate", type=at_least_0, default=20.0, metavar="N", help=about)
    add("--trust-proxy", metavar="ADDRESS", help="believe the proxy at this address who its clients are")
    about = (
        "answer requests for this name, or .NAME with its subdomains, and for localhost only; without it and"
        " --trust-proxy, a gateway at a loopback address answers requests for localhost and that address only"
    )
    add_repeatable(parser, "--allow-host", "NAME", about)
    about = "let pages of this origin, such as https://docs.example.org, embed the search box and use the API"
    add_repeatable(parser, "--allow-origin", "URL", about)
    about = "write what people look for, without their addresses, as JSON lines (off)"
    add("--query-log", type=Path, metavar="FILE", help=about)
    about = "the time of a query, after which the page has the best of what was compared; 0: no limit (10)"
    add("--timeout", type=at_least_0, default=10.0, metavar="SECONDS", help=about)
    about = "memory for words of queries (512)"
    add("--cache-mb", type=whole(1), default=CACHE_BYTES >> 20, metavar="N", help=about)
    about = "the path of the pages at a proxy, such as /search"
    add("--prefix", type=_prefix, default="", metavar="PATH", help=about)
    add("--title", default="Beamtrawl", help="the name on the pages (Beamtrawl)")


def add_address(parser: argparse.ArgumentParser, port: int) -> None:
    """Add the arguments of a server that listens at this port of this machine unless told otherwise."""
    about = f"the port to listen at ({port}; 0: any)"
    parser.add_argument("--port", type=whole(0, 65535), default=port, metavar="N", help=about)
    parser.add_argument("--host", default="127.0.0.1", help="the address to listen at (127.0.0.1)")


def _prefix(text: str) -> str:
    if re.fullmatch(r"(/[\w.~-]+)*/?", text, re.ASCII):
        return text.rstrip("/")
    raise argparse.ArgumentTypeError(f"{text}: must be a path such as /search, of letters, digits and . _ ~ -")


def run(arguments: argparse.Namespace) -> None:
    """Serve a search page at / and JSON, until Ctrl-C."""
    from ....search.gateway.app import create_app  # only a server pays for importing these
    from ....search.gateway.embedding import as_origin
    from ....search.gateway.query_log import file_log
    from ....search.gateway.rate_limits import Rate
    from .submissions import open_submissions

    if arguments.trust_proxy is not None and not _is_address(arguments.trust_proxy):
        raise Usage(f"--trust-proxy {arguments.trust_proxy}: must be the IP address of the proxy, such as 127.0.0.1")
    try:
        origins = [as_origin(text) for text in arguments.allow_origin]
    except ValueError as error:
        raise Usage(f"--allow-origin {error}") from error
    crawls = searched([arguments.dir, *arguments.further])
    single = crawls if isinstance(crawls, CrawlDir) else None
    if arguments.submissions and not single:
        raise Usage("--submissions: URLs are submitted to one crawl, and these are several; serve that one alone")
    Index.open(crawls)  # says now, and in one line, what would otherwise be said on every page
    rate = Rate(arguments.rate, max(1, int(2 * arguments.rate))) if arguments.rate else None
    submit = open_submissions(single) if arguments.submissions and single else None
    hosts = own_names(arguments.host, arguments.allow_host, arguments.trust_proxy)
    cache_bytes, timeout_s = arguments.cache_mb << 20, arguments.timeout or None
    with contextlib.ExitStack() as stack:
        try:
            query_log = stack.enter_context(file_log(arguments.query_log)) if arguments.query_log else None
        except OSError as error:
            raise Usage(f"--query-log {arguments.query_log}: {error.strerror}") from error
        app = create_app(
            crawls,
            rate,
            submit,
            hosts=hosts,
            title=arguments.title,
            timeout_s=timeout_s,
            cache_bytes=cache_bytes,
            origins=origins,
            query_log=query_log,
            opens=True,
        )
        roots = crawls.root if isinstance(crawls, CrawlDir) else ", ".join(crawl.root for crawl in crawls.values())
        proxy, prefix = arguments.trust_proxy, arguments.prefix
        listen(app, f"searching {roots} at", arguments.host, arguments.port, proxy, prefix)


def listen(app: Any, what: str, host: str, port: int, proxy: str | None = None, prefix: str = "") -> None:
    """Say `what` is at the address, and answer requests until Ctrl-C; Failure if it cannot be listened at."""
    from ....search.gateway.server import ServerLimits, create_server

    logging.getLogger("waitress.queue").setLevel(logging.ERROR)  # else a line for each request that waits
    try:
        server = create_server(app, host, port, ServerLimits(), proxy, prefix)
    except (OSError, ValueError, OverflowError) as error:
        option = "--port" if isinstance(error, OSError) else "--host"
        raise Failure(f"cannot listen at {host}:{port}: {error}; choose another {option}") from error
    host = f"[{host}]" if ":" in host else host
    port = getattr(server, "effective_port", port)  # a name with several addresses has no single one
    print(f"{what} http://{host}:{port}{prefix}/ (Ctrl-C ends it)", flush=True)
    server.run()


def _is_address(text: str) -> bool:
    with contextlib.suppress(ValueError):
        return bool(ipaddress.ip_address(text))
    return False


def own_names(host: str, allowed: Sequence[str] = (), proxy: str | None = None) -> list[str]:
    """The names by which a server at an address may be requested; all if there are none."""
    if allowed:
        return [*allowed, *LOCAL_NAMES]
    is_local = host == "localhost"
    with contextlib.suppress(ValueError):
        is_local = is_local or ipaddress.ip_address(host).is_loopback
    if not is_local or proxy is not None:
        return []
    return [*LOCAL_NAMES, host]
