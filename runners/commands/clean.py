"""`beamtrawl clean`: remove what failed attempts left behind."""

import argparse
import contextlib
from collections.abc import Iterator
from datetime import UTC, datetime

from ...pipeline.compaction.fold_history import KEPT_FOR
from ...transforms.directory.beside import REGISTRATION, live_stems
from ...transforms.directory.checkpoints import fold
from ...transforms.directory.crawl_dir import CrawlDir, next_step, visible_files
from ...transforms.directory.pieces import attempts_prefix, find_leftovers
from ...transforms.errors import DiskError, is_full
from ...transforms.files import filesystem
from ...transforms.tables.schemas import TABLES
from ..process.lock import Lock, guarded
from ..terminal.units import counted


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("dir", metavar="DIR")


def run(arguments: argparse.Namespace) -> int:
    """Remove every file of a table or index that no committed step names, and no piece of the step under way.

    Files of a `seeds add` that runs beside it stay, and files that were replaced so lately that a reader may be about
    to open them. The order matters: whoever wrote a file before the files were listed was registered then, or had
    committed.
    """
    directory = CrawlDir(arguments.dir)
    directory.require_manifests()  # before anything is written into a directory that is no crawl
    try:
        with Lock(directory) as claimed:
            removed = _remove_garbage(claimed, is_guarded=False)
    except DiskError as error:
        if not is_full(error):
            raise
        with guarded(directory):
            removed = _remove_garbage(directory, is_guarded=True)
    print(f"{counted(removed, 'file')} removed")
    return 0


def _remove_garbage(directory: CrawlDir, is_guarded: bool) -> int:
    """Remove the files, and return their number."""
    files = list(_data_files(directory))
    stems = live_stems(directory, is_guarded)
    manifests = directory.manifests()
    lately = fold(directory.committed(), datetime.now(UTC) - KEPT_FOR).manifests.values()
    kept = find_leftovers(directory, attempts_prefix(next_step(manifests)))  # the next crawl adopts them
    visible = {*visible_files(lately), *kept.records, *kept.promises, *(file.path for file in kept.files)}
    garbage = [path for path in files if not (_is_visible(path, visible) or any(stem in path for stem in stems))]
    directory.require_claim()
    with contextlib.suppress(FileNotFoundError):  # a writer removed its own
        filesystem.delete(directory.path(path) for path in garbage)
    return len(garbage)


def _data_files(directory: CrawlDir) -> Iterator[str]:
    for table in (*TABLES, "index", "attempts"):
        yield from (path for path in directory.paths(table) if not path.startswith(REGISTRATION))


def _is_visible(path: str, visible: set[str]) -> bool:
    return path in visible or path.rpartition("/")[0] in visible
