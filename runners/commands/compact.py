"""`beamtrawl compact`: an index of few segments, for fast searches."""

import argparse

from ...pipeline.compact import drop_history, merge
from ...pipeline.compact_tables import merge_tables
from ...pipeline.crawl import settings_digest
from ...transforms.indexing.merge_policy import ALL
from ...transforms.settings import parse
from ...transforms.storage.crawl_dir import CrawlDir
from ...transforms.storage.table_runs import all_runs
from ..console import describe_manifest
from ..engines.choose import RUNNERS, engine
from ..lock import Lock


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("dir", metavar="DIR")
    parser.add_argument(
        "--drop-history", action="store_true", help="remove what only searches with --as-of of earlier rounds need"
    )
    parser.add_argument("--runner", choices=RUNNERS, default="direct")
    parser.add_argument("--workers", type=int, metavar="N", help="parallel workers; else one a core")
    parser.epilog = "What comes after -- goes to Beam."


def run(arguments: argparse.Namespace) -> None:
    """Merge all segments to as few as there may be, and leave out pages that are not found any more."""
    directory = CrawlDir(arguments.dir)
    directory.require_manifests()
    chosen = engine(arguments.runner, arguments.workers, arguments.beam)
    digest = settings_digest(parse(directory.read_text("crawl.toml")))
    with Lock(directory) as claimed:
        merged = [merge(claimed, digest, chosen, ALL), merge_tables(claimed, digest, chosen, all_runs)]
        done = [describe_manifest(manifest) for manifest in merged if manifest]
        print("\n".join(done) if done else "nothing to merge")
        if arguments.drop_history:
            print(f"{drop_history(claimed, digest)} folders of earlier rounds removed")
