"""`beamtrawl compact`: an index of few segments, for fast searches."""

import argparse
import sys
from datetime import UTC, datetime
from functools import partial

from ...pipeline.compaction.compact import choose_segments, drop_history, merge
from ...pipeline.compaction.compact_tables import choose_tables
from ...pipeline.compaction.damage import Damage
from ...pipeline.compaction.drop_bodies import drop_bodies
from ...pipeline.compaction.forget import Forgotten, forget
from ...pipeline.compaction.garbage import fold_history
from ...pipeline.compaction.rebuild_index import differs, rank_anew, reindex
from ...transforms.blocks.files import read_blocks
from ...transforms.blocks.rules import Blocks
from ...transforms.directory.crawl_dir import CrawlDir, files_of
from ...transforms.directory.crawl_settings import stored_settings
from ...transforms.directory.table_runs import all_runs
from ...transforms.indexing.merge_policy import ALL
from ...transforms.urls.index_scope import IndexScope
from ..engines.choose import engine, fork_early
from ..process.lock import Lock
from ..progress.words import describe_manifest
from .arguments import add_engine
from .clean import show_removed


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("dir", metavar="DIR")
    parser.add_argument(
        "--drop-history", action="store_true", help="remove what only searches with --as-of of earlier rounds need"
    )
    parser.add_argument(
        "--rebuild-index",
        action="store_true",
        help="make the index anew from the documents: it has the format of another version, or is damaged; after a"
        " change of [index], this happens anyway",
    )
    add_engine(parser)


def run(arguments: argparse.Namespace) -> int:
    """Merge all segments to as few as there may be, and leave out pages that are not found any more.

    Damaged files are named on stderr and stay as they are; 1 if there are any.
    """
    directory = CrawlDir(arguments.dir)
    directory.require_manifests()
    chosen = engine(arguments.runner, arguments.workers, arguments.beam)
    settings = stored_settings(directory)
    fork_early(chosen, directory.root)
    with Lock(directory) as claimed:
        if blocks := Blocks(block for block in read_blocks(claimed) if block.forget):
            removed = forget(claimed, blocks, settings, chosen)
            print(_describe(removed))
            show_removed(claimed, removed.files)
        is_due = differs(claimed, claimed.manifests(), IndexScope.of(settings.index))
        if arguments.rebuild_index or is_due:
            print(describe_manifest(reindex(claimed, settings, chosen)))
        warn = partial(print, file=sys.stderr)
        dropped, damage = None, Damage(claimed, warn)
        if settings.storage.body_rounds is not None:
            dropped = drop_bodies(claimed, chosen, settings.storage.body_rounds, damage=damage)
        choices = [partial(choose_segments, policy=ALL), partial(choose_tables, select=all_runs)]
        merged = [dropped, merge(claimed, chosen, choices, damage, warn)]
        if not damage.is_in(files_of(claimed.manifests(), "links")):  # else it is told already
            merged += rank_anew(claimed, chosen)
        done = [describe_manifest(manifest) for manifest in merged if manifest]
        print("\n".join(done) if done else "nothing to merge")
        fold_history(claimed, datetime.now(UTC))
        if arguments.drop_history:
            print(f"{drop_history(claimed)} folders of earlier rounds removed")
    return 1 if damage.paths else 0


def _describe(removed: Forgotten) -> str:
    rows = ", ".join(f"{count} rows of {table}" for table, count in removed.rows.items()) or "nothing left"
    return f"blocks with --forget: {rows}" + (
        "; the index is made anew without their pages" if removed.is_reindexed else ""
    )
