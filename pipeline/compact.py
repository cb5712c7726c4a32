"""The `compact` step: merges segments of the index, between rounds.

Merged segments stay in the crawl directory, for searches as of earlier rounds, until `drop_history`.
"""

import dataclasses
import uuid
from collections.abc import Sequence
from datetime import UTC, datetime
from functools import partial

import apache_beam as beam

from ..transforms.indexing.live_segments import LiveSegment, live_index
from ..transforms.indexing.merge_policy import Policy, measure, merge_group
from ..transforms.indexing.retention import unread_folders
from ..transforms.storage import filesystem
from ..transforms.storage.crawl_dir import CrawlDir, Manifest, Step, iso, next_step
from ..transforms.storage.writers import ReportFiles
from .attempt import Attempt, Engine

_ALWAYS = datetime.max.replace(tzinfo=UTC)
_SECONDS_PER_DOCUMENT = 0.0006  # CPU seconds, roughly


@dataclasses.dataclass(frozen=True)
class CompactStep:
    """The groups that a step merges, and where it writes; paths are below the crawl directory."""

    root: str
    round: int
    groups: Sequence[Sequence[LiveSegment]]
    tombstones: Sequence[str]
    report: str


def build(pipeline: beam.Pipeline, step: CompactStep) -> None:
    """Merge each group as one element; groups are few, and large."""
    (
        pipeline
        | "Groups" >> beam.Create(step.groups)
        | "Spread" >> beam.Reshuffle()
        | "Merge" >> beam.FlatMap(merge_group, step.root, step.round, step.tombstones)
        | "Report" >> ReportFiles(step.report)
    )


def merge(crawl: CrawlDir, settings_digest: str, engine: Engine, policy: Policy) -> Manifest | None:
    """Merge the segments that a policy chooses, and commit; None if it chooses none."""
    manifests = crawl.manifests()
    index = live_index(manifests)
    sizes = measure(crawl.root, index, policy.dead)
    if not (chosen := policy.choose(sizes)):
        return None
    groups = [[index.segments[number] for number in group] for group in chosen]
    documents = sum(sizes[number].alive for group in chosen for number in group)
    # The round of the last update step: only later tombstones mask documents of the merged segments.
    attempt = Attempt(crawl, Step("compact", next_step(manifests).round - 1))
    paths = [file.path for _, file in index.tombstones]
    plan = CompactStep(crawl.root, attempt.step.round, groups, paths, attempt.report)
    engine.run(partial(build, step=plan), documents * _SECONDS_PER_DOCUMENT)
    return attempt.commit(settings_digest, replaced=[s.folder for group in groups for s in group], suffix=_suffix())


def drop_history(crawl: CrawlDir, settings_digest: str, rounds: int = 0, before: datetime = _ALWAYS) -> int:
    """Remove the folders that only earlier searches need (`unread_folders`), and return their number."""
    manifests = crawl.manifests()
    if dropped := unread_folders(manifests, rounds, before):
        now = iso(datetime.now(UTC))
        round_ = next_step(manifests).round - 1
        manifest = Manifest("compact", round_, settings_digest, (), {}, (), now, now, index_dropped=tuple(dropped))
        crawl.commit(manifest, _suffix())
        filesystem.delete(crawl.path(path) for folder in dropped for path in crawl.paths(folder))
    return len(dropped)


def _suffix() -> str:
    return f"-{uuid.uuid4().hex[:8]}"
