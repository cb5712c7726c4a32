"""Counts the URLs of a crawl that blocks match."""

from typing import NamedTuple

import pyarrow as pa

from ...transforms.blocks.rules import Blocks
from ...transforms.directory.crawl_dir import CrawlDir, paths_of
from ...transforms.directory.waiting import Waiting, read_waiting
from ...transforms.tables.table_files import open_parquet


class Blocked(NamedTuple):
    """Numbers of URLs that are blocked."""

    urls: int  # in table urls
    waiting: int  # rows of the frontier among them


def count_blocked(crawl: CrawlDir, blocks: Blocks) -> Blocked:
    """Return how many URLs some blocks match. Memory is bounded by their number."""
    manifests = crawl.manifests()
    keys = set[bytes]()
    for path in paths_of(manifests, "urls"):
        with open_parquet(crawl.root, path) as file:
            for group in range(file.num_row_groups):
                rows = file.read_row_group(group, ["url_key", "url"], use_threads=False)
                keys.update(rows.filter(blocks.mask(rows["url"]))["url_key"].to_pylist())
    return Blocked(len(keys), count_waiting(crawl, blocks))


def count_waiting(crawl: CrawlDir, blocks: Blocks) -> int:
    """Return how many rows of the frontier some blocks match."""
    if not blocks:
        return 0
    waiting = read_waiting(crawl.root, Waiting.of(crawl.manifests()), ["url"])
    return sum(_count(blocks, rows) for rows in waiting)


def _count(blocks: Blocks, rows: pa.Table) -> int:
    return rows.filter(blocks.mask(rows["url"])).num_rows
