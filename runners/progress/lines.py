"""What is shown of a step under way: one line for a log, or some lines for a terminal. Pure functions."""

from collections.abc import Iterator, Mapping

from ..terminal.units import counted, duration, size
from .running import Running


def line(running: Running) -> str:
    """Return one line on a step under way."""
    return f"{_name(running)}: {', '.join(_fetch(running) if running.step.kind == 'fetch' else _update(running))}"


def screen(running: Running) -> tuple[str, list[str]]:
    """Return a headline and further lines on a step under way, the most important words of each first."""
    head = f"{_name(running)}{_rounds(running)}, {duration(running.seconds)}"
    if running.step.kind != "fetch":
        return f"{head}, {_stage(running)}", [", ".join(_visits(running))]
    known = running.reported
    if not known.workers:
        return f"{head}, {_waits(running)}", [f"{running.rows} URLs in the frontier{_limit(running)}"]
    lines = [
        ", ".join(_rates(running)),
        f"hosts: {_hosts(running)}; {known.queued} URLs queued",
        f"visits: {_outcomes(known.outcomes) or 'none yet'}",
    ]
    return f"{head}, {_count(running)}{_limit(running)}, {_left(running)} left in the frontier", lines


def _waits(running: Running) -> str:
    return running.waits or "waiting for the first report of a worker"


def _name(running: Running) -> str:
    return f"round {running.step.round} {running.step.kind}"


def _rounds(running: Running) -> str:
    return f" ({running.round} of {running.rounds})" if running.round and running.rounds else ""


def _count(running: Running) -> str:
    return f"{running.done} of {counted(running.total, 'URL')}"


def _limit(running: Running) -> str:
    """Say where the limit of pages, not the frontier, bounds the step."""
    return " (limit of pages)" if running.at_most is not None and running.at_most < running.rows else ""


def _left(running: Running) -> int:
    return max(0, running.rows - running.done)


def _rates(running: Running) -> Iterator[str]:
    yield f"{running.rate:.1f}/s now"
    yield f"{running.mean_rate:.1f}/s mean"
    yield size(running.reported.bytes)
    if running.seconds_left is not None:
        yield f"about {duration(running.seconds_left)} left"


def _hosts(running: Running) -> str:
    known = running.reported
    return f"{known.active} active, {known.waiting} waiting, {known.backing_off} backing off"


def _fetch(running: Running) -> Iterator[str]:
    yield _count(running) + _limit(running)
    if not running.reported.workers:
        yield f"{_waits(running)}, {duration(running.seconds)}"
        return
    yield from _rates(running)
    yield f"hosts {_hosts(running)}"
    if ends := _outcomes(running.reported.outcomes):
        yield f"visits {ends}"


def _update(running: Running) -> Iterator[str]:
    yield from _visits(running)
    yield _stage(running)
    yield duration(running.seconds)


def _visits(running: Running) -> Iterator[str]:
    parsed = f"{running.done} of " if running.reported.stage and running.reported.stage.number == 1 else ""
    yield f"{parsed}{running.rows} visits"


def _stage(running: Running) -> str:
    stage = running.reported.stage
    return f"stage {stage.number} of {stage.stages}: {stage.name}" if stage else _waits(running)


def _outcomes(outcomes: Mapping[str, int]) -> str:
    return ", ".join(f"{name} {count}" for name, count in sorted(outcomes.items(), key=lambda item: -item[1]))
