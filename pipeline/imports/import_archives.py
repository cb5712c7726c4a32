"""The driver of an import: scan the files, then for each part choose, read, commit and update."""

import contextlib
import dataclasses
import hashlib
import tempfile
from collections import Counter
from collections.abc import Sequence
from datetime import UTC, datetime
from functools import partial
from typing import NamedTuple

from ...transforms.archives.captures import SCAN
from ...transforms.archives.choose import Choice, Chosen, first_pages
from ...transforms.archives.rights import Rights
from ...transforms.archives.scan import RECORDS, read_scanned
from ...transforms.archives.sources import Source, Trouble
from ...transforms.blocks.files import read_blocks
from ...transforms.directory.crawl_dir import CrawlDir, Manifest, Step, files_of, iso, next_step, paths_of
from ...transforms.directory.own_files import remove
from ...transforms.directory.pieces import attempts_prefix, find_leftovers, find_promises
from ...transforms.http.request_headers import Identity
from ...transforms.outcomes import IMPORTED, LINKS_ONLY, CrawlDirError
from ...transforms.parsing.crawl_scope import CrawlScope
from ...transforms.politeness.adopted import write_promises
from ...transforms.settings import Settings, changed_values, render, settings_digest
from ...transforms.tables.table_files import TableFile, TableWriter
from ...transforms.urls.canonical import url_key
from ..attempt import Attempt, Engine, until
from ..compaction.compact_all import compact_all
from ..compaction.damage import Damage
from ..control import Observer, Stopped, StopSignal
from ..release_held import release_reopened_urls, with_released
from ..release_targets import release_targets
from ..update_round import update_round
from ..work import work_of
from . import read_files, scan_files
from .parts import File, Slice, captures_of, choose_captures, parts_of, write_plans
from .read_before import keys_read, robots_texts


class Job(NamedTuple):
    """What is to be imported."""

    sources: Sequence[Source]
    troubles: Sequence[Trouble]  # of files that are left out
    part: int | None = None  # captures of a round, at most
    follows: bool | None = None  # whether what the pages link is visited; None: as the crawl did before


@dataclasses.dataclass
class Imported:
    """What came of an import."""

    files: int
    records: int = 0
    visits: int = 0
    robots: int = 0
    rounds: int = 0
    is_stopped: bool = False
    follows: bool = False
    skipped: Counter[str] = dataclasses.field(default_factory=Counter)  # records, by reason
    troubles: list[Trouble] = dataclasses.field(default_factory=list)


@dataclasses.dataclass(frozen=True)
class _Import:
    """What all parts of an import share."""

    crawl: CrawlDir
    settings: Settings
    engine: Engine
    observer: Observer
    stop: StopSignal
    job: Job
    follows: bool
    name: str  # the same for the same import, so that it can be resumed
    scans: Sequence[str]  # paths of the results of the scan


def import_archives(
    crawl: CrawlDir, settings: Settings, engine: Engine, observer: Observer, stop: StopSignal, job: Job
) -> Imported:
    """Import the captures of archives, as rounds of a crawl whose pages are not requested.

    Each round is committed as a whole. After a kill, or `stop`, the same call goes on at the file and the record. What
    a crawl that was killed owes is done first, or taken over: its update, reopened URLs, promises to hosts. A new crawl
    begins with the first round: what has nothing to import leaves no crawl behind.
    """
    settings = with_released(crawl, settings)
    _finish_update(crawl, settings, engine, observer)
    release_reopened_urls(crawl, settings.traps, datetime.now(UTC))
    release_targets(crawl, datetime.now(UTC))
    follows = _was_followed(crawl.manifests()) if job.follows is None else job.follows
    name = _name_of(job, settings_digest(settings), SCAN.names, tuple(read_blocks(crawl)), follows)
    scans = [f"attempts/import-{name}-scan-{number:06d}.parquet" for number in range(len(job.sources))]
    run = _Import(crawl, settings, engine, observer, stop, job, follows, name, scans)
    result = Imported(len(job.sources), follows=follows, troubles=list(job.troubles))
    _scan(run)
    if not stop.is_set():
        _add_scans(run, result)
        rights = Rights(robots_texts(crawl, crawl.manifests(), scans), Identity.of(settings.robot).token)
        for part in parts_of(crawl.root, scans, job.part):
            if stop.is_set():
                break
            _import_part(run, part, rights, result)
    result.is_stopped = stop.is_set()
    if not result.is_stopped:
        remove(crawl, crawl.paths("attempts", f"import-{name}-*"))
    return result


