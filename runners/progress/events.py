"""The events of a crawl: what `crawl --json` prints and `--log` writes, one JSON object a line (docs/progress.md)."""

import dataclasses
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, ClassVar, Literal

from ...pipeline.control import End
from ...pipeline.seeds import Added
from ...transforms.directory.crawl_dir import Manifest
from ..terminal.units import counted
from . import words
from .running import Running

Level = Literal["INFO", "WARNING", "ERROR"]


@dataclasses.dataclass(frozen=True, kw_only=True)
class Event:
    """Something that happened; `message` is its line for people."""

    name: ClassVar[str] = ""
    level: ClassVar[Level] = "INFO"
    message: str

    def to_dict(self, now: datetime) -> dict[str, Any]:
        """Return JSON values by name."""
        fields = {name: _json(value) for name, value in dataclasses.asdict(self).items() if name != "message"}
        at = now.isoformat(timespec="milliseconds")
        return {"event": self.name, "at": at, "level": self.level, "message": self.message, **fields}


@dataclasses.dataclass(frozen=True, kw_only=True)
class SeedsAdded(Event):
    """Seeds are committed."""

    name = "seeds_added"
    new: int  # URLs
    again: int  # known URLs that are visited once more
    known: int  # known URLs that stay as they are


@dataclasses.dataclass(frozen=True, kw_only=True)
class StepStarted(Event):
    """A fetch, update or import step starts."""

    name = "step_started"
    step: str  # fetch, update or import
    round: int
    rows: int  # URLs in the frontier, or visits to process
    at_most: int | None  # visits, by the limits of pages; null without a limit


@dataclasses.dataclass(frozen=True, kw_only=True)
class FetchProgress(Event):
    """What the workers of a fetch step have reported so far; all numbers are 0 before the first report."""

    name = "fetch_progress"
    round: int
    seconds: float  # since the start of the step
    workers: int  # that have reported
    visits: int
    rows: int  # URLs in the frontier at the start
    at_most: int | None
    bytes: int  # of bodies
    rate: float  # requests per second, of the last ten seconds
    mean_rate: float  # since the start of the step
    hosts_active: int  # with a request under way
    hosts_waiting: int  # in their ordinary delay
    hosts_backing_off: int  # that failed or asked for a longer wait
    queued: int  # URLs that workers have taken and not visited yet
    seconds_left: float | None  # until the queues are empty; null if that is not known
    outcomes: Mapping[str, int]  # visits by outcome
    queues: Sequence[Mapping[str, Any]]  # the longest: name, urls, why, delay_s, seconds, holds


@dataclasses.dataclass(frozen=True, kw_only=True)
class UpdateProgress(Event):
    """How far an update step is."""

    name = "update_progress"
    round: int
    seconds: float
    visits: int  # to process
    parsed: int  # visits
    stage: int | None  # number of the furthest stage; null before the first report
    stages: int | None
    doing: str | None  # what this stage does


@dataclasses.dataclass(frozen=True, kw_only=True)
class StepCommitted(Event):
    """A step is done and durable."""

    name = "step_committed"
    step: str  # fetch, update, compact or rank
    round: int
    seconds: float
    counters: Mapping[str, int]  # of the manifest: visits by outcome, rows by table


@dataclasses.dataclass(frozen=True, kw_only=True)
class Busy(Event):
    """Work between two steps starts; `message` names it."""

    name = "busy"


@dataclasses.dataclass(frozen=True, kw_only=True)
class Waiting(Event):
    """The crawl sleeps, because no URL is due yet."""

    name = "waiting"
    until: datetime
    urls: int  # in the frontier


@dataclasses.dataclass(frozen=True, kw_only=True)
class Warned(Event):
    """Something is wrong, and the crawl goes on."""

    name = "warning"
    level = "WARNING"


@dataclasses.dataclass(frozen=True, kw_only=True)
class Stopping(Event):
    """Ctrl-C or SIGTERM: no further request starts."""

    name = "stopping"


@dataclasses.dataclass(frozen=True, kw_only=True)
class Ended(Event):
    """The command ends with exit code 0."""

    name = "ended"
    reason: str  # frontier_empty, rounds, max_pages, not_due or stopped
    rounds: int  # of this command
    frontier: int  # URLs that wait
    due_at: datetime | None  # when the first of them is due, for not_due


@dataclasses.dataclass(frozen=True, kw_only=True)
class Failed(Event):
    """The command ends with another exit code; `message` is its line on stderr."""

    name = "failed"
    level = "ERROR"


EVENTS = tuple(Event.__subclasses__())


def seeds_added(added: Added) -> SeedsAdded:
    return SeedsAdded(message=words.describe_added(added), new=added.new, again=added.again, known=added.known)


def step_started(running: Running) -> StepStarted:
    step = running.step
    what = f"{counted(running.rows, 'URL')} in the frontier" if step.kind == "fetch" else counted(running.rows, "visit")
    message = f"round {step.round} {step.kind} starts: {what}"
    return StepStarted(message=message, step=step.kind, round=step.round, rows=running.rows, at_most=running.at_most)


def progress(running: Running) -> FetchProgress | UpdateProgress:
    """Return the event on the state of a step under way."""
    message, known = words.line(running), running.reported
    seconds = round(running.seconds, 1)
    if running.step.kind != "fetch":
        stage = known.stage
        return UpdateProgress(
            message=message,
            round=running.step.round,
            seconds=seconds,
            visits=running.rows,
            parsed=running.done,
            stage=stage.number if stage else None,
            stages=stage.stages if stage else None,
            doing=stage.name if stage else None,
        )
    return FetchProgress(
        message=message,
        round=running.step.round,
        seconds=seconds,
        workers=known.workers,
        visits=running.done,
        rows=running.rows,
        at_most=running.at_most,
        bytes=known.bytes,
        rate=round(known.rate, 2),
        mean_rate=round(running.mean_rate, 2),
        hosts_active=known.active,
        hosts_waiting=known.waiting,
        hosts_backing_off=known.backing_off,
        queued=known.queued,
        seconds_left=None if running.seconds_left is None else round(running.seconds_left, 1),
        outcomes=dict(known.outcomes),
        queues=[queue._asdict() for queue in known.queues],
    )


def step_committed(manifest: Manifest) -> StepCommitted:
    return StepCommitted(
        message=words.describe_manifest(manifest),
        step=manifest.step,
        round=manifest.round,
        seconds=round(manifest.seconds, 3),
        counters=dict(manifest.counters),
    )


def waiting(until: datetime, urls: int) -> Waiting:
    return Waiting(message=words.describe_waiting(until, urls), until=until, urls=urls)


def ended(end: End, frontier: int, release: str = "") -> Ended:
    """Return the event on the end of a crawl; `release` is the command that releases URLs held as traps."""
    message = words.describe_end(end, frontier, release)
    return Ended(message=message, reason=end.reason, rounds=end.rounds, frontier=frontier, due_at=end.due_at)


def _json(value: Any) -> Any:
    return value.isoformat(timespec="seconds") if isinstance(value, datetime) else value
