"""Start a crawl, or go on with one."""

from __future__ import annotations

import dataclasses
import os
import time
import warnings
from collections.abc import Callable, Iterable, Mapping
from datetime import datetime
from functools import partial
from typing import Any, Literal, TypeAlias, cast

from beamtrawl._beam import plain_beam, quiet

with quiet():
    import apache_beam  # noqa: F401

from beamtrawl._progress import Progress, Recorder, visits_by_outcome
from beamtrawl.pipeline.attempt import Engine
from beamtrawl.pipeline.control import End, StopSignal
from beamtrawl.pipeline.seeds import Seed
from beamtrawl.runners.crawling import session
from beamtrawl.runners.crawling.console import Console
from beamtrawl.runners.engines.choose import RUNNERS, engine, notice
from beamtrawl.runners.process.background import Background
from beamtrawl.runners.progress.words import describe_end
from beamtrawl.runners.state.crawl_traps import release_hint
from beamtrawl.runners.state.failures import seed_trouble
from beamtrawl.transforms.directory.crawl_dir import CrawlDir
from beamtrawl.transforms.directory.crawl_settings import stored_settings
from beamtrawl.transforms.directory.waiting import count_waiting
from beamtrawl.transforms.settings import Settings, override

Reason: TypeAlias = Literal["frontier_empty", "rounds", "max_pages", "not_due", "stopped"]

_WORDS = session.Words(
    seed="seeds",
    sitemap="sitemaps",
    start="seeds=[URL, …], sitemaps=[URL, …] or seeds=Path(FILE)",
    robot={"name": "robot=NAME", "contact": "contact=MAIL", "info_url": "info_url=URL"},
    allow_address='allow_address="{}"',
)


class BeamtrawlWarning(UserWarning):
    """Something that does not end a crawl: a seed that is skipped, an address that is refused, links not ranked."""


@dataclasses.dataclass(frozen=True)
class Report:
    """What a call of `crawl` has done, and why it ended; `str` gives the reason as a sentence."""

    directory: str
    reason: Reason
    rounds: int  # that were fetched now
    visits: int
    outcomes: Mapping[str, int]  # visits by outcome
    documents: int  # new or changed
    waiting: int  # URLs in the frontier
    due_at: datetime | None  # when the first of them may be fetched, if that is known and not now
    elapsed_s: float
    message: str

    def __str__(self) -> str:
        return self.message


def crawl(
    dir: str | os.PathLike[str],
    seeds: str | os.PathLike[str] | Iterable[str] = (),
    *,
    sitemaps: str | Iterable[str] = (),
    rounds: int | None = None,
    max_pages: int | None = None,
    max_pages_per_host: int | None = None,
    max_pages_per_host_per_round: int | None = None,
    round_time: float | None = None,
    depth: int | None = None,
    scope: Literal["host", "domain", "any"] | None = None,
    delay: float | None = None,
    include: str | Iterable[str] | None = None,
    exclude: str | Iterable[str] | None = None,
    check_external: bool | None = None,
    recrawl_after: float | None = None,
    again: bool = False,
    robot: str | None = None,
    contact: str | None = None,
    info_url: str | None = None,
    allow_address: str | Iterable[str] | None = None,
    settings: Mapping[str, Any] | None = None,
    runner: Literal["direct", "flink", "dataflow", "spark"] = "direct",
    workers: int | None = None,
    beam_options: Iterable[str] = (),
    into_nonempty: bool = False,
    progress: Callable[[Progress], object] | None = None,
) -> Report:
    """Start a crawl in a new directory, or go on with one, as `beamtrawl crawl` does; returns when it ends.

    `seeds` and `sitemaps` are URLs, one or several; a `pathlib.Path` is a file with one URL a line. The keywords from
    `max_pages` to `allow_address` are the flags of the command line, and `settings` has any setting by its key in
    crawl.toml, such as {"traps.detect": False}. The settings of the first call are written to crawl.toml; those of
    later ones hold for that call. A directory with other files and no crawl is refused unless `into_nonempty`.

    `rounds` are those to run now; without it, the crawl ends when nothing is due or a limit is reached. `progress`
    is called in this thread when a step starts or is committed, and every two seconds while pages are fetched;
    `progress=print` shows what the command line does.

    KeyboardInterrupt, and an exception of `progress`, end the requests under way, commit what was fetched, and are
    raised then; the same call goes on.

    Raises SettingsError, StartError (no URL to start from, no robot's name, crawl.toml or a step lost), LockedError
    (another process writes to the directory), PluginError, CrawlDirError, and what the engine raises when a step fails.
    """
    _check(rounds, workers, runner)
    flags = {
        "max_pages": max_pages,
        "max_pages_per_host": max_pages_per_host,
        "max_pages_per_host_per_round": max_pages_per_host_per_round,
        "round_time": round_time,
        "depth": depth,
        "scope": scope,
        "delay": delay,
        "robot": robot,
        "contact": contact,
        "info_url": info_url,
        "include": None if include is None else _strings(include),
        "exclude": None if exclude is None else _strings(exclude),
        "check_external": check_external,
        "recrawl_after": recrawl_after,
        "allow_address": None if allow_address is None else _strings(allow_address),
    }
    started, directory = time.monotonic(), CrawlDir(os.fspath(dir))
    session.refuse_unusable(directory, into_nonempty, "into_nonempty=True")
    chosen, recorder = _override(stored_settings(directory), settings or {}, flags), Recorder(progress)
    found = _choose_seeds(seeds, _strings(sitemaps))
    _refuse_start(directory, chosen, found)
    with plain_beam():
        where = _engine(runner, workers, list(beam_options))
        console = Console([recorder], rounds)
        crawl_ = partial(session.run, directory, chosen, found, where, console, rounds=rounds, again=again)
        end = _run(lambda stop: crawl_(stop=stop), console, recorder)
    return _report(directory, end, recorder, time.monotonic() - started)


