"""The update step of a round: its plan, and one attempt at it."""

from collections.abc import Sequence
from datetime import UTC, datetime
from functools import partial

from ..transforms.aliases.learned_rules import known_rules
from ..transforms.aliases.secret import crawl_secret
from ..transforms.directory.crawl_dir import CrawlDir, Manifest, Step, files_of, frontier_files, paths_of
from ..transforms.directory.waiting import Waiting, settle
from ..transforms.frontier.revisit_plan import Plan, count_first, read_histogram
from ..transforms.http.request_headers import Identity
from ..transforms.memory.bounds import Parts, UpdateLoad, update_bound
from ..transforms.outcomes import LINKS_ONLY
from ..transforms.settings import Priority, Recrawl, Settings, Sitemaps, settings_digest
from ..transforms.sitemaps.follow import count_entries
from ..transforms.tables.damage import require_whole_once
from ..transforms.tables.table_files import TableFile, open_parquet
from ..transforms.urls.index_scope import IndexScope
from . import update
from .attempt import Attempt, Engine, Fitted, OneMachine
from .control import Observer
from .release_held import release_reopened_urls
from .release_targets import release_targets
from .work import Work, learned, work_of


def load_of(root: str, visits: Sequence[TableFile], waiting: int) -> UpdateLoad:
    """Return what an update step reads, from the footers of the files of visits."""
    groups = []
    for file in visits:
        with open_parquet(root, file.path) as opened:
            groups += [opened.metadata.row_group(number).total_byte_size for number in range(opened.num_row_groups)]
    return UpdateLoad(sum(file.rows for file in visits), sum(groups), max(groups, default=0), waiting)


def update_work(load: UpdateLoad, manifests: Sequence[Manifest]) -> Work:
    """Return what an update step has to compute, as earlier ones of the crawl have taken."""
    work = work_of("update", visits=load.visits, body_bytes=load.body_bytes)
    return work._replace(factor=learned(manifests, "update"))


def plan_update(
    crawl: CrawlDir,
    settings: Settings,
    manifests: Sequence[Manifest],
    attempt: Attempt,
    load: UpdateLoad,
    parts: Parts,
) -> update.UpdateStep:
    """Return the update step of a round, which reads `load` in `parts` that fit into memory."""
    round_ = attempt.step.round
    fetched = [m for m in manifests if (m.step, m.round) == ("fetch", round_)]
    visits = files_of(fetched, "visits")
    judging = manifests if settings.traps.detect else ()  # the steps whose tables of traps are read
    follows = not any(m.counters.get(LINKS_ONLY) for m in fetched)
    checks_external = settings.scope.check_external and follows
    return update.UpdateStep(
        root=crawl.root,
        round=round_,
        settings=settings,
        robot=Identity.of(settings.robot).token,
        aliases=known_rules(crawl, manifests) if settings.aliases.learn else None,
        secret=crawl_secret(crawl),
        visits=[file.path for file in visits],
        visit_rows=load.visits,
        visit_bytes=sum(file.bytes for file in visits),
        body_bytes=load.body_bytes,
        sitemap_entries=count_entries(crawl.root, visits, settings.sitemaps.max_urls),
        turns=paths_of(fetched, "host_turns"),
        robots=paths_of(fetched, "robots"),
        parts=parts,
        waiting=Waiting.of(manifests),
        urls=paths_of(manifests, "urls"),
        digests=paths_of(manifests, "digests"),
        near=paths_of(manifests, "near"),
        hosts=paths_of(manifests, "hosts"),
        trap_files=paths_of(judging, "traps"),
        trap_samples=paths_of(judging, "trap_samples"),
        trap_queues=paths_of((m for m in judging if m.round == round_ - 1), "trap_queues"),
        seeds=paths_of(manifests, "seeds"),
        external=(paths_of(manifests, "external"), settings.scope.max_external) if checks_external else None,
        follows=follows,
        plan=_plan_revisits(crawl.root, settings.recrawl, settings.sitemaps, settings.priority, manifests, visits),
        report=attempt.report,
        progress=attempt.progress,
    )


def _plan_revisits(
    root: str,
    recrawl: Recrawl,
    sitemaps: Sitemaps,
    priority: Priority,
    manifests: Sequence[Manifest],
    visits: Sequence[TableFile],
) -> Plan | None:
    """Return the plan of the revisits of the pages that a round has visited; None, and nothing is read, without one."""
    if not recrawl.per_day:
        return None
    pages, hosts = (paths_of(manifests, table) for table in ("change_rates", "host_changes"))
    earlier, new = read_histogram(root, pages), count_first(root, [file.path for file in visits])
    return Plan.of(recrawl, sitemaps, priority, earlier, new, hosts)


def update_round(
    crawl: CrawlDir,
    settings: Settings,
    engine: Engine,
    observer: Observer,
    manifests: Sequence[Manifest],
    step: Step,
) -> None:
    """Run the update step of a round and commit it, then the held URLs that it frees."""
    attempt = Attempt.after_earlier(crawl, step)
    fetched = [m for m in manifests if (m.step, m.round) == ("fetch", step.round)]
    visits = files_of(fetched, "visits")
    require_whole_once(crawl.root, visits)
    rows = sum(file.rows for file in visits)
    waiting = sum(file.rows for file in frontier_files(manifests))
    on_one_machine = isinstance(engine, OneMachine)  # else nothing is bounded, and footers of many files take long
    load = load_of(crawl.root, visits, waiting) if on_one_machine else UpdateLoad(rows, 0, 0, waiting)
    fitted = Fitted.to_memory(
        engine, update_work(load, manifests), load, update_bound, f"round {step.round} update", observer.warn
    )
    plan = plan_update(crawl, settings, manifests, attempt, load, fitted.parts)
    observer.step_started(step, attempt.progress, rows)
    fitted.run(partial(update.build, step=plan))
    settled = settle(crawl.root, manifests, attempt.files())
    manifest = attempt.commit(
        consumed=settled.consumed,
        counters={"frontier_waiting": settled.waiting},
        settings_digest=settings_digest(settings),
        settings=IndexScope.of(settings.index).record() or None,
        fitted=fitted,
    )
    observer.step_committed(manifest)
    release_reopened_urls(crawl, settings.traps, datetime.now(UTC))
    release_targets(crawl, datetime.now(UTC))
