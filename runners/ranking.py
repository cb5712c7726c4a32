"""`beamtrawl rank`: the link graph, for the ranking of searches."""

import argparse
from datetime import UTC, datetime

from pipeline.crawl import settings_digest
from pipeline.rank import rank
from runners.errors import Failure
from runners.lock import Lock
from transforms.crawl_dir import CrawlDir
from transforms.settings import parse


def rank_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("dir", metavar="DIR")


def run(arguments: argparse.Namespace) -> None:
    """Rank pages and hosts by the links of all rounds so far."""
    directory = CrawlDir(arguments.dir)
    manifests = directory.require_manifests()
    if not any(manifest.step == "update" for manifest in manifests):
        raise Failure(f"{directory.root} has no links yet; go on with: beamtrawl crawl {directory.root}")
    started = datetime.now(UTC)
    with Lock(directory):
        manifest = rank(directory, settings_digest(parse(directory.read_text("crawl.toml"))), started)
    took = (datetime.now(UTC) - started).total_seconds()
    found = manifest.counters
    print(f"{found['links']} links between {found['pages']} pages of {found['hosts']} hosts, in {took:.1f} s")
