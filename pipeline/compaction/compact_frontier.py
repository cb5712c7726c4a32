"""Chooses the files of the frontier that are merged, when there are many."""

from collections.abc import Iterable, Sequence
from functools import partial

from ...transforms.batches.merge_whole import Task
from ...transforms.directory.crawl_dir import CrawlDir, Manifest, frontier_files, next_step
from ...transforms.directory.waiting import Waiting, count_left, left_files
from ...transforms.frontier.merge import WIDTH, Sized, choose_files, load_of, merge_frontier, merge_left
from ...transforms.memory.bounds import Parts
from ..work import work_of
from .compact import Merge
from .damage import Damage


def choose_frontier(crawl: CrawlDir, manifests: Sequence[Manifest], damage: Damage, width: int = WIDTH) -> Merge | None:
    """The files of the frontier that `choose_files` chooses; none if one of frontier_left is damaged."""
    files, left = frontier_files(manifests), left_files(manifests)
    if len(files) == len(left) == 0 or damage.is_in(left):
        return None
    gone = {path: sum(reasons.values()) for path, reasons in count_left(crawl.root, left).items()}
    sized = [
        Sized(file.path, file.rows, file.rows - gone.get(file.path, 0)) for file in files if not damage.is_in([file])
    ]
    chosen = choose_files(sized, width)
    merged = {path for group in chosen for path in group}
    chosen_left = choose_files([Sized(file.path, file.rows, file.rows) for file in left], width)
    if not chosen and not chosen_left:
        return None
    next_round, waiting = next_step(manifests).round, Waiting.of(manifests)
    in_use = [file.path for file in files if file.path not in merged]
    tasks = [partial(merge_frontier, group, crawl.root, next_round, waiting) for group in chosen]
    tasks += [partial(merge_left, group, crawl.root, next_round, in_use) for group in chosen_left]
    return Merge(
        read=[*(file for file in files if file.path in merged), *left],
        split=[partial(_alone, task) for task in tasks],
        work=work_of("merge", waiting=sum(file.live for file in sized if file.path in merged)),
        load=load_of(chosen, {file.path: file.live for file in sized}),
        frontier=sorted(merged.union(path for group in chosen_left for path in group)),
    )


def _alone(task: Task, parts: Parts) -> Iterable[Task]:
    return [task]
