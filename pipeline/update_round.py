"""The update step of a round: its plan, and one attempt at it."""

from collections.abc import Sequence
from datetime import UTC, datetime
from functools import partial

from ..transforms.aliases.learned_rules import known_rules
from ..transforms.aliases.secret import crawl_secret
from ..transforms.directory.crawl_dir import CrawlDir, Manifest, Step, frontier_files, paths_of
from ..transforms.directory.waiting import Waiting, settle
from ..transforms.http.request_headers import Identity
from ..transforms.memory.bounds import UpdateLoad, update_bound
from ..transforms.outcomes import LINKS_ONLY
from ..transforms.settings import Settings, settings_digest
from ..transforms.sitemaps.follow import count_entries
from ..transforms.tables.damage import require_whole_once
from ..transforms.tables.table_files import TableFile, open_parquet
from ..transforms.urls.index_scope import IndexScope
from . import update
from .add_revisits import plan_of
from .attempt import Attempt, Engine, Fitted, OneMachine
from .control import Observer
from .fetch_round import TRAP_TABLES
from .release_held import release_reopened_urls

_SECONDS = 0.006  # of computing per page, roughly (benchmarks/README.md)


def load_of(root: str, visits: Sequence[TableFile], waiting: int) -> UpdateLoad:
    """Return what an update step reads, from the footers of the files of visits."""
    groups = []
    for file in visits:
        with open_parquet(root, file.path) as opened:
            groups += [opened.metadata.row_group(number).total_byte_size for number in range(opened.num_row_groups)]
    return UpdateLoad(sum(file.rows for file in visits), sum(groups), max(groups, default=0), waiting)


def update_round(
    crawl: CrawlDir,
    settings: Settings,
    engine: Engine,
    observer: Observer,
    manifests: Sequence[Manifest],
    step: Step,
) -> None:
    """Run the update step of a round and commit it, then the held URLs that it frees."""
    attempt = Attempt(crawl, step)
    fetched = [file for m in manifests if (m.step, m.round) == ("fetch", step.round) for file in m.files]
    visits = [file for file in fetched if file.table == "visits"]
    require_whole_once(crawl.root, visits)
    rows = sum(file.rows for file in visits)
    paths = {t: paths_of(manifests, t) for t in ("urls", "digests", "near", "hosts", "seeds")}
    paths["visits"] = [file.path for file in visits]
    known = {t: paths_of(manifests, t) if settings.traps.detect else [] for t in TRAP_TABLES}
    of_last_round = [m for m in manifests if m.round == step.round - 1]
    waiting = sum(file.rows for file in frontier_files(manifests))
    on_one_machine = isinstance(engine, OneMachine)  # else nothing is bounded, and footers of many files take long
    load = load_of(crawl.root, visits, waiting) if on_one_machine else UpdateLoad(rows, 0, 0, waiting)
    fitted = Fitted(engine, rows * _SECONDS, load, update_bound, f"round {step.round} update", observer.warn)
    follows = not any(m.counters.get(LINKS_ONLY) for m in manifests if (m.step, m.round) == ("fetch", step.round))
    checks_external = settings.scope.check_external and follows
    plan = update.UpdateStep(
        root=crawl.root,
        round=step.round,
        settings=settings,
        robot=Identity.of(settings.robot).token,
        aliases=known_rules(crawl, manifests) if settings.aliases.learn else None,
        secret=crawl_secret(crawl),
        trap_files=known["traps"],
        trap_samples=known["trap_samples"],
        trap_queues=paths_of(of_last_round, "trap_queues") if settings.traps.detect else [],
        visit_rows=rows,
        visit_bytes=sum(file.bytes for file in visits),
        body_bytes=load.body_bytes,
        sitemap_entries=count_entries(crawl.root, visits, settings.sitemaps.max_urls),
        turns=[file.path for file in fetched if file.table == "host_turns"],
        robots=[file.path for file in fetched if file.table == "robots"],
        workers=engine.workers,
        parts=fitted.parts,
        follows=follows,
        external=(paths_of(manifests, "external"), settings.scope.max_external) if checks_external else None,
        waiting=Waiting.of(manifests),
        report=attempt.report,
        progress=attempt.progress,
        plan=plan_of(crawl, settings.recrawl, settings.sitemaps, settings.priority, manifests, paths["visits"]),
        **paths,
    )
    observer.step_started(step, attempt.progress, rows)
    fitted.run(partial(update.build, step=plan))
    settled = settle(crawl.root, manifests, attempt.files())
    counters = {"frontier_waiting": settled.waiting}
    scope = IndexScope.of(settings.index).record() or None
    manifest = attempt.commit(
        settings_digest(settings), consumed=settled.consumed, counters=counters, settings=scope, memory=fitted.memory
    )
    observer.step_committed(manifest)
    release_reopened_urls(crawl, settings.traps, settings_digest(settings), datetime.now(UTC))
