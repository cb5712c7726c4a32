"""Table revisits: which pages are due when, sorted by time, so that the pages that are due now are read alone.

A row is written when a page is visited. Those up to the time of a revisits step have been taken by it. A row may be out
of date: `next_fetch_at` in the newest row of urls counts.
"""

from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, datetime
from typing import NamedTuple

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from ..directory.crawl_dir import Manifest, files_of
from ..tables.batches import Batch, split
from ..tables.layouts import LAYOUTS
from ..tables.schemas import REVISITS, TIME
from ..tables.table_files import TableFile, TableWriter, conform, open_parquet, statistics
from .revisit_plan import REVISITED

TAKEN = "revisits_taken"
"""Counter of a revisits step: the number of rows that it took."""

_NEVER = datetime.min.replace(tzinfo=UTC)
_DECIDING = ["due_at", "round"]


class DuePages(NamedTuple):
    """The rows of table revisits that no step has taken."""

    root: str
    paths: tuple[str, ...]
    before_round: int = 0  # rows of earlier rounds up to `until` were taken
    until: datetime = _NEVER

    @classmethod
    def of(cls, root: str, manifests: Sequence[Manifest]) -> "DuePages":
        consumed = {path for m in manifests for path in m.consumed}
        paths = tuple(file.path for file in files_of(manifests, "revisits") if file.path not in consumed)
        steps = [m for m in manifests if m.step == "revisits" and TAKEN in m.counters]
        if not steps:
            return cls(root, paths)
        last = max(steps, key=lambda m: (m.round, m.started_at))
        return cls(root, paths, last.round, datetime.fromisoformat(last.started_at))

    def count(self, now: datetime) -> int:
        """The number of rows that are due."""
        return sum(rows.num_rows for path in self.paths for rows in self._due(path, now, _DECIDING))

    def first(self) -> datetime | None:
        """When the first page is due; None if no page is planned."""
        times = [moment for path in self.paths if (moment := self._first_of(path)) is not None]
        return min(times, default=None)

    def spent(self, now: datetime) -> list[str]:
        """The files of which a step at `now` takes the last rows."""
        return [path for path in self.paths if self._last_of(path) <= now]

    def keys(self, path: str, now: datetime, partitions: int) -> Iterator[Batch]:
        """The keys and hosts of the due rows of a file, by partition."""
        for rows in self._due(path, now, REVISITS.names):
            yield from split(rows.select(["url_key", "host"]), "url_key", partitions)

    def _due(self, path: str, now: datetime, columns: Sequence[str]) -> Iterator[pa.Table]:
        schema = pa.schema(map(REVISITS.field, columns))
        with open_parquet(self.root, path) as file:
            for group in self._groups(file):
                if _bounds(file, group)[0] > now:
                    return
                rows = conform(file.read_row_group(group, schema.names, use_threads=False), schema)
                is_due = pc.less_equal(rows["due_at"], pa.scalar(now.astimezone(UTC), TIME))
                rows = rows.filter(pc.and_(is_due, self._open(rows)))
                if rows.num_rows:
                    yield rows

    def _first_of(self, path: str) -> datetime | None:
        with open_parquet(self.root, path) as file:
            for group in self._groups(file):
                deciding = file.read_row_group(group, _DECIDING, use_threads=False)
                rows = conform(deciding, pa.schema(map(REVISITS.field, _DECIDING)))
                first: datetime | None = pc.min(rows["due_at"].filter(self._open(rows))).as_py()
                if first is not None:
                    return first
        return None

    def _last_of(self, path: str) -> datetime:
        with open_parquet(self.root, path) as file:
            return _bounds(file, file.num_row_groups - 1)[1]

    def _groups(self, file: pq.ParquetFile) -> Iterator[int]:
        """The row groups that may have rows that were not taken."""
        for group in range(file.num_row_groups):
            rounds = statistics(file, group, "round")
            is_earlier = rounds is not None and rounds.has_min_max and rounds.max < self.before_round
            if not is_earlier or _bounds(file, group)[1] > self.until:
                yield group

    def _open(self, rows: pa.Table) -> pa.ChunkedArray:
        """Whether each row was not taken."""
        is_later = pc.greater(rows["due_at"], pa.scalar(max(self.until, _EPOCH).astimezone(UTC), TIME))
        return pc.or_(is_later, pc.greater_equal(rows["round"], self.before_round))


_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def _bounds(file: pq.ParquetFile, group: int) -> tuple[datetime, datetime]:
    """The first and the last time in a row group."""
    known = statistics(file, group, "due_at")
    if known is None or not known.has_min_max:
        return _NEVER, datetime.max.replace(tzinfo=UTC)
    return known.min, known.max


class IsPlanned(NamedTuple):
    """The criterion by which a page is visited again when its planned time has come."""

    now: datetime
    pages: DuePages  # whose keys are read first

    def mask(self, rows: pa.Table) -> pa.ChunkedArray:
        """Whether each of some URLs is due, given their newest rows of urls."""
        was_asked = pc.is_in(rows["state"], pa.array(REVISITED, pa.string()))
        return pc.and_(was_asked, pc.fill_null(pc.less_equal(rows["next_fetch_at"], pa.scalar(self.now, TIME)), False))


def write_due_pages(root: str, round_: int, tables: Iterable[pa.Table]) -> TableFile | None:
    """Write rows of revisits as one file, sorted by time; None if there are no rows."""
    rows = pa.concat_tables([REVISITS.empty_table(), *tables]).sort_by("due_at")
    writer = TableWriter(root, "revisits", round_, order=(("due_at", "ascending"),))
    for start in range(0, rows.num_rows, LAYOUTS["revisits"].group_rows):
        writer.write(rows.slice(start, LAYOUTS["revisits"].group_rows))
    return writer.close()
