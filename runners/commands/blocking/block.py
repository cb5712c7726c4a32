"""`beamtrawl block`: request nothing of a host any more, and show nothing of it in searches."""

import argparse
from datetime import UTC, datetime

from ....pipeline.release_held import release_aliases
from ....transforms.blocks.files import add_block
from ....transforms.blocks.rules import Block, Blocks, check_pattern
from ....transforms.directory.claims import read_running
from ....transforms.directory.crawl_dir import CrawlDir, iso
from ....transforms.directory.crawl_settings import stored_settings
from ....transforms.directory.reserve import with_reserve
from ....transforms.outcomes import DiskError
from ...state.blocked import count_blocked
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
