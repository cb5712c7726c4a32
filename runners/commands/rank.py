"""The link graph, for the ranking of searches: `beamtrawl rank`, and the end of a crawl."""

import argparse
from datetime import UTC, datetime

from ...pipeline.attempt import Engine
from ...pipeline.crawl import settings_digest
from ...pipeline.rank import has_unranked_links, rank
from ...transforms.settings import Settings, parse
from ...transforms.storage.crawl_dir import CrawlDir, Manifest
from ..console import Console, describe_manifest
from ..engines.choose import RUNNERS, OptionsError, engine
from ..errors import Failure, Usage
from ..lock import Lock


def rank_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("dir", metavar="DIR")
    parser.add_argument("--runner", choices=RUNNERS, default="direct", help="where links beyond memory are counted")
    parser.add_argument("--workers", type=int, metavar="N", help="parallel workers; else one a core")
    parser.epilog = "What comes after -- goes to Beam."


def run(arguments: argparse.Namespace) -> None:
    """Rank pages and hosts by the links of all rounds so far."""
    directory = CrawlDir(arguments.dir)
    manifests = directory.require_manifests()
    if not any(manifest.step == "update" for manifest in manifests):
        raise Failure(f"{directory.root} has no links yet; go on with: beamtrawl crawl {directory.root}")
    try:
        chosen = engine(arguments.runner, arguments.workers, arguments.beam)
    except OptionsError as error:
        raise Usage(str(error)) from error
    settings = parse(directory.read_text("crawl.toml"))
    with Lock(directory):
        manifest = _rank(directory, settings, chosen)
    print(describe_manifest(manifest))


def rank_after_crawl(directory: CrawlDir, settings: Settings, engine: Engine, console: Console) -> None:
    """Rank what a crawl has found, if the settings say so; that it fails is told, and no failure of the crawl."""
    if not settings.ranking.after_crawl or not has_unranked_links(directory.manifests()):
        return
    try:
        console.step_committed(_rank(directory, settings, engine))
    except Exception as error:  # whatever it is, the crawl is done and committed
        reason = (str(error) or type(error).__name__).splitlines()[0]
        console.say(f"the links could not be ranked: {reason}; try again with: beamtrawl rank {directory.root}")


def _rank(directory: CrawlDir, settings: Settings, engine: Engine) -> Manifest:
    return rank(directory, settings_digest(settings), engine, settings.ranking.max_links, datetime.now(UTC))
