"""The stages of an update step that read and write traps, and find the pages of a round without news."""

from collections.abc import Iterable, Iterator
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from apache_beam.pvalue import TaggedOutput

from ..duplicates.clusters import VERDICTS
from ..duplicates.exact import DUPLICATES
from ..exchange.batch_schemas import STALE, YIELDS, CandidateRow
from ..exchange.functions import Output, Partition, Side, StageFn, WriteFn
from ..exchange.summaries import Found, found
from ..settings import Traps
from ..tables.batches import Batch, by_host, from_ipc
from ..tables.key_scan import Wanted, matching_rows
from ..tables.schemas import TRAP_QUEUES, TRAP_SAMPLES, TRAPS, Row
from ..tables.table_files import TableFile, TableWriter, open_parquet, read_table, statistics
from .allow_list import compile_allow_list
from .template_rows import REOPENED, State
from .watch_host import queues_of, watch_host


class WatchFn(WriteFn):
    """Finds the pages of a round without news, and judges templates by them; writes traps and trap_samples.

    Takes a shard of hosts.
    """

    yields, duplicates, near = Side(YIELDS), Side(DUPLICATES), Side(VERDICTS)
    traps, trap_samples, trap_queues = Side(TRAPS), Side(TRAP_SAMPLES), Side(TRAP_QUEUES)
    stale = Output(STALE)
    trapped = Output(tuple)  # `TrappedHost` as a tuple, of each host with throttled or trapped templates
    probes = Output(list[CandidateRow])

    def __init__(self, root: str, round_: int, settings: Traps, key: bytes) -> None:
        self._root, self._round, self._allow, self._key = root, round_, settings.allow, key

    def process(self, partition: Partition) -> Iterator[TaggedOutput]:
        number, sides = partition
        is_allowed = compile_allow_list(self._allow)
        copies = _originals(self.duplicates.table(sides), "duplicate_of")
        near = _originals(self.near.table(sides), "near_duplicate_of")
        requests = _by_host(self.yields.table(sides).to_pylist())
        tables = (self.traps, self.trap_samples, self.trap_queues)
        traps, trap_samples, queues = (_by_host(side.table(sides).to_pylist()) for side in tables)
        stale, rows, reopened = list[bytes](), dict[str, list[Row]](traps=[], trap_samples=[]), 0
        for host in sorted(requests.keys() | traps.keys()):
            sides_ = (traps.get(host, ()), trap_samples.get(host, ()), queues_of(queues.get(host, ()), self._round - 1))
            last = (is_allowed, self._round, self._key)
            watched = watch_host(host, requests.get(host, ()), copies, near, *sides_, *last)
            stale += watched.stale
            if watched.probes:
                yield self.probes.at(number, watched.probes)
            rows["traps"] += watched.traps
            rows["trap_samples"] += watched.trap_samples
            reopened += watched.reopened
            if watched.trapped:
                yield self.trapped.once(tuple(watched.trapped))
        for table, part in rows.items():
            counts = {REOPENED: reopened} if reopened and table == "traps" else None
            yield from self.files.if_any(self._write(table, part, counts))
        yield self.stale.at(number, pa.table({"url_key": stale}, schema=STALE))

    def _write(self, table: str, rows: list[Row], counts: dict[str, int] | None) -> TableFile | None:
        writer = TableWriter(self._root, table, self._round)
        writer.write_rows(rows, counts)
        return writer.close()


def _originals(rows: pa.Table, column: str) -> dict[bytes, bytes]:
    """The keys in a column by `url_key`."""
    return dict(zip(rows["url_key"].to_pylist(), rows[column].to_pylist(), strict=True))


def _by_host(rows: Iterable[Any]) -> dict[str, list[Any]]:
    found: dict[str, list[Any]] = {}
    for row in rows:
        found.setdefault(row["host"], []).append(row)
    return found


def hosts_with_traps(path: str, root: str) -> Iterator[str]:
    """The hosts of a traps file with throttled or trapped templates; newer files may say otherwise."""
    with open_parquet(root, path) as file:
        for group in range(file.num_row_groups):
            states = statistics(file, group, "state")
            if states is None or not states.has_min_max or states.min != State.OPEN or states.max != State.OPEN:
                rows = file.read_row_group(group, ["host", "state"], use_threads=False)
                yield from pc.unique(rows.filter(pc.not_equal(rows["state"], State.OPEN.value))["host"]).to_pylist()


class HostsWithTrapsFn(StageFn):
    """Takes the path of a traps file; yields `hosts_with_traps`."""

    hosts = Output(list[str])

    def __init__(self, root: str) -> None:
        self._root = root

    def process(self, path: str) -> Iterator[TaggedOutput]:
        yield from self.hosts.if_any(list(hosts_with_traps(path, self._root)))


class _ReadHostsFn(StageFn):
    """The rows of a table for the hosts in some parts of the summary, by shard of their host."""

    rows: Output
    _parts: tuple[str, ...]

    def __init__(self, root: str, shards: int) -> None:
        self._root, self._shards = root, shards

    def process(self, path: str, summary: Found) -> Iterator[TaggedOutput]:
        hosts = sorted({host for part in self._parts for host in found(part, summary) or ()})
        for rows in matching_rows(self._root, path, self.rows.content, Wanted("host", hosts)):
            yield from self.rows.each(by_host(rows, self._shards))


class ReadTrapsFn(_ReadHostsFn):
    """The rows of traps for the hosts of the round and those with throttled or trapped templates."""

    rows, _parts = Output(TRAPS), ("hosts", "trap_hosts")


class ReadTrapSamplesFn(_ReadHostsFn):
    """The rows of trap_samples for the hosts of the round."""

    rows, _parts = Output(TRAP_SAMPLES), ("hosts",)


class ReadTrapQueuesFn(StageFn):
    """All rows of trap_queues, by shard of their host."""

    rows = Output(TRAP_QUEUES)

    def __init__(self, root: str, shards: int) -> None:
        self._root, self._shards = root, shards

    def process(self, path: str, *_: Found) -> Iterator[TaggedOutput]:
        rows = read_table(self._root, [path], TRAP_QUEUES)
        yield from self.rows.each(by_host(rows, self._shards))


def hosts_of(batch: Batch) -> Iterator[tuple[int, set[str]]]:
    """The hosts of a batch of YIELDS."""
    yield batch[0], set(from_ipc([batch[1]], YIELDS)["host"].to_pylist())
