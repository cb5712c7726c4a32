"""Chooses the files of tables that are merged, as the index is."""

from collections.abc import Callable, Iterable, Sequence
from functools import partial

from ...transforms.batches.merge_whole import Task
from ...transforms.directory.crawl_dir import CrawlDir, Manifest, next_step
from ...transforms.directory.table_runs import Run, runs_of
from ...transforms.memory.bounds import Parts
from ...transforms.tables.layouts import LAYOUTS
from ...transforms.tables.merge_tables import RANGE_ROWS, load_of, merge, parts_of
from ...transforms.tables.table_files import TableFile
from ..work import work_of
from .compact import Merge
from .damage import Damage

LOGS = ("visits", "documents", "links", "host_turns", "rejections", "alerts", "seeds", "trap_queues")
"""Tables that are not sorted: their files are merged as they are, as long as they are small."""

_LARGEST_LOG_BYTES = 64 << 20
_TABLES = (*LAYOUTS, *LOGS)

Select = Callable[[Sequence[Run], float], list[Run]]
"""`table_runs.full_tier` or `table_runs.all_runs`."""


def choose_tables(crawl: CrawlDir, manifests: Sequence[Manifest], damage: Damage, select: Select) -> Merge | None:
    """The files that `select` chooses of each table, from the runs without a damaged file.

    A fetched round that waits for its update is left as it is: the update reads it from the manifest of its fetch step.
    """
    step = next_step(manifests)
    updated = [m for m in manifests if (m.step, m.round) != ("fetch", step.round)]
    runs = {table: [run for run in runs_of(updated, table) if not damage.is_in(run)] for table in _TABLES}
    chosen = {t: select(some, _LARGEST_LOG_BYTES if t in LOGS else float("inf")) for t, some in runs.items()}
    files = {table: [file for run in some for file in run] for table, some in chosen.items() if some}
    if not files:
        return None
    merged = [file for some in files.values() for file in some]
    return Merge(
        read=merged,
        split=[partial(_tasks, table, some, crawl.root, step.round - 1) for table, some in files.items()],
        work=work_of("merge", rows=sum(file.rows for file in merged)),
        load=load_of(files),
        tables=merged,
    )


def _tasks(table: str, files: Sequence[TableFile], root: str, round_: int, parts: Parts) -> Iterable[Task]:
    """Merge each range of the rows of a table."""
    return [partial(merge, part, root, round_) for part in parts_of(root, table, files, parts.share(RANGE_ROWS))]
