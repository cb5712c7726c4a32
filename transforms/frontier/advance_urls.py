"""The last part of an update step: writes the new states of URLs, and the changes to the frontier."""

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import apache_beam as beam
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from apache_beam.pvalue import TaggedOutput

from ..aliases.learned_rules import KnownRules, RulesInForce
from ..aliases.rules import Stratum
from ..aliases.sample import Count, Sample
from ..directory.waiting import MATCHED, Left, Waiting, groups, matching, read_groups
from ..duplicates.clusters import VERDICTS
from ..exchange.batch_schemas import CANDIDATES, FACTS
from ..exchange.functions import Output, Partition, Side, StageFn, WriteFn
from ..exchange.summaries import Found, found
from ..exchange.writers import write_rows
from ..settings import Limits, Traps
from ..tables.batches import Batch, split
from ..tables.bloom import shards
from ..tables.key_scan import Wanted
from ..tables.schemas import FRONTIER, FRONTIER_LEFT, REVISITS, URLS, Row
from ..tables.table_files import TableFile, TableWriter, open_parquet, statistics
from ..traps.allow_list import compile_allow_list
from ..traps.holds import Holds, QueueName, count_held, count_waiting, hold
from .due_pages import write_due_pages
from .files import write_frontier
from .link_targets import discovered_tables
from .new_urls import separate
from .revisit_plan import Bucket, Plan, add_observed, page_rows, plan_visits, read_observed
from .url_states import advance

QueueCounts = tuple[QueueName, tuple[int, int]]
"""(queue, (waiting, held))"""

PageCount = tuple[Bucket, int]
"""An item of `Planned.pages`."""

HostCount = tuple[str, tuple[float, ...]]
"""An item of `Planned.hosts`."""


class Changes(NamedTuple):
    """The difference between two frontiers."""

    written: list[Row]
    left: list[Row]


def changes(before: Sequence[Row], after: Sequence[Row]) -> Changes:
    """The rows that are new or have changed, and those that are gone; rows that wait are the same objects in both."""
    old, new = {id(row) for row in before}, {id(row) for row in after}
    return Changes([row for row in after if id(row) not in old], [row for row in before if id(row) not in new])


class AdvanceFn(WriteFn):
    """Joins the URLs found and visited with those of all earlier rounds; writes urls, yields changes of the frontier.

    Takes a partition of url_key, or of the normal form by alias rules (`ByClassFn`); the rows of table aliases of this
    round; and the hosts with throttled or trapped templates (`TrappedHost`), which determine the rows that are held.
    """

    candidates, facts, earlier = Side(CANDIDATES), Side(FACTS), Side(URLS)
    frontier, near = Side(MATCHED), Side(VERDICTS)
    written, left = Output(FRONTIER), Output(FRONTIER_LEFT)  # `written` by shard
    queues = Output(list[QueueCounts])
    aliases = Output(list[tuple[Stratum, Count]])
    due, pages, observed = Output(REVISITS), Output(list[PageCount]), Output(list[HostCount])  # with a plan of revisits

    def __init__(
        self,
        root: str,
        round_: int,
        limits: Limits,
        traps: Traps,
        shards: int,
        known: KnownRules,
        plan: Plan | None = None,
        secret: bytes = b"",
        max_depth: int | None = None,
        follows: bool = True,
    ) -> None:
        self._root, self._round, self._limits, self._traps, self._follows = root, round_, limits, traps, follows
        self._shards, self._in_force, self._plan = shards, RulesInForce(known), plan
        self._known, self._secret, self._max_depth = known, secret, max_depth

    def process(self, partition: Partition, judged: list[Row], trapped: list[tuple]) -> Iterator[TaggedOutput]:
        tables = {side.name: side.table(partition[1]) for side in self.sides()}
        rules, holds = self._in_force.after(judged).rules, Holds(trapped, compile_allow_list(self._traps.allow))
        known = [tables[name] for name in ("facts", "earlier", "frontier")]
        candidates = tables["candidates"] if self._follows else CANDIDATES.empty_table()
        new, tables["candidates"] = separate(candidates, known, {*rules.hosts, *holds.hosts})
        rows = {name: table.to_pylist() for name, table in tables.items()}
        new_urls, new_frontier = discovered_tables(new, self._round)
        del tables, known, candidates, new
        sample = Sample(self._secret, self._known.counts)
        urls, following = advance(
            **rows,
            round_=self._round,
            limits=self._limits,
            rules=rules,
            forms=self._known.forms,
            sample=sample,
            max_depth=self._max_depth,
            follows=self._follows,
        )
        yield from self.aliases.if_any(list(sample.taken.items()))
        urls, kept = hold(urls, following, rows["earlier"], holds, self._round)
        if self._plan is not None:
            hosts = read_observed(self._root, self._plan.hosts, {fact["host"] for fact in rows["facts"]})
            planned = plan_visits(urls, rows["facts"], rows["earlier"], hosts, self._plan)
            urls = planned.urls
            if planned.due:
                yield self.due.once(pa.Table.from_pylist(planned.due, schema=REVISITS))
            yield from self.pages.if_any(list(planned.pages.items()))
            yield from self.observed.if_any(list(planned.hosts.items()))
        written, left = changes(rows["frontier"], kept)
        yield from self.files.if_any(self._write_urls(_with(new_urls, urls)))
        added = _with(new_frontier, written)
        yield from self.written.split_by(added, shards(added["host"], self._shards))
        if left:
            rows_left = [row | {"round": self._round} for row in left]
            yield self.left.once(pa.Table.from_pylist(rows_left, schema=FRONTIER_LEFT))
        if holds:
            waiting = count_waiting(written, holds)
            waiting.subtract(count_waiting(left, holds))
            held = count_held(changes(following, kept).left, holds)
            names = sorted(waiting.keys() | held.keys())
            yield from self.queues.if_any([(name, (waiting[name], held[name])) for name in names])

    def _write_urls(self, urls: pa.Table) -> TableFile | None:
        writer = TableWriter(self._root, "urls", self._round)
        writer.write(urls.sort_by("url_key"), Counter(urls["state"].to_pylist()))
        return writer.close()


