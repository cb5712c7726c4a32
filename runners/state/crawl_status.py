"""The state of a crawl as a typed value, from its manifests and tables."""

import dataclasses
from collections import Counter
from collections.abc import Mapping, Sequence
from datetime import datetime
from operator import itemgetter
from typing import Any

from ...pipeline.excluded_urls import excluded_urls
from ...pipeline.release_held import with_released
from ...transforms.aliases.learned_rules import known_rules
from ...transforms.blocks.files import read_blocks
from ...transforms.blocks.rules import Block
from ...transforms.directory.crawl_dir import CrawlDir, Manifest, Step, files_of, next_step
from ...transforms.directory.manifests import moment
from ...transforms.directory.waiting import waiting_by_reason
from ...transforms.files.store import Space
from ...transforms.frontier.excluded import NotRequested
from ...transforms.indexing.live_segments import live_index
from ...transforms.outcomes import Outcome, count_requests
from ...transforms.parsing.registry import PARSE_ERRORS
from ...transforms.settings import Limits, Settings
from ...transforms.tables.newest import newest
from ...transforms.tables.schemas import TABLES
from ...transforms.tables.table_files import read_table
from ..progress.elsewhere import RunningStep, running_step
from .alarms import (
    Alarm,
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
)
from .alias_rules import AliasRule, alias_rules
from .copies import CopyCount, count_copies
from .crawl_traps import Trap, closed_traps, trap_line
from .due import due_revisits, due_urls, planned_revisits
from .failures import failed_seeds, failed_sitemaps, newest_robots, robots_rows
from .host_waits import HostWait, host_waits, waiting_rows


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
    copies: list[CopyCount]  # most copies first
    traps: list[Trap]
    alarms: list[str]  # one line each
    alarm_kinds: dict[str, int]  # their number by kind
    disk_free: int | None  # bytes on the disk of the directory; None: unknown, as on a store
    first_step_at: float  # POSIX time of the start of the first step
    last_step_at: float  # POSIX time of the last commit
    fetch_seconds: float  # of all fetch steps
    bytes: int  # of the files of tables
    limits: dict[str, int]  # of pages that are set, by name: max_pages, max_pages_per_round, max_pages_per_host
    blocks: list[Block]  # oldest first
    blocked: int  # URLs in the frontier that a block matches
    excluded: int  # others in it that the settings exclude

    def to_dict(self) -> dict[str, Any]:
        """JSON values by name."""
        return dataclasses.asdict(self)


WAITS_NAMED = 5
"""The hosts whose wait is explained."""

_LIMITS = ("max_pages", "max_pages_per_round", "max_pages_per_host")


