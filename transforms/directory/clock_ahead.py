"""Times that lie in the future: the clock was ahead when a step ran, or is behind now.

A pause that such a step has stored lasts as long as was promised, from the moment when a program first saw it with an
earlier clock. That moment is in the file `clock.json`, so that it holds for all later runs.
"""

import json
from collections.abc import Sequence
from datetime import datetime, timedelta

from .crawl_dir import CrawlDir, Manifest
from .manifests import moment

TOLERANCE = timedelta(seconds=5)
"""Clocks of machines that are kept right differ by less."""

_FILE = "clock.json"


def step_ahead(manifests: Sequence[Manifest], now: datetime) -> Manifest | None:
    """Return the step that ended last by its manifest, if that lies in the future."""
    last = max((m for m in manifests if m.ended_at), key=lambda m: moment(m.ended_at), default=None)
    return last if last and moment(last.ended_at) > now + TOLERANCE else None


def seen_since(crawl: CrawlDir, now: datetime) -> datetime:
    """Return when a program first saw times of this crawl in the future; now, if none has, or one later than now."""
    try:
        since = datetime.fromisoformat(json.loads(crawl.read_text(_FILE))["since"])
    except (OSError, ValueError, KeyError, TypeError):
        return now
    return min(since, now)


def note_ahead(crawl: CrawlDir, manifests: Sequence[Manifest], now: datetime) -> str | None:
    """Store `seen_since` if a step lies in the future; return a line that names the step, if none was stored before."""
    step = step_ahead(manifests, now)
    if step is None:
        return None
    if seen_since(crawl, now) < now:
        return None
    crawl.write_text(_FILE, json.dumps({"since": now.isoformat(), "step": step.name}) + "\n")
    return in_words(step, now)


def in_words(step: Manifest, now: datetime) -> str:
    """Say which step lies in the future, and what that means."""
    return (
        f"step {step.name} ended at {moment(step.ended_at):%Y-%m-%d %H:%M:%S} UTC, and it is {now:%Y-%m-%d %H:%M:%S}:"
        " the clock was ahead then, or is behind now; pauses of hosts last as long as they were to, from now on"
    )
