"""The stages of an update step that read and write traps, and find the pages of a round without news."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import apache_beam as beam
import pyarrow as pa
import pyarrow.compute as pc
from apache_beam.pvalue import TaggedOutput

from ..batches.batch_schemas import STALE, YIELDS, CandidateRow
from ..batches.partitions import Partition, StageFn, tagged
from ..batches.semi_join import CollectHosts
from ..batches.writers import closed
from ..duplicates.clusters import VERDICTS
from ..duplicates.exact import DUPLICATES
from ..outcomes import Outcome
from ..settings import Traps
from ..tables.batches import Batch, by_host, from_ipc, read_ipc, to_ipc
from ..tables.key_scan import Wanted, matching_rows
from ..tables.schemas import TRAP_QUEUES, TRAP_SAMPLES, TRAPS, Row
from ..tables.table_files import TableFile, TableWriter, open_parquet, read_table, statistics
from .allow_list import compile_allow_list
from .judge import queues_of
from .news import Duplicates
from .template_rows import REOPENED, State
from .watch_host import watch_host


class WatchFn(StageFn):
    """Finds the pages of a round without news, and judges templates by them; writes traps and trap_samples.

    Takes a shard of hosts.
    """

    def __init__(self, root: str, round_: int, settings: Traps, key: bytes) -> None:
        super().__init__()
        self._root, self._round, self._allow, self._key = root, round_, settings.allow, key

    def process(self, partition: Partition) -> "Iterator[TaggedOutput]":
        number, sides = partition
        is_allowed = compile_allow_list(self._allow)
        duplicates = Duplicates(
            _originals(from_ipc(sides["duplicates"], DUPLICATES), "duplicate_of"),
            _originals(from_ipc(sides["near"], VERDICTS), "near_duplicate_of"),
        )
        tables = {"yields": YIELDS, "traps": TRAPS, "samples": TRAP_SAMPLES, "queues": TRAP_QUEUES}
        requests, traps, trap_samples, queues = (
            _by_host(from_ipc(sides[name], schema).to_pylist()) for name, schema in tables.items()
        )
        stale, rows, counts = list[Row](), dict[str, list[Row]](traps=[], trap_samples=[]), Counter[str]()
        for host in sorted(requests.keys() | traps.keys()):
            sides_ = (traps.get(host, ()), trap_samples.get(host, ()), queues_of(queues.get(host, ()), self._round - 1))
            last = (is_allowed, self._round, self._key)
            watched = watch_host(host, requests.get(host, ()), duplicates, *sides_, *last)
            stale += ({"url_key": key, "is_gone": False} for key in watched.stale)
            stale += ({"url_key": key, "is_gone": True} for key in watched.gone)
            if watched.probes:
                yield TaggedOutput("probes", watched.probes)
            rows["traps"] += watched.traps
            rows["trap_samples"] += watched.trap_samples
            counts.update({REOPENED: watched.reopened, Outcome.GONE_BY_CONTENT: len(watched.gone)})
            if watched.trapped:
                yield TaggedOutput("trapped", tuple(watched.trapped))
        for table, part in rows.items():
            writer = TableWriter(self._root, table, self._round)
            writer.write_rows(part, +counts if table == "traps" else None)
            yield from tagged("files", closed(writer))
        yield TaggedOutput("stale", (number, to_ipc(pa.Table.from_pylist(stale, schema=STALE))))


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


class _ReadFn(beam.DoFn):
    """The rows of a table by shard of the host, those of some hosts if there are such side inputs."""

    def __init__(self, root: str, schema: pa.Schema, shards: int) -> None:
        self._root, self._schema, self._shards = root, schema, shards

    def process(self, path: str, hosts: Wanted | None = None, more: Wanted | None = None) -> Iterator[Batch]:
        if hosts is None:
            yield from by_host(read_table(self._root, [path], self._schema), self._shards)
            return
        wanted = Wanted("host", sorted({*hosts.values, *(more.values if more else ())}))
        for rows in matching_rows(self._root, path, self._schema, wanted):
            yield from by_host(rows, self._shards)


def hosts_of(batch: Batch) -> Iterator[str]:
    """The hosts of a batch of YIELDS."""
    yield from read_ipc(batch[1], ["host"])["host"].unique().to_pylist()


class Watched(NamedTuple):
    """The templates of a round's hosts, judged."""

    stale: "beam.PCollection[Batch]"  # STALE: the pages without news, and those of any address, by shard
    trapped: "beam.PCollection[tuple]"  # `TrappedHost` as a tuple, of each host with throttled or trapped templates
    probes: "beam.PCollection[list[CandidateRow]]"  # URLs that cannot exist
    files: "beam.PCollection[TableFile]"


class JudgeTemplates(beam.PTransform):
    """Judges the templates of the hosts of a round by what their pages yield, and by what earlier rounds have found.

    Takes YIELDS, DUPLICATES and VERDICTS (`near`) by shard of the host; `files` are those of traps, samples and queues.
    """

    def __init__(self, root: str, files: Mapping[str, Sequence[str]], shards: int, watch: WatchFn) -> None:
        super().__init__()
        self._root, self._files, self._shards, self._watch = root, files, shards, watch

    def expand(self, found: "dict[str, beam.PCollection[Batch]]") -> "Watched":
        pipeline, root, shards = found["yields"].pipeline, self._root, self._shards
        paths = {name: pipeline | f"Files{name.title()}" >> beam.Create(some) for name, some in self._files.items()}
        of_round = found["yields"] | "Hosts" >> beam.FlatMap(hosts_of) | "CollectHosts" >> CollectHosts()
        trapped = paths["traps"] | "HostsWithTraps" >> beam.FlatMap(hosts_with_traps, root)
        requested = beam.pvalue.AsSingleton(of_round)
        judged = beam.pvalue.AsSingleton(trapped | "CollectTrapped" >> CollectHosts())
        earlier = {
            "traps": paths["traps"]
            | "Spread" >> beam.Reshuffle()
            | "ReadTraps" >> beam.ParDo(_ReadFn(root, TRAPS, shards), requested, judged),
            "samples": paths["samples"] | "ReadSamples" >> beam.ParDo(_ReadFn(root, TRAP_SAMPLES, shards), requested),
            "queues": paths["queues"] | "ReadQueues" >> beam.ParDo(_ReadFn(root, TRAP_QUEUES, shards)),
        }
        by_shard = {**found, **earlier} | "ByShard" >> beam.CoGroupByKey()
        return Watched(*(by_shard | "Watch" >> beam.ParDo(self._watch).with_outputs(*Watched._fields)))
