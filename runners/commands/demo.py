"""`beamtrawl demo`: a small web on loopback, crawled, indexed and searched, to see that everything works."""

import argparse
import tempfile
from contextlib import nullcontext

from ...search.searcher import Index
from ...transforms.storage.crawl_dir import CrawlDir
from ..demo import server
from ..errors import Failure
from . import crawl, search
from .registry import CommandModule


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("dir", metavar="DIR", nargs="?", help="keep the crawl here; else it is thrown away")


def run(arguments: argparse.Namespace) -> None:
    """Three rounds, then searches whose right answers are known."""
    place = nullcontext(arguments.dir) if arguments.dir else tempfile.TemporaryDirectory(prefix="beamtrawl-demo-")
    with server.demo_web() as web, place as directory:
        words = [directory, "--rounds", "3", "--delay", "0.02", "--allow-address", "127.0.0.0/8"]
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
            print(f"The crawl is in {directory}; look at it: beamtrawl status {directory}")


def _type(name: str, words: list[str], command: CommandModule) -> None:
    """Show a command as a user would type it, and run it."""
    print("\n$ beamtrawl", name, *(f"'{word}'" if " " in word else word for word in words), flush=True)
    parser = argparse.ArgumentParser()
    command.add_arguments(parser)
    command.run(parser.parse_args(words, argparse.Namespace(beam=[])))
