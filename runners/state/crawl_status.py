"""The state of a crawl as a typed value, from its manifests and tables."""

import dataclasses
from collections import Counter
from collections.abc import Mapping, Sequence
from datetime import datetime
from functools import reduce
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from ...pipeline.excluded_urls import excluded_urls
from ...pipeline.release_held import with_released
from ...transforms.aliases.learned_rules import known_rules
from ...transforms.blocks.files import read_blocks
from ...transforms.blocks.rules import Block
from ...transforms.directory.crawl_dir import CrawlDir, Manifest, Step, files_of, next_step, paths_of
from ...transforms.directory.manifests import moment
from ...transforms.directory.waiting import waiting_by_reason
from ...transforms.files.store import Space
from ...transforms.frontier.excluded import NotRequested
from ...transforms.indexing.live_segments import live_index
from ...transforms.outcomes import EXTRACT_ERRORS, IMPORTED, PARSE_ERRORS, Outcome, count_requests
from ...transforms.settings import Limits, Settings
from ...transforms.tables.layouts import newest_rows
from ...transforms.tables.schemas import TABLES, TIME
from ...transforms.tables.table_files import read_hosts, read_table
from ...transforms.urls.canonical import host
from ...transforms.urls.index_scope import IndexScope
from ..progress.elsewhere import RunningStep, running_step
from .alarms import (
    Alarm,
    clock_alarms,
    disk_alarms,
    erring_hosts,
    failing_hosts,
    outcome_alarms,
    parse_alarms,
    rate_alarms,
    refusing_hosts,
    robots_alarms,
    seed_alarms,
    sitemap_alarms,
    too_long_alarms,
    trap_alarms,
)
from .alias_rules import AliasRule, alias_rules
from .crawl_traps import Trap, closed_traps
from .due import DueUrls, Planned, Revisits, due_revisits, due_urls, planned_revisits
from .failures import failed_seeds, failed_sitemaps, newest_robots, robots_rows
from .host_waits import HostWait, host_waits, waiting_rows
from .unindexed import count_unindexed


@dataclasses.dataclass(frozen=True)
class NextStep:
    """The step that continues the crawl: fetch or update of a round."""

    step: str
    round: int


@dataclasses.dataclass(frozen=True)
class Status:
    """The state of a crawl; `to_dict` gives what `status --json` prints."""

    directory: str
    rounds: int  # fetched
    next_step: NextStep
    running: RunningStep | None  # what another process does in the crawl now; None: nothing
    tables: dict[str, int]  # rows by table
    index_segments: int
    outcomes: dict[str, int]  # visits by outcome
    frontier: dict[str, int]  # waiting URLs by reason
    due: int  # of them, those that may be requested now
    later: int  # those that may not yet, by their own time or their host's; blocked and excluded ones are in neither
    next_due_at: float | None  # POSIX time at which the first of those is due
    planned: int  # planned revisits that are not in the frontier yet
    next_planned_at: float | None  # POSIX time of the first
    revisits_due: int  # pages that are visited again now, by age or plan, and not in the frontier yet
    revisits_since: float | None  # POSIX time at which the first of those was due
    next_revisit_at: float | None  # POSIX time at which the next one is due by its age
    rejections: dict[str, int]  # rejected links by rule
    alerts: dict[str, int]  # by kind
    hosts: int
    held: dict[str, int]  # hosts that are not fetched now, by reason
    waits: list[HostWait]  # those of them with the most waiting URLs, at most WAITS_NAMED
    waiting_hosts: int  # all of them with waiting URLs
    aliases: list[AliasRule]  # those that hold back most URLs first
    traps: list[Trap]
    alarms: list[str]  # one line each
    alarm_kinds: dict[str, int]  # their number by kind
    disk_free: int | None  # bytes on the disk of the directory; None: unknown, as on a store
    first_step_at: float  # POSIX time of the start of the first step
    last_step_at: float  # POSIX time of the last commit
    fetch_seconds: float  # of all fetch steps that sent requests
    imported: int  # visits that archives gave, without a request
    bytes: int  # of the files of tables
    limits: dict[str, int]  # of pages that are set, by name, such as max_pages
    blocks: list[Block]  # oldest first
    blocked: int  # URLs in the frontier that a block matches
    excluded: int  # others in it that the settings exclude
    unindexed: dict[str, int]  # documents that searches do not find: denied_search, index_scope

    def to_dict(self) -> dict[str, Any]:
        """JSON values by name."""
        return dataclasses.asdict(self)

    @property
    def next_line(self) -> str:
        """What comes next, as a sentence."""
        if self.next_step.step == "fetch" and not any(self.frontier.values()):
            return "The frontier is empty."
        return f"The next step is {self.next_step.step} of round {self.next_step.round}."


WAITS_NAMED = 5
"""The hosts whose wait is explained."""

