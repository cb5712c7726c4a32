"""`beamtrawl clean`: remove what failed attempts left behind."""

import argparse
from collections.abc import Iterator

from ...transforms.storage import filesystem
from ...transforms.storage.crawl_dir import CrawlDir, visible_files
from ...transforms.storage.schemas import TABLES
from ..lock import Lock


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("dir", metavar="DIR")


def run(arguments: argparse.Namespace) -> int:
    """Remove every file of a table or index that no committed step names."""
    directory = CrawlDir(arguments.dir)
    directory.require_manifests()  # before anything is written into a directory that is no crawl
    with Lock(directory):
        visible = set(visible_files(directory.manifests()))
        garbage = [path for path in _data_files(directory) if not _is_visible(path, visible)]
        filesystem.delete(directory.path(path) for path in garbage)
    print(f"{len(garbage)} files removed")
    return 0


def _data_files(directory: CrawlDir) -> Iterator[str]:
    for table in (*TABLES, "index", "attempts"):
        yield from directory.paths(table)


def _is_visible(path: str, visible: set[str]) -> bool:
    return path in visible or path.rpartition("/")[0] in visible
