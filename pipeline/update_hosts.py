"""The part of an update step that writes the new state of hosts."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import apache_beam as beam

from ..transforms.exchange.writers import write_rows
from ..transforms.politeness.host_stats import add_turn, age_key, newest_row
from ..transforms.tables.batches import Batch, from_ipc
from ..transforms.tables.key_scan import Wanted, matching_rows
from ..transforms.tables.schemas import HOSTS, HostRow
from ..transforms.tables.table_files import read_table
from ..transforms.traps.watch_yields import by_host


class TurnsFn(beam.DoFn):
    """Takes the path of a file of host_turns; yields its rows by shard of the host, and the hosts, tagged."""

    def __init__(self, root: str, shards: int) -> None:
        self._root, self._shards = root, shards

    def process(self, path: str) -> Iterator[Any]:
        turns = read_table(self._root, [path], HOSTS)
        yield from by_host(turns, self._shards)
        yield beam.pvalue.TaggedOutput("turn_hosts", (0, set(turns["host"].to_pylist())))


class EarlierHostsFn(beam.DoFn):
    """Takes the path of a hosts file; yields the rows of the hosts that had a turn, by shard of the host."""

    def __init__(self, root: str, shards: int) -> None:
        self._root, self._shards = root, shards

    def process(self, path: str, summary: Mapping[str, Any]) -> Iterator[Batch]:
        for rows in matching_rows(self._root, path, HOSTS, Wanted("host", summary.get("turn_hosts", ()))):
            yield from by_host(rows, self._shards)


class AddHostsFn(beam.DoFn):
    """Takes a shard with {"turns": HOSTS, "earlier": HOSTS}; writes the new rows of the hosts that had a turn."""

    def __init__(self, root: str, round_: int) -> None:
        self._root, self._round = root, round_

    def process(self, partition: tuple[int, Mapping[str, Iterable[bytes]]]) -> Iterator[Any]:
        turns, earlier = (_rows_by_host(partition[1][side]) for side in ("turns", "earlier"))
        rows = [_add_turns(turns[host], earlier.get(host, [])) for host in sorted(turns)]
        if file := write_rows(self._root, "hosts", self._round, rows):
            yield beam.pvalue.TaggedOutput("files", (0, file))


def _rows_by_host(batches: Iterable[bytes]) -> dict[str, list[HostRow]]:
    found: dict[str, list[HostRow]] = {}
    for row in from_ipc(batches, HOSTS).to_pylist():
        found.setdefault(row["host"], []).append(row)
    return found


def _add_turns(turns: list[HostRow], earlier: list[HostRow]) -> HostRow:
    row = newest_row(earlier) or HostRow()
    # A turn has a row in each durable piece; the state of the last response is valid.
    for turn in sorted(turns, key=age_key):
        row = add_turn(row, turn)
    return row
