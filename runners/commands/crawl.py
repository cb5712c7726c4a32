"""Commands that write: crawl, seeds add, clean."""

import argparse
import sys
from collections.abc import Iterator
from datetime import UTC, datetime
from functools import partial

from ...pipeline.crawl import StopSignal, settings_digest
from ...pipeline.seeds import Seed, add_seeds
from ...transforms.plugins import PluginError
from ...transforms.settings import SettingsError, override, parse
from ...transforms.storage import filesystem
from ...transforms.storage.crawl_dir import CrawlDir, frontier_files, visible_files
from ...transforms.storage.schemas import TABLES
from .. import session
from ..console import Console, describe_end, run_interruptibly
from ..engines.choose import RUNNERS, OptionsError, engine
from ..errors import Usage
from ..lock import Lock

_SITEMAP_HELP = "start at the pages in this sitemap (may be repeated)"


def crawl_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("dir", metavar="DIR", help="the crawl directory, a new one or one to go on with")
    parser.add_argument("--seed", action="append", default=[], metavar="URL", help="start here (may be repeated)")
    parser.add_argument("--seeds", metavar="FILE", help="start at the URLs in this file, one a line")
    parser.add_argument("--sitemap", action="append", default=[], metavar="URL", help=_SITEMAP_HELP)
    parser.add_argument("--rounds", type=_count, metavar="N", help="rounds to run now; else until nothing is left")
    parser.add_argument("--max-pages", type=_count, metavar="N", help="visits in the whole crawl")
    parser.add_argument("--max-pages-per-host", type=_count, metavar="N", help="visits to a host in a round")
    parser.add_argument("--depth", type=_count, metavar="N", help="links from a seed, at most")
    parser.add_argument(
        "--scope", choices=("host", "domain", "any"), help="stay on the seeds' hosts or domains, or roam"
    )
    parser.add_argument("--delay", type=float, metavar="SECONDS", help="between two requests to a host")
    parser.add_argument("--round-time", type=float, metavar="SECONDS", help="a round fetches no longer than this")
    parser.add_argument("--robot", metavar="NAME", help="the robot's name")
    parser.add_argument("--contact", metavar="MAIL", help="the operator's mail address")
    parser.add_argument("--info-url", metavar="URL", help="a page about the robot")
    parser.add_argument(
        "--allow-address",
        action="append",
        metavar="CIDR",
        help="allow special addresses, such as 127.0.0.0/8 (may be repeated)",
    )
    parser.add_argument("--runner", choices=RUNNERS, default="direct")
    parser.add_argument("--workers", type=_count, metavar="N", help="parallel workers; else one a core")
    parser.epilog = "What comes after -- goes to Beam."


def crawl(arguments: argparse.Namespace) -> int:
    """Start a crawl, or go on with one; Ctrl-C ends it politely."""
    directory = CrawlDir(arguments.dir)
    console = Console(sys.stderr)
    settings = session.stored_settings(directory)
    flags = {key: getattr(arguments, flag) for flag, key in session.SETTINGS.items()}
    try:
        settings = override(settings, {key: value for key, value in flags.items() if value is not None})
        chosen = engine(arguments.runner, arguments.workers, arguments.beam)
    except (SettingsError, OptionsError) as error:
        raise Usage(str(error)) from error
    seeds = _read_seeds(arguments, console)
    session.refuse_seedless(directory, seeds, session.COMMAND_LINE)
    session.refuse_anonymous(settings, seeds, session.COMMAND_LINE.robot)
    try:
        session.refuse_missing_plugins(settings, directory)
    except PluginError as error:
        raise Usage(str(error)) from error
    if line := session.refused_address(settings, seeds, session.COMMAND_LINE):
        console.warn(line)
    stop = StopSignal()
    rounds = partial(session.run, directory, settings, seeds, chosen, console, stop, arguments.rounds)
    end = run_interruptibly(rounds, stop, console)
    waiting = sum(file.rows for file in frontier_files(directory.manifests()))
    console.say(describe_end(end, waiting))
    return 0


def _read_seeds(arguments: argparse.Namespace, console: Console) -> list[Seed]:
    """The seeds of --seed, --sitemap and --seeds; bad lines are named and skipped."""
    words = session.COMMAND_LINE
    return session.choose_seeds(arguments.seed, arguments.sitemap, arguments.seeds, words, console.warn)


def seeds_arguments(parser: argparse.ArgumentParser) -> None:
    actions = parser.add_subparsers(metavar="ACTION", required=True)
    add = actions.add_parser("add", help="put URLs into the next round", allow_abbrev=False)
    add.add_argument("dir", metavar="DIR")
    add.add_argument("seed", nargs="*", metavar="URL")
    add.add_argument("--sitemap", action="append", default=[], metavar="URL", help=_SITEMAP_HELP)
    add.add_argument("--seeds", metavar="FILE", help="the URLs in this file, one a line")


def seeds(arguments: argparse.Namespace) -> int:
    """Add seeds to a crawl that may be running."""
    directory = CrawlDir(arguments.dir)
    directory.require_manifests()
    console = Console(sys.stderr)
    found = _read_seeds(arguments, console)
    if not found:
        raise Usage("seeds add needs a URL, --sitemap URL or --seeds FILE")
    settings = parse(directory.read_text("crawl.toml"))
    session.refuse_anonymous(settings, found, options={})
    console.seeds_added(add_seeds(directory, found, settings_digest(settings), datetime.now(UTC)))
    return 0


def clean_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("dir", metavar="DIR")


def clean(arguments: argparse.Namespace) -> int:
    """Remove every file of a table or index that no committed step names."""
    directory = CrawlDir(arguments.dir)
    directory.require_manifests()  # before anything is written into a directory that is no crawl
    with Lock(directory):
        visible = set(visible_files(directory.manifests()))
        garbage = [path for path in _data_files(directory) if not _is_visible(path, visible)]
        filesystem.delete(directory.path(path) for path in garbage)
    print(f"{len(garbage)} files removed")
    return 0


def _data_files(directory: CrawlDir) -> Iterator[str]:
    for table in (*TABLES, "index", "attempts"):
        yield from directory.paths(table)


def _is_visible(path: str, visible: set[str]) -> bool:
    return path in visible or path.rpartition("/")[0] in visible


def _count(text: str) -> int:
    value = int(text)
    if value < 0:
        raise ValueError
    return value


_count.__name__ = "number of at least 0"  # argparse names the type in its message
