"""`beamtrawl block`: request nothing of a host any more, and show nothing of it in searches."""

import argparse
from datetime import UTC, datetime
from typing import NamedTuple

import pyarrow as pa

from ....pipeline.release_held import release_aliases
from ....transforms.blocks.files import add_block
from ....transforms.blocks.rules import Block, Blocks, check_pattern
from ....transforms.directory.claims import read_running
from ....transforms.directory.crawl_dir import CrawlDir, iso, paths_of
from ....transforms.directory.crawl_settings import stored_settings
from ....transforms.directory.reserve import with_reserve
from ....transforms.directory.waiting import Waiting, read_waiting
from ....transforms.outcomes import DiskError
from ....transforms.tables.table_files import open_parquet
from ...terminal.errors import Failure
from ...terminal.units import counted


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("dir", metavar="DIR")
    parser.add_argument(
        "pattern", metavar="HOST|PATTERN", help="a host, or HOST/PATTERN of URLs, without http://; * is anything"
    )
    parser.add_argument("--reason", default="", metavar="TEXT", help="who asked for it, and why; for `blocks`")
    parser.add_argument("--forget", action="store_true", help="the next `compact` removes what is stored of its pages")


def run(arguments: argparse.Namespace) -> None:
    """Add a block to a crawl that may be running, and say what it affects."""
    crawl = CrawlDir(arguments.dir)
    crawl.require_manifests()
    block = Block(check_pattern(arguments.pattern), iso(datetime.now(UTC)), arguments.forget, arguments.reason)
    with_reserve(crawl, lambda: add_block(crawl, block))
    settings = stored_settings(crawl)
    try:
        released = release_aliases(crawl, settings.aliases, datetime.now(UTC))
    except DiskError as error:
        raise Failure(f"{block.pattern} is blocked; its aliases are not released: {error}") from error
    found = count_blocked(crawl, Blocks([block]))
    then = f"; {released} URLs that its pages stood for are requested instead" if released else ""
    if owner := read_running(crawl.root):
        running = f"process {owner['pid']} on {owner.get('host')}"
        then += f"; {running} stops its requests within seconds, also those under way"
    then += f"; its pages are removed by: beamtrawl compact {crawl.root}" if block.forget else ""
    if not any(found):
        print(f"{block.pattern} is blocked from now on; so far no URL of the crawl matches it{then}")
        return
    wait = "waits" if found.waiting == 1 else "wait"
    print(
        f"{block.pattern} is blocked: no request to it starts from now on, and searches find none of its pages;"
        f" {found.waiting} of {counted(found.urls, 'URL')} {wait} in the frontier until it is unblocked{then}"
    )


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
