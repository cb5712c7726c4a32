"""The step that another process runs in a crawl, from what is stored in the directory: the lock and the reports.

It is the same on the machine of the crawl, on another one, and on an object store.
"""

import dataclasses
import socket
import time
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from ...transforms.directory.claims import read_running
from ...transforms.directory.crawl_dir import CrawlDir, Step
from ...transforms.directory.pieces import attempts_prefix
from .running import NOTHING, Reported, Running, add_up, read_reports
from .words import line

_SKEW_S = 60.0  # between the clocks of workers and of the owner of the lock
_MARK = "-progress-"


@dataclasses.dataclass(frozen=True)
class RunningStep:
    """A process that holds a crawl, and the step that it runs; times are POSIX times."""

    pid: int | None
    machine: str  # the name of its host
    is_here: bool  # on this machine
    since: float | None  # when it took the lock; None in locks of earlier versions
    step: str | None  # fetch, update or import; None: no worker has reported on a step, such as between two steps
    round: int
    step_since: float | None  # when the first worker of the step began
    done: int  # URLs of the frontier, visits that are parsed, archives that are scanned, or captures that are read
    total: int  # of those; 0 for an import, whose total is not known
    requests: int  # sent by the step
    rate: float  # requests, or else of what is done, per second of the step
    stage: str  # of an update step or an import
    hosts_active: int
    hosts_waiting: int  # in their ordinary delay
    hosts_backing_off: int
    message: str  # the line on it that the crawl shows; empty between two steps


class FoundStep(NamedTuple):
    """What another process does in a crawl, as it is stored."""

    owner: Mapping[str, Any]  # of the lock
    step: Step
    began: float | None  # POSIX time of its first worker; None: no worker has reported
    reported: Reported


def find_step(crawl: CrawlDir, step: Step) -> FoundStep | None:
    """Return the step that another process runs; None if none holds the lock. `step` is the next one by manifests."""
    owner = read_running(crawl.root)
    if owner is None:
        return None
    attempt, began = newest_attempt(crawl.names("attempts", f"{attempts_prefix(step)}*{_MARK}*"))
    imported, import_began = newest_attempt(crawl.names("attempts", f"*import-*{_MARK}*"))
    if import_began > began:
        attempt, began, step = imported, import_began, Step("import", step.round)
    if not attempt or began < float(owner.get("since", 0.0)) - _SKEW_S:  # or of a process that ended before this one
        return FoundStep(owner, step, None, NOTHING)
    return FoundStep(owner, step, began, add_up(read_reports(crawl.path(f"attempts/{attempt}"))))


def running_step(crawl: CrawlDir, step: Step, total: int) -> RunningStep | None:
    """Return what another process does in a crawl now; None if none holds the lock.

    `step` is the next step by the manifests, and `total` what it has to process at most.
    """
    if (step_found := find_step(crawl, step)) is None:
        return None
    return describe(step_found, socket.gethostname(), total if step_found.step.kind == step.kind else 0, time.time())


def running_of(found: FoundStep, total: int, now: float) -> Running | None:
    """Return the state of the step at a POSIX time, in place of the monotonic clock; None if no worker has reported."""
    return None if found.began is None else Running(found.step, total, found.began).at(now, found.reported)


def newest_attempt(names: Iterable[str]) -> tuple[str, float]:
    """Return (common prefix of the reports of the newest attempt, POSIX time of its first one); ("", 0.0) if none.

    The name of a report ends with the time at which its worker began, in hexadecimal nanoseconds.

    >>> newest_attempt(["000002-fetch-aa-progress-3b9aca00.json", "000002-fetch-bb-progress-77359400.json"])
    ('000002-fetch-bb-progress', 2.0)
    """
    began: dict[str, float] = {}
    for name in names:
        attempt, _, rest = name.rpartition(_MARK)
        try:
            at = int(rest.removesuffix(".json").rpartition("-")[2], 16) / 1e9
        except ValueError:
            continue
        began[attempt] = min(at, began.get(attempt, at))
    if not began:
        return "", 0.0
    attempt = max(began, key=lambda name: began[name])
    return attempt + _MARK.rstrip("-"), began[attempt]


def describe(found: FoundStep, here: str, total: int, now: float) -> RunningStep:
    """Return what the owner of a lock does; `here` is the name of this machine."""
    owner, step, began, reported = found
    running = running_of(found, total, now)
    done = running.done if running else 0
    rate = (
        (reported.requests if step.kind == "fetch" else done) / running.seconds if running and running.seconds else 0.0
    )
    return RunningStep(
        pid=owner.get("pid"),
        machine=str(owner.get("host")),
        is_here=owner.get("host") == here,
        since=owner.get("since"),
        step=step.kind if running else None,
        round=step.round,
        step_since=began,
        done=done,
        total=total,
        requests=reported.requests,
        rate=round(rate, 2),
        stage=reported.stage.name if reported.stage else "",
        hosts_active=reported.active,
        hosts_waiting=reported.waiting,
        hosts_backing_off=reported.backing_off,
        message=line(running) if running else "",
    )