def _check(rounds: int | None, workers: int | None, runner: str) -> None:
    """Raise ValueError for arguments that no crawl can have."""
    for name, value, least in (("rounds", rounds, 0), ("workers", workers, 1)):
        if value is not None and (not isinstance(value, int) or value < least):
            raise ValueError(f"{name} = {value!r}: must be a whole number of at least {least}")
    if runner not in RUNNERS:
        raise ValueError(f"runner = {runner!r}: must be one of {', '.join(RUNNERS)}")


def _override(stored: Settings, changes: Mapping[str, Any], flags: Mapping[str, Any]) -> Settings:
    """Return the settings of this call: the stored ones, changed by key, and then by the flags that are given."""
    given = {session.SETTINGS[name]: value for name, value in flags.items() if value is not None}
    return override(stored, dict(changes) | given)


def _choose_seeds(seeds: str | os.PathLike[str] | Iterable[str], sitemaps: list[str]) -> list[Seed]:
    """Return the seeds; warn of those that cannot be used."""
    file = os.fspath(seeds) if isinstance(seeds, os.PathLike) else None
    urls = [] if isinstance(seeds, os.PathLike) else _strings(seeds)
    skipped: list[str] = []
    try:
        return session.choose_seeds(urls, sitemaps, file, _WORDS, skipped.append)
    finally:
        for line in skipped:
            _warn(line, 2)


def _refuse_start(directory: CrawlDir, chosen: Settings, seeds: list[Seed]) -> None:
    """Raise StartError or PluginError if the crawl cannot start; warn of a seed whose address is refused."""
    session.refuse_seedless(directory, seeds, _WORDS)
    session.refuse_anonymous(chosen.robot, seeds, _WORDS.robot)
    session.refuse_missing_plugins(chosen, directory)
    if refused := session.refused_address(chosen.fetch, seeds, _WORDS):
        _warn(refused, 2)


def _engine(runner: str, workers: int | None, beam_options: list[str]) -> Engine:
    """Return the engine; warn if it is slower than it need be."""
    where = engine(runner, workers, beam_options)
    if slower := notice(where):
        _warn(slower, 2)
    return where


def _report(directory: CrawlDir, end: End, recorder: Recorder, elapsed_s: float) -> Report:
    """Return what a run has done; warn of what it warned of."""
    for line in recorder.warnings:
        _warn(line, 2)
    for line in seed_trouble(directory).lines:
        _warn(line, 2)
    outcomes = visits_by_outcome(recorder.committed)
    waiting = count_waiting(directory)
    return Report(
        directory=directory.root,
        reason=cast(Reason, end.reason),
        rounds=end.rounds,
        visits=sum(outcomes.values()),
        outcomes=outcomes,
        documents=sum(step["counters"].get("documents_rows", 0) for step in recorder.committed),
        waiting=waiting,
        due_at=end.due_at,
        elapsed_s=round(elapsed_s, 3),
        message=describe_end(end, waiting, release_hint(directory) if end.held else ""),
    )


def _warn(message: str, functions: int = 1) -> None:
    """Warn at the line that calls `crawl`; so many functions of this module, with `crawl`, lie between."""
    warnings.warn(message, BeamtrawlWarning, stacklevel=functions + 2)


def _run(work: Callable[[StopSignal], End], console: Console, recorder: Recorder) -> End:
    """Run in the background and report. What interrupts this first makes the work commit what it has."""
    stop = StopSignal()
    background = Background(lambda: work(stop))

    def tick() -> None:
        console.tick()
        recorder.report()

    try:
        background.wait(tick)
    except BaseException:
        stop.stop()
        background.wait(lambda: None)
        raise
    recorder.report()
    return background.result()


def _strings(given: str | Iterable[str]) -> list[str]:
    return [given] if isinstance(given, str) else [str(item) for item in given]
