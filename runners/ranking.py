"""The link graph, for the ranking of searches: `beamtrawl rank`, and the end of a crawl."""

import argparse
from datetime import UTC, datetime

from pipeline.crawl import settings_digest
from pipeline.rank import rank, unranked_links
from runners.console import Console, describe_manifest
from runners.errors import Failure
from runners.lock import Lock
from transforms.crawl_dir import CrawlDir
from transforms.settings import Settings, parse


def rank_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("dir", metavar="DIR")


def run(arguments: argparse.Namespace) -> None:
    """Rank pages and hosts by the links of all rounds so far."""
    directory = CrawlDir(arguments.dir)
    manifests = directory.require_manifests()
    if not any(manifest.step == "update" for manifest in manifests):
        raise Failure(f"{directory.root} has no links yet; go on with: beamtrawl crawl {directory.root}")
    settings = parse(directory.read_text("crawl.toml"))
    with Lock(directory):
        manifest = rank(directory, settings_digest(settings), datetime.now(UTC))
    print(describe_manifest(manifest))


def rank_after_crawl(directory: CrawlDir, settings: Settings, console: Console) -> None:
    """Rank what a crawl has found, if the settings say so; that it fails is told, and no failure of the crawl."""
    links = unranked_links(directory.manifests())
    if not links or not settings.ranking.after_crawl:
        return
    by_hand = f"beamtrawl rank {directory.root}"
    if links > settings.ranking.max_links:
        console.say(f"{links} links are not ranked, for ranking.max_links = {settings.ranking.max_links}: {by_hand}")
        return
    try:
        console.step_committed(rank(directory, settings_digest(settings), datetime.now(UTC)))
    except Exception as error:  # whatever it is, the crawl is done and committed
        reason = (str(error) or type(error).__name__).splitlines()[0]
        console.say(f"the links could not be ranked: {reason}; try again with: {by_hand}")