def _begin(crawl: CrawlDir, settings: Settings) -> None:
    """Write the settings and the first manifest of a new crawl."""
    if not crawl.exists("crawl.toml"):
        crawl.write_text("crawl.toml", render(settings))
    if not crawl.manifests():
        now = iso(datetime.now(UTC))
        crawl.commit(Manifest("seeds", 0, settings_digest(settings), (), {"seeds": 0}, (), now, now))


def _finish_update(crawl: CrawlDir, settings: Settings, engine: Engine, observer: Observer) -> None:
    """Run the update step of a round that an import, or a crawl, has left without it."""
    manifests = crawl.manifests()
    step = next_step(manifests)
    if step.kind == "update":
        update_round(crawl, settings, engine, observer, manifests, step)
    elif find_leftovers(crawl, attempts_prefix(step)).records:
        raise CrawlDirError(
            f"{crawl.root} has fetched pages of round {step.round} that are not committed; finish that round first:"
            f" beamtrawl crawl {crawl.root} --rounds 1"
        )


def _was_followed(manifests: Sequence[Manifest]) -> bool:
    """Whether URLs wait, or have waited: not in a new crawl, nor in one that has imported archives only."""
    return bool(files_of(manifests, "frontier")) or any(m.consumed for m in manifests)


def _name_of(job: Job, *more: object) -> str:
    values = repr((list(map(tuple, job.sources)), job.part, *more))
    return hashlib.blake2b(values.encode(), digest_size=6).hexdigest()


def _scan(run: _Import) -> None:
    missing = [
        (source, path)
        for source, path in zip(run.job.sources, run.scans, strict=True)
        if read_scanned(run.crawl.root, path) is None
    ]
    if not missing:
        return
    run.observer.busy(f"scanning {len(missing)} files for captures")
    stop_file = run.crawl.path(f"attempts/import-{run.name}-{datetime.now(UTC):%H%M%S%f}.stop")
    run.stop.watch(stop_file)
    scope = _scope(run)
    robot, head_bytes = Identity.of(run.settings.robot).token, run.settings.fetch.max_header_bytes
    progress = run.crawl.path(f"attempts/import-{run.name}-scan-progress")
    step = scan_files.ScanStep(scope, missing, head_bytes, robot, progress, stop_file, datetime.now(UTC))
    work = work_of("scan", bytes=sum(source.bytes for source, _ in missing))
    run.engine.run(partial(scan_files.build, step=step), work.seconds)


def _scope(run: _Import) -> CrawlScope:
    """The scope of the captures: without seeds, a crawl has all hosts of its archives."""
    seeds = paths_of(run.crawl.manifests(), "seeds")  # of any step: compaction, too, writes them anew
    scope = run.settings.scope if seeds else dataclasses.replace(run.settings.scope, mode="any")
    return CrawlScope.of(run.crawl.root, scope, run.settings.documents, seeds)


def _add_scans(run: _Import, result: Imported) -> None:
    for source, path in zip(run.job.sources, run.scans, strict=True):
        scanned = read_scanned(run.crawl.root, path)
        if scanned is None:
            raise CrawlDirError(f"{source.name} was not scanned; run the command again")
        result.records += scanned.counts.get(RECORDS, 0)
        result.skipped.update({reason: count for reason, count in scanned.counts.items() if reason != RECORDS})
        result.troubles += scanned.troubles


