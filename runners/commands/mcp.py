"""`beamtrawl mcp`: a crawl for assistants, by the Model Context Protocol."""

import argparse
import time

from ...search.answers.searcher import Index
from ...transforms.directory.crawl_dir import CrawlDir
from ...transforms.directory.named_crawls import searched
from ..exports.selection import INPUT
from ..terminal.errors import Failure

_INSTALL = "mcp needs the SDK of the protocol; install it: pip install 'beamtrawl[mcp]'"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("dir", metavar="DIR", help="the crawl directory, or NAME=DIR")
    parser.add_argument("further", metavar="DIR", nargs="*", help="further crawls that are searched with it")
    parser.add_argument("--allow-sql", action="store_true", help="offer the tool sql, which reads the tables")
    about = "pages left out otherwise: those whose authors reserve them from the input of models"
    parser.add_argument("--include", action="append", choices=(INPUT.reason,), default=[], help=about)


def run(arguments: argparse.Namespace) -> None:
    """Answer an assistant's calls, until it closes standard input, or Ctrl-C."""
    try:
        from ..mcp.server import create_server, serve_stdio
    except ModuleNotFoundError as error:
        if error.name is None or error.name.startswith("beamtrawl"):
            raise
        raise Failure(f"{_INSTALL} ({error.name} is missing)") from error
    from ..mcp.tools import Options, Tools

    crawls = searched([arguments.dir, *arguments.further])
    Index.open(crawls)  # says now, and in one line, what would otherwise be said at each call
    tools = Tools(crawls, Options(arguments.include, arguments.allow_sql), time.monotonic)
    title = crawls.root if isinstance(crawls, CrawlDir) else ", ".join(crawls)
    serve_stdio(create_server(tools, f"Beamtrawl: {title}"))
