"""The waiting URLs: the rows of frontier files without those that have left (docs/decisions/frontier.md)."""

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from numpy.typing import NDArray

from ..tables.key_scan import Wanted, groups_with
from ..tables.schemas import FRONTIER, FRONTIER_LEFT
from ..tables.table_files import TableFile, conform, open_parquet, present, read_table, round_of, with_columns
from .crawl_dir import CrawlDir, Manifest, frontier_files, last_updated, unconsumed

MATCHED = pa.schema([*FRONTIER, FRONTIER_LEFT.field("path"), FRONTIER_LEFT.field("number")])
"""A row of the frontier with its position."""

ROWS_AT_A_TIME = 1 << 16
"""Rows of a frontier file that are read together, about."""

_UNVISITED = ("new", "seed")

Positions = NDArray[np.int64]
"""Row numbers in a file, ascending."""


class Waiting(NamedTuple):
    """Paths of the files that hold the waiting URLs, below the crawl directory."""

    frontier: tuple[str, ...]
    left: tuple[str, ...]  # files of frontier_left
    last_updated: int  # the last round whose update step is committed

    @classmethod
    def of(cls, manifests: Iterable[Manifest]) -> "Waiting":
        manifests = list(manifests)
        frontier, left = (tuple(file.path for file in of(manifests)) for of in (frontier_files, left_files))
        return cls(frontier, left, last_updated(manifests))


def left_files(manifests: Iterable[Manifest]) -> list[TableFile]:
    """The files of frontier_left that concern frontier files in use."""
    return unconsumed(manifests, "frontier_left")


class Left:
    """The positions of rows that have left, by frontier file. The constructor reads nothing."""

    def __init__(self, root: str, paths: Sequence[str]) -> None:
        self._root, self._paths = root, paths
        self._positions: dict[str, Positions] | None = None

    def of(self, path: str) -> Positions:
        """The positions of a file; reads all of them at the first call."""
        if self._positions is None:
            rows = read_table(self._root, self._paths, FRONTIER_LEFT, ["path", "number"])
            codes = rows["path"].combine_chunks().dictionary_encode()
            numbers = rows["number"].to_numpy()
            by_file = codes.indices.to_numpy(zero_copy_only=False)
            self._positions = {
                name: np.unique(numbers[by_file == code]) for code, name in enumerate(codes.dictionary.to_pylist())
            }
        return self._positions.get(path, np.empty(0, np.int64))

    def __reduce__(self) -> tuple[type, tuple[str, Sequence[str]]]:
        return Left, (self._root, self._paths)


class Group(NamedTuple):
    """A row group of a frontier file."""

    number: int
    first: int  # position of its first row in the file
    waits: NDArray[np.bool_]  # whether each of its rows has not left

    @property
    def numbers(self) -> Positions:
        """The positions of its rows in the file."""
        return np.arange(self.first, self.first + len(self.waits))

    def is_any(self, positions: Positions) -> bool:
        """Whether it has one of some positions."""
        place = np.searchsorted(positions, self.first)
        return bool(place < len(positions) and positions[place] < self.first + len(self.waits))


def groups(file: pq.ParquetFile, left: Positions) -> Iterator[Group]:
    """The row groups that contain waiting URLs."""
    first = 0
    for number in range(file.num_row_groups):
        rows = file.metadata.row_group(number).num_rows
        gone = left[np.searchsorted(left, first) : np.searchsorted(left, first + rows)]
        if len(gone) < rows:
            waits = np.ones(rows, np.bool_)
            waits[gone - first] = False
            yield Group(number, first, waits)
        first += rows


def parts(found: Iterable[Group], rows: int) -> Iterator[list[Group]]:
    """Row groups, so many together that they have about so many rows."""
    part: list[Group] = []
    for group in found:
        part.append(group)
        if sum(len(each.waits) for each in part) >= rows:
            yield part
            part = []
    if part:
        yield part


def read_groups(file: pq.ParquetFile, numbers: Sequence[int], columns: Sequence[str]) -> pa.Table:
    """Columns of row groups; null if the file, of an earlier version, lacks them."""
    schema = pa.schema([FRONTIER.field(name) for name in columns])
    return conform(file.read_row_groups(numbers, present(file, columns), use_threads=False), schema)


def matching(file: pq.ParquetFile, path: str, left: Positions, wanted: Sequence[Wanted]) -> Iterator[pa.Table]:
    """The waiting URLs of a file whose keys may be wanted, as `MATCHED`; skips row groups without a wanted host."""
    chosen = {number for one in wanted for number in groups_with(file, "host", one.values)}
    for part in parts((group for group in groups(file, left) if group.number in chosen), ROWS_AT_A_TIME):
        keys = read_groups(file, [group.number for group in part], [*{one.column for one in wanted}])
        found = np.logical_or.reduce([one.mask(keys) for one in wanted])
        found &= np.concatenate([group.waits for group in part])
        numbers = np.concatenate([group.numbers for group in part])[found]
        hit = [group for group in part if group.is_any(numbers)]
        if hit:
            held = np.concatenate([group.numbers for group in hit])
            rows = read_groups(file, [group.number for group in hit], FRONTIER.names)
            yield _with_positions(rows.take(pa.array(np.searchsorted(held, numbers))), path, numbers)


