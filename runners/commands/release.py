"""`beamtrawl release`: visit URLs that are held as traps or aliases, and never hold them again."""

import argparse
from datetime import UTC, datetime

from ...pipeline.release_held import count_matches, release
from ...transforms.settings import SettingsError, override, settings_digest
from ...transforms.storage.crawl_dir import CrawlDir
from ..errors import Usage
from ..session import stored_settings


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("dir", metavar="DIR")
    parser.add_argument(
        "pattern", nargs="+", metavar="PATTERN", help="HOST/PATTERN of URLs, without http://; * is anything"
    )


def run(arguments: argparse.Namespace) -> int:
    """Release URLs in a crawl that may be running: its next round visits them."""
    directory = CrawlDir(arguments.dir)
    directory.require_manifests()
    settings = stored_settings(directory)
    try:
        override(settings, {"traps.allow": arguments.pattern})
    except SettingsError as error:
        raise Usage(str(error)) from error
    found = {pattern: count_matches(directory, pattern) for pattern in dict.fromkeys(arguments.pattern)}
    for pattern, matches in found.items():
        if not any(matches):
            raise Usage(
                f"no URL that is held or waits matches {pattern}; beamtrawl status {arguments.dir} names traps and"
                " alias rules, each with its pattern"
            )
    released = release(directory, list(found), settings_digest(settings), datetime.now(UTC))
    waiting = sum(matches.waiting for matches in found.values())
    print(f"{released} URLs released, and {waiting} that wait are no longer limited; the next round visits them")
    return 0
