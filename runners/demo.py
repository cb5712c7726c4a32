"""`beamtrawl demo`: a small web on loopback, crawled, indexed and searched, to see that everything works."""

import argparse
import tempfile
from contextlib import nullcontext

from runners import demo_web
from runners.errors import Failure


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("dir", metavar="DIR", nargs="?", help="keep the crawl here; else it is thrown away")


def run(arguments: argparse.Namespace) -> int:
    """Three rounds, then searches whose right answers are known."""
    from runners.program import run as main  # the demo types what a user would type
    from search.index import Index
    from transforms.crawl_dir import CrawlDir

    place = nullcontext(arguments.dir) if arguments.dir else tempfile.TemporaryDirectory(prefix="beamtrawl-demo-")
    with demo_web.serve() as web, place as directory:
        command = ["crawl", directory, "--rounds", "3", "--delay", "0.02", "--allow-address", "127.0.0.0/8"]
        for seed in web.seeds:
            command += ["--seed", seed]
        print("beamtrawl " + " ".join(command))
        if code := main(command):
            return code
        for query, path in demo_web.QUERIES:
            print(f"\nbeamtrawl search {directory} '{query}'")
            main(["search", directory, query, "--limit", "3"])
            hits = Index.open(CrawlDir(directory)).search(query, limit=1).hits
            if not hits or not hits[0].url.endswith(path):
                raise Failure(f"the first hit for {query!r} should end with {path}")
        print(f"\nAll {len(demo_web.QUERIES)} searches found the right page first.")
        if arguments.dir:
            print(f"The crawl is in {directory}; look at it: beamtrawl status {directory}")
    return 0
