"""`beamtrawl clean`: remove what failed attempts left behind."""

import argparse
from datetime import UTC, datetime

from ...pipeline.compaction.garbage import remove_garbage
from ...transforms.directory.crawl_dir import CrawlDir
from ...transforms.errors import DiskError, is_full
from ..process.lock import Lock, guarded
from ..terminal.units import counted


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("dir", metavar="DIR")


def run(arguments: argparse.Namespace) -> int:
    """Remove every file of a table or index that no committed step names (`remove_garbage`)."""
    directory = CrawlDir(arguments.dir)
    directory.require_manifests()  # before anything is written into a directory that is no crawl
    try:
        with Lock(directory) as claimed:
            removed = remove_garbage(claimed, datetime.now(UTC))
    except DiskError as error:
        if not is_full(error):
            raise
        with guarded(directory):
            removed = remove_garbage(directory, datetime.now(UTC), is_guarded=True)
    print(f"{counted(removed, 'file')} removed")
    return 0