def read_waiting(root: str, waiting: Waiting, columns: Sequence[str] = tuple(FRONTIER.names)) -> Iterator[pa.Table]:
    """The waiting URLs, some row groups at a time, with their reasons of now."""
    left = Left(root, waiting.left)
    for path in waiting.frontier:
        with open_parquet(root, path) as file:
            for part in parts(groups(file, left.of(path)), ROWS_AT_A_TIME):
                waits = np.concatenate([group.waits for group in part])
                rows = read_groups(file, [group.number for group in part], columns).filter(pa.array(waits))
                if "reason" in columns and round_of(path) <= waiting.last_updated:
                    rows = with_deferred(rows)
                yield rows


def matching_waiting(root: str, waiting: Waiting, wanted: Wanted) -> Iterator[pa.Table]:
    """The waiting URLs that may be wanted, as `MATCHED`, with their reasons of now."""
    left = Left(root, waiting.left)
    for path in waiting.frontier if wanted.values else ():
        with open_parquet(root, path) as file:
            for rows in matching(file, path, left.of(path), [wanted]):
                yield with_deferred(rows) if round_of(path) <= waiting.last_updated else rows


def _with_positions(rows: pa.Table, path: str, numbers: Positions) -> pa.Table:
    paths = pa.DictionaryArray.from_arrays(pa.array(np.zeros(rows.num_rows, np.int32)), pa.array([path]))
    return rows.append_column("path", paths.cast(pa.string())).append_column("number", pa.array(numbers))


def count_left(root: str, files: Iterable[TableFile]) -> dict[str, Counter[str]]:
    """The rows that have left each frontier file, by the reason in the frontier; from files of frontier_left."""
    rows = read_table(root, [file.path for file in files], FRONTIER_LEFT, ["path", "reason"])
    counts: dict[str, Counter[str]] = {}
    grouped = rows.group_by(["path", "reason"], use_threads=False).aggregate([([], "count_all")]).to_pydict()
    for path, reason, count in zip(grouped["path"], grouped["reason"], grouped["count_all"], strict=True):
        counts.setdefault(path, Counter())[reason] += count
    return counts


def waiting_by_reason(root: str, manifests: Sequence[Manifest]) -> dict[str, int]:
    """The number of waiting URLs by reason."""
    left = count_left(root, left_files(manifests))
    last, found = last_updated(manifests), Counter[str]()
    for file in frontier_files(manifests):
        counts = Counter(file.counts)
        counts.subtract(left.get(file.path, ()))
        for reason, count in counts.items():
            found[reason_now(reason, file.path, last)] += count
    return {reason: count for reason, count in found.items() if count > 0}


def count_waiting(crawl: CrawlDir) -> int:
    """The number of waiting URLs."""
    return sum(waiting_by_reason(crawl.root, crawl.manifests()).values())


def reason_now(reason: str, path: str, last: int) -> str:
    """The reason of a waiting URL of a file, after round `last`: a URL that no round has visited yet is deferred."""
    return "deferred" if reason in _UNVISITED and round_of(path) <= last else reason


def with_deferred(rows: pa.Table) -> pa.Table:
    """The rows of a file of an earlier round with their reasons of now."""
    is_late = pc.is_in(rows["reason"], pa.array(_UNVISITED))
    reasons = pc.if_else(is_late, pa.scalar("deferred"), rows["reason"])
    return with_columns(rows, reason=reasons)


class Settled(NamedTuple):
    """The frontier after a step."""

    consumed: list[str]  # paths of files that no later step reads
    waiting: int  # URLs


def settle(
    root: str, manifests: Sequence[Manifest], written: Iterable[TableFile], replaced: Collection[str] = ()
) -> Settled:
    """The frontier once the step that wrote some files in place of others is committed.

    Consumed are frontier files whose rows have all left, and files of frontier_left that concern no others.
    """
    written = list(written)
    gone = [file for file in left_files(manifests) if file.path not in replaced]
    gone += [file for file in written if file.table == "frontier_left"]
    counts = {path: sum(reasons.values()) for path, reasons in count_left(root, gone).items()}
    files = [file for file in frontier_files(manifests) if file.path not in replaced]
    files += [file for file in written if file.table == "frontier"]
    waiting = {file.path: file.rows - counts.get(file.path, 0) for file in files}
    consumed = [path for path, count in waiting.items() if not count]
    in_use = waiting.keys() - consumed
    idle = [file.path for file in gone if in_use.isdisjoint(_paths_in(root, file.path))]
    return Settled([*consumed, *idle], sum(waiting.values()))


def _paths_in(root: str, path: str) -> list[str]:
    return list(pc.unique(read_table(root, [path], FRONTIER_LEFT, ["path"])["path"]).to_pylist())
