"""One run of a crawl: settings, seeds, checks before the start, lock, rounds and ranking.

The command line and the Python API both start crawls here; they differ in the option names in messages (`Words`) and
in their output (`Observer`).
"""

import contextlib
import gzip
import re
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple, Protocol
from urllib.parse import urlsplit

from ...pipeline import control
from ...pipeline.add_revisits import add_all
from ...pipeline.attempt import Engine, until
from ...pipeline.compaction.garbage import garbage_bytes
from ...pipeline.control import End, Stopped, StopSignal
from ...pipeline.crawl import run_crawl
from ...pipeline.rank import has_lost_ranks, has_unranked_links, rank
from ...pipeline.seeds import Added, Seed, add_seeds, decode_lines, parse_seeds
from ...transforms.directory.crawl_dir import CrawlDir, MisnamedError
from ...transforms.directory.crawl_settings import has_lost_settings, last_settings, stored_settings
from ...transforms.directory.own_files import refuse_foreign
from ...transforms.directory.reserve import keep_reserve
from ...transforms.frontier.scorers import load_scorers
from ...transforms.http.address_guard import blocked, literal_loopback
from ...transforms.http.client import allowed_networks
from ...transforms.http.request_headers import Identity
from ...transforms.indexing import korean
from ...transforms.observers.registry import open_observers
from ...transforms.parsing.registry import kinds_of
from ...transforms.plugins import PluginError
from ...transforms.politeness.downloaders import open_downloaders, refuse_without_head
from ...transforms.settings import Fetch, Ranking, Robot, Settings, all_values, render, restored, settings_digest
from ...transforms.settings.toml_values import to_toml
from ...transforms.signatures.signer import signer_of
from ...transforms.tables.sitemap_terms import SITEMAP
from ...transforms.urls.filters import load_filters
from ..process.lock import Lock
from ..terminal.errors import MAKE_ROOM, Failure, StartError
from ..terminal.units import size as bytes_size

SETTINGS = {
    "max_pages": "limits.max_pages",
    "max_pages_per_host": "limits.max_pages_per_host_total",
    "max_pages_per_host_per_round": "limits.max_pages_per_host_per_round",
    "round_time": "limits.round_time",
    "depth": "scope.depth",
    "scope": "scope.mode",
    "delay": "politeness.delay",
    "robot": "robot.name",
    "contact": "robot.contact",
    "info_url": "robot.info_url",
    "allow_address": "fetch.allow_addresses",
    "include": "scope.include",
    "exclude": "scope.exclude",
    "check_external": "scope.check_external",
    "recrawl_after": "recrawl.after",
}
"""The settings with a separate name on the command line and in Python, each with its key in crawl.toml."""

_NAMED = 10  # lines of seeds that are skipped

_SITE = re.compile(r"[\w-]+(\.[\w-]+)+(:\d+)?(/\S*)?")  # a URL without https://


class Words(NamedTuple):
    """The names of options in messages: those of the command line, or of Python."""

    seed: str  # the name of a list of seeds
    sitemap: str
    start: str  # the option that adds a seed URL
    robot: Mapping[str, str]  # the option for each setting; empty if only crawl.toml sets it
    allow_address: str  # with {} for the range


COMMAND_LINE = Words(
    seed="--seed",
    sitemap="--sitemap",
    start="--seed URL, --sitemap URL or --seeds FILE",
    robot={"name": "--robot NAME", "contact": "--contact MAIL", "info_url": "--info-url URL"},
    allow_address="--allow-address {}",
)


class Observer(control.Observer, Protocol):
    """Receives the progress of a run."""

    def seeds_added(self, added: Added) -> None: ...


def refuse_unusable(directory: CrawlDir, into_nonempty: bool, option: str) -> None:
    """Raise StartError for a directory in which no crawl can start or go on: with files of others, or with losses.

    `option` starts one beside files of others anyway.
    """
    try:
        if not into_nonempty:
            refuse_foreign(directory, f"name a new directory, such as {directory.path('crawl')}, or add {option}")
    except MisnamedError as error:
        raise StartError(str(error)) from error
    refuse_lost_settings(directory)
    refuse_lost_steps(directory)


