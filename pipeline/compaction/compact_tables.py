"""The `compact` step for tables: merges the files that earlier steps wrote, as the index is merged."""

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from functools import partial

import apache_beam as beam

from ...transforms.batches.find_damaged import FindDamaged
from ...transforms.batches.writers import ReportFiles
from ...transforms.directory.crawl_dir import CrawlDir, Manifest, Step, next_step
from ...transforms.directory.table_runs import Run, runs_of
from ...transforms.memory.bounds import Parts, compact_bound
from ...transforms.tables.layouts import LAYOUTS
from ...transforms.tables.merge_tables import RANGE_ROWS, Part, load_of, merge, parts_of
from ...transforms.tables.table_files import TableFile
from ..attempt import Attempt, Engine, Fitted
from ..work import work_of
from .damage import Damage

LOGS = ("visits", "documents", "links", "host_turns", "rejections", "alerts", "seeds", "trap_queues")
"""Tables that are not sorted: their files are merged as they are, as long as they are small."""

_LARGEST_LOG_BYTES = 64 << 20

Choice = Callable[[Sequence[Run], float], list[Run]]
"""`table_runs.full_tier` or `table_runs.all_runs`."""


@dataclasses.dataclass(frozen=True)
class CompactTablesStep:
    """The files that a step merges, by table, and where it writes; paths are below the crawl directory."""

    root: str
    round: int
    files: Mapping[str, Sequence[TableFile]]
    report: str
    parts: Parts  # whose sizes bound the memory of a worker


def build(pipeline: beam.Pipeline, step: CompactTablesStep) -> None:
    """Split the rows of each table into ranges, and merge each range as one element; nothing if a file is damaged."""
    damaged = pipeline | "FindDamaged" >> FindDamaged(
        step.root, [file for some in step.files.values() for file in some]
    )
    merged = (
        pipeline
        | "Tables" >> beam.Create(list(step.files.items()))
        | "Parts" >> beam.FlatMap(_parts, step.root, step.parts, beam.pvalue.AsList(damaged))
        | "Spread" >> beam.Reshuffle()
        | "Merge" >> beam.FlatMap(merge, step.root, step.round)
    )
    (damaged, merged) | "Written" >> beam.Flatten() | "Report" >> ReportFiles(step.report)


def merge_tables(
    crawl: CrawlDir,
    engine: Engine,
    choose: Choice,
    damage: Damage | None = None,
    warn: Callable[[str], None] = lambda _: None,
) -> Manifest | None:
    """Merge the files that `choose` selects of each table, and commit; None if it selects none.

    It selects from the runs without a damaged file. Files are compared with what was written before they are merged;
    a damaged one is an error without `damage`. `warn` gets a line if memory is short.

    A fetched round that waits for its update is left as it is: the update reads it from the manifest of its fetch step.
    The merged files stay until they are dropped (`history.fold_history`): a reader may have opened them.
    """
    manifests, damage = crawl.manifests(), damage or Damage(crawl)
    step = next_step(manifests)
    updated = [m for m in manifests if (m.step, m.round) != ("fetch", step.round)]
    runs = {table: [run for run in runs_of(updated, table) if not damage.is_in(run)] for table in _TABLES}
    chosen = {t: choose(some, _LARGEST_LOG_BYTES if t in LOGS else float("inf")) for t, some in runs.items()}
    files = {table: [file for run in some for file in run] for table, some in chosen.items() if some}
    if not files:
        return None
    attempt = Attempt.after_earlier(crawl, Step("compact", step.round - 1))
    merged = [file for some in files.values() for file in some]
    name, load = f"round {attempt.step.round} compact", load_of(files)
    work = work_of("merge", rows=sum(file.rows for file in merged))._replace(pieces=load.pieces)
    fitted = Fitted.to_memory(engine, work, load, compact_bound, name, warn)
    plan = CompactTablesStep(crawl.root, attempt.step.round, files, attempt.report, fitted.parts)
    fitted.run(partial(build, step=plan))
    if damage.note(attempt.files()):
        attempt.clear()
        return merge_tables(crawl, engine, choose, damage, warn)
    return attempt.commit(merged=merged, memory=fitted.memory, cpu=fitted.cpu)


_TABLES = (*LAYOUTS, *LOGS)


def _parts(table: tuple[str, Sequence[TableFile]], root: str, sizes: Parts, damaged: Sequence[TableFile]) -> list[Part]:
    return [] if damaged else parts_of(root, *table, sizes.share(RANGE_ROWS))
