"""`beamtrawl clean`: remove what failed attempts left behind."""

import argparse
from collections.abc import Iterator

from ...transforms.storage import filesystem
from ...transforms.storage.crawl_dir import CrawlDir, next_step, visible_files
from ...transforms.storage.pieces import attempts_prefix, find_leftovers
from ...transforms.storage.schemas import TABLES
from ..lock import Lock


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("dir", metavar="DIR")


def run(arguments: argparse.Namespace) -> int:
    """Remove every file of a table or index that no committed step names, and no piece of the step under way."""
    directory = CrawlDir(arguments.dir)
    directory.require_manifests()  # before anything is written into a directory that is no crawl
    with Lock(directory):
        manifests = directory.manifests()
        kept = find_leftovers(directory, attempts_prefix(next_step(manifests)))  # the next crawl adopts them
        visible = {*visible_files(manifests), *kept.records, *kept.promises, *(file.path for file in kept.files)}
        garbage = [path for path in _data_files(directory) if not _is_visible(path, visible)]
        filesystem.delete(directory.path(path) for path in garbage)
    print(f"{len(garbage)} files removed")
    return 0


def _data_files(directory: CrawlDir) -> Iterator[str]:
    for table in (*TABLES, "index", "attempts"):
        yield from directory.paths(table)


def _is_visible(path: str, visible: set[str]) -> bool:
    return path in visible or path.rpartition("/")[0] in visible