def refuse_lost_settings(directory: CrawlDir) -> None:
    """Raise StartError for a crawl without crawl.toml: the defaults may be less polite than what it ran with."""
    if not has_lost_settings(directory):
        return
    lost = f"{directory.root} holds a crawl, but its crawl.toml is missing"
    known = last_settings(directory.manifests())
    if known is None:
        raise StartError(f"{lost}, and its manifests do not know the settings; restore the file from a copy")
    text = ", ".join(f"{key} = {to_toml(value)}" for key, value in known.items()) or "the defaults"
    raise StartError(
        f"{lost}; its last round ran with {text}; restore the file from a copy, or write this back (without"
        f" passwords, which are not kept): beamtrawl crawl {directory.root} --restore-settings"
    )


def refuse_lost_steps(directory: CrawlDir) -> None:
    """Raise StartError for a crawl that lacks the manifest of a step: without its rows it would go wrong silently."""
    if lost := directory.missing_manifests():
        more = f" ({len(lost) - 1} more are missing)" if len(lost) > 1 else ""
        raise StartError(f"{directory.root}: {lost[0]}{more}")


def restore_settings(directory: CrawlDir) -> None:
    """Write crawl.toml with the settings of the last round. StartError if it is there, or they are not known."""
    if directory.exists("crawl.toml"):
        raise StartError(f"{directory.path('crawl.toml')} is there; leave out --restore-settings")
    known = last_settings(directory.require_manifests())
    if known is None:
        refuse_lost_settings(directory)
    directory.write_new("crawl.toml", render(restored(known or {})))


def choose_seeds(
    urls: Sequence[str], sitemaps: Sequence[str], file: str | None, words: Words, warn: Callable[[str], None]
) -> list[Seed]:
    """Return the seeds in lists of URLs and in a file, one per line; `warn` gets a line on each unusable one.

    StartError if some are given and none is usable, or the file cannot be read. It names a single one, with no warning.
    """
    seeds, bad = parse_seeds(urls, option=words.seed)
    more, more_bad = parse_seeds(sitemaps, option=words.sitemap, kind=SITEMAP)
    seeds, bad = seeds + more, bad + more_bad
    if file is not None:
        more, more_bad = parse_seeds(_read_lines(file), file)
        seeds, bad = seeds + more, bad + more_bad
    is_useless = not seeds and bool(urls or sitemaps or file is not None)
    meant = next((f"https://{line.text}" for line in bad if _SITE.fullmatch(line.text)), "https://example.org/")
    if is_useless and len(bad) == 1:
        raise StartError(f"{bad[0].where} {bad[0].text!r}: {bad[0].problem}; give one such as {meant}")
    for line in bad[:_NAMED]:
        warn(str(line))
    if len(bad) > _NAMED:
        warn(f"{len(bad) - _NAMED} more are skipped")
    if is_useless:
        raise StartError(f"none of the seeds is a URL that can be crawled; give one such as {meant}")
    return seeds


def _read_lines(file: str) -> list[str]:
    """The lines of a file of seeds, plain or compressed by gzip; StartError if it cannot be read, or is no text."""
    try:
        content = Path("/dev/stdin" if file == "-" else file).read_bytes()
        return decode_lines(gzip.decompress(content) if content.startswith(b"\x1f\x8b") else content)
    except (OSError, EOFError, ValueError, zlib.error) as error:
        why = getattr(error, "strerror", None) or error
        raise StartError(f"cannot read the seeds in {file}: {why}") from error


def refuse_seedless(directory: CrawlDir, seeds: list[Seed], words: Words) -> None:
    """Raise StartError for a new crawl without a seed."""
    if not directory.manifests() and not seeds:
        raise StartError(f"{directory.root} is a new crawl and needs a URL to start from: {words.start}")


def is_public(seeds: Sequence[Seed]) -> str | None:
    """The first seed that is not on this machine."""
    return next((seed.url for seed in seeds if not literal_loopback(urlsplit(seed.url).hostname or "")), None)


def refuse_anonymous(robot: Robot, seeds: list[Seed], options: Mapping[str, str]) -> None:
    """Raise StartError if a seed is not on this machine and the robot has no name or contact (docs/politeness.md).

    `options` names the caller's options for them besides crawl.toml; it may be empty.
    """
    if Identity.of(robot).complete:
        return
    missing = [name for name in ("name", "contact", "info_url") if not getattr(robot, name)]
    if public := is_public(seeds):
        way_out = f"set {', '.join(missing)} under [robot] in crawl.toml"
        if options:
            way_out = f"add {' '.join(options[name] for name in missing)}, or set [robot] in crawl.toml"
            way_out += ", or for all crawls in ~/.config/beamtrawl/robot.toml"
        raise StartError(f"{public} is not on this machine, and requests to it must identify the robot: {way_out}")


