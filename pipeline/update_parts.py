"""Smaller parts of an update step."""

from collections.abc import Iterable, Iterator
from typing import Any

import pyarrow as pa
from apache_beam.pvalue import TaggedOutput

from ..transforms.documents.finish_pages import FinishFn, add_rejections
from ..transforms.exchange.batch_schemas import CANDIDATES, CandidateRow, Rejection
from ..transforms.exchange.functions import Output, Partition, Side, StageFn, WriteFn
from ..transforms.exchange.summaries import Found, found
from ..transforms.exchange.writers import write_rows
from ..transforms.parsing.crawl_scope import CrawlScope
from ..transforms.politeness.host_stats import add_turn, age_key, newest_row
from ..transforms.tables.key_scan import Wanted, matching_rows
from ..transforms.tables.schemas import HOSTS, HostRow
from ..transforms.tables.table_files import open_parquet, read_table
from ..transforms.traps.watch_yields import WatchFn, by_host

ROW_GROUPS = ("visits", "sitemaps", "turns", "traps", "report")
"""The kinds that `row_groups` yields."""


def row_groups(file: tuple[str, str], root: str) -> Iterator[tuple[str, Any]]:
    """Yield what the first stage reads of a file: visits by row group; nothing of files that later stages read."""
    kind, path = file
    if kind == "visits":
        with open_parquet(root, path) as visits:
            yield from (("visits", (path, number)) for number in range(visits.num_row_groups))
    if kind in ("visits", "robots"):
        yield "sitemaps", file
    if kind in ("turns", "traps", "report"):
        yield file


class WatchAndFinishFn(WriteFn):
    """Takes a shard of hosts: what `WatchFn` and then `FinishFn` take; yields what they yield.

    URLs that cannot exist become candidates as links do, if the scope of the crawl permits them.
    """

    pages, duplicates, copies, near = FinishFn.pages, FinishFn.duplicates, FinishFn.copies, FinishFn.near
    yields, traps, trap_samples = WatchFn.yields, WatchFn.traps, WatchFn.trap_samples
    trap_queues = WatchFn.trap_queues
    candidates, removals, rejections = FinishFn.candidates, FinishFn.removals, FinishFn.rejections
    trapped = WatchFn.trapped

    def __init__(self, watch: WatchFn, finish: FinishFn, scope: CrawlScope, partitions: int) -> None:
        self._watch, self._finish, self._scope, self._partitions = watch, finish, scope, partitions

    def process(self, partition: Partition, summary: Found) -> Iterator[TaggedOutput]:
        number, sides = partition
        stale = []
        for output in self._watch.process(partition):
            if output.tag == WatchFn.probes.name:
                yield from self._candidates(output.value[1])
            elif output.tag == WatchFn.stale.name:
                stale.append(output.value[1])
            else:
                yield output
        shard = number, {**sides, FinishFn.stale.name: stale}
        yield from self._finish.process(shard, found("dead", summary) or ())

    def _candidates(self, probes: Iterable[CandidateRow]) -> Iterator[TaggedOutput]:
        url_filter = self._scope.url_filter()
        rows = [row for row in probes if url_filter.reject(row["url"], row["depth"], 0) is None]
        yield from self.candidates.split(pa.Table.from_pylist(rows, schema=CANDIDATES), self._partitions)


class WriteRejectionsFn(WriteFn):
    """Writes the sums of the rejections of a shard."""

    rejections = Side(list[Rejection])

    def __init__(self, root: str, round_: int) -> None:
        self._root, self._round = root, round_

    def process(self, partition: Partition, *_: Any) -> Iterator[TaggedOutput]:
        parts_of: dict[tuple[str, str], list[tuple[int, list[str]]]] = {}
        for name, part in self.rejections.values(partition[1]):
            parts_of.setdefault(name, []).append(part)
        rows = []
        for (reason, host), parts in sorted(parts_of.items()):
            count, samples = add_rejections(parts)
            rows.append({"reason": reason, "host": host, "round": self._round, "count": count, "samples": samples})
        yield from self.files.if_any(write_rows(self._root, "rejections", self._round, rows, "reason", "count"))


class TurnsFn(StageFn):
    """Takes the path of a file of host_turns."""

    turns = Output(HOSTS)  # by shard of the host
    hosts = Output(set[str])

    def __init__(self, root: str, shards: int) -> None:
        self._root, self._shards = root, shards

    def process(self, path: str) -> Iterator[TaggedOutput]:
        turns = read_table(self._root, [path], HOSTS)
        yield from self.turns.each(by_host(turns, self._shards))
        yield self.hosts.once(set(turns["host"].to_pylist()))


class EarlierHostsFn(StageFn):
    """Takes the path of a hosts file; yields the rows of the hosts that had a turn, by shard of the host."""

    rows = Output(HOSTS)

    def __init__(self, root: str, shards: int) -> None:
        self._root, self._shards = root, shards

    def process(self, path: str, summary: Found) -> Iterator[TaggedOutput]:
        for rows in matching_rows(self._root, path, HOSTS, Wanted("host", found("turn_hosts", summary) or ())):
            yield from self.rows.each(by_host(rows, self._shards))


class AddHostsFn(WriteFn):
    """Takes a shard of hosts; writes the new rows of those that had a turn."""

    turns, earlier = Side(HOSTS), Side(HOSTS)

    def __init__(self, root: str, round_: int) -> None:
        self._root, self._round = root, round_

    def process(self, partition: Partition) -> Iterator[TaggedOutput]:
        turns, earlier = (_rows_by_host(side.table(partition[1])) for side in (self.turns, self.earlier))
        rows = [_add_turns(turns[host], earlier.get(host, [])) for host in sorted(turns)]
        yield from self.files.if_any(write_rows(self._root, "hosts", self._round, rows))


def _rows_by_host(table: pa.Table) -> dict[str, list[HostRow]]:
    rows: dict[str, list[HostRow]] = {}
    for row in table.to_pylist():
        rows.setdefault(row["host"], []).append(row)
    return rows


def _add_turns(turns: list[HostRow], earlier: list[HostRow]) -> HostRow:
    row = newest_row(earlier) or HostRow()
    # A turn has a row in each durable piece; the state of the last response is valid.
    for turn in sorted(turns, key=age_key):
        row = add_turn(row, turn)
    return row
