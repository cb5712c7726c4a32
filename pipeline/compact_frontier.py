"""Compaction of the frontier: merges its files after an update step, when there are many."""

import dataclasses
import uuid
from collections.abc import Sequence
from functools import partial

import apache_beam as beam

from ..transforms.frontier.merge import WIDTH, Sized, choose_files, merge_frontier, merge_left
from ..transforms.storage.crawl_dir import CrawlDir, Manifest, Step, frontier_files, next_step
from ..transforms.storage.waiting import Waiting, count_left, left_files, settle
from ..transforms.storage.writers import ReportFiles
from .attempt import Attempt, Engine

_SECONDS_PER_ROW = 0.00001


@dataclasses.dataclass(frozen=True)
class CompactFrontierStep:
    """The groups of files that a step merges; paths are below the crawl directory."""

    root: str
    round: int  # the next one to be fetched
    frontier: Sequence[Sequence[str]]
    left: Sequence[Sequence[str]]  # files of frontier_left
    in_use: Sequence[str]  # frontier files that are not merged
    waiting: Waiting
    report: str


def build(pipeline: beam.Pipeline, step: CompactFrontierStep) -> None:
    """Merge each group as one element."""
    frontier = (
        pipeline
        | "Groups" >> beam.Create(step.frontier)
        | "Spread" >> beam.Reshuffle()
        | "Merge" >> beam.FlatMap(merge_frontier, step.root, step.round, step.waiting)
    )
    left = (
        pipeline
        | "LeftGroups" >> beam.Create(step.left)
        | "MergeLeft" >> beam.FlatMap(merge_left, step.root, step.round, step.in_use)
    )
    (frontier, left) | "Files" >> beam.Flatten() | "Report" >> ReportFiles(step.report)


def compact_frontier(crawl: CrawlDir, settings_digest: str, engine: Engine, width: int = WIDTH) -> Manifest | None:
    """Merge the files that `choose_files` chooses, and commit; None if it chooses none.

    Files that are added meanwhile are not concerned. The crawl directory must be locked.
    """
    manifests = crawl.manifests()
    files, left = frontier_files(manifests), left_files(manifests)
    if len(files) == len(left) == 0:
        return None
    gone = {path: sum(reasons.values()) for path, reasons in count_left(crawl.root, left).items()}
    sized = [Sized(file.path, file.rows, file.rows - gone.get(file.path, 0)) for file in files]
    chosen = choose_files(sized, width)
    merged = {path for group in chosen for path in group}
    chosen_left = choose_files([Sized(file.path, file.rows, file.rows) for file in left], width)
    if not chosen and not chosen_left:
        return None
    next_round = next_step(manifests).round
    attempt = Attempt(crawl, Step("compact", next_round - 1))
    in_use = [file.path for file in files if file.path not in merged]
    plan = CompactFrontierStep(
        crawl.root, next_round, chosen, chosen_left, in_use, Waiting.of(manifests), attempt.report
    )
    rows = sum(file.live for file in sized if file.path in merged)
    engine.run(partial(build, step=plan), rows * _SECONDS_PER_ROW)
    replaced = sorted(merged.union(path for group in chosen_left for path in group))
    settled = settle(crawl.root, manifests, attempt.files(), replaced)
    return attempt.commit(settings_digest, consumed=[*replaced, *settled.consumed], suffix=f"-{uuid.uuid4().hex[:8]}")
