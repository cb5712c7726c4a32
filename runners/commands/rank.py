"""`beamtrawl rank`: the link graph, for the ranking of searches."""

import argparse
import sys
from datetime import UTC, datetime

from ...pipeline.rank import rank
from ...transforms.directory.crawl_dir import CrawlDir
from ..engines.choose import engine, fork_early
from ..process.lock import Lock
from ..progress.words import describe_manifest
from ..terminal.errors import Failure
from .arguments import add_engine


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("dir", metavar="DIR")
    add_engine(parser)


def run(arguments: argparse.Namespace) -> None:
    """Rank pages and hosts by the links of all rounds so far."""
    directory = CrawlDir(arguments.dir)
    manifests = directory.require_manifests()
    if not any(manifest.step == "update" for manifest in manifests):
        raise Failure(f"{directory.root} has no links yet; go on with: beamtrawl crawl {directory.root}")
    chosen = engine(arguments.runner, arguments.workers, arguments.beam)
    fork_early(chosen, directory.root)
    with Lock(directory) as claimed:
        manifest = rank(claimed, chosen, datetime.now(UTC), _warn)
    print(describe_manifest(manifest))


def _warn(line: str) -> None:
    print(f"beamtrawl: {line}", file=sys.stderr)
