"""Adds the turns of a round to the rows of its hosts."""

from collections.abc import Iterator

import pyarrow as pa
from apache_beam.pvalue import TaggedOutput

from ..exchange.functions import Output, Partition, Side, StageFn, WriteFn
from ..exchange.summaries import Found, found
from ..exchange.writers import write_rows
from ..tables.batches import by_host
from ..tables.key_scan import Wanted, matching_rows
from ..tables.schemas import HOSTS, HostRow
from ..tables.table_files import read_table
from .host_stats import add_turn, age_key, newest_row


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
