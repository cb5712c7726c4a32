"""The last part of an update step: writes the new states of URLs, and the changes to the frontier."""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple

import apache_beam as beam
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ..aliases.learn import by_class
from ..aliases.learned_rules import InForce
from ..duplicates.clusters import VERDICTS
from ..settings import Limits, Settings, Traps
from ..storage.batches import Batch, from_ipc, split, split_by, to_ipc
from ..storage.bloom import shard
from ..storage.exchange import CANDIDATES, FACTS
from ..storage.key_scan import Wanted
from ..storage.schemas import FRONTIER, FRONTIER_LEFT, URLS
from ..storage.table_files import TableFile, TableWriter, open_parquet, statistics
from ..storage.waiting import MATCHED, Left, Waiting, groups, matching, read_group
from ..storage.writers import WriteRows
from ..traps.allow_list import compile_allow_list
from ..traps.holds import Holds, QueueName, Row, count_held, count_waiting, hold
from .files import write_frontier
from .url_states import advance


class Changes(NamedTuple):
    """The difference between two frontiers."""

    written: list[Row]
    left: list[Row]


def changes(before: Sequence[Row], after: Sequence[Row]) -> Changes:
    """The rows that are new or have changed, and those that are gone; rows that wait are the same objects in both."""
    old, new = {id(row) for row in before}, {id(row) for row in after}
    return Changes([row for row in after if id(row) not in old], [row for row in before if id(row) not in new])


class _AdvanceFn(beam.DoFn):
    def __init__(self, root: str, round_: int, limits: Limits, traps: Traps, shards: int) -> None:
        self._root, self._round, self._limits, self._traps = root, round_, limits, traps
        self._shards = shards

    def process(
        self, partition: tuple[int, Iterable[tuple[str, bytes]]], in_force: InForce, trapped: list[tuple]
    ) -> Iterator[Any]:
        sides: dict[str, list[bytes]] = {}
        for side, batch in partition[1]:
            sides.setdefault(side, []).append(batch)
        schemas = {"candidates": CANDIDATES, "facts": FACTS, "earlier": URLS, "frontier": MATCHED, "near": VERDICTS}
        rows = {name: from_ipc(sides.get(name, ()), schema).to_pylist() for name, schema in schemas.items()}
        urls, following = advance(**rows, round_=self._round, limits=self._limits, rules=in_force.rules)
        holds = Holds(trapped, compile_allow_list(self._traps.allow))
        urls, kept = hold(urls, following, rows["earlier"], holds, self._round)
        written, left = changes(rows["frontier"], kept)
        if urls:
            writer = TableWriter(self._root, "urls", self._round)
            writer.write_rows(urls, Counter(row["state"] for row in urls))
            if file := writer.close():
                yield file
        if written:
            table = pa.Table.from_pylist(written, schema=FRONTIER)
            numbers = [shard(row["host"], self._shards) for row in written] if self._shards > 1 else [0] * len(written)
            for number, part in split_by(table, numbers):
                yield beam.pvalue.TaggedOutput("written", (number, to_ipc(part)))
        if left:
            table = pa.Table.from_pylist([row | {"round": self._round} for row in left], schema=FRONTIER_LEFT)
            yield beam.pvalue.TaggedOutput("left", (0, to_ipc(table)))
        if holds:
            waiting = count_waiting(written, holds)
            waiting.subtract(count_waiting(left, holds))
            held = count_held(changes(following, kept).left, holds)
            for name in waiting.keys() | held.keys():
                yield beam.pvalue.TaggedOutput("queues", (name, (waiting[name], held[name])))


class AdvanceUrls(beam.PTransform):
    """Joins the URLs found and visited with those of all earlier rounds; writes urls and the changes of the frontier.

    Takes {"candidates": CANDIDATES, "facts": FACTS, "earlier": URLS, "frontier": MATCHED, "near": VERDICTS} by
    partition of url_key, the alias rules, the state of the hosts with throttled or trapped templates (`TrappedHost`),
    which determines the frontier rows that are held, and the waiting URLs of these hosts by template (`ScanTrapped`).
    """

    def __init__(
        self,
        root: str,
        round_: int,
        settings: Settings,
        partitions: int,
        shards: int,
        in_force: "beam.PCollection[InForce]",
        trapped: "beam.PCollection[tuple]",
        queues: "beam.PCollection[tuple[QueueName, tuple[int, int]]]",
    ) -> None:
        super().__init__()
        self._root, self._round = root, round_
        self._fn = _AdvanceFn(root, round_, settings.limits, settings.traps, shards)
        self._partitions = partitions
        self._in_force, self._trapped = beam.pvalue.AsSingleton(in_force), beam.pvalue.AsList(trapped)
        self._queues = queues

    def expand(self, sides: "dict[str, beam.PCollection[Batch]]") -> beam.PCollection[TableFile]:
        tagged = tuple(side | f"Tag{name.title()}" >> beam.Map(_tag, name) for name, side in sides.items())
        advanced = (
            tagged
            | "Sides" >> beam.Flatten()
            | "ByClass" >> beam.FlatMap(_by_class, self._in_force, self._partitions)
            | "GroupByClass" >> beam.GroupByKey()
            | "Advance"
            >> beam.ParDo(self._fn, self._in_force, self._trapped).with_outputs(
                "written", "left", "queues", main="urls"
            )
        )
        frontier = (
            advanced.written
            | "GroupByShard" >> beam.GroupByKey()
            | "WriteFrontier" >> beam.FlatMap(_write_frontier, self._root, self._round + 1)
        )
        left = (
            advanced.left
            | "GroupLeft" >> beam.GroupByKey()
            | "WriteLeft" >> beam.FlatMap(_write_left, self._root, self._round)
        )
        queues = (
            (advanced.queues, self._queues)
            | "Queues" >> beam.Flatten()
            | "AddQueues" >> beam.CombinePerKey(_add_pairs)
            | "QueueRows" >> beam.Map(_queue_row, self._round)
            | "WriteQueues" >> WriteRows(self._root, "trap_queues", self._round)
        )
        return (advanced.urls, frontier, left, queues) | "Written" >> beam.Flatten()


