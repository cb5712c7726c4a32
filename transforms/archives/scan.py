"""Scans a file for its captures, once: the result is a small Parquet file, which a resumed import reads again."""

import json
from collections import Counter
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.parquet as pq

from ..files import filesystem
from ..outcomes import CrawlDirError
from ..tables.schemas import Row
from ..tables.table_files import open_parquet
from .captures import SCAN, Admission, Facts, Skip, capture_of
from .reader import DamagedError, Record, read_records
from .sources import Source, Trouble, digest_trouble

RECORDS = "records"
"""The name of the count of all records, among those of the reasons to skip one."""

DAMAGED = "damaged"
"""Why a record is skipped that cannot be read to its end."""

METHOD = "method"
"""Why a record is skipped that answers a request with another method than GET."""

_BATCH = 20_000
_NAMED = 20  # troubles of a file that are named
_COUNTS, _TROUBLES = b"counts", b"troubles"


class Scanned(NamedTuple):
    """What a file holds, besides its captures."""

    counts: dict[str, int]  # RECORDS, and records that are skipped, by reason
    troubles: list[Trouble]  # the first ones
    captures: int


def scan_file(root: str, source: Source, path: str, admission: Admission) -> None:
    """Scan a file, and write its captures to a path below the crawl directory; nothing if that was done before."""
    if read_scanned(root, path) is not None:
        return
    scan = _Scan(source, admission)
    with filesystem.create(filesystem.join(root, path)) as sink, pq.ParquetWriter(sink, SCAN) as writer:
        if trouble := digest_trouble(source):
            scan.trouble(trouble)
        else:
            for item in read_records(source):
                scan.take(item)
                if len(scan.rows) >= _BATCH + _KEPT:
                    writer.write_table(scan.cut(_KEPT))
                elif scan.held_bytes > _HELD_BYTES:
                    writer.write_table(scan.cut(0))
        scan.end()
        writer.write_table(scan.cut(0))
        writer.add_key_value_metadata(scan.metadata())


_KEPT = 1_000  # rows that may still get facts
_HELD_BYTES = 16 << 20  # of robots.txt files, and of heads of revisits, in memory


def read_scanned(root: str, path: str) -> Scanned | None:
    """The result of a scan; None if there is no complete one."""
    if not filesystem.exists(filesystem.join(root, path)):
        return None
    try:
        with open_parquet(root, path) as file:
            metadata = file.metadata.metadata or {}
            troubles = [Trouble(*each) for each in json.loads(metadata[_TROUBLES])]
            return Scanned(json.loads(metadata[_COUNTS]), troubles, file.metadata.num_rows)
    except (CrawlDirError, KeyError, ValueError):
        return None  # a kill has cut it


def _held(row: Row) -> int:
    return len(row["rights"] or b"") + len(row["head"] or "")


class _Scan:
    def __init__(self, source: Source, admission: Admission) -> None:
        self._source, self._admission = source, admission
        self._facts, self._counts, self._troubles = Facts(), Counter[str](), list[Trouble]()
        self._last: tuple[Record, Row | None] | None = None
        self.rows: list[Row] = []
        self.held_bytes = 0

    def take(self, item: Record | Trouble) -> None:
        """Take a record, or what is wrong; it decides whether the record before it is whole."""
        self.end()
        if isinstance(item, Trouble):
            self.trouble(item)
            return
        self._counts[RECORDS] += 1
        row = None
        try:
            row = capture_of(item, self._admission)
        except Skip as skip:
            self._counts[skip.reason] += 1
            if skip.problem:
                self.trouble(Trouble(self._source.name, item.offset, skip.problem))
            if skip.reason == "metadata":
                self._facts.add(item)
            elif skip.reason == "request" and (answer := self._facts.not_got(item)):
                self._forget(answer)
        except DamagedError:
            self._counts[DAMAGED] += 1
        self._last = item, row

    def end(self) -> None:
        """No more comes of the last record."""
        if self._last:
            record, row = self._last
            self._last = None
            if row and record.is_whole:
                if self._facts.expect(record, row):
                    self.rows.append(row)
                    self.held_bytes += _held(row)
                else:
                    self._counts[METHOD] += 1
            elif row:
                self._counts[DAMAGED] += 1

    def _forget(self, answer: Row) -> None:
        for place in range(len(self.rows) - 1, max(len(self.rows) - _KEPT, 0) - 1, -1):
            if self.rows[place] is answer:
                del self.rows[place]
                self._counts[METHOD] += 1
                return

    def trouble(self, trouble: Trouble) -> None:
        if len(self._troubles) < _NAMED:
            self._troubles.append(trouble)
        else:
            self._counts["more_troubles"] += 1

    def cut(self, kept: int) -> pa.Table:
        """The rows but for the last ones."""
        place = max(len(self.rows) - kept, 0)
        rows, self.rows = self.rows[:place], self.rows[place:]
        self.held_bytes = sum(_held(row) for row in self.rows)
        return pa.Table.from_pylist(rows, schema=SCAN)

    def metadata(self) -> dict[str, Any]:
        return {_COUNTS.decode(): json.dumps(self._counts), _TROUBLES.decode(): json.dumps(self._troubles)}