_LIMITS = ("max_pages", "max_pages_per_round", "max_pages_per_host_total", "max_pages_per_host_per_round")


def summarize(crawl: CrawlDir, now: datetime, settings: Settings | None = None, disk: Space | None = None) -> Status:
    """Return the state of a crawl from its manifests and tables, with the alarms.

    Without settings by the defaults, and no URL is excluded.
    """
    excludes, settings = settings is not None, with_released(crawl, settings or Settings())
    manifests = crawl.require_manifests()
    step, counts = next_step(manifests), _counts(manifests)
    frontier, hosts = waiting_by_reason(crawl.root, manifests), _hosts(crawl, manifests)
    traps, blocks = closed_traps(crawl, manifests, settings.traps.allow), read_blocks(crawl)
    excluded = excluded_urls(crawl, manifests, settings) if excludes else None
    due = due_urls(crawl, manifests, settings.politeness, NotRequested(blocks, excluded), now)
    alarms = _alarms(crawl, manifests, counts, hosts, traps, disk, now)
    return Status(
        directory=crawl.root,
        rounds=step.round - 1 if step.kind == "fetch" else step.round,
        next_step=NextStep(step.kind, step.round),
        running=running_step(crawl, step, rows_of(step, manifests, frontier, counts.outcomes, settings.limits)),
        index_segments=len(live_index(manifests).segments),
        outcomes=counts.outcomes,
        frontier=frontier,
        rejections=counts.rejections,
        alerts=counts.alerts,
        aliases=alias_rules(known_rules(crawl, manifests)),
        traps=traps,
        alarms=[alarm.text for alarm in alarms],
        alarm_kinds=dict(Counter(alarm.kind for alarm in alarms)),
        disk_free=disk.free if disk else None,
        limits={name: count for name in _LIMITS if (count := getattr(settings.limits, name))},
        blocks=list(blocks),
        unindexed=count_unindexed(crawl, manifests, IndexScope.of(settings.index)),
        **_due(due, planned_revisits(crawl, manifests)),
        **_revisits(due_revisits(crawl, manifests, settings.recrawl, settings.sitemaps.after, now)),
        **_waits(crawl, manifests, hosts, due.by_host, now),
        **_totals(manifests),
    )


def refreshed(status: Status, crawl: CrawlDir, manifests: Sequence[Manifest]) -> Status:
    """Return an earlier status with the next step, frontier, outcomes and times of later manifests, at little cost."""
    step, outcomes = next_step(manifests), _counts(manifests).outcomes
    next_, frontier = NextStep(step.kind, step.round), waiting_by_reason(crawl.root, manifests)
    return dataclasses.replace(status, next_step=next_, frontier=frontier, outcomes=outcomes, **_totals(manifests))


class _Counts(NamedTuple):
    """Sums over all manifests."""

    outcomes: dict[str, int]  # visits by outcome
    rejections: dict[str, int]  # by rule
    alerts: dict[str, int]  # by kind
    parse_errors: int  # documents
    extract_errors: int  # documents


def _counts(manifests: Sequence[Manifest]) -> _Counts:
    outcomes, rejections, alerts = Counter[str](), Counter[str](), Counter[str]()
    errors = Counter[str]()
    for manifest in manifests:
        of_step = Outcome if manifest.step == "fetch" else (Outcome.GONE_BY_CONTENT,)
        outcomes.update({name.value: count for name in of_step if (count := manifest.counters.get(name.value))})
        for file in manifest.files:
            if file.table == "rejections":
                rejections.update(file.counts)
            if file.table == "alerts":
                alerts.update(file.counts)
            errors.update({name: file.counts.get(name, 0) for name in (PARSE_ERRORS, EXTRACT_ERRORS)})
    return _Counts(dict(outcomes), dict(rejections), dict(alerts), errors[PARSE_ERRORS], errors[EXTRACT_ERRORS])


def _alarms(
    crawl: CrawlDir,
    manifests: Sequence[Manifest],
    counts: _Counts,
    hosts: pa.Table,
    traps: Sequence[Trap],
    disk: Space | None,
    now: datetime,
) -> list[Alarm]:
    hosts = hosts.filter(pc.invert(pc.is_in(hosts["host"], value_set=_external_hosts(crawl, manifests))))
    is_silent = pc.and_(pc.greater(hosts["requests"], 0), pc.equal(hosts["answers"], 0))
    is_bad = reduce(pc.or_kleene, (pc.greater(hosts[name], 0) for name in ("failures_in_row", "failures", "refusals")))
    unanswered, bad = hosts["host"].filter(is_silent).to_pylist(), hosts.filter(is_bad).to_pylist()
    long_urls = [file.path for file in files_of(manifests, "rejections") if file.counts.get("too_long")]
    return [
        *outcome_alarms(counts.outcomes),
        *seed_alarms(failed_seeds(crawl, manifests)),
        *sitemap_alarms(failed_sitemaps(crawl, manifests)),
        *rate_alarms(manifests),
        *failing_hosts(bad),
        *erring_hosts(bad),
        *refusing_hosts(bad, newest_robots(crawl, manifests, unanswered)),
        *robots_alarms(bad, hosts.num_rows),
        *parse_alarms(counts.parse_errors, counts.extract_errors),
        *trap_alarms(traps, crawl.root),
        *too_long_alarms(read_table(crawl.root, long_urls, TABLES["rejections"]).to_pylist()),
        *clock_alarms(manifests, now),
        *(disk_alarms(disk.free, disk.total) if disk else ()),
    ]


