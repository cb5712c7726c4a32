"""Stores the results of a bundle: rows in durable pieces, and promised host states at once."""

import queue
import threading
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping
from typing import Any

import pyarrow as pa

from ...directory.crawl_dir import CrawlDir
from ...directory.pieces import PromiseLog, write_piece
from ...http.media_types import PACKED
from ...outcomes import EXTERNAL_VISITS, Outcome
from ...tables.batches import cuts
from ...tables.bloom import shard
from ...tables.schemas import HostRow
from ...tables.sitemap_terms import EXTERNAL
from ...tables.table_files import TableFile, TableWriter
from ...urls.canonical import domain

PIECE_BYTES = 64 << 20
_BATCH_ROWS = 256
_BATCH_BYTES, _LEAST_BYTES, _HELD_BYTES = 8 << 20, 1 << 20, 16 << 20
_PACKED = 6  # to parse a byte of PDF and office files takes five to eight times as long as one of HTML
_SITES = 8  # groups of them
_MOST_WAITING = 3  # batches
_AS_ROWS = 500  # of other tables, at a time


def counters_of(outcome: str, kind: str | None) -> list[str]:
    """The counters of a visit: its outcome, and its kind unless it is a page.

    What was asked of an external target is no page by any limit or rate. A deferred visit is one that did not happen.

    >>> counters_of("gone", None), counters_of("gone", "sitemap"), counters_of("gone", EXTERNAL)
    (['gone'], ['gone', 'sitemap_visits'], ['external_visits'])
    """
    if kind == EXTERNAL and outcome != Outcome.DEFERRED:
        return [EXTERNAL_VISITS]
    return [outcome, f"{kind}_visits"] if kind else [outcome]


_Key = tuple[int, bool]


class Keeper:
    """Writes the rows of a bundle in its own thread, so that a slow store delays no request.

    Rows are in the files of a piece once `cut` has closed it. `add` blocks while three batches wait for the store, so
    memory is bounded.
    """

    def __init__(self, crawl: CrawlDir, attempt: str, round_: int, piece_seconds: float) -> None:
        self._crawl, self._attempt, self._round, self._piece_seconds = crawl, attempt, round_, piece_seconds
        # The rows of visits and their bytes of bodies, by group of sites and by whether bodies are packed.
        self._rows, self._bytes = defaultdict[_Key, list[Mapping[str, Any]]](list), Counter[_Key]()
        self._piece_bytes = 0
        self._since = time.monotonic()
        self._cut_pieces = self._closed_pieces = 0  # in the bundle's thread, and in the own one
        self._promises = PromiseLog(crawl, attempt)
        self._writers = self._new_writers()
        self._tasks: queue.Queue[Callable[[], None] | None] = queue.Queue(_MOST_WAITING)
        self._failure: BaseException | None = None
        self._thread = threading.Thread(target=self._work, name="keeper", daemon=True)
        self._thread.start()

    def add(self, table: str, row: Mapping[str, Any]) -> None:
        """Add a row of visits, robots or host_turns.

        A row group of visits is what a worker parses at least: of few sites, whose pages tell what is boilerplate, and
        at most so much that parsing takes as long as 8 MB of HTML.
        """
        if table != "visits":
            self._writers[table].hold(row)
            return
        size, is_packed = len(row["body"] or b""), row["media_type"] in PACKED
        key = shard(domain(row["host"]), _SITES), is_packed
        self._rows[key].append(row)
        self._bytes[key] += size * _PACKED if is_packed else size
        self._piece_bytes += size
        if len(self._rows[key]) >= _BATCH_ROWS or self._bytes[key] >= _BATCH_BYTES:
            self._flush([key])
        elif self._bytes.total() >= _HELD_BYTES:
            self._flush([max(self._bytes, key=self._bytes.__getitem__)])

    def promise(self, row: HostRow) -> None:
        """Write the state of a host at once."""
        self._promises.write(row)

    @property
    def is_due(self) -> bool:
        """Return whether the piece is to be closed: it is a minute old, or has 64 MB of bodies.

        Not while the last one is still being closed: a slow store gets longer pieces, and holds up no request.
        """
        is_ripe = time.monotonic() - self._since >= self._piece_seconds or self._piece_bytes >= PIECE_BYTES
        return is_ripe and self._cut_pieces == self._closed_pieces

    def cut(self, turns: Iterable[HostRow]) -> None:
        """Close the piece, with the states of all hosts requested since the last one."""
        for row in turns:
            self._writers["host_turns"].hold(row)
        self._since, self._piece_bytes = time.monotonic(), 0
        keys = sorted(self._rows, key=self._bytes.__getitem__)  # small ones together
        for start, count in cuts([self._bytes[key] for key in keys], _LEAST_BYTES):
            self._flush(keys[start : start + count])
        if all(writer.is_empty for writer in self._writers.values()):
            return
        writers, self._writers = self._writers, self._new_writers()
        promises, self._promises = self._promises, PromiseLog(self._crawl, self._attempt)

        def close() -> None:
            files = [file for writer in writers.values() if (file := writer.close())]
            if files:
                write_piece(self._crawl, self._attempt, files)
            promises.remove()
            self._closed_pieces += 1

        self._cut_pieces += 1
        self._put(close)

    def close(self, turns: Iterable[HostRow]) -> None:
        """Close the last piece, and wait until all is written; re-raises the exception of a failed write."""
        self.cut(turns)
        self._put(None)
        self._thread.join()
        if self._failure:
            raise self._failure
        self._promises.remove()

    def _flush(self, keys: Collection[_Key]) -> None:
        rows = [row for key in keys for row in self._rows.pop(key)]
        for key in keys:
            del self._bytes[key]
        counts = Counter(name for row in rows for name in counters_of(row["outcome"], row["kind"]))
        writer = self._writers["visits"]
        writer.is_empty = False
        self._put(lambda: writer.write_rows(rows, counts))

    def _put(self, task: Callable[[], None] | None) -> None:
        if self._failure:
            raise self._failure
        self._tasks.put(task)

    def _work(self) -> None:
        while (task := self._tasks.get()) is not None:
            if self._failure is None:
                try:
                    task()
                except BaseException as error:  # re-raised in the bundle's thread
                    self._failure = error

    def _new_writers(self) -> dict[str, "_Writer"]:
        return {table: _Writer(self._crawl.root, table, self._round) for table in ("visits", "robots", "host_turns")}


class _Writer(TableWriter):
    """Writes the rows that it holds together, as one row group: in columns, they take a tenth of the memory."""

    is_empty = True  # no row was written or is held

    def __init__(self, root: str, table: str, round_: int) -> None:
        super().__init__(root, table, round_)
        self._rows_held, self._columns_held = list[Mapping[str, Any]](), [self.schema.empty_table()]

    def hold(self, row: Mapping[str, Any]) -> None:
        self.is_empty = False
        self._rows_held.append(row)
        if len(self._rows_held) == _AS_ROWS:
            self._to_columns()

    def _to_columns(self) -> None:
        self._columns_held.append(pa.Table.from_pylist(self._rows_held, self.schema))
        self._rows_held = []

    def close(self) -> TableFile | None:
        self._to_columns()
        self.write(pa.concat_tables(self._columns_held))
        return super().close()