def _with(table: pa.Table, rows: list[Row]) -> pa.Table:
    """A table with further rows."""
    return pa.concat_tables([table, pa.Table.from_pylist(rows, schema=table.schema)])


class WriteFrontierFn(WriteFn):
    """Writes a shard as one file of the next frontier."""

    written = Side(FRONTIER)

    def __init__(self, root: str, round_: int) -> None:
        self._root, self._round = root, round_

    def process(self, partition: Partition) -> Iterator[TaggedOutput]:
        yield from self.files.if_any(write_frontier(self._root, self._round, self.written.table(partition[1])))


class WriteLeftFn(WriteFn):
    """Writes the rows that have left the frontier in a round as one file."""

    left = Side(FRONTIER_LEFT, in_one_place=True)

    def __init__(self, root: str, round_: int) -> None:
        self._root, self._round = root, round_

    def process(self, partition: Partition) -> Iterator[TaggedOutput]:
        writer = TableWriter(self._root, "frontier_left", self._round)
        writer.write(self.left.table(partition[1]).sort_by([("path", "ascending"), ("number", "ascending")]))
        yield from self.files.if_any(writer.close())


class WriteQueuesFn(WriteFn):
    """Writes the sums of the queues of a round as trap_queues."""

    queues = Side(list[QueueCounts], in_one_place=True)

    def __init__(self, root: str, round_: int) -> None:
        self._root, self._round = root, round_

    def process(self, partition: Partition) -> Iterator[TaggedOutput]:
        sums: dict[QueueName, tuple[int, int]] = {}
        for name, (waiting, held) in self.queues.values(partition[1]):
            known = sums.get(name, (0, 0))
            sums[name] = (known[0] + waiting, known[1] + held)
        rows = [_queue_row(item, self._round) for item in sorted(sums.items())]
        yield from self.files.if_any(write_rows(self._root, "trap_queues", self._round, rows))


class WritePlanFn(WriteFn):
    """Writes revisits, change_rates and host_changes of a round."""

    due = Side(REVISITS, in_one_place=True)
    pages, observed = Side(list[PageCount], in_one_place=True), Side(list[HostCount], in_one_place=True)

    def __init__(self, root: str, round_: int, plan: Plan) -> None:
        self._root, self._round, self._plan = root, round_, plan

    def process(self, partition: Partition) -> Iterator[TaggedOutput]:
        sides = partition[1]
        pages, observed = self.pages.values(sides), self.observed.values(sides)
        earlier = read_observed(self._root, self._plan.hosts, {host for host, _ in observed})
        for file in (
            write_due_pages(self._root, self._round, [self.due.table(sides)]),
            write_rows(self._root, "change_rates", self._round, page_rows(pages, self._plan.earlier, self._round)),
            write_rows(self._root, "host_changes", self._round, add_observed(observed, earlier, self._round)),
        ):
            yield from self.files.if_any(file)


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


class ReadWaitingByNameFn(StageFn):
    """As `ReadMatchingWaiting`, with the keys of some parts of summaries."""

    rows = Output(MATCHED, key="url_key")

    def __init__(self, root: str, left: Sequence[str], partitions: int, *parts: str) -> None:
        self._read, self._parts = _ReadMatchingFn(root, left, partitions), parts

    def process(self, path: str, *summaries: Found) -> Iterator[TaggedOutput]:
        if wanted := list(filter(None, (found(part, *summaries) for part in self._parts))):
            yield from self.rows.each(self._read.process(path, *wanted))


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


class ScanTrappedFn(StageFn):
    """Reads the waiting URLs of the hosts with throttled or trapped templates; opens no file if there are none.

    Takes the path of a file of the frontier and the hosts (`TrappedHost`).
    """

    held = Output(FRONTIER, key="url_key")  # the rows that are to be held
    queues = Output(list[QueueCounts])  # the waiting URLs before the round

    def __init__(self, root: str, left: Sequence[str], partitions: int, traps: Traps) -> None:
        self._root, self._partitions, self._traps = root, partitions, traps
        self._left = Left(root, left)

    def process(self, path: str, trapped: list[tuple]) -> Iterator[TaggedOutput]:
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
                mask = pc.is_in(read_groups(file, [group.number], ["host"])["host"], hosts)
                mask = np.asarray(mask) & group.waits
                if not mask.any():
                    continue
                table = read_groups(file, [group.number], FRONTIER.names).filter(pa.array(mask))
                rows = table.to_pylist()
                waiting.update(count_waiting(rows, holds))
                held = table.filter(pa.array([holds(row) for row in rows], pa.bool_()))
                if held.num_rows:
                    yield from self.held.split(held, self._partitions)
        yield from self.queues.if_any([(name, (count, 0)) for name, count in sorted(waiting.items())])
