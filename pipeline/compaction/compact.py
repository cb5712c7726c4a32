"""The `compact` step: merges segments of the index, and files of tables and the frontier, between rounds.

What was merged stays in the crawl directory until it is dropped: merged segments until `drop_history`, for searches as
of earlier rounds, files of tables until `garbage.fold_history`, as a reader may have opened them.
"""

import uuid
from collections.abc import Callable, Iterable, Sequence
from datetime import UTC, datetime
from functools import partial
from typing import NamedTuple

from ...transforms.batches.merge_whole import Task, merge_whole
from ...transforms.directory.crawl_dir import CrawlDir, Manifest, Step, iso, last_updated
from ...transforms.directory.own_files import remove
from ...transforms.directory.waiting import settle
from ...transforms.indexing.live_segments import LiveSegment, files_of_segments, live_index
from ...transforms.indexing.merge_policy import Policy, load_of, measure, merge_group
from ...transforms.indexing.retention import unread_folders
from ...transforms.memory.bounds import CompactLoad, Parts, compact_bound
from ...transforms.outcomes import CrawlDirError, DiskError
from ...transforms.tables.table_files import TableFile
from ..attempt import Attempt, Engine, Fitted
from ..work import Work, work_of
from .damage import Damage

_ALWAYS = datetime.max.replace(tzinfo=UTC)


class Merge(NamedTuple):
    """What is merged of one kind of files. What it writes replaces `segments`, `tables` and `frontier`."""

    read: Sequence[TableFile]
    split: Sequence[Callable[[Parts], Iterable[Task]]]  # what divides it into tasks, for parts that fit into memory
    work: Work
    load: CompactLoad
    segments: Sequence[str] = ()  # folders
    tables: Sequence[TableFile] = ()
    frontier: Sequence[str] = ()  # paths, also of frontier_left


Choose = Callable[[CrawlDir, Sequence[Manifest], Damage], Merge | None]
"""Chooses what to merge of a crawl with these steps, but for damaged files; None if there is nothing."""


def merge(
    crawl: CrawlDir,
    engine: Engine,
    choices: Sequence[Choose],
    damage: Damage | None = None,
    warn: Callable[[str], None] = lambda _: None,
) -> Manifest | None:
    """Merge all that is chosen side by side, in one pipeline, and commit it together; None if nothing is chosen.

    Files are compared with what was written before they are merged; a damaged one is an error without `damage`. Files
    that are added meanwhile are not concerned. The crawl directory must be locked. `warn` gets a line if memory is
    short.
    """
    manifests, damage = crawl.manifests(), damage or Damage(crawl)
    if not (merges := [found for choose in choices if (found := choose(crawl, manifests, damage))]):
        return None
    attempt = Attempt.after_earlier(crawl, Step("compact", last_updated(manifests)))
    pieces, held, kept, _ = zip(*(each.load for each in merges), strict=True)
    load = CompactLoad(sum(pieces), max(held), max(kept))
    work = Work(sum(each.work.expected for each in merges), pieces=load.pieces)
    fitted = Fitted.to_memory(engine, work, load, compact_bound, f"round {attempt.step.round} compact", warn)
    read = [file for each in merges for file in each.read]
    items = [partial(split, fitted.parts) for each in merges for split in each.split]
    fitted.run(partial(merge_whole, root=crawl.root, files=read, items=items, report=attempt.report))
    if damage.note(attempt.files()):
        attempt.clear()
        return merge(crawl, engine, choices, damage, warn)
    frontier = [path for each in merges for path in each.frontier]
    consumed = settle(crawl.root, manifests, attempt.files(), frontier).consumed if frontier else ()
    return attempt.commit(
        consumed=[*frontier, *consumed],
        replaced=[folder for each in merges for folder in each.segments],
        merged=[file for each in merges for file in each.tables],
        fitted=fitted,
    )


def choose_segments(crawl: CrawlDir, manifests: Sequence[Manifest], damage: Damage, policy: Policy) -> Merge | None:
    """The segments of the index that a policy chooses; none if a file of tombstones is damaged."""
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
        return choose_segments(crawl, manifests, damage, policy)
    if not (chosen := policy.choose(sizes)):
        return None
    groups = [[index.segments[number] for number in group] for group in chosen]
    documents = [sum(sizes[number].alive for number in group) for group in chosen]
    # The round of the last update step: only later tombstones mask documents of the merged segments.
    last, paths = last_updated(manifests), [file.path for file in tombstones]
    of_groups = [[file for s in group for file in files[s.folder]] for group in groups]
    return Merge(
        read=[*(file for some in of_groups for file in some), *tombstones],
        split=[partial(_of_group, group, crawl.root, last, paths) for group in groups],
        work=work_of("merge", documents=sum(documents)),
        load=load_of(of_groups, max(documents)),
        segments=[s.folder for group in groups for s in group],
    )


def _of_group(
    group: Sequence[LiveSegment], root: str, round_: int, tombstones: Sequence[str], parts: Parts
) -> list[Task]:
    return [partial(merge_group, group, root, round_, tombstones, parts)]


def drop_history(crawl: CrawlDir, rounds: int = 0, before: datetime = _ALWAYS) -> int:
    """Remove the folders that only earlier searches need (`unread_folders`), and return their number."""
    manifests = crawl.manifests()
    if dropped := unread_folders(manifests, rounds, before):
        now = iso(datetime.now(UTC))
        round_ = last_updated(manifests)
        manifest = Manifest("compact", round_, "", (), {}, (), now, now, index_dropped=tuple(dropped))
        crawl.commit(manifest, f"-{uuid.uuid4().hex[:8]}")
        remove(crawl, (path for folder in dropped for path in crawl.paths(folder)))
    return len(dropped)