def _tag(batch: Batch, side: str) -> tuple[str, Batch]:
    return side, batch


def _by_class(tagged: tuple[str, Batch], in_force: InForce, count: int) -> Iterator[tuple[int, tuple[str, bytes]]]:
    side, batch = tagged
    yield from ((number, (side, data)) for number, data in by_class(batch, in_force, count))


def _write_frontier(batches: tuple[int, Iterable[bytes]], root: str, round_: int) -> Iterator[TableFile]:
    if file := write_frontier(root, round_, from_ipc(batches[1], FRONTIER)):
        yield file


def _write_left(batches: tuple[int, Iterable[bytes]], root: str, round_: int) -> Iterator[TableFile]:
    writer = TableWriter(root, "frontier_left", round_)
    writer.write(from_ipc(batches[1], FRONTIER_LEFT).sort_by([("path", "ascending"), ("number", "ascending")]))
    if file := writer.close():
        yield file


def _add_pairs(pairs: Iterable[tuple[int, int]]) -> tuple[int, int]:
    waiting = held = 0
    for one, other in pairs:
        waiting, held = waiting + one, held + other
    return waiting, held


def _queue_row(item: tuple[QueueName, tuple[int, int]], round_: int) -> Row:
    (host, template, kind), (waiting, held) = item
    return {"host": host, "template": template, "kind": kind, "round": round_, "waiting": waiting, "held": held}


class _ReadMatchingFn(beam.DoFn):
    def __init__(self, root: str, left: Sequence[str], partitions: int) -> None:
        self._root, self._partitions = root, partitions
        self._left = Left(root, left)

    def process(self, path: str, *wanted: Wanted) -> Iterator[Batch]:
        with open_parquet(self._root, path) as file:
            for rows in matching(file, path, self._left.of(path), wanted):
                yield from split(rows, "url_key", self._partitions)


class ReadMatchingWaiting(beam.PTransform):
    """The waiting URLs whose keys may be among those of `CollectKeys`, as MATCHED."""

    def __init__(self, root: str, waiting: Waiting, partitions: int, *keys: beam.PCollection) -> None:
        super().__init__()
        self._paths, self._fn = waiting.frontier, _ReadMatchingFn(root, waiting.left, partitions)
        self._keys = [beam.pvalue.AsSingleton(one) for one in keys]

    def expand(self, pipeline: beam.Pipeline) -> beam.PCollection[Batch]:
        return (
            pipeline | "FrontierFiles" >> beam.Create(self._paths) | "ReadMatching" >> beam.ParDo(self._fn, *self._keys)
        )


class ScannedTraps(NamedTuple):
    """The outputs of `ScanTrapped`."""

    held: "beam.PCollection[Batch]"  # FRONTIER: rows that are to be held
    queues: "beam.PCollection[tuple[QueueName, tuple[int, int]]]"  # waiting URLs, before the round


class _ScanTrappedFn(beam.DoFn):
    def __init__(self, root: str, left: Sequence[str], partitions: int, traps: Traps) -> None:
        self._root, self._partitions, self._traps = root, partitions, traps
        self._left = Left(root, left)

    def process(self, path: str, trapped: list[tuple]) -> Iterator[Any]:
        holds = Holds(trapped, compile_allow_list(self._traps.allow))
        if not holds:
            return
        waiting, hosts = Counter[QueueName](), pa.array(holds.hosts, pa.string())
        with open_parquet(self._root, path) as file:
            for group in groups(file, self._left.of(path)):
                known = statistics(file, group.number, "host")
                if (
                    known is not None
                    and known.has_min_max
                    and not any(known.min <= h <= known.max for h in holds.hosts)
                ):
                    continue
                mask = pc.is_in(read_group(file, group.number, ["host"])["host"], hosts)
                mask = np.asarray(mask) & group.waits
                if not mask.any():
                    continue
                table = read_group(file, group.number, FRONTIER.names).filter(pa.array(mask))
                rows = table.to_pylist()
                waiting.update(count_waiting(rows, holds))
                held = table.filter(pa.array([holds(row) for row in rows], pa.bool_()))
                if held.num_rows:
                    yield from split(held, "url_key", self._partitions)
        for name, count in waiting.items():
            yield beam.pvalue.TaggedOutput("queues", (name, (count, 0)))


class ScanTrapped(beam.PTransform):
    """Reads the waiting URLs of the hosts with throttled or trapped templates; opens no file if there are none."""

    def __init__(
        self, root: str, waiting: Waiting, partitions: int, traps: Traps, trapped: "beam.PCollection[tuple]"
    ) -> None:
        super().__init__()
        self._paths, self._fn = waiting.frontier, _ScanTrappedFn(root, waiting.left, partitions, traps)
        self._trapped = beam.pvalue.AsList(trapped)

    def expand(self, pipeline: beam.Pipeline) -> "ScannedTraps":
        scanned = (
            pipeline
            | "WaitingFiles" >> beam.Create(self._paths)
            | "Scan" >> beam.ParDo(self._fn, self._trapped).with_outputs("queues", main="held")
        )
        return ScannedTraps(scanned.held, scanned.queues)
