"""The `compact` step: merges segments of the index, between rounds.

Merged segments stay in the crawl directory, for searches as of earlier rounds, until `drop_history`.
"""

import uuid
from collections.abc import Callable
from datetime import UTC, datetime
from functools import partial

from ...transforms.batches.merge_whole import merge_whole
from ...transforms.directory.crawl_dir import CrawlDir, Manifest, Step, iso, next_step
from ...transforms.directory.own_files import remove
from ...transforms.indexing.live_segments import files_of_segments, live_index
from ...transforms.indexing.merge_policy import Policy, load_of, measure, merge_group
from ...transforms.indexing.retention import unread_folders
from ...transforms.memory.bounds import compact_bound
from ...transforms.outcomes import CrawlDirError, DiskError
from ..attempt import Attempt, Engine, Fitted
from ..work import work_of
from .damage import Damage

_ALWAYS = datetime.max.replace(tzinfo=UTC)


def merge(
    crawl: CrawlDir,
    engine: Engine,
    policy: Policy,
    damage: Damage | None = None,
    warn: Callable[[str], None] = lambda _: None,
) -> Manifest | None:
    """Merge the segments that a policy chooses, and commit; None if it chooses none.

    It chooses from the segments without a damaged file, and none if a file of tombstones is damaged. Files are compared
    with what was written before they are merged; a damaged one is an error without `damage`. `warn` gets a line if
    memory is short.
    """
    manifests, damage = crawl.manifests(), damage or Damage(crawl)
    index = live_index(manifests)
    files = files_of_segments(manifests, index.segments)
    index = index._replace(segments=[s for s in index.segments if not damage.is_in(files[s.folder])])
    tombstones = [file for _, file in index.tombstones]
    if damage.is_in(tombstones):
        return None
    try:
        sizes = measure(crawl.root, index, policy.dead)
    except DiskError:
        raise
    except CrawlDirError:
        if not damage.look([*(file for s in index.segments for file in files[s.folder]), *tombstones]):
            raise
        return merge(crawl, engine, policy, damage, warn)
    if not (chosen := policy.choose(sizes)):
        return None
    groups = [[index.segments[number] for number in group] for group in chosen]
    documents = sum(sizes[number].alive for group in chosen for number in group)
    # The round of the last update step: only later tombstones mask documents of the merged segments.
    attempt = Attempt.after_earlier(crawl, Step("compact", next_step(manifests).round - 1))
    read = [file for group in groups for s in group for file in files[s.folder]]
    paths = [file.path for file in tombstones]
    load = load_of([[file for s in group for file in files[s.folder]] for group in groups], documents)
    name, work = (
        f"round {attempt.step.round} compact",
        work_of("merge", documents=documents)._replace(pieces=len(groups)),
    )
    fitted = Fitted.to_memory(engine, work, load, compact_bound, name, warn)
    round_, read = attempt.step.round, [*read, *tombstones]
    tasks = [partial(merge_group, group, crawl.root, round_, paths, fitted.parts) for group in groups]
    fitted.run(partial(merge_whole, root=crawl.root, files=read, items=tasks, report=attempt.report))
    if damage.note(attempt.files()):
        attempt.clear()
        return merge(crawl, engine, policy, damage, warn)
    replaced = [s.folder for group in groups for s in group]
    return attempt.commit(replaced=replaced, memory=fitted.memory, cpu=fitted.cpu)


def drop_history(crawl: CrawlDir, rounds: int = 0, before: datetime = _ALWAYS) -> int:
    """Remove the folders that only earlier searches need (`unread_folders`), and return their number."""
    manifests = crawl.manifests()
    if dropped := unread_folders(manifests, rounds, before):
        now = iso(datetime.now(UTC))
        round_ = next_step(manifests).round - 1
        manifest = Manifest("compact", round_, "", (), {}, (), now, now, index_dropped=tuple(dropped))
        crawl.commit(manifest, f"-{uuid.uuid4().hex[:8]}")
        remove(crawl, (path for folder in dropped for path in crawl.paths(folder)))
    return len(dropped)
