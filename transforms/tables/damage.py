"""Finds files that are not as they were written, before their content is written anew: so damage stays visible."""

import contextlib
import functools
from collections.abc import Collection, Iterable, Iterator

from ..files import filesystem
from ..outcomes import CrawlDirError
from .table_files import TableFile, naming_damage, way_out

DAMAGED = "damaged"
"""The table, in the report of a step, of a file that the step has found to be damaged."""

MOST_BYTES = 256 << 20
"""The files of a table that are read for their checksums before they are used: 0.1 seconds."""


def problem(root: str, file: TableFile) -> str | None:
    """What differs between a file and its entry in a manifest: it is missing, or has another size or checksum.

    Reads the whole file. Files of versions without checksums are compared by size. CrawlDirError if it cannot be read.
    """
    with naming_damage(root, file.path):
        try:
            size, checksum = filesystem.measure(filesystem.join(root, file.path))
        except FileNotFoundError:
            return "the file is missing"
    if size != file.bytes:
        return f"it has {size} bytes, {file.bytes} were written"
    if file.checksum and checksum != file.checksum:
        return f"its checksum is {checksum}, {file.checksum} was written"
    return None


def damaged(file: TableFile, root: str) -> Iterator[TableFile]:
    """The file as one of `DAMAGED`, if it is not as it was written."""
    if problem(root, file):
        yield file._replace(table=DAMAGED)


def require_whole(root: str, files: Iterable[TableFile]) -> None:
    """CrawlDirError, one line with the name and the way out, unless all files are as they were written."""
    for file in files:
        if found := problem(root, file):
            raise CrawlDirError(f"{file.path}: {found}; {way_out(root, file.path)}")


def require_whole_once(root: str, files: Collection[TableFile]) -> None:
    """`require_whole` for local files of at most `MOST_BYTES` together; a process reads a file again if it was changed.

    For readers whose results stay, and for DuckDB, which does not compare the checksums of pages.
    """
    if sum(file.bytes for file in files) > MOST_BYTES:
        return
    store = filesystem.store_of(root)
    for file in (file for file in files if file.checksum):
        with naming_damage(root, file.path), contextlib.suppress(FileNotFoundError):  # who opens it says so
            changed_at = store.changed_at(filesystem.join(root, file.path))
            if changed_at is not None:
                _require_whole(root, file.path, file.bytes, file.checksum, changed_at)


@functools.lru_cache(1 << 16)
def _require_whole(root: str, path: str, size: int, checksum: str, _changed_at: int) -> None:
    require_whole(root, [TableFile("", path, 0, size, {}, checksum)])
