"""The last part of an update step: writes the new states of URLs, and the changes to the frontier."""

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import apache_beam as beam
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from apache_beam.pvalue import TaggedOutput

from ..aliases.learned_rules import KnownRules, RulesInForce
from ..aliases.rules import Stratum
from ..aliases.sample import Count, Sample
from ..batches.batch_schemas import CANDIDATES, FACTS
from ..batches.partitions import Partition, StageFn, tagged, values
from ..batches.stage_progress import StageProgress
from ..batches.writers import ByPartition, closed, write_rows
from ..directory.waiting import MATCHED, Left, Waiting, groups, matching, read_groups
from ..duplicates.clusters import VERDICTS
from ..outcomes import Outcome
from ..settings import Limits, Traps
from ..tables.batches import Batch, batches_by, from_ipc, split, to_ipc
from ..tables.bloom import shards
from ..tables.key_scan import Wanted, groups_with
from ..tables.schemas import FRONTIER, FRONTIER_LEFT, REVISITS, URLS, Row
from ..tables.table_files import TableFile, TableWriter, open_parquet
from ..traps.allow_list import compile_allow_list
from ..traps.holds import Holds, QueueName, count_queues, hold
from .due_pages import write_due_pages
from .files import write_frontier
from .link_targets import CLAIMED, discovered_tables, is_own_redirect, separate
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


class Advanced(NamedTuple):
    """The new states of URLs, and what changes with them."""

    written: "beam.PCollection[Batch]"  # FRONTIER, by file of the next frontier
    left: "beam.PCollection[Batch]"  # FRONTIER_LEFT
    queues: "beam.PCollection[QueueCounts]"
    aliases: "beam.PCollection[tuple[Stratum, Count]]"
    due: "beam.PCollection[Batch]"  # REVISITS; this and the next two with a plan of revisits
    pages: "beam.PCollection[PageCount]"
    observed: "beam.PCollection[HostCount]"
    files: "beam.PCollection[TableFile]"


_SIDES = {"candidates": CANDIDATES, "facts": FACTS, "earlier": URLS, "frontier": MATCHED, "near": VERDICTS}


