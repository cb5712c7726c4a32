"""`beamtrawl release`: visit URLs that are held as traps or aliases, and never hold them again."""

import argparse
from collections.abc import Sequence
from datetime import UTC, datetime

from ...pipeline.release_held import count_matches, release
from ...transforms.blocks.files import read_blocks
from ...transforms.directory.crawl_dir import CrawlDir
from ...transforms.directory.waiting import Waiting, read_waiting
from ...transforms.settings.checks import url_pattern
from ...transforms.traps.allow_list import compile_allow_list
from ..state.crawl_traps import closed_traps
from ..terminal.errors import Usage
from ..terminal.units import counted


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("dir", metavar="DIR")
    parser.add_argument(
        "pattern", nargs="+", metavar="PATTERN", help="HOST/PATTERN of URLs, without http://; * is anything"
    )


def run(arguments: argparse.Namespace) -> int:
    """Release URLs in a crawl that may be running: its next round visits them."""
    directory = CrawlDir(arguments.dir)
    directory.require_manifests()
    for text in arguments.pattern:
        if problem := url_pattern(text):
            raise Usage(f"{text!r}: {problem}; * is anything")
    found = {pattern: count_matches(directory, pattern) for pattern in dict.fromkeys(arguments.pattern)}
    traps = {pattern for trap in closed_traps(directory, directory.manifests(), ()) for pattern in trap["patterns"]}
    for pattern, matches in found.items():
        if not any(matches) and pattern not in traps:
            raise Usage(
                f"no URL that is held or waits matches {pattern}; beamtrawl status {arguments.dir} names traps and"
                " alias rules, each with its pattern"
            )
    released = release(directory, list(found), datetime.now(UTC))
    waiting = sum(matches.waiting for matches in found.values())
    what = f"{counted(released, 'URL')} released, and {waiting} that wait are no longer limited"
    print(f"{what}; {_then(released + waiting, _blocked_among(directory, list(found)))}")
    return 0


def _then(urls: int, blocked: int) -> str:
    """What happens to the URLs, of which some are blocked."""
    if not urls:
        return "nothing is left to visit of them, and status has no alarm about them any more"
    if not blocked:
        return "the next round visits them"
    which = "they are blocked" if blocked >= urls else f"{blocked} of them are blocked"
    others = "" if blocked >= urls else "the next round visits the others; "
    return f"{others}{which}, and no request is sent until `beamtrawl unblock`"


def _blocked_among(directory: CrawlDir, patterns: Sequence[str]) -> int:
    """The number of waiting URLs that match a pattern and are blocked."""
    blocks = read_blocks(directory)
    if not blocks:
        return 0
    matches = compile_allow_list(patterns)
    batches = read_waiting(directory.root, Waiting.of(directory.manifests()), ["url"])
    closed = (rows.filter(blocks.mask(rows["url"]))["url"].to_pylist() for rows in batches)
    return sum(matches(url) for urls in closed for url in urls)
