"""The `compact` step for tables: merges the files that earlier steps wrote, as the index is merged."""

from collections.abc import Callable, Iterable, Sequence
from functools import partial

from ...transforms.batches.merge_whole import Task, merge_whole
from ...transforms.directory.crawl_dir import CrawlDir, Manifest, Step, next_step
from ...transforms.directory.table_runs import Run, runs_of
from ...transforms.memory.bounds import compact_bound
from ...transforms.tables.layouts import LAYOUTS
from ...transforms.tables.merge_tables import RANGE_ROWS, load_of, merge, parts_of
from ...transforms.tables.table_files import TableFile
from ..attempt import Attempt, Engine, Fitted
from ..work import work_of
from .damage import Damage

LOGS = ("visits", "documents", "links", "host_turns", "rejections", "alerts", "seeds", "trap_queues")
"""Tables that are not sorted: their files are merged as they are, as long as they are small."""

_LARGEST_LOG_BYTES = 64 << 20

Choice = Callable[[Sequence[Run], float], list[Run]]
"""`table_runs.full_tier` or `table_runs.all_runs`."""


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
    split = partial(_tasks, root=crawl.root, round_=attempt.step.round, rows=fitted.parts.share(RANGE_ROWS))
    items, report = list(files.items()), attempt.report
    fitted.run(partial(merge_whole, root=crawl.root, files=merged, items=items, report=report, split=split))
    if damage.note(attempt.files()):
        attempt.clear()
        return merge_tables(crawl, engine, choose, damage, warn)
    return attempt.commit(merged=merged, memory=fitted.memory, cpu=fitted.cpu)


_TABLES = (*LAYOUTS, *LOGS)


def _tasks(table: tuple[str, Sequence[TableFile]], root: str, round_: int, rows: int) -> Iterable[Task]:
    """Merge each range of the rows of a table."""
    return [partial(merge, part, root, round_) for part in parts_of(root, *table, rows)]
