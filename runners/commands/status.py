"""`beamtrawl status`: the state of a crawl, from its manifests."""

import argparse
import json
import shlex
from collections.abc import Iterator
from datetime import UTC, datetime

from ...transforms.directory.crawl_dir import CrawlDir
from ...transforms.directory.crawl_settings import stored_settings
from ...transforms.outcomes import count_requests
from ..exports.output import require_file, write_text
from ..progress.elsewhere import RunningStep
from ..state.alias_rules import alias_line
from ..state.crawl_status import Status, summarize
from ..state.host_waits import wait_line
from ..terminal.units import counted, duration, size

ALARMED = 3
"""The exit code of `status --check` if there are alarms."""

_RULES_NAMED = 10


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("dir", metavar="DIR")
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.add_argument("--check", action="store_true", help="print the alarms only; exit code 3 if there are any")
    parser.add_argument("--metrics", metavar="FILE", help="write metrics in the text format of OpenMetrics")


def run(arguments: argparse.Namespace) -> int:
    """Print the state of a crawl, or check it."""
    crawl = CrawlDir(arguments.dir)
    crawl.require_manifests()
    settings = stored_settings(crawl)
    status = summarize(crawl, datetime.now(UTC), settings, crawl.space())
    if arguments.metrics:
        require_file(arguments.metrics)
        from ..state.metrics_file import render_metrics  # noqa: PLC0415

        write_text(arguments.metrics, render_metrics(status))
    if arguments.check and not arguments.json:
        print("\n".join(f"alarm: {alarm}" for alarm in status.alarms) or "no alarms")
        return ALARMED if status.alarms else 0
    print(json.dumps(status.to_dict(), indent=2, ensure_ascii=False) if arguments.json else render(status))
    return ALARMED if arguments.check and status.alarms else 0


def render(status: Status) -> str:
    """The state of a crawl in lines for people."""
    running = status.running
    when, step = ("now", running.step) if running and running.step else ("next", status.next_step.step)
    lines = [
        f"{status.directory}: {counted(status.rounds, 'round')}; {when}: {step} of round {status.next_step.round}",
        f"{counted(status.tables.get('documents', 0), 'document')},"
        f" {counted(sum(status.frontier.values()), 'URL')} in the frontier, {counted(len(status.alarms), 'alarm')}",
        f"to go on: {_go_on(status)}",
        *([running_line(running)] if running else []),
        *_times(status),
        _line("tables", status.tables),
        _line("outcomes", status.outcomes),
        _line("frontier", status.frontier),
        *_due(status),
        _line("rejected links", status.rejections),
        *([_line("alerts of observers", status.alerts)] if status.alerts else []),
        f"hosts: {status.hosts}; index segments: {status.index_segments}",
        *([_line("hosts not to be asked now, by reason", status.held)] if status.held else []),
        *_waits(status),
        *([_blocks(status)] if status.blocks else []),
        *([_excluded(status)] if status.excluded else []),
        *([_line("documents that searches do not find", status.unindexed)] if status.unindexed else []),
        *(alias_line(row, status.directory) for row in status.aliases[:_RULES_NAMED]),
        *([f"{more} more alias rules in use"] if (more := len(status.aliases) - _RULES_NAMED) > 0 else []),
    ]
    return "\n".join([*lines, *(f"alarm: {alarm}" for alarm in status.alarms)])


def running_line(running: RunningStep) -> str:
    """What another process does in the crawl."""
    since = f" since {_time(running.since)}" if running.since else ""
    does = f"; {running.message}" if running.message else ", between two steps, or waiting for URLs to be due"
    return f"running: {_process(running)}{since}{does}"


def _process(running: RunningStep) -> str:
    return f"process {running.pid}" + ("" if running.is_here else f" on {running.machine}")


