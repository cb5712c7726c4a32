"""Reads what a round depends on, and what is left at the end: waiting URLs, their hosts, blocks, earlier attempts."""

import dataclasses
from collections.abc import Sequence
from datetime import datetime

from ..transforms.blocks.files import read_blocks
from ..transforms.blocks.rules import Blocks
from ..transforms.directory.clock_ahead import seen_since
from ..transforms.directory.crawl_dir import CrawlDir, Manifest, Step, files_of, paths_of
from ..transforms.directory.pieces import Leftovers, attempts_prefix, find_leftovers
from ..transforms.directory.waiting import Waiting, read_waiting, waiting_by_reason
from ..transforms.frontier.due_pages import DuePages
from ..transforms.frontier.excluded import Excluded, NotRequested
from ..transforms.frontier.selection import NextRound, next_round, settled
from ..transforms.politeness.adopted import state_rows
from ..transforms.settings import Settings, settings_digest
from .control import End
from .excluded_urls import count_excluded, excluded_urls
from .held_hosts import Held, full_hosts, held_hosts
from .next_action import LONGEST_WAIT, Outlook
from .release_held import held_urls


@dataclasses.dataclass(frozen=True)
class Situation:
    """The state of a crawl before a round, at one moment."""

    at: datetime
    seen_since: datetime  # `clock_ahead.seen_since`
    waiting: int  # URLs in the frontier
    pages_left: int | None  # under the limit of the crawl; 0: only external targets are requested
    held: Held
    blocks: Blocks
    excluded: Excluded | None
    leftovers: Leftovers  # of earlier attempts
    other_rounds: frozenset[int]  # that were fetched with other settings
    outlook: Outlook


def look(
    crawl: CrawlDir,
    settings: Settings,
    manifests: Sequence[Manifest],
    step: Step,
    now: datetime,
    pages_left: int | None,
) -> Situation:
    """Return the situation before a round; leftovers are committed by a round even if no URL is due."""
    since = seen_since(crawl, now)
    digest, only_external = settings_digest(settings), pages_left == 0
    excluded = excluded_urls(crawl, manifests, settings)
    leftovers = find_leftovers(crawl, attempts_prefix(step))
    others = frozenset(m.round for m in manifests if m.step == "fetch" and m.settings_digest != digest)
    promised = list(state_rows(crawl.root, leftovers))
    held = held_hosts(crawl.root, paths_of(manifests, "hosts"), promised, settings.politeness, now, others, since)
    blocks = read_blocks(crawl)
    full = full_hosts(crawl.root, paths_of(manifests, "hosts"), settings.limits)
    held = held._replace(not_due=held.not_due | full)
    closed = NotRequested(blocks, excluded, only_external, full)
    batches = read_waiting(crawl.root, Waiting.of(manifests), ["host", "due_at", "failures", *closed.columns])
    settling = (settled(closed.without(rows), now, since) for rows in batches)
    coming = next_round(settling, held.until, held.silent, now, LONGEST_WAIT, held.names)
    if leftovers.files:
        coming = NextRound(now, now)
    planned_at = DuePages.of(crawl.root, manifests).first() if settings.recrawl.per_day else None
    outlook = Outlook(coming, planned_at, closed.blocked, closed.excluded, held.refused, only_external, closed.full)
    waiting = sum(waiting_by_reason(crawl.root, manifests).values())
    return Situation(now, since, waiting, pages_left, held, blocks, excluded, leftovers, others, outlook)


def with_counts(end: End, crawl: CrawlDir, settings: Settings) -> End:
    """Return an end with the numbers of URLs that are counted only then."""
    manifests = crawl.manifests()
    if end.reason == "frontier_empty":
        is_over = not end.rounds and not settings.recrawl.is_on
        is_deeper = any(file.counts.get("depth") for file in files_of(manifests, "rejections"))
        depth = settings.scope.depth if is_deeper else None
        return end._replace(held=len(held_urls(crawl, manifests)), is_over=is_over, depth=depth)
    if end.reason not in ("rounds", "max_pages"):
        return end
    excluded = excluded_urls(crawl, manifests, settings)
    count = count_excluded(crawl, manifests, excluded)
    return end._replace(excluded=count, max_pages=settings.limits.max_pages if end.reason == "max_pages" else 0)