class AdvanceFn(StageFn):
    """Joins the URLs found and visited with those of all earlier rounds; writes urls, yields changes of the frontier.

    Takes a partition of url_key, or of the normal form by alias rules (`ByClassFn`); the rows of table aliases of this
    round; and the hosts with throttled or trapped templates (`TrappedHost`), which determine the rows that are held.
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
        follows: bool = True,
        progress: StageProgress | None = None,
    ) -> None:
        super().__init__(progress)
        self._root, self._round, self._limits, self._traps, self._follows = root, round_, limits, traps, follows
        self._shards, self._in_force, self._plan = shards, RulesInForce(known), plan
        self._known, self._secret, self._max_depth = known, secret, max_depth

    def process(self, partition: Partition, judged: list[Row], trapped: list[tuple]) -> "Iterator[TaggedOutput]":
        tables = {name: from_ipc(partition[1][name], schema) for name, schema in _SIDES.items()}
        rules, holds = self._in_force.after(judged).rules, Holds(trapped, compile_allow_list(self._traps.allow))
        known = [tables[name] for name in ("facts", "earlier", "frontier")]
        candidates = tables["candidates"] if self._follows else CANDIDATES.empty_table()
        new, tables["candidates"] = separate(candidates, known, {*rules.hosts, *holds.hosts})
        rows = {name: table.to_pylist() for name, table in tables.items()}
        for fact in rows["facts"] if holds.gone else ():
            fact["outcome"] = Outcome.GONE_BY_CONTENT if fact["url_key"] in holds.gone else fact["outcome"]
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
        yield from tagged("aliases", sample.taken.items())
        urls, kept = hold(urls, following, rows["earlier"], holds, self._round)
        if self._plan is not None:
            hosts = read_observed(self._root, self._plan.hosts, {fact["host"] for fact in rows["facts"]})
            planned = plan_visits(urls, rows["facts"], rows["earlier"], hosts, self._plan)
            urls = planned.urls
            if planned.due:
                yield TaggedOutput("due", (0, to_ipc(pa.Table.from_pylist(planned.due, schema=REVISITS))))
            yield from tagged("pages", planned.pages.items())
            yield from tagged("observed", planned.hosts.items())
        written, left = changes(rows["frontier"], kept)
        visited = {fact["url_key"] for fact in rows["facts"]}
        claimed = sum(is_own_redirect(row) and row["url_key"] not in visited for row in urls)
        writer, urls = TableWriter(self._root, "urls", self._round), _with(new_urls, urls).sort_by("url_key")
        writer.write(urls, Counter(urls["state"].to_pylist()) | ({CLAIMED: claimed} if claimed else {}))
        yield from tagged("files", closed(writer))
        added = _with(new_frontier, written)
        yield from tagged("written", batches_by(added, shards(added["host"], self._shards)))
        if left:
            rows_left = [row | {"round": self._round} for row in left]
            yield TaggedOutput("left", (0, to_ipc(pa.Table.from_pylist(rows_left, schema=FRONTIER_LEFT))))
        if holds:
            waiting = count_queues(written, holds)
            waiting.subtract(count_queues(left, holds))
            held = count_queues(changes(following, kept).left, holds)
            names = sorted(waiting.keys() | held.keys())
            yield from tagged("queues", ((name, (waiting[name], held[name])) for name in names))


def _with(table: pa.Table, rows: list[Row]) -> pa.Table:
    """A table with further rows."""
    return pa.concat_tables([table, pa.Table.from_pylist(rows, schema=table.schema)])


class AdvanceUrls(beam.PTransform):
    """Advances the states of URLs; see `AdvanceFn`. `judged` and `trapped` are its side inputs.

    Takes CANDIDATES, FACTS, the `earlier` rows of urls, the waiting rows of the `frontier` as MATCHED, and VERDICTS
    (`near`), all by url_key; `by_class` moves them to the partitions of their normal forms.
    """

    def __init__(
        self, advance: AdvanceFn, by_class: beam.DoFn, judged: beam.PCollection, trapped: beam.PCollection
    ) -> None:
        super().__init__()
        self._advance, self._by_class = advance, by_class
        self._judged, self._trapped = beam.pvalue.AsList(judged), beam.pvalue.AsList(trapped)

    def expand(self, found: "dict[str, beam.PCollection[Batch]]") -> "Advanced":
        by_url = {
            name: rows | f"ByClass{name.title()}" >> beam.ParDo(self._by_class, self._judged)
            for name, rows in found.items()
        } | "ByUrl" >> beam.CoGroupByKey()
        advance = beam.ParDo(self._advance, self._judged, self._trapped)
        return Advanced(*(by_url | "Advance" >> advance.with_outputs(*Advanced._fields)))


class _WriteFrontierFn(StageFn):
    def __init__(self, root: str, round_: int, progress: StageProgress | None) -> None:
        super().__init__(progress)
        self._root, self._round = root, round_

    def process(self, partition: Partition) -> Iterator[TableFile]:
        if file := write_frontier(self._root, self._round, from_ipc(partition[1]["rows"], FRONTIER)):
            yield file


class WriteFrontier(beam.PTransform):
    """Writes each partition of FRONTIER as one file of the frontier of a round."""

    def __init__(self, root: str, round_: int, progress: StageProgress | None = None) -> None:
        super().__init__()
        self._fn = _WriteFrontierFn(root, round_, progress)

    def expand(self, rows: "beam.PCollection[Batch]") -> "beam.PCollection[TableFile]":
        return {"rows": rows} | "ByFile" >> beam.CoGroupByKey() | "Write" >> beam.ParDo(self._fn)


def write_left(partition: Partition, root: str, round_: int) -> Iterator[TableFile]:
    """Write the rows that have left the frontier in a round (FRONTIER_LEFT) as one file."""
    writer = TableWriter(root, "frontier_left", round_)
    rows = from_ipc(partition[1]["rows"], FRONTIER_LEFT)
    writer.write(rows.sort_by([("path", "ascending"), ("number", "ascending")]))
    yield from closed(writer)


def write_queues(queues: list[QueueCounts], root: str, round_: int) -> Iterator[TableFile]:
    """Write the sums of the queues of a round as trap_queues."""
    sums: dict[QueueName, tuple[int, int]] = {}
    for name, (waiting, held) in queues:
        known = sums.get(name, (0, 0))
        sums[name] = (known[0] + waiting, known[1] + held)
    rows = [
        {"host": host, "template": template, "kind": kind, "round": round_, "waiting": waiting, "held": held}
        for (host, template, kind), (waiting, held) in sorted(sums.items())
    ]
    yield from write_rows(root, "trap_queues", round_, rows)


class WritePlan(beam.PTransform):
    """Writes revisits, change_rates and host_changes of a round."""

    def __init__(self, root: str, round_: int, plan: Plan) -> None:
        super().__init__()
        self._write = ByPartition(_write_plan, root, round_, plan)

    def expand(self, advanced: Advanced) -> "beam.PCollection[TableFile]":
        sides = {"due": advanced.due}
        for name, counts in (("pages", advanced.pages), ("observed", advanced.observed)):
            sides[name] = counts | f"{name.title()}InOnePlace" >> beam.Map(_alone)
        return sides | "Together" >> self._write


def _write_plan(partition: Partition, root: str, round_: int, plan: Plan) -> Iterator[TableFile]:
    sides = partition[1]
    pages, observed = values(sides["pages"]), values(sides["observed"])
    earlier = read_observed(root, plan.hosts, {host for host, _ in observed})
    if file := write_due_pages(root, round_, [from_ipc(sides["due"], REVISITS)]):
        yield file
    yield from write_rows(root, "change_rates", round_, page_rows(pages, plan.earlier, round_))
    yield from write_rows(root, "host_changes", round_, add_observed(observed, earlier, round_))


def _alone(value: Any) -> tuple[int, list[Any]]:
    return 0, [value]


def _read_matching(path: str, *keys: Wanted, root: str, left: Left, partitions: int) -> Iterator[Batch]:
    if wanted := [one for one in keys if one.values]:
        with open_parquet(root, path) as file:
            for rows in matching(file, path, left.of(path), wanted):
                yield from split(rows, "url_key", partitions)


class ReadMatchingWaiting(beam.PTransform):
    """The waiting URLs whose keys may be among those of `CollectKeys`, as MATCHED."""

    def __init__(self, root: str, waiting: Waiting, partitions: int, *keys: beam.PCollection) -> None:
        super().__init__()
        self._paths, left = waiting.frontier, Left(root, waiting.left)
        wanted = (beam.pvalue.AsSingleton(one) for one in keys)
        self._each = beam.FlatMap(_read_matching, *wanted, root=root, left=left, partitions=partitions)

    def expand(self, pipeline: beam.Pipeline) -> "beam.PCollection[Batch]":
        return pipeline | "FrontierFiles" >> beam.Create(self._paths) | "ReadMatching" >> self._each


class Scanned(NamedTuple):
    """The waiting URLs of the hosts with throttled or trapped templates."""

    held: "beam.PCollection[Batch]"  # FRONTIER by url_key: the rows that are to be held
    queues: "beam.PCollection[QueueCounts]"  # the waiting URLs before the round


class ScanTrappedFn(StageFn):
    """Reads the waiting URLs of the hosts with throttled or trapped templates; opens no file if there are none.

    Takes the path of a file of the frontier and the hosts (`TrappedHost`).
    """

    def __init__(
        self, root: str, left: Sequence[str], partitions: int, traps: Traps, progress: StageProgress | None = None
    ) -> None:
        super().__init__(progress)
        self._root, self._partitions, self._traps = root, partitions, traps
        self._left = Left(root, left)

    def process(self, path: str, trapped: list[tuple]) -> "Iterator[TaggedOutput]":
        holds = Holds(trapped, compile_allow_list(self._traps.allow))
        if not holds:
            return
        waiting, hosts = Counter[QueueName](), holds.hosts
        with open_parquet(self._root, path) as file:
            chosen = {*groups_with(file, "host", hosts)}
            for group in (group for group in groups(file, self._left.of(path)) if group.number in chosen):
                mask = pc.is_in(read_groups(file, [group.number], ["host"])["host"], pa.array(hosts, pa.string()))
                mask = np.asarray(mask) & group.waits
                if not mask.any():
                    continue
                table = read_groups(file, [group.number], FRONTIER.names).filter(pa.array(mask))
                rows = table.to_pylist()
                waiting.update(count_queues(rows, holds))
                held = table.filter(pa.array([holds(row) for row in rows], pa.bool_()))
                if held.num_rows:
                    yield from tagged("held", split(held, "url_key", self._partitions))
        yield from tagged("queues", ((name, (count, 0)) for name, count in sorted(waiting.items())))


class ScanTrapped(beam.PTransform):
    """Reads the waiting URLs of the hosts with throttled or trapped templates (`TrappedHost`)."""

    def __init__(self, waiting: Waiting, scan: ScanTrappedFn, trapped: beam.PCollection) -> None:
        super().__init__()
        self._paths, self._scan, self._trapped = waiting.frontier, scan, beam.pvalue.AsList(trapped)

    def expand(self, pipeline: beam.Pipeline) -> "Scanned":
        paths = pipeline | "FrontierFiles" >> beam.Create(self._paths)
        return Scanned(*(paths | "Scan" >> beam.ParDo(self._scan, self._trapped).with_outputs(*Scanned._fields)))
