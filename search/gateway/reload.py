"""The current index of a crawl that is still running."""

import logging
import threading
from collections.abc import Callable, Mapping, Sequence
from typing import TypeVar

from ...transforms.blocks.files import FOLDER as BLOCKS
from ...transforms.directory.crawl_dir import CrawlDir, CrawlDirError
from ..answers.cursor import CursorError
from ..answers.opening import WITHOUT_INDEX, LeaveOut
from ..answers.searcher import Index
from ..index.postings import Unit
from ..index.segments import CACHE_BYTES

RELOAD_INTERVAL_S = 1.0
"""The time between two checks for new manifests and blocks."""

_GONE = "the cursor is of an index that cannot be read any more: search again without it"

_log = logging.getLogger(__name__)


Answer = TypeVar("Answer")


def in_background(call: Callable[[], None]) -> None:
    """Call in a thread that ends with the process."""

    def run() -> None:
        try:
            call()
        except RuntimeError:  # at the end of the process, no thread can be started any more
            if threading.main_thread().is_alive():
                raise

    threading.Thread(target=run, daemon=True).start()


class NoIndexError(Exception):
    """There is no index; the message has the reason."""


class LatestIndex:
    """The index of a crawl, or of several, reopened when a step has changed it, or the blocks have. Thread-safe.

    While one thread opens the new index, the others use the old one. Then the words that were asked for lately, and the
    most frequent ones, are read in the background. If the new one cannot be read, all keep the old
    one, the log has the reason, and the next check tries again.
    """

    def __init__(
        self,
        crawls: CrawlDir | Mapping[str, CrawlDir],
        clock: Callable[[], float],
        cache_bytes: int = CACHE_BYTES,
        start: Callable[[Callable[[], None]], None] = in_background,
        leave_out: LeaveOut | None = None,
    ) -> None:
        """Of several crawls by name, those that cannot be read are left out, once there is an index of all."""
        self._crawls, self._clock, self._cache_bytes, self._start = crawls, clock, cache_bytes, start
        self._leave_out = leave_out
        self._lock = threading.Lock()
        self._index: Index | None = None
        self._files: list[str] = []
        self._older_lock = threading.Lock()
        self._older: Index | None = None
        self._older_of: Index | None = None  # the current index when it was opened
        self._checked_at_s = float("-inf")
        self._problem = ""

    def get(self) -> Index:
        """The index; NoIndexError while there is none that can be read."""
        if self._lock.acquire(blocking=self._index is None):
            try:
                self._reload_if_changed()
            finally:
                self._lock.release()
        assert self._index
        return self._index

    def ask(self, question: Callable[[Index], Answer]) -> Answer:
        """The answer of the index to a question; of a newly opened index if a file of this one cannot be read.

        A merge of segments with `--drop-history` removes files that an open index has not read yet.
        """
        index = self.get()
        try:
            return question(index)
        except CrawlDirError:
            return question(self._renewed(index))

    def _renewed(self, index: Index) -> Index:
        """A newly opened index in place of this one, which cannot be read, unless another thread has opened it."""
        with self._lock:
            if self._index is index:
                self._open()
        return self.get()

    def ask_as_of(self, round_: int, question: Callable[[Index], Answer]) -> Answer:
        """The answer of the index as of a round; CursorError if it cannot be read any more, or is yet to come.

        One older index is kept, with a quarter of the memory for postings; it shares the segments of the current one.
        """
        index = self.get()
        if round_ == index.as_of:
            try:
                return question(index)
            except CrawlDirError:
                index = self._renewed(index)
        try:
            return question(index if round_ == index.as_of else self._get_older(round_, index))
        except CrawlDirError as error:
            raise CursorError(_GONE) from error

    def _get_older(self, round_: int, index: Index) -> Index:
        with self._older_lock:
            if self._older is None or (self._older.as_of, self._older_of) != (round_, index):
                self._older, self._older_of = self._open_as_of(round_, index), index
            return self._older

    def _open_as_of(self, round_: int, current: Index) -> Index:
        try:
            return Index.open(self._crawls, round_, self._clock, self._cache_bytes // 4, current, self._leave_out)
        except CrawlDirError as error:
            raise CursorError(_GONE) from error

    def _open(self) -> None:
        cached = self._index.cached() if self._index else []
        index = Index.open(
            self._crawls,
            timer=self._clock,
            cache_bytes=self._cache_bytes,
            previous=self._index,
            leave_out=self._leave_out,
            skips_unreadable=self._index is not None,
        )
        self._index = index
        self._start(lambda: self._warm(index, cached))

    def _warm(self, index: Index, cached: Sequence[tuple[Unit, int]]) -> None:
        try:
            index.warm(cached, lambda: self._index is index)
        except CrawlDirError as error:
            _log.info("words are not read ahead: %s", error)  # a query that needs them opens the index again

    def _reload_if_changed(self) -> None:
        now = self._clock()
        if self._index and now - self._checked_at_s < RELOAD_INTERVAL_S:
            return
        self._checked_at_s = now
        crawls = [self._crawls] if isinstance(self._crawls, CrawlDir) else self._crawls.values()
        files = [name for crawl in crawls for name in ("", *_listed(crawl))]
        if self._index and files == self._files:
            return
        try:
            self._open()
            self._files = files
        except CrawlDirError as error:
            if not self._index:
                raise NoIndexError(str(error)) from error
            if str(error) != self._problem:  # once, though each check tries again
                _log.error("the new index cannot be opened, searches use the previous one: %s", error)
            self._problem = str(error)


def _listed(crawl: CrawlDir) -> list[str]:
    """The files that change what a search finds."""
    manifests = [name for name in crawl.names("manifests", "*.json") if not _has_no_index(name)]
    return manifests + crawl.names(BLOCKS, "*.json")


def _has_no_index(manifest: str) -> bool:
    """Whether a manifest's name is that of a step without an index, with or without a suffix."""
    return any(f"-{step}" in manifest for step in WITHOUT_INDEX)
