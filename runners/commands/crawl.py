"""`beamtrawl crawl`: start a crawl, or go on with one."""

import argparse
import contextlib
import sys
from functools import partial
from pathlib import Path
from typing import TextIO

from ...pipeline.control import StopSignal
from ...transforms.directory.crawl_dir import CrawlDir
from ...transforms.directory.crawl_settings import SETTINGS_FILE, stored_settings
from ...transforms.directory.waiting import count_waiting
from ...transforms.http.request_headers import never_sent
from ...transforms.settings import Settings, assignment, override, renamed
from ..crawling import session
from ..crawling.console import Console, closing, open_outputs, run_interruptibly
from ..crawling.identity import with_identity
from ..engines.choose import engine, fork_early, notice, submission
from ..state.crawl_traps import release_hint
from ..state.failures import origins, seed_trouble
from ..terminal.errors import Usage
from ..terminal.numbers import at_least_0, whole
from .arguments import add_engine, add_repeatable

NOTHING_FETCHED = 4
"""The exit code of a crawl that has run rounds, and has no page or none of its seeds."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.usage = "%(prog)s [options] DIR [-- OPTIONS OF BEAM]"  # all of them take a screen of their own
    parser.add_argument("dir", metavar="DIR", help="the crawl directory, a new one or one to go on with")
    add, add_list = parser.add_argument, partial(add_repeatable, parser)
    add_list("--seed", "URL", "start here")
    add("--seeds", metavar="FILE", help="start at the URLs in this file, one a line; - is stdin")
    add_list("--sitemap", "URL", "start at the pages in this sitemap")
    add("--rounds", type=whole(), metavar="N", help="rounds to run now; else until nothing is left")
    add("--max-pages", type=whole(), metavar="N", help="visits in the whole crawl")
    add("--max-pages-per-host", type=whole(), metavar="N", help="visits to a host in the whole crawl")
    add("--max-pages-per-host-per-round", type=whole(), metavar="N", help="visits to a host in a round")
    add("--depth", type=whole(), metavar="N", help="links from a seed, at most")
    add("--scope", choices=("host", "domain", "any"), help="stay on the seeds' hosts or domains, or roam")
    add("--delay", type=at_least_0, metavar="SECONDS", help="between two requests to a host")
    add("--round-time", type=at_least_0, metavar="SECONDS", help="a round fetches no longer than this")
    add("--robot", metavar="NAME", help="the robot's name")
    add("--contact", metavar="MAIL", help="the operator's mail address")
    add("--info-url", metavar="URL", help="a page about the robot")
    add_list("--allow-address", "CIDR", "allow special addresses, such as 127.0.0.0/8")
    add_list("--include", "REGEX", "crawl only URLs that match")
    add_list("--exclude", "REGEX", "crawl no URL that matches")
    add("--check-external", action="store_true", default=None, help="ask links to other hosts for their status")
    add("--recrawl-after", type=at_least_0, metavar="DAYS", help="visit pages again at this age")
    add("--again", action="store_true", help="visit all pages once more now, if they have changed")
    add_list("--set", "KEY=VALUE", "any setting, as politeness.backoff=5")
    add("--into-nonempty", action="store_true", help="start a crawl beside files of others, too")
    add("--restore-settings", action="store_true", help="first write a lost crawl.toml anew")
    add_engine(parser)
    add("--json", action="store_true", help="print events, one JSON object a line")
    add("--log", metavar="FILE", help="append the events to a file")


def run(arguments: argparse.Namespace) -> int:
    """Start or resume a crawl; Ctrl-C ends it once the requests under way are answered."""
    directory = CrawlDir(arguments.dir)
    if arguments.restore_settings:
        session.restore_settings(directory)
    session.refuse_unusable(directory, arguments.into_nonempty, "--into-nonempty")
    for hint in renamed(directory.read_text(SETTINGS_FILE)) if directory.exists(SETTINGS_FILE) else ():
        print(f"beamtrawl: {hint}", file=sys.stderr)
    settings = _settings(directory, arguments)
    chosen = engine(arguments.runner, arguments.workers, arguments.beam)
    log = open_log(arguments.log) if arguments.log else None
    outputs = open_outputs(sys.stderr, sys.stdout if arguments.json else None, log)
    console = Console(outputs, arguments.rounds, partial(submission, chosen))
    words = session.COMMAND_LINE
    fork_early(chosen, directory.root, parses=True)  # without the seeds, of which there may be a million
    seeds = session.choose_seeds(arguments.seed, arguments.sitemap, arguments.seeds, words, console.warn)
    session.refuse_seedless(directory, seeds, words)
    if session.is_public(seeds):
        settings, notice_of_identity = with_identity(settings)
        if notice_of_identity:
            console.warn(notice_of_identity)
    session.refuse_anonymous(settings.robot, seeds, words.robot)
    session.refuse_missing_plugins(settings, directory)
    for url in (url for url in arguments.seed if url.endswith(("sitemap.xml", "sitemap.xml.gz", "sitemap_index.xml"))):
        console.warn(f"{url} looks like a sitemap: to start at the pages in it, give --sitemap in place of --seed")
    for line in filter(None, (session.refused_address(settings.fetch, seeds, words), notice(chosen))):
        console.warn(line)
    stop = StopSignal()
    rounds = partial(session.run, directory, settings, seeds, chosen, console, stop, arguments.rounds, arguments.again)
    with log or contextlib.nullcontext(), closing(console):
        end = run_interruptibly(rounds, stop, console)
        trouble = seed_trouble(directory)
        for line in trouble.lines:
            console.warn(line)
        if bound := never_sent(settings.fetch, ()):
            bound = never_sent(settings.fetch, [f"{origin}/" for origin in origins(directory)])
        if bound:
            console.warn(
                f"this crawl has sent no request to {', '.join(bound)}, to which credentials or headers are bound in"
                " fetch; HOST is https on port 443, others are http://HOST and HOST:PORT"
            )
        console.ended(end, count_waiting(directory), release_hint(directory) if end.held else "")
    return NOTHING_FETCHED if trouble.is_nothing_fetched and end.rounds and end.reason != "stopped" else 0


def _settings(directory: CrawlDir, arguments: argparse.Namespace) -> Settings:
    """The settings of a crawl with those that the command line sets; a flag of its own precedes --set."""
    stored = stored_settings(directory)
    flags = {key: getattr(arguments, flag) for flag, key in session.SETTINGS.items()}
    given = dict(map(assignment, arguments.set))
    return override(stored, given | {key: value for key, value in flags.items() if value not in (None, [])})


def open_log(path: str) -> TextIO:
    """Open a file to append to; Usage if that is impossible."""
    try:
        return Path(path).open("a", encoding="utf-8")
    except OSError as error:
        raise Usage(f"--log {path}: {error.strerror}") from error
