"""`beamtrawl seeds add`: put URLs into the next round of a crawl."""

import argparse
import sys
from datetime import UTC, datetime

from ...pipeline.seeds import add_seeds
from ...transforms.directory.crawl_dir import CrawlDir
from ...transforms.directory.crawl_settings import stored_settings
from ...transforms.settings import settings_digest
from ..crawling import session
from ..crawling.console import Console, text_output
from ..terminal.errors import Usage
from .arguments import add_repeatable


def add_arguments(parser: argparse.ArgumentParser) -> None:
    actions = parser.add_subparsers(metavar="ACTION", required=True)
    add = actions.add_parser("add", help="put URLs into the next round", allow_abbrev=False)
    add.add_argument("dir", metavar="DIR")
    add.add_argument("seed", nargs="*", metavar="URL")
    add_repeatable(add, "--sitemap", "URL", "start at the pages in this sitemap")
    add.add_argument("--seeds", metavar="FILE", help="the URLs in this file, one a line; - is stdin")


def run(arguments: argparse.Namespace) -> int:
    """Add seeds to a crawl that may be running."""
    directory = CrawlDir(arguments.dir)
    directory.require_manifests()
    console = Console([text_output(sys.stderr)])
    words = session.COMMAND_LINE._replace(seed="URL")
    found = session.choose_seeds(arguments.seed, arguments.sitemap, arguments.seeds, words, console.warn)
    if not found:
        raise Usage("seeds add needs a URL, --sitemap URL or --seeds FILE")
    session.refuse_lost_settings(directory)
    settings = stored_settings(directory)
    session.refuse_anonymous(settings.robot, found, options={})
    console.seeds_added(add_seeds(directory, found, settings_digest(settings), datetime.now(UTC)))
    return 0
