"""Commands that write: crawl, seeds add, clean."""

import argparse
import sys
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from apache_beam.io.filesystems import FileSystems

from ...pipeline.crawl import End, StopSignal, run_crawl, settings_digest
from ...pipeline.seeds import Added, BadLine, Seed, add_seeds, parse_seeds
from ...transforms.http.address_guard import blocked, literal_loopback
from ...transforms.http.client import allowed_networks
from ...transforms.http.request_headers import Identity
from ...transforms.indexing import korean
from ...transforms.observers.registry import open_observers
from ...transforms.parsing.registry import kinds_of
from ...transforms.plugins import PluginError
from ...transforms.politeness.downloaders import open_downloaders
from ...transforms.settings import Settings, SettingsError, override, parse, render
from ...transforms.storage.crawl_dir import CrawlDir, frontier_files, visible_files
from ...transforms.storage.schemas import TABLES
from ...transforms.storage.sitemap_terms import SITEMAP
from ..console import Console, run_interruptibly
from ..engines.choose import RUNNERS, OptionsError, engine
from ..errors import Usage
from ..lock import Lock
from .rank import rank_after_crawl

_FLAGS = {
    "max_pages": "limits.max_pages",
    "max_pages_per_host": "limits.max_pages_per_host",
    "round_time": "limits.round_time",
    "depth": "scope.depth",
    "scope": "scope.mode",
    "delay": "politeness.delay",
    "robot": "robot.name",
    "contact": "robot.contact",
    "info_url": "robot.info_url",
    "allow_address": "fetch.allow_addresses",
}

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
    try:
        chosen = engine(arguments.runner, arguments.workers, arguments.beam)
    except OptionsError as error:
        raise Usage(str(error)) from error
    settings = read_settings(directory, arguments)
    manifests = directory.manifests()
    seeds = read_seeds(arguments, console)
    if not manifests and not seeds:
        raise Usage(
            f"{directory.root} is a new crawl and needs a URL to start from: --seed URL, --sitemap URL or --seeds FILE"
        )
    _refuse_anonymous(settings, seeds, has_flags=True)
    _refuse_missing_plugins(settings, directory)
    _warn_of_refused(settings, seeds, console)
    with Lock(directory):
        if not directory.exists("crawl.toml"):
            directory.write_text("crawl.toml", render(settings))
        if seeds:
            console.say(describe_added(add_seeds(directory, seeds, settings_digest(settings), datetime.now(UTC))))
        stop = StopSignal()

        def rounds() -> End:
            end = run_crawl(directory, settings, chosen, console, stop, arguments.rounds)
            if not stop.is_set():
                rank_after_crawl(directory, settings, chosen, console)
            return end

        end = run_interruptibly(rounds, stop, console)
        console.say(describe_end(end, directory))
    return 0


def read_settings(directory: CrawlDir, arguments: argparse.Namespace) -> Settings:
    """crawl.toml, or the defaults for a new crawl, with the flags that were given before them."""
    settings = parse(directory.read_text("crawl.toml")) if directory.exists("crawl.toml") else Settings()
    given = {key: getattr(arguments, flag) for flag, key in _FLAGS.items() if getattr(arguments, flag) is not None}
    try:
        return override(settings, given)
    except SettingsError as error:
        raise Usage(str(error)) from error


def read_seeds(arguments: argparse.Namespace, console: Console) -> list[Seed]:
    """The seeds of --seed, --sitemap and --seeds; bad lines are named and skipped."""
    seeds, bad = parse_seeds(arguments.seed, "--seed")
    sitemaps, bad_sitemaps = parse_seeds(arguments.sitemap, "--sitemap", SITEMAP)
    seeds, bad = seeds + sitemaps, bad + bad_sitemaps
    if arguments.seeds:
        try:
            lines = Path(arguments.seeds).read_text(encoding="utf-8-sig").splitlines()
        except (OSError, UnicodeDecodeError) as error:
            raise Usage(f"cannot read the seeds in {arguments.seeds}: {_reason(error)}") from error
        more, more_bad = parse_seeds(lines, arguments.seeds)
        seeds, bad = seeds + more, bad + more_bad
    _report_bad(bad, console)
    if (arguments.seed or arguments.sitemap or arguments.seeds) and not seeds:
        raise Usage("none of the seeds is a URL that can be crawled; give one such as https://example.org/")
    return seeds