def _import_part(run: _Import, part: Sequence[Slice], rights: Rights, result: Imported) -> None:
    crawl, manifests = run.crawl, run.crawl.manifests()
    step = next_step(manifests)
    with tempfile.TemporaryDirectory() as folder, contextlib.closing(Choice(folder)) as choice:
        run.observer.busy("choosing captures that the crawl does not have")
        chosen = choose_captures(crawl, manifests, choice, run.scans, part, run.job.part is None)
        for reason in ("known", "older", "revisit", "revisit_differs"):
            result.skipped[reason] += getattr(chosen, reason)
        if not chosen.visits + chosen.robots:
            return
        _begin(crawl, run.settings)
        prefix = f"{step.round:06d}-import-{run.name}"
        attempt = Attempt.after_earlier(crawl, step, prefix)
        attempt.stop_earlier()
        leftovers = find_leftovers(crawl, prefix)
        files: list[File] = [(source, source.bytes) for source in run.job.sources]
        files += [(file.path, file.bytes) for file in files_of(manifests, "visits")]
        groups = write_plans(crawl, attempt.name, choice, rights, files, keys_read(crawl, leftovers))
        _read(run, attempt, groups, chosen)
        if run.stop.is_set():
            return
        written = [*leftovers.files, *attempt.pieces(), *_seeds(run, step, manifests), *_promises(crawl, step)]
    counters = {IMPORTED: chosen.visits} | ({} if run.follows else {LINKS_ONLY: 1})
    digest, values = settings_digest(run.settings), changed_values(run.settings)
    manifest = attempt.commit(files=written, counters=counters, settings_digest=digest, settings=values)
    run.observer.step_committed(manifest)
    result.visits += chosen.visits
    result.robots += chosen.robots
    result.rounds += 1
    _finish_update(crawl, run.settings, run.engine, run.observer)
    with contextlib.suppress(Stopped):
        engine = until(run.engine, run.stop)
        compact_all(crawl, run.settings.storage, engine, run.observer, Damage(crawl, run.observer.warn))


def _promises(crawl: CrawlDir, step: Step) -> list[TableFile]:
    """The promises to hosts of a killed fetch step, whose round the import takes; its workers, if any, are stopped."""
    fetch = Attempt.after_earlier(crawl, step)
    fetch.stop_earlier()
    return write_promises(crawl.root, step.round, find_promises(crawl, attempts_prefix(step)))


def _read(run: _Import, attempt: Attempt, groups: list[list[tuple[Source | str, str]]], chosen: Chosen) -> None:
    fetch = run.settings.fetch
    step = read_files.ReadStep(
        root=run.crawl.root,
        round=attempt.step.round,
        attempt=attempt.name,
        groups=groups,
        body_bytes=fetch.max_body_bytes,
        head_bytes=fetch.max_header_bytes,
        robot=Identity.of(run.settings.robot).token,
        piece_seconds=run.settings.limits.piece_time,
        progress=attempt.progress,
        stop_file=attempt.stop_file,
    )
    run.observer.step_started(Step("import", attempt.step.round), attempt.progress, chosen.visits)
    run.stop.watch(attempt.stop_file)
    read = (source for group in groups for source, _ in group if isinstance(source, Source))
    work = work_of("read", bytes=sum(source.bytes for source in read))
    run.engine.run(partial(read_files.build, step=step), work.seconds)


def _seeds(run: _Import, step: Step, manifests: Sequence[Manifest]) -> list[TableFile]:
    """A seed for each host of all parts, if links are to be followed and there is none yet: the scope of the crawl."""
    if not run.follows or files_of(manifests, "seeds"):
        return []
    writer = TableWriter(run.crawl.root, "seeds", step.round)
    captures = (table for path in run.scans for table in captures_of(run.crawl.root, path))
    writer.write_rows([{"url_key": url_key(url), "url": url, "host": host} for host, url in first_pages(captures)])
    return [file] if (file := writer.close()) else []
