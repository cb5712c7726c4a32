"""Verifies that a crawl directory holds the files that its manifests promise."""

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from ..outcomes import CrawlDirError, reason
from ..tables.damage import problem
from ..tables.table_files import TableFile, open_parquet
from .crawl_dir import CrawlDir, Manifest, visible_files


class Fault(NamedTuple):
    """A promise that does not hold."""

    path: str  # of the file, below the crawl directory
    problem: str

    def __str__(self) -> str:
        return f"{self.path}: {self.problem}"


def promised_files(manifests: Sequence[Manifest]) -> list[TableFile]:
    """The files that committed steps wrote and no later one consumed or dropped, of tables and of the index."""
    visible = set(visible_files(manifests)) - {path for m in manifests for path in m.consumed}
    files = [file for m in manifests for file in m.files if file.path in visible]
    return files + [file for m in manifests for file in m.index_files if file.path.rpartition("/")[0] in visible]


def file_faults(crawl: CrawlDir, files: Iterable[TableFile]) -> Iterator[Fault]:
    """The first fault of each file: it is missing, or has another size, checksum or number of rows."""
    for file in files:
        if problem := _problem(crawl, file):
            yield Fault(file.path, problem)


def _problem(crawl: CrawlDir, file: TableFile) -> str | None:
    try:
        if fault := problem(crawl.root, file):
            return fault
        with open_parquet(crawl.root, file.path) as parquet:
            rows = parquet.metadata.num_rows
    except (OSError, CrawlDirError) as error:
        cause = error.__cause__
        return f"it cannot be read: {reason(cause if isinstance(cause, Exception) else error)}"
    return None if rows == file.rows else f"it has {rows} rows, {file.rows} were written"
