"""`beamtrawl clean`: remove what failed attempts left behind."""

import argparse
from collections import Counter
from collections.abc import Sequence
from datetime import UTC, datetime

from ...pipeline.compaction.garbage import remove_garbage
from ...transforms.directory.crawl_dir import CrawlDir, visible_files
from ...transforms.directory.own_files import foreign_files
from ...transforms.files import filesystem
from ...transforms.outcomes import DiskError, is_full
from ...transforms.tables.schemas import TABLES
from ..process.lock import Lock, guarded
from ..terminal.units import counted

_NAMED = 20  # files; of more, folders
_TABLES = {*TABLES, "index", "attempts"}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("dir", metavar="DIR")


def run(arguments: argparse.Namespace) -> int:
    """Remove the files of the program that no committed step names (`remove_garbage`), and name them."""
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
    show_removed(directory, removed)
    return 0


def show_removed(directory: CrawlDir, removed: Sequence[str]) -> None:
    """Print what was removed: the names of a few files, of many those of their folders; and what is of others."""
    folders = Counter(path.rpartition("/")[0] for path in removed)
    for folder, count in sorted(folders.items()) if len(removed) > _NAMED else ():
        print(f"removed: {folder or '.'}/ ({counted(count, 'file')})")
    for path in removed if len(removed) <= _NAMED else ():
        print(f"removed: {path}")
    print(f"{counted(len(removed), 'file')} removed")
    visible = set(visible_files(directory.committed().values()))
    in_tables = (path for path in foreign_files(directory) if path.partition("/")[0] in _TABLES)
    if foreign := sorted(path for path in in_tables if visible.isdisjoint((path, path.rpartition("/")[0]))):
        is_link = filesystem.store_of(directory.root).is_link
        named = (f"{path} (a link)" if is_link(directory.path(path)) else path for path in foreign[:3])
        names = ", ".join(named)
        print(f"{counted(len(foreign), 'file')} left alone, whose names are not of Beamtrawl: {names}")
