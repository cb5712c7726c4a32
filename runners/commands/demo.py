"""`beamtrawl demo`: a small web on loopback, crawled, indexed and searched, to see that everything works."""

import argparse
import contextlib
import tempfile
import threading

from ...search.answers.searcher import Index
from ...transforms.directory.crawl_dir import CrawlDir
from ...transforms.directory.own_files import refuse_foreign
from ..demo import server
from ..terminal.errors import Failure, Usage
from ..terminal.numbers import whole
from . import crawl, search
from .registry import CommandModule
from .serving import serve

WEB_PORT = 8600
"""The port of the first site of `demo --web`; each further one has the next."""

LOOPBACK = ["--allow-address", "127.0.0.0/8"]

MARK = "demo.txt"
"""A file in the crawl directory of a demo: only such a crawl is continued with the demo's flags."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("dir", metavar="DIR", nargs="?", help="keep the crawl here; else it is thrown away")
    parser.add_argument("--serve", action="store_true", help="then serve its search page, until Ctrl-C")
    parser.add_argument("--port", type=whole(0, 65535), default=8000, metavar="N", help="the port of --serve (8000)")
    about = f"only serve the web, at this port and the next four ({WEB_PORT}; 0: any), until Ctrl-C"
    parser.add_argument("--web", type=whole(0, 65531), nargs="?", const=WEB_PORT, metavar="PORT", help=about)


def run(arguments: argparse.Namespace) -> None:
    """Three rounds, then searches whose right answers are known."""
    if arguments.web is not None:
        if arguments.dir or arguments.serve:
            raise Usage("--web crawls nothing: leave out DIR and --serve")
        _serve_web(arguments.web)
        return
    if arguments.dir:
        _claim(CrawlDir(arguments.dir))
    place = contextlib.nullcontext(arguments.dir) if arguments.dir else tempfile.TemporaryDirectory(prefix="beamtrawl-")
    with server.demo_web() as web, place as directory:
        words = [directory, "--rounds", "3", "--delay", "0.02", *LOOPBACK]
        for seed in web.seeds:
            words += ["--seed", seed]
        _type("crawl", words, crawl)
        for query, path in server.QUERIES:
            _type("search", [directory, query, "--limit", "3"], search)
            hits = Index.open(CrawlDir(directory)).search(query, limit=1).hits
            if not hits or not hits[0].url.endswith(path):
                raise Failure(f"the first hit for {query!r} should end with {path}")
        print(f"\nAll {len(server.QUERIES)} searches found the right page first.")
        if arguments.dir:
            print(_NEXT.format(dir=directory, page=f"{web.origins['almanac']}/private/diary.html"))
        else:
            print("\nTo keep the crawl and look at it:  beamtrawl demo ./demo")
        if arguments.serve:
            _type("serve", [directory, "--port", str(arguments.port)], serve)


_NEXT = """
The crawl is in {dir}. What to try next:

    beamtrawl status {dir}
    beamtrawl explain {dir} {page}
    beamtrawl sql {dir} "SELECT host, count(*) AS pages FROM documents GROUP BY host"
    beamtrawl serve {dir}

The links of hits lead to the web of the demo, which has ended; to have pages behind them, use another web:
beamtrawl demo --web serves one that stays, or give demo --serve."""


def _claim(crawl: CrawlDir) -> None:
    """Mark a new directory as a demo's; Usage for another crawl, which the demo's delay and seeds would change."""
    if crawl.exists(MARK):
        return
    if crawl.exists("crawl.toml") or crawl.manifests():
        raise Usage(f"{crawl.root} holds a crawl that is not a demo; name a new directory: beamtrawl demo ./demo")
    refuse_foreign(crawl, "name a new directory: beamtrawl demo ./demo")
    crawl.write_text(MARK, "A crawl of the web of `beamtrawl demo`.\n")


def _serve_web(port: int) -> None:
    try:
        with server.demo_web(port) as web, contextlib.suppress(KeyboardInterrupt):
            for name, origin in web.origins.items():
                print(f"{origin}/  {name}", flush=True)
            print("Ctrl-C ends it", flush=True)
            threading.Event().wait()
    except (OSError, OverflowError) as error:
        raise Failure(f"cannot listen at 127.0.0.1:{port}: {error}; choose another port: --web PORT") from error


def _type(name: str, words: list[str], command: CommandModule) -> None:
    """Show a command as a user would type it, and run it."""
    print("\n$ beamtrawl", name, *(f"'{word}'" if " " in word else word for word in words), flush=True)
    parser = argparse.ArgumentParser()
    command.add_arguments(parser)
    command.run(parser.parse_args(words, argparse.Namespace(beam=[])))
