"""The index of a crawl that goes on."""

import logging
import threading
from collections.abc import Callable

from ...transforms.storage.crawl_dir import CrawlDir, CrawlDirError
from ..searcher import Index

RELOAD_INTERVAL_S = 1.0
"""Seconds between two looks for what the crawl has committed meanwhile."""

_WITHOUT_INDEX = ("-seeds", "-revisits", "-fetch")  # steps that leave the index as it is

_log = logging.getLogger(__name__)


class NoIndexError(Exception):
    """There is nothing to search; the message says why."""


class LatestIndex:
    """The index of a crawl, opened anew once another step has changed it. Safe to use from several threads.

    While one thread opens the new index, the others go on with the old one; so do all if the new one cannot be read,
    which the log then says.
    """

    def __init__(self, crawl: CrawlDir, clock: Callable[[], float]) -> None:
        self._crawl, self._clock = crawl, clock
        self._lock = threading.Lock()
        self._index: Index | None = None
        self._manifests: list[str] = []
        self._looked = float("-inf")

    def get(self) -> Index:
        """NoIndexError while there is none that can be read."""
        if self._lock.acquire(blocking=self._index is None):
            try:
                self._look()
            finally:
                self._lock.release()
        assert self._index
        return self._index

    def _look(self) -> None:
        now = self._clock()
        if self._index and now - self._looked < RELOAD_INTERVAL_S:
            return
        self._looked = now
        found = [name for name in self._crawl.names("manifests", "*.json") if not _has_no_index(name)]
        if self._index and found == self._manifests:
            return
        self._manifests = found
        try:
            self._index = Index.open(self._crawl)
        except CrawlDirError as error:
            if not self._index:
                raise NoIndexError(str(error)) from error
            _log.error("the index of before goes on being searched: %s", error)


def _has_no_index(manifest: str) -> bool:
    """Whether a manifest's name is that of a step without an index, with the suffix of an addition or without."""
    return any(step in manifest for step in _WITHOUT_INDEX)
