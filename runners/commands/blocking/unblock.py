"""`beamtrawl unblock`: undo a block."""

import argparse

from ....transforms.blocks.files import read_blocks, remove_block
from ....transforms.blocks.rules import check_pattern
from ....transforms.directory.crawl_dir import CrawlDir
from ...terminal.errors import Usage


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("dir", metavar="DIR")
    parser.add_argument("pattern", metavar="HOST|PATTERN", help="as it was given to `block`")


def run(arguments: argparse.Namespace) -> None:
    """Remove a block: its URLs are due again, and its pages are found again."""
    crawl = CrawlDir(arguments.dir)
    crawl.require_manifests()
    pattern = check_pattern(arguments.pattern)
    known = [block.pattern for block in read_blocks(crawl)]
    if pattern not in known:
        names = f"the blocks are: {', '.join(known)}" if known else "the crawl has no blocks"
        raise Usage(f"{pattern} is not blocked; {names}")
    remove_block(crawl, pattern)
    print(f"{pattern} is not blocked any more; a running crawl visits its URLs in its next round")
