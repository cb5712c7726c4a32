"""Compaction of the frontier: merges its files after an update step, when there are many."""

from collections.abc import Callable
from functools import partial

from ...transforms.batches.merge_whole import merge_whole
from ...transforms.directory.crawl_dir import CrawlDir, Manifest, Step, frontier_files, next_step
from ...transforms.directory.waiting import Waiting, count_left, left_files, settle
from ...transforms.frontier.merge import WIDTH, Sized, choose_files, load_of, merge_frontier, merge_left
from ...transforms.memory.bounds import compact_bound
from ..attempt import Attempt, Engine, Fitted
from ..work import work_of
from .damage import Damage


def compact_frontier(
    crawl: CrawlDir,
    engine: Engine,
    width: int = WIDTH,
    damage: Damage | None = None,
    warn: Callable[[str], None] = lambda _: None,
) -> Manifest | None:
    """Merge the files that `choose_files` chooses, and commit; None if it chooses none.

    It chooses from the files that are not damaged, and none if one of frontier_left is. Files are compared with what
    was written before they are merged; a damaged one is an error without `damage`. Files that are added meanwhile are
    not concerned. The crawl directory must be locked. `warn` gets a line if memory is short.
    """
    manifests, damage = crawl.manifests(), damage or Damage(crawl)
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
    next_round = next_step(manifests).round
    attempt = Attempt.after_earlier(crawl, Step("compact", next_round - 1))
    read = [*(file for file in files if file.path in merged), *left]
    in_use = [file.path for file in files if file.path not in merged]
    waiting = Waiting.of(manifests)
    tasks = [partial(merge_frontier, group, crawl.root, next_round, waiting) for group in chosen]
    tasks += [partial(merge_left, group, crawl.root, next_round, in_use) for group in chosen_left]
    rows = sum(file.live for file in sized if file.path in merged)
    load = load_of(chosen, {file.path: file.live for file in sized})
    name, work = f"round {attempt.step.round} compact", work_of("merge", waiting=rows)._replace(pieces=load.pieces)
    fitted = Fitted.to_memory(engine, work, load, compact_bound, name, warn)
    fitted.run(partial(merge_whole, root=crawl.root, files=read, items=tasks, report=attempt.report))
    if damage.note(attempt.files()):
        attempt.clear()
        return compact_frontier(crawl, engine, width, damage, warn)
    replaced = sorted(merged.union(path for group in chosen_left for path in group))
    settled = settle(crawl.root, manifests, attempt.files(), replaced)
    return attempt.commit(consumed=[*replaced, *settled.consumed], memory=fitted.memory, cpu=fitted.cpu)