def _external_hosts(crawl: CrawlDir, manifests: Sequence[Manifest]) -> pa.Array:
    """Return the hosts of external targets without seeds; the operator of a crawl cannot mend them."""
    targets = read_table(crawl.root, paths_of(manifests, "external"), TABLES["external"], ["url"])
    seeds = read_hosts(crawl.root, paths_of(manifests, "seeds"), TABLES["seeds"]) if len(targets) else ()
    return pa.array({*map(host, targets["url"].to_pylist())}.difference(seeds), pa.string())


def _due(due: DueUrls, planned: Planned) -> dict[str, Any]:
    """The fields of `Status` about waiting URLs and planned revisits."""
    return {
        "due": due.now,
        "later": due.later,
        "next_due_at": _posix(due.next_at),
        "blocked": due.blocked,
        "excluded": due.excluded,
        "planned": planned.pages,
        "next_planned_at": _posix(planned.first_at),
    }


def _revisits(revisits: Revisits) -> dict[str, Any]:
    """The fields of `Status` about pages that are visited again."""
    return {
        "revisits_due": revisits.due,
        "revisits_since": _posix(revisits.since),
        "next_revisit_at": _posix(revisits.next_at),
    }


def _waits(
    crawl: CrawlDir, manifests: Sequence[Manifest], hosts: pa.Table, waiting_urls: dict[str, int], now: datetime
) -> dict[str, Any]:
    """The fields of `Status` about hosts; `waiting_urls` are their numbers by host."""
    held = hosts.filter(pc.greater(hosts["not_before"], pa.scalar(now, TIME))).to_pylist()
    waiting = waiting_rows(held, waiting_urls)
    longest = waiting[:WAITS_NAMED]
    robots = robots_rows(crawl, manifests, [row["host"] for row in longest])
    return {
        "hosts": hosts.num_rows,
        "held": dict(Counter(row["held_by"] for row in held)),
        "waits": host_waits(longest, waiting_urls, robots),
        "waiting_hosts": len(waiting),
    }


def _totals(manifests: Sequence[Manifest]) -> dict[str, Any]:
    """The fields of `Status` about all steps and files."""
    fetching = [m for m in manifests if m.step == "fetch" and IMPORTED not in m.counters]
    return {
        "tables": {name: sum(file.rows for file in files_of(manifests, name)) for name in TABLES},
        "bytes": sum(file.bytes for name in TABLES for file in files_of(manifests, name)),
        "fetch_seconds": round(sum(m.seconds for m in fetching), 3),
        "imported": sum(m.counters.get(IMPORTED, 0) for m in manifests),
        "first_step_at": min((moment(m.started_at).timestamp() for m in manifests if m.started_at), default=0.0),
        "last_step_at": max((moment(m.ended_at).timestamp() for m in manifests if m.ended_at), default=0.0),
    }


def _posix(moment: datetime | None) -> float | None:
    return moment.timestamp() if moment else None


def rows_of(
    step: Step, manifests: Sequence[Manifest], frontier: Mapping[str, int], outcomes: Mapping[str, int], limits: Limits
) -> int:
    """Return how many URLs of the frontier, or visits, a step processes at most."""
    if step.kind == "update":
        fetched = [m for m in manifests if (m.step, m.round) == ("fetch", step.round)]
        return sum(m.counters.get("visits_rows", 0) for m in fetched)
    left = [limits.max_pages - count_requests(outcomes)] if limits.max_pages else []
    left += [limits.max_pages_per_round] if limits.max_pages_per_round else []
    return max(0, min([sum(frontier.values()), *left]))


def _hosts(crawl: CrawlDir, manifests: Sequence[Manifest]) -> pa.Table:
    """Return the backoff state of each host, from its newest row."""
    columns = ["host", "round", "requests", "failures", "failures_in_row", "crawl_delay", "not_before", "held_by"]
    columns += ["fetched", "answers", "refusals"]
    rows = read_table(crawl.root, paths_of(manifests, "hosts"), TABLES["hosts"], columns)
    return newest_rows(rows, "host")