def _report_bad(bad: list[BadLine], console: Console) -> None:
    for line in bad:
        console.say(str(line))


def _refuse_anonymous(settings: Settings, seeds: list[Seed], has_flags: bool) -> None:
    """SPEC A3: nobody but this machine is asked without a name and a contact; not every command has flags for them."""
    if Identity.of(settings.robot).complete:
        return
    missing = [flag for flag in ("name", "contact", "info_url") if not getattr(settings.robot, flag)]
    public = next((s.url for s in seeds if not literal_loopback(urlsplit(s.url).hostname or "")), None)
    if public:
        flags = {"name": "--robot NAME", "contact": "--contact MAIL", "info_url": "--info-url URL"}
        way_out = f"set {', '.join(missing)} under [robot] in crawl.toml"
        if has_flags:
            way_out = f"add {' '.join(flags[name] for name in missing)}, or set [robot] in crawl.toml"
        raise Usage(f"{public} is somebody's server, and a robot must say who it is: {way_out}")


def _refuse_missing_plugins(settings: Settings, directory: CrawlDir) -> None:
    """What a worker would fail on for want of a package or a file."""
    try:
        kinds_of(tuple(settings.documents.kinds))
        open_observers(settings, directory.read_bytes)
        open_downloaders(settings)
    except PluginError as error:
        raise Usage(str(error)) from error
    if settings.documents.korean_morphemes and not korean.is_available():
        raise Usage(f"documents.korean_morphemes = true needs kiwipiepy: {korean.HOW_TO_INSTALL}")


def _warn_of_refused(settings: Settings, seeds: list[Seed], console: Console) -> None:
    """A seed whose address is refused gets its outcome like any URL; here is why, and the way out."""
    allowed = allowed_networks(settings.fetch)
    for seed in seeds:
        name = (urlsplit(seed.url).hostname or "").replace("localhost", "127.0.0.1")
        if (reason := blocked(name, allowed)) and reason != "not an address":
            suffix = "127.0.0.0/8" if reason == "loopback" and ":" not in name else name
            console.say(f"{seed.url} has a {reason} address, which is refused; to allow it: --allow-address {suffix}")
            return


def describe_added(added: Added) -> str:
    again = f", {added.again} to be asked for once more" if added.again else ""
    known = f", {added.known} known already" if added.known else ""
    return f"{added.new} seeds added{again}{known}"


def describe_end(end: End, directory: CrawlDir) -> str:
    waiting = sum(file.rows for file in frontier_files(directory.manifests()))
    reasons = {
        "frontier_empty": "the frontier is empty",
        "rounds": f"{end.rounds} rounds done, {waiting} URLs in the frontier",
        "max_pages": f"the limit of pages is reached, {waiting} URLs in the frontier",
        "stopped": f"stopped, {waiting} URLs in the frontier; the same command goes on",
        "not_due": f"{waiting} URLs wait until {end.due_at:%Y-%m-%d %H:%M:%S} UTC; the same command goes on then"
        if end.due_at
        else f"{waiting} URLs wait: the last round was too short to ask for any of them; limits.round_time is its time",
    }
    return reasons[end.reason]


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
    found = read_seeds(arguments, console)
    if not found:
        raise Usage("seeds add needs a URL, --sitemap URL or --seeds FILE")
    settings = parse(directory.read_text("crawl.toml"))
    _refuse_anonymous(settings, found, has_flags=False)
    console.say(describe_added(add_seeds(directory, found, settings_digest(settings), datetime.now(UTC))))
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
        FileSystems.delete([directory.path(path) for path in garbage]) if garbage else None
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


def _reason(error: Exception) -> Any:
    return getattr(error, "strerror", None) or error
