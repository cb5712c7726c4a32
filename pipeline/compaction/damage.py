"""Damaged files that steps have met: they are left out of what is merged, and reported once."""

from collections.abc import Callable, Iterable
from typing import NoReturn

from ...transforms.directory.crawl_dir import CrawlDir
from ...transforms.outcomes import CrawlDirError
from ...transforms.tables.damage import DAMAGED, damaged, problem
from ...transforms.tables.table_files import TableFile, way_out


def fail(line: str) -> NoReturn:
    raise CrawlDirError(line)


class Damage:
    """The damaged files of a crawl, as far as they are known. `tell` is called with a line for each."""

    def __init__(self, crawl: CrawlDir, tell: Callable[[str], object] = fail) -> None:
        self._crawl, self._tell = crawl, tell
        self.paths: set[str] = set()

    def is_in(self, files: Iterable[TableFile]) -> bool:
        """Return whether one of the files is known to be damaged."""
        return any(file.path in self.paths for file in files)

    def look(self, files: Iterable[TableFile]) -> bool:
        """Compare files with what was written, and return whether more of them are damaged than were known."""
        return self.note(found for file in files for found in damaged(file, self._crawl.root))

    def note(self, reported: Iterable[TableFile]) -> bool:
        """Add the damaged ones of the files that a step has reported, and return whether there are any new ones."""
        new = {file.path: file for file in reported if file.table == DAMAGED and file.path not in self.paths}
        self.paths |= new.keys()
        for path, file in new.items():
            found = problem(self._crawl.root, file) or "a worker has read other bytes than were written"
            self._tell(f"{path}: {found}; it is not merged; {way_out(self._crawl.root, path)}")
        return bool(new)
