"""The query log of a gateway: what people look for, and how many pages it finds; no addresses, no cookies.

A line of the file is a JSON object: `at` (UTC), `query`, `pages` (found). Somebody who types is sent results after each
pause; only the last of such queries is written. For that, a query and its client's address are in memory for some
seconds.
"""

import contextlib
import json
import logging
import math
import sys
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Iterator
from datetime import datetime
from logging.handlers import RotatingFileHandler
from pathlib import Path
from typing import NamedTuple

from .rate_limits import MAX_CLIENTS, client_of

FILE_BYTES = 10_000_000
"""The size from which a file is renamed to FILE.1, and a new one begun."""

OLD_FILES = 9
"""The number of older files that are kept."""

SETTLED_S = 3.0
"""Seconds without a further query of the same client, after which a query is written."""


class Asked(NamedTuple):
    """A query that was answered."""

    at: datetime  # UTC
    query: str
    pages: int  # found


def as_line(asked: Asked) -> str:
    """A line of the log.

    >>> as_line(Asked(datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC), 'a "b"', 7))
    '{"at": "2026-01-02T03:04:05+00:00", "query": "a \\\\"b\\\\"", "pages": 7}'
    """
    at = asked.at.isoformat(timespec="seconds")
    return json.dumps({"at": at, "query": asked.query, "pages": asked.pages}, ensure_ascii=False)


def is_continued(earlier: str, later: str) -> bool:
    """Whether somebody may still be typing the same query.

    >>> is_continued("robo", "robots"), is_continued("robots", "rob"), is_continued("robot", "crawler")
    (True, True, False)
    """
    return earlier.startswith(later) or later.startswith(earlier)


class QueryLog:
    """Writes the queries that clients have settled on. Thread-safe; times are in seconds of a monotonic clock."""

    def __init__(self, write: Callable[[Asked], object]) -> None:
        self._write = write
        self._lock = threading.Lock()
        self._last: OrderedDict[str, tuple[Asked, float]] = OrderedDict()  # by client, the oldest first

    def add(self, address: str, asked: Asked, now: float) -> None:
        """A client was answered."""
        client = client_of(address)
        with self._lock:
            earlier = self._last.pop(client, None)
            if earlier and not is_continued(earlier[0].query, asked.query):
                self._write(earlier[0])
            self._last[client] = asked, now
            if len(self._last) > MAX_CLIENTS:
                self._write_oldest()

    def settle(self, now: float) -> None:
        """Write the queries that nothing has followed for SETTLED_S; all of them at the end of time (`math.inf`)."""
        with self._lock:
            while self._last and now - next(iter(self._last.values()))[1] >= SETTLED_S:
                self._write_oldest()

    def _write_oldest(self) -> None:
        _, (asked, _) = self._last.popitem(last=False)
        self._write(asked)


@contextlib.contextmanager
def file_log(path: Path) -> Iterator[QueryLog]:
    """A log that adds lines to a file, rotates it, and settles each second and at the end. OSError if it is not opened.

    A line that cannot be written, as on a full disk, is lost, which the log of the gateway says.
    """
    with contextlib.closing(_Handler(path, maxBytes=FILE_BYTES, backupCount=OLD_FILES, encoding="utf-8")) as handler:
        log, ended = (
            QueryLog(lambda asked: handler.handle(logging.makeLogRecord({"msg": as_line(asked)}))),
            threading.Event(),
        )

        def settle() -> None:
            while not ended.wait(1):
                log.settle(time.monotonic())

        thread = threading.Thread(target=settle, name="query log", daemon=True)
        thread.start()
        try:
            yield log
        finally:
            ended.set()
            thread.join()
            log.settle(math.inf)


class _Handler(RotatingFileHandler):
    def handleError(self, record: logging.LogRecord) -> None:
        reason = sys.exc_info()[1]
        logging.getLogger(__name__).error("a line of the query log %s is lost: %s", self.baseFilename, reason)
