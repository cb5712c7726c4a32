"""Adds the turns of a round to the rows of its hosts."""

from collections.abc import Iterator, Sequence

import apache_beam as beam
import pyarrow as pa
from apache_beam.pvalue import TaggedOutput

from ..batches.partitions import Partition, tagged
from ..batches.semi_join import CollectHosts
from ..batches.writers import ByPartition, write_rows
from ..tables.batches import Batch, by_host, from_ipc
from ..tables.key_scan import Wanted, matching_rows
from ..tables.schemas import HOSTS, HostRow
from ..tables.table_files import TableFile, read_table
from .host_stats import add_turn, age_key, newest_row


def _read_turns(path: str, root: str, shards: int) -> "Iterator[Batch | TaggedOutput]":
    turns = read_table(root, [path], HOSTS)
    yield from by_host(turns, shards)
    yield from tagged("hosts", turns["host"].unique().to_pylist())


def _read_earlier(path: str, hosts: Wanted, root: str, shards: int) -> Iterator[Batch]:
    """The rows in a hosts file of the hosts that had a turn, by shard of the host."""
    for rows in matching_rows(root, path, HOSTS, hosts):
        yield from by_host(rows, shards)


def _write(partition: Partition, root: str, round_: int) -> Iterator[TableFile]:
    turns, earlier = (_rows_by_host(from_ipc(partition[1][name], HOSTS)) for name in ("turns", "earlier"))
    rows = [_add_turns(turns[host], earlier.get(host, [])) for host in sorted(turns)]
    yield from write_rows(root, "hosts", round_, rows)


class AddHostTurns(beam.PTransform):
    """Writes the new rows of the hosts that had a turn in a round.

    Reads files of host_turns, and the rows of these hosts in files of `hosts`.
    """

    def __init__(self, root: str, round_: int, turns: Sequence[str], hosts: Sequence[str], shards: int) -> None:
        super().__init__()
        self._root, self._round, self._turns, self._hosts, self._shards = root, round_, turns, hosts, shards

    def expand(self, pipeline: beam.Pipeline) -> "beam.PCollection[TableFile]":
        read = beam.FlatMap(_read_turns, self._root, self._shards).with_outputs("hosts", main="turns")
        turns, names = pipeline | "TurnsFiles" >> beam.Create(self._turns) | "ReadTurns" >> read
        hosts = beam.pvalue.AsSingleton(names | "CollectHosts" >> CollectHosts())
        earlier = (
            pipeline
            | "HostsFiles" >> beam.Create(self._hosts)
            | "ReadHosts" >> beam.FlatMap(_read_earlier, hosts, self._root, self._shards)
        )
        sides = {"turns": turns, "earlier": earlier}
        return sides | "AddTurns" >> ByPartition(_write, self._root, self._round)


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
