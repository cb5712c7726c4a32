"""`beamtrawl blocks`: the blocks of a crawl."""

import argparse
import dataclasses
import json

from ....transforms.blocks.files import read_blocks
from ....transforms.blocks.rules import Block
from ....transforms.directory.crawl_dir import CrawlDir


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("dir", metavar="DIR")
    parser.add_argument("--json", action="store_true", help="print JSON")


def run(arguments: argparse.Namespace) -> None:
    """Print the blocks, oldest first."""
    crawl = CrawlDir(arguments.dir)
    crawl.require_manifests()
    found = read_blocks(crawl)
    if arguments.json:
        print(json.dumps([dataclasses.asdict(block) for block in found], indent=1, ensure_ascii=False))
    else:
        print("\n".join(map(_line, found)) or "no blocks")


def _line(block: Block) -> str:
    then = "  forget" if block.forget else ""
    return f"{block.pattern}  since {block.since}{then}" + (f"  {block.reason}" if block.reason else "")
