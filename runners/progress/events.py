"""The events of a crawl: what `crawl --json` prints and `--log` writes, one JSON object a line.

docs/progress.md says what each event and each of its fields means.
"""

from collections.abc import Mapping
from datetime import datetime
from types import MappingProxyType
from typing import Any, Literal, NamedTuple

from ...pipeline.control import End
from ...pipeline.seeds import Added
from ...transforms.directory.crawl_dir import Manifest
from ..terminal.units import counted
from . import words
from .running import Running

Name = Literal[
    "seeds_added", "step_started", "fetch_progress", "update_progress", "step_committed",
    "busy", "waiting", "warning", "stopping", "ended", "failed",
]  # fmt: skip

_LEVELS = {"warning": "WARNING", "failed": "ERROR"}


class Event(NamedTuple):
    """Something that happened."""

    name: Name
    message: str  # its line for people
    fields: Mapping[str, Any] = MappingProxyType({})  # JSON values, and times

    @property
    def level(self) -> str:
        """INFO, WARNING or ERROR."""
        return _LEVELS.get(self.name, "INFO")

    def to_dict(self, now: datetime) -> dict[str, Any]:
        """Return JSON values by name."""
        at = now.isoformat(timespec="milliseconds")
        fields = {name: _json(value) for name, value in self.fields.items()}
        return {"event": self.name, "at": at, "level": self.level, "message": self.message, **fields}


def seeds_added(added: Added) -> Event:
    fields = {"new": added.new, "again": added.again, "known": added.known}
    return Event("seeds_added", words.describe_added(added), fields)


def step_started(running: Running) -> Event:
    step = running.step
    what = f"{counted(running.rows, 'URL')} in the frontier" if step.kind == "fetch" else counted(running.rows, "visit")
    fields = {"step": step.kind, "round": step.round, "rows": running.rows, "at_most": running.at_most}
    return Event("step_started", f"round {step.round} {step.kind} starts: {what}", fields)


def progress(running: Running) -> Event:
    """Return the event on the state of a step under way."""
    message, reported = words.line(running), running.reported
    fields: dict[str, Any] = {"round": running.step.round, "seconds": round(running.seconds, 1)}
    if running.step.kind != "fetch":
        stage = reported.stage
        fields |= {"visits": running.rows, "parsed": running.done, "stage": stage.number if stage else None}
        fields |= {"stages": stage.stages if stage else None, "doing": stage.name if stage else None}
        return Event("update_progress", message, fields)
    fields |= {
        "workers": reported.workers,
        "visits": running.done,
        "rows": running.rows,
        "at_most": running.at_most,
        "bytes": reported.bytes,
        "rate": round(reported.rate, 2),
        "mean_rate": round(running.mean_rate, 2),
        "hosts_active": reported.active,
        "hosts_waiting": reported.waiting,
        "hosts_backing_off": reported.backing_off,
        "queued": reported.queued,
        "seconds_left": None if running.seconds_left is None else round(running.seconds_left, 1),
        "outcomes": dict(reported.outcomes),
        "queues": [queue._asdict() for queue in reported.queues],
    }
    return Event("fetch_progress", message, fields)


def step_committed(manifest: Manifest) -> Event:
    fields: dict[str, Any] = {"step": manifest.step, "round": manifest.round, "seconds": round(manifest.seconds, 3)}
    return Event("step_committed", words.describe_manifest(manifest), fields | {"counters": dict(manifest.counters)})


def waiting(until: datetime, urls: int) -> Event:
    return Event("waiting", words.describe_waiting(until, urls), {"until": until, "urls": urls})


def ended(end: End, frontier: int, release: str = "") -> Event:
    """Return the event on the end of a crawl; `release` is the command that releases URLs held as traps."""
    fields = {"reason": end.reason, "rounds": end.rounds, "frontier": frontier, "due_at": end.due_at}
    return Event("ended", words.describe_end(end, frontier, release), fields)


def _json(value: Any) -> Any:
    return value.isoformat(timespec="seconds") if isinstance(value, datetime) else value