def refuse_missing_plugins(settings: Settings, directory: CrawlDir) -> None:
    """Raise PluginError if a package or file that workers need is missing."""
    kinds_of(tuple(settings.documents.kinds))
    load_filters(settings.scope.filters)
    load_scorers(settings.priority.scorers)
    open_observers(settings, directory.read_bytes)
    downloaders = open_downloaders(settings)
    if settings.scope.check_external:
        refuse_without_head(downloaders, settings.fetch)
    signer_of(settings.robot)
    if settings.documents.korean_morphemes and not korean.is_available():
        raise PluginError(f"documents.korean_morphemes = true needs kiwipiepy: {korean.HOW_TO_INSTALL}")


def refused_address(fetch: Fetch, seeds: list[Seed], words: Words) -> str | None:
    """Return one line on the first seed whose address is refused, with the remedy; None if there is no such seed."""
    allowed = allowed_networks(fetch)
    for seed in seeds:
        name = (urlsplit(seed.url).hostname or "").replace("localhost", "127.0.0.1")
        if (reason := blocked(name, allowed)) and reason != "not an address":
            suffix = "127.0.0.0/8" if reason == "loopback" and ":" not in name else name
            option = words.allow_address.format(suffix)
            return f"{seed.url} has a {reason} address, which is refused; to allow it: {option}"
    return None


def run(
    directory: CrawlDir,
    settings: Settings,
    seeds: list[Seed],
    engine: Engine,
    observer: Observer,
    stop: StopSignal,
    rounds: int | None,
    again: bool = False,
) -> End:
    """Take the lock, write crawl.toml if there is none, add the seeds, run rounds, and rank the result.

    `again` visits everything once more that was visited. The list of seeds is empty once they are added.

    LockedError if another process writes to the directory.
    """
    with Lock(directory, on_lost=stop.stop) as claimed:
        if not claimed.exists("crawl.toml"):
            claimed.write_text("crawl.toml", render(settings))
        elif not claimed.manifests() and (keys := _not_stored(settings, stored_settings(claimed))):
            observer.warn(
                f"crawl.toml was there before the crawl and stays as it is: {', '.join(keys)} hold for this run only;"
                " to keep them, write them into it"
            )
        keep_reserve(claimed)
        if seeds:
            observer.seeds_added(add_seeds(claimed, seeds, settings_digest(settings), datetime.now(UTC)))
            seeds.clear()  # a million take .5 GB, with what is free between them
        if again:
            observer.busy("looking for pages to visit again")
            add_all(claimed, engine)
        with naming_garbage(claimed):
            end = run_crawl(claimed, settings, engine, observer, stop, rounds)
        if not stop.is_set():
            rank_after_crawl(claimed, settings.ranking, engine, observer, stop)
    return end


@contextlib.contextmanager
def naming_garbage(directory: CrawlDir) -> Iterator[None]:
    """Add to the line of a full disk how much `beamtrawl clean` would free, if that is anything."""
    try:
        yield
    except Exception as error:
        line = str(error)
        if MAKE_ROOM not in line or "\n" in line or not (size := garbage_bytes(directory, datetime.now(UTC))):
            raise
        clean = f"{MAKE_ROOM} (beamtrawl clean {directory.root} frees {bytes_size(size)} of failed attempts)"
        raise Failure(line.replace(MAKE_ROOM, clean)) from error


def _not_stored(settings: Settings, stored: Settings) -> list[str]:
    """The keys of settings whose values differ from the stored ones."""
    values = all_values(stored)
    return [key for key, value in all_values(settings).items() if value != values[key]]


def rank_after_crawl(
    directory: CrawlDir, ranking: Ranking, engine: Engine, observer: Observer, stop: StopSignal
) -> None:
    """Rank the links of a crawl until `stop`, if the settings enable it.

    A failure is a warning: the crawl is committed.

    Ranks that the index has lost are made anew in any case.
    """
    manifests = directory.manifests()
    if not has_lost_ranks(manifests) and not (ranking.after_crawl and has_unranked_links(manifests)):
        return
    try:
        observer.busy("ranking pages and hosts by their links")
        now = datetime.now(UTC)
        observer.step_committed(rank(directory, until(engine, stop), now, observer.warn))
    except Stopped:
        observer.warn(f"the links are not ranked; rank them with: beamtrawl rank {directory.root}")
    except Exception as error:
        reason = (str(error) or type(error).__name__).splitlines()[0]
        again = "" if "run the command again" in reason else f"; try again with: beamtrawl rank {directory.root}"
        observer.warn(f"the links could not be ranked: {reason}{again}")
