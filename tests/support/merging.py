"""Merges of all kinds of files side by side, and of one kind alone."""

from functools import partial

from beamtrawl.pipeline.attempt import Engine
from beamtrawl.pipeline.compaction import compact
from beamtrawl.pipeline.compaction.compact_frontier import choose_frontier
from beamtrawl.pipeline.compaction.compact_tables import Select, choose_tables
from beamtrawl.pipeline.compaction.damage import Damage
from beamtrawl.transforms.directory.crawl_dir import CrawlDir, Manifest
from beamtrawl.transforms.directory.table_runs import all_runs
from beamtrawl.transforms.frontier.merge import WIDTH
from beamtrawl.transforms.indexing.merge_policy import ALL, Policy


def merge_kinds(crawl: CrawlDir, engine: Engine, width: int = WIDTH) -> Manifest | None:
    """All segments, all tables, and files of the frontier, in one step."""
    choices: list[compact.Choose] = [
        partial(compact.choose_segments, policy=ALL),
        partial(choose_tables, select=all_runs),
        partial(choose_frontier, width=width),
    ]
    return compact.merge(crawl, engine, choices)


def merge(crawl: CrawlDir, engine: Engine, policy: Policy, damage: Damage | None = None) -> Manifest | None:
    """The segments that a policy chooses."""
    return compact.merge(crawl, engine, [partial(compact.choose_segments, policy=policy)], damage)


def merge_tables(crawl: CrawlDir, engine: Engine, select: Select, damage: Damage | None = None) -> Manifest | None:
    return compact.merge(crawl, engine, [partial(choose_tables, select=select)], damage)


def compact_frontier(
    crawl: CrawlDir, engine: Engine, width: int = WIDTH, damage: Damage | None = None
) -> Manifest | None:
    return compact.merge(crawl, engine, [partial(choose_frontier, width=width)], damage)
