"""The current index of a crawl that is still running."""

import logging
import threading
from collections.abc import Callable

from ...transforms.blocks.files import FOLDER as BLOCKS
from ...transforms.storage.crawl_dir import CrawlDir, CrawlDirError
from ..searcher import Index

RELOAD_INTERVAL_S = 1.0
"""The time between two checks for new manifests and blocks."""

_WITHOUT_INDEX = ("-seeds", "-revisits", "-fetch")  # steps that do not change the index

_log = logging.getLogger(__name__)


class NoIndexError(Exception):
    """There is no index; the message has the reason."""


class LatestIndex:
    """The index of a crawl, reopened when a step has changed it, or the blocks have. Thread-safe.

    While one thread opens the new index, the others use the old one. If the new one cannot be read, all keep the old
    one, and the log has the reason.
    """

    def __init__(self, crawl: CrawlDir, clock: Callable[[], float]) -> None:
        self._crawl, self._clock = crawl, clock
        self._lock = threading.Lock()
        self._index: Index | None = None
        self._files: list[str] = []
        self._checked_at_s = float("-inf")

    def get(self) -> Index:
        """The index; NoIndexError while there is none that can be read."""
        if self._lock.acquire(blocking=self._index is None):
            try:
                self._reload_if_changed()
            finally:
                self._lock.release()
        assert self._index
        return self._index

    def _reload_if_changed(self) -> None:
        now = self._clock()
        if self._index and now - self._checked_at_s < RELOAD_INTERVAL_S:
            return
        self._checked_at_s = now
        found = [name for name in self._crawl.names("manifests", "*.json") if not _has_no_index(name)]
        found += self._crawl.names(BLOCKS, "*.json")
        if self._index and found == self._files:
            return
        self._files = found
        try:
            self._index = Index.open(self._crawl)
        except CrawlDirError as error:
            if not self._index:
                raise NoIndexError(str(error)) from error
            _log.error("the new index cannot be opened, searches use the previous one: %s", error)


def _has_no_index(manifest: str) -> bool:
    """Whether a manifest's name is that of a step without an index, with or without a suffix."""
    return any(step in manifest for step in _WITHOUT_INDEX)