def summarize(crawl: CrawlDir, now: datetime, settings: Settings | None = None, disk: Space | None = None) -> Status:
    """Return the state of a crawl from its manifests and tables, with the alarms.

    Without settings by the defaults, and no URL is excluded.
    """
    chosen, settings = settings, settings or Settings()
    limits, pages = settings.alarms, settings.limits
    manifests = crawl.require_manifests()
    step = next_step(manifests)
    outcomes: dict[str, int] = {}
    rejections: dict[str, int] = {}
    alerts: dict[str, int] = {}
    failed = 0
    for manifest in manifests:
        if manifest.step == "fetch":
            for outcome in Outcome:
                if count := manifest.counters.get(outcome.value):
                    outcomes[outcome.value] = outcomes.get(outcome.value, 0) + count
        for file in manifest.files:
            if file.table == "rejections":
                _add(rejections, file.counts)
            if file.table == "alerts":
                _add(alerts, file.counts)
            failed += file.counts.get(PARSE_ERRORS, 0)
    frontier = waiting_by_reason(crawl.root, manifests)
    blocks = read_blocks(crawl)
    allow = with_released(crawl, settings).traps.allow
    hosts, traps = _hosts(crawl, manifests), closed_traps(crawl, manifests, allow)
    held: dict[str, int] = {}
    for row in hosts.values():
        if row["not_before"] and row["not_before"] > now:
            _add(held, {row["held_by"]: 1})
    unanswered = [row["host"] for row in hosts.values() if row["requests"] and row["answers"] == 0]
    excluded = excluded_urls(crawl, with_released(crawl, chosen), manifests) if chosen else None
    closed = NotRequested(blocks, excluded)
    due, planned = due_urls(crawl, manifests, settings.politeness, closed, now), planned_revisits(crawl, manifests)
    revisits = due_revisits(crawl, manifests, settings.recrawl, settings.sitemaps.after, now)
    waiting = waiting_rows(hosts, due.by_host, now)
    longest = waiting[:WAITS_NAMED]
    long_urls = [file.path for file in files_of(manifests, "rejections") if file.counts.get("too_long")]
    found = [
        *outcome_alarms(outcomes, limits),
        *seed_alarms(failed_seeds(crawl, manifests)),
        *sitemap_alarms(failed_sitemaps(crawl, manifests)),
        *rate_alarms(manifests, limits),
        *failing_hosts(hosts.values(), limits),
        *erring_hosts(hosts.values(), limits),
        *refusing_hosts(hosts.values(), newest_robots(crawl, manifests, unanswered), limits),
        *robots_alarms(list(hosts.values()), limits),
        *parse_alarms(failed),
        *(Alarm("traps", trap_line(trap, crawl.root)) for trap in traps),
        *too_long_alarms(read_table(crawl.root, long_urls, TABLES["rejections"]).to_pylist(), limits),
        *(disk_alarms(*disk, limits) if disk else ()),
    ]
    return Status(
        directory=crawl.root,
        rounds=step.round - 1 if step.kind == "fetch" else step.round,
        next_step=NextStep(step.kind, step.round),
        running=running_step(crawl, step, _rows_of(step, manifests, frontier, outcomes, pages)),
        tables={name: sum(file.rows for file in files_of(manifests, name)) for name in TABLES},
        index_segments=len(live_index(manifests).segments),
        outcomes=outcomes,
        frontier=frontier,
        due=due.now,
        later=due.later,
        next_due_at=due.next_at.timestamp() if due.next_at else None,
        planned=planned.pages,
        next_planned_at=planned.first_at.timestamp() if planned.first_at else None,
        revisits_due=revisits.due,
        revisits_since=revisits.since.timestamp() if revisits.since else None,
        next_revisit_at=revisits.next_at.timestamp() if revisits.next_at else None,
        rejections=rejections,
        alerts=alerts,
        hosts=len(hosts),
        held=held,
        waits=host_waits(longest, due.by_host, robots_rows(crawl, manifests, [row["host"] for row in longest])),
        waiting_hosts=len(waiting),
        aliases=alias_rules(known_rules(crawl, manifests)),
        copies=count_copies(crawl, manifests),
        traps=traps,
        alarms=[alarm.text for alarm in found],
        alarm_kinds=dict(Counter(alarm.kind for alarm in found)),
        disk_free=disk.free if disk else None,
        first_step_at=min((moment(m.started_at).timestamp() for m in manifests if m.started_at), default=0.0),
        fetch_seconds=round(sum(m.seconds for m in manifests if m.step == "fetch"), 3),
        bytes=sum(file.bytes for name in TABLES for file in files_of(manifests, name)),
        limits={name: count for name in _LIMITS if (count := getattr(pages, name))},
        last_step_at=max((moment(m.ended_at).timestamp() for m in manifests if m.ended_at), default=0.0),
        blocks=list(blocks),
        blocked=due.blocked,
        excluded=due.excluded,
    )


def _rows_of(
    step: Step, manifests: Sequence[Manifest], frontier: Mapping[str, int], outcomes: Mapping[str, int], limits: Limits
) -> int:
    """Return how many URLs of the frontier, or visits, a step processes at most."""
    if step.kind == "update":
        fetched = [m for m in manifests if (m.step, m.round) == ("fetch", step.round)]
        return sum(m.counters.get("visits_rows", 0) for m in fetched)
    left = [limits.max_pages - count_requests(outcomes)] if limits.max_pages else []
    left += [limits.max_pages_per_round] if limits.max_pages_per_round else []
    return max(0, min([sum(frontier.values()), *left]))


def _hosts(crawl: CrawlDir, manifests: Sequence[Manifest]) -> dict[str, dict[str, Any]]:
    """Return the backoff state of each host, from its newest row."""
    columns = ["host", "round", "requests", "failures", "failures_in_row", "crawl_delay", "not_before", "held_by"]
    columns += ["fetched", "answers", "refusals"]
    files = files_of(manifests, "hosts")
    tables = (read_table(crawl.root, [file.path], TABLES["hosts"], columns) for file in files)
    return newest((row for table in tables for row in table.to_pylist()), itemgetter("host"))


def _add(total: dict[str, int], counts: dict[str, int]) -> None:
    for name, count in counts.items():
        total[name] = total.get(name, 0) + count