def _times(status: Status) -> Iterator[str]:
    """When the crawl ran, how fast, how much it stores, and the limits of pages that are set."""
    if status.last_step_at:
        first, last = _time(status.first_step_at), _time(status.last_step_at)
        yield f"first step {first}, last {last}; {size(status.bytes)} in tables"
    if status.fetch_seconds:
        requests, visits = _requests(status), sum(status.outcomes.values()) - status.imported
        rate = f"{requests / status.fetch_seconds:.1f}/s"
        without = f"; {counted(visits - requests, 'visit')} without a request" if visits > requests else ""
        yield f"fetching: {counted(requests, 'request')} in {duration(status.fetch_seconds)}, {rate}{without}"
    if status.imported:
        yield f"imported: {counted(status.imported, 'visit')}"
    if status.limits:
        yield _line("limits of pages in crawl.toml", status.limits)


def _requests(status: Status) -> int:
    """The requests of the crawl itself: an import sends none, and each of its visits has an answer."""
    return count_requests(status.outcomes) - status.imported


def _due(status: Status) -> Iterator[str]:
    """How many of the waiting URLs may be requested, when the next one may, and the planned revisits."""
    if status.frontier:
        until = f", the first at {_time(status.next_due_at)}" if status.next_due_at else ""
        yield f"of the frontier: {status.due} due now, {status.later} later{until}"
    if status.revisits_since is not None:
        yield f"revisits: {counted(status.revisits_due, 'page')} due since {_time(status.revisits_since)}"
    if status.next_revisit_at is not None:
        yield f"next revisit by age: {_time(status.next_revisit_at)}"
    if status.next_planned_at:
        yield f"planned revisits: {status.planned}, the first at {_time(status.next_planned_at)}"


def _time(moment: float) -> str:
    return f"{datetime.fromtimestamp(moment, UTC):%Y-%m-%d %H:%M:%S} UTC"


def _go_on(status: Status) -> str:
    """What to do next, in one line."""
    directory = shlex.quote(status.directory)
    if status.running:
        return f"wait, or stop {_process(status.running)}; another crawl is refused until it ends"
    crawl = f"beamtrawl crawl {directory}"
    most, visits = status.limits.get("max_pages"), _requests(status)
    if status.next_step.step == "update":
        return crawl
    if status.due + status.later and most and visits >= most:
        return f"{crawl} --max-pages N, with more than the {visits} pages that are visited"
    if status.due:
        return crawl
    if status.revisits_due:
        return f"{crawl}, which visits {counted(status.revisits_due, 'page')} again"
    if next_at := min(filter(None, (status.next_due_at, status.next_planned_at, status.next_revisit_at)), default=None):
        return f"{crawl}, from {_time(next_at)} on; nothing is due before"
    if status.excluded:
        left = "what is left" if status.blocked else "all"
        return f"{crawl}, after a change of crawl.toml, because its settings exclude {left} of the frontier"
    if status.blocked:
        return f"beamtrawl unblock {directory} HOST, because all of the frontier is blocked"
    return f"beamtrawl seeds add {directory} URL, because the frontier is empty"


def _waits(status: Status) -> Iterator[str]:
    """The hosts that wait, with the way to list the others."""
    yield from map(wait_line, status.waits)
    if more := status.waiting_hosts - len(status.waits):
        query = "SELECT host, not_before, held_by, failures_in_row FROM hosts WHERE not_before > now() ORDER BY 2"
        words = " ".join(map(shlex.quote, ("beamtrawl", "sql", status.directory, query)))
        yield f"and {counted(more, 'more host')}; to list them: {words}"


def _blocks(status: Status) -> str:
    names = ", ".join(block.pattern for block in status.blocks[:_RULES_NAMED])
    more = f" and {left} more" if (left := len(status.blocks) - _RULES_NAMED) > 0 else ""
    return f"blocked: {names}{more}; {status.blocked} URLs of the frontier wait for that"


def _excluded(status: Status) -> str:
    return (
        f"excluded: {status.excluded} URLs of the frontier wait, because crawl.toml was changed and excludes them now;"
        f" beamtrawl explain {shlex.quote(status.directory)} URL names the rule"
    )


def _line(name: str, counts: dict[str, int]) -> str:
    return f"{name}: " + (", ".join(f"{key} {count}" for key, count in counts.items() if count) or "none")
