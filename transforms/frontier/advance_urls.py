"""The last part of an update step: writes the new states of URLs, and the changes to the frontier."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import apache_beam as beam
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ..aliases.learned_rules import KnownRules, RulesInForce
from ..aliases.sample import Sample
from ..directory.waiting import MATCHED, Left, Waiting, groups, matching, read_groups
from ..duplicates.clusters import VERDICTS
from ..exchange.batch_schemas import CANDIDATES, FACTS
from ..exchange.writers import write_rows
from ..settings import Limits, Traps
from ..tables.batches import Batch, from_ipc, split, split_by, to_ipc
from ..tables.bloom import shard
from ..tables.key_scan import Wanted
from ..tables.schemas import FRONTIER, FRONTIER_LEFT, REVISITS, URLS
from ..tables.table_files import TableWriter, open_parquet, statistics
from ..traps.allow_list import compile_allow_list
from ..traps.holds import Holds, QueueName, Row, count_held, count_waiting, hold
from .due_pages import write_due_pages
from .files import write_frontier
from .revisit_plan import Plan, add_observed, page_rows, plan_visits, read_observed
from .url_states import advance


class Changes(NamedTuple):
    """The difference between two frontiers."""

    written: list[Row]
    left: list[Row]


def changes(before: Sequence[Row], after: Sequence[Row]) -> Changes:
    """The rows that are new or have changed, and those that are gone; rows that wait are the same objects in both."""
    old, new = {id(row) for row in before}, {id(row) for row in after}
    return Changes([row for row in after if id(row) not in old], [row for row in before if id(row) not in new])


class AdvanceFn(beam.DoFn):
    """Joins the URLs found and visited with those of all earlier rounds; writes urls, yields changes of the frontier.

    Takes a partition of url_key, or of the normal form by alias rules (`ByClassFn`), with {"candidates": CANDIDATES,
    "facts": FACTS, "earlier": URLS, "frontier": MATCHED, "near": VERDICTS}; the rows of table aliases of this round;
    and the hosts with throttled or trapped templates (`TrappedHost`), which determine the rows that are held.
    Yields, tagged: "files"; "written" (FRONTIER) by shard; "left" (FRONTIER_LEFT) and "queues", lists of
    (`QueueName`, (waiting, held)), in one partition; "aliases", lists of (`Stratum`, `Count`), in one partition; with a
    plan of revisits, "due" (REVISITS), "pages" and "observed",
    lists for `WritePlanFn`, in one partition.
    """

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
    ) -> None:
        self._root, self._round, self._limits, self._traps = root, round_, limits, traps
        self._shards, self._in_force, self._plan = shards, RulesInForce(known), plan
        self._known, self._secret, self._max_depth = known, secret, max_depth

    def process(
        self, partition: tuple[int, Mapping[str, Iterable[bytes]]], judged: list[Row], trapped: list[tuple]
    ) -> Iterator[Any]:
        sides = partition[1]
        schemas = {"candidates": CANDIDATES, "facts": FACTS, "earlier": URLS, "frontier": MATCHED, "near": VERDICTS}
        rows = {name: from_ipc(sides.get(name, ()), schema).to_pylist() for name, schema in schemas.items()}
        rules = self._in_force.after(judged).rules
        sample = Sample(self._secret, self._known.counts)
        urls, following = advance(
            **rows,
            round_=self._round,
            limits=self._limits,
            rules=rules,
            forms=self._known.forms,
            sample=sample,
            max_depth=self._max_depth,
        )
        if sample.taken:
            yield beam.pvalue.TaggedOutput("aliases", (0, list(sample.taken.items())))
        holds = Holds(trapped, compile_allow_list(self._traps.allow))
        urls, kept = hold(urls, following, rows["earlier"], holds, self._round)
        if self._plan is not None:
            hosts = read_observed(self._root, self._plan.hosts, {fact["host"] for fact in rows["facts"]})
            planned = plan_visits(urls, rows["facts"], rows["earlier"], hosts, self._plan)
            urls = planned.urls
            if planned.due:
                yield beam.pvalue.TaggedOutput("due", (0, to_ipc(pa.Table.from_pylist(planned.due, schema=REVISITS))))
            if planned.pages:
                yield beam.pvalue.TaggedOutput("pages", (0, list(planned.pages.items())))
            if planned.hosts:
                yield beam.pvalue.TaggedOutput("observed", (0, list(planned.hosts.items())))
        written, left = changes(rows["frontier"], kept)
        if urls:
            writer = TableWriter(self._root, "urls", self._round)
            writer.write_rows(urls, Counter(row["state"] for row in urls))
            yield beam.pvalue.TaggedOutput("files", (0, writer.close()))
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
            names = sorted(waiting.keys() | held.keys())
            if names:
                queues = [(name, (waiting[name], held[name])) for name in names]
                yield beam.pvalue.TaggedOutput("queues", (0, queues))


class WriteFrontierFn(beam.DoFn):
    """Takes a shard with {"written": FRONTIER}, and writes it as one file of the next frontier."""

    def __init__(self, root: str, round_: int) -> None:
        self._root, self._round = root, round_

    def process(self, partition: tuple[int, Mapping[str, Iterable[bytes]]]) -> Iterator[Any]:
        if file := write_frontier(self._root, self._round, from_ipc(partition[1]["written"], FRONTIER)):
            yield beam.pvalue.TaggedOutput("files", (0, file))


class WriteLeftFn(beam.DoFn):
    """Takes {"left": FRONTIER_LEFT} of a round, and writes it as one file."""

    def __init__(self, root: str, round_: int) -> None:
        self._root, self._round = root, round_

    def process(self, partition: tuple[int, Mapping[str, Iterable[bytes]]]) -> Iterator[Any]:
        writer = TableWriter(self._root, "frontier_left", self._round)
        rows = from_ipc(partition[1]["left"], FRONTIER_LEFT)
        writer.write(rows.sort_by([("path", "ascending"), ("number", "ascending")]))
        if file := writer.close():
            yield beam.pvalue.TaggedOutput("files", (0, file))


class WriteQueuesFn(beam.DoFn):
    """Takes {"queues": lists of (`QueueName`, (waiting, held))} of a round, and writes their sums as trap_queues."""

    def __init__(self, root: str, round_: int) -> None:
        self._root, self._round = root, round_

    def process(
        self, partition: tuple[int, Mapping[str, Iterable[list[tuple[QueueName, tuple[int, int]]]]]]
    ) -> Iterator[Any]:
        sums: dict[QueueName, tuple[int, int]] = {}
        for some in partition[1]["queues"]:
            for name, (waiting, held) in some:
                known = sums.get(name, (0, 0))
                sums[name] = (known[0] + waiting, known[1] + held)
        rows = [_queue_row(item, self._round) for item in sorted(sums.items())]
        if file := write_rows(self._root, "trap_queues", self._round, rows):
            yield beam.pvalue.TaggedOutput("files", (0, file))


class WritePlanFn(beam.DoFn):
    """Takes {"due", "pages", "observed"} of `AdvanceFn`, and writes revisits, change_rates and host_changes."""

    def __init__(self, root: str, round_: int, plan: Plan) -> None:
        self._root, self._round, self._plan = root, round_, plan

    def process(self, partition: tuple[int, Mapping[str, Iterable[Any]]]) -> Iterator[Any]:
        sides = partition[1]
        pages = [item for some in sides.get("pages", ()) for item in some]
        observed = [item for some in sides.get("observed", ()) for item in some]
        earlier = read_observed(self._root, self._plan.hosts, {host for host, _ in observed})
        for file in (
            write_due_pages(self._root, self._round, [from_ipc(sides.get("due", ()), REVISITS)]),
            write_rows(self._root, "change_rates", self._round, page_rows(pages, self._plan.earlier, self._round)),
            write_rows(self._root, "host_changes", self._round, add_observed(observed, earlier, self._round)),
        ):
            if file:
                yield beam.pvalue.TaggedOutput("files", (0, file))


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


class ReadWaitingByNameFn(_ReadMatchingFn):
    """As `ReadMatchingWaiting`, with the keys of some names in summaries (`stages.Summarize`)."""

    def __init__(self, root: str, left: Sequence[str], partitions: int, *names: str) -> None:
        super().__init__(root, left, partitions)
        self._names = names

    def process(self, path: str, *summaries: Mapping[str, Any]) -> Iterator[Batch]:  # type: ignore[override]
        if wanted := [summary[name] for summary in summaries for name in self._names if name in summary]:
            yield from super().process(path, *wanted)


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


class ScanTrappedFn(beam.DoFn):
    """Reads the waiting URLs of the hosts with throttled or trapped templates; opens no file if there are none.

    Takes the path of a file of the frontier and the hosts (`TrappedHost`). Yields the rows that are to be held
    (FRONTIER) by partition of url_key and, tagged "queues", the waiting URLs before the round, as `AdvanceFn`.
    """

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
                mask = pc.is_in(read_groups(file, [group.number], ["host"])["host"], hosts)
                mask = np.asarray(mask) & group.waits
                if not mask.any():
                    continue
                table = read_groups(file, [group.number], FRONTIER.names).filter(pa.array(mask))
                rows = table.to_pylist()
                waiting.update(count_waiting(rows, holds))
                held = table.filter(pa.array([holds(row) for row in rows], pa.bool_()))
                if held.num_rows:
                    yield from split(held, "url_key", self._partitions)
        if waiting:
            queues = [(name, (count, 0)) for name, count in sorted(waiting.items())]
            yield beam.pvalue.TaggedOutput("queues", (0, queues))
