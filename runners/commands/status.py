"""`beamtrawl status`: the state of a crawl, from its manifests."""

import argparse
import json
import shlex
from collections.abc import Iterator
from datetime import UTC, datetime

from ...transforms.directory.crawl_dir import CrawlDir
from ...transforms.directory.crawl_settings import stored_settings
from ...transforms.outcomes import count_requests
from ..exports.output import require_file
from ..progress.elsewhere import RunningStep
from ..state.alias_rules import alias_line
from ..state.crawl_status import Status, summarize
from ..state.host_waits import wait_line
from ..terminal.errors import Failure
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
    found = summarize(crawl, datetime.now(UTC), settings, crawl.space())
    if arguments.metrics:
        require_file(arguments.metrics)
        from ..state.metrics_file import write_metrics  # noqa: PLC0415

        try:
            write_metrics(arguments.metrics, found)
        except OSError as error:
            raise Failure(f"cannot write {arguments.metrics}: {error.strerror}") from error
    if arguments.check and not arguments.json:
        print("\n".join(f"alarm: {alarm}" for alarm in found.alarms) or "no alarms")
        return ALARMED if found.alarms else 0
    print(json.dumps(found.to_dict(), indent=2, ensure_ascii=False) if arguments.json else render(found))
    return ALARMED if arguments.check and found.alarms else 0


def render(found: Status) -> str:
    """The state of a crawl in lines for people."""
    running = found.running
    when, step = ("now", running.step) if running and running.step else ("next", found.next_step.step)
    lines = [
        f"{found.directory}: {counted(found.rounds, 'round')}; {when}: {step} of round {found.next_step.round}",
        f"{counted(found.tables.get('documents', 0), 'document')},"
        f" {counted(sum(found.frontier.values()), 'URL')} in the frontier, {counted(len(found.alarms), 'alarm')}",
        f"to go on: {_go_on(found)}",
        *([running_line(running)] if running else []),
        *_times(found),
        _line("tables", found.tables),
        _line("outcomes", found.outcomes),
        _line("frontier", found.frontier),
        *_due(found),
        _line("rejected links", found.rejections),
        *([_line("alerts of observers", found.alerts)] if found.alerts else []),
        f"hosts: {found.hosts}; index segments: {found.index_segments}",
        *([_line("hosts not to be asked now, by reason", found.held)] if found.held else []),
        *_waits(found),
        *([_blocks(found)] if found.blocks else []),
        *([_excluded(found)] if found.excluded else []),
        *([_line("documents that searches do not find", found.unindexed)] if found.unindexed else []),
        *(alias_line(row, found.directory) for row in found.aliases[:_RULES_NAMED]),
        *([f"{more} more alias rules in use"] if (more := len(found.aliases) - _RULES_NAMED) > 0 else []),
    ]
    return "\n".join([*lines, *(f"alarm: {alarm}" for alarm in found.alarms)])


def running_line(running: RunningStep) -> str:
    """What another process does in the crawl."""
    since = f" since {_time(running.since)}" if running.since else ""
    does = f"; {running.message}" if running.message else ", between two steps, or waiting for URLs to be due"
    return f"running: {_process(running)}{since}{does}"


def _process(running: RunningStep) -> str:
    return f"process {running.pid}" + ("" if running.is_here else f" on {running.machine}")


def _times(found: Status) -> Iterator[str]:
    """When the crawl ran, how fast, how much it stores, and the limits of pages that are set."""
    if found.last_step_at:
        first, last = _time(found.first_step_at), _time(found.last_step_at)
        yield f"first step {first}, last {last}; {size(found.bytes)} in tables"
    if found.fetch_seconds:
        requests, visits = _requests(found), sum(found.outcomes.values()) - found.imported
        rate = f"{requests / found.fetch_seconds:.1f}/s"
        without = f"; {counted(visits - requests, 'visit')} without a request" if visits > requests else ""
        yield f"fetching: {counted(requests, 'request')} in {duration(found.fetch_seconds)}, {rate}{without}"
    if found.imported:
        yield f"imported: {counted(found.imported, 'visit')}"
    if found.limits:
        yield _line("limits of pages", found.limits)


def _requests(found: Status) -> int:
    """The requests of the crawl itself: an import sends none, and each of its visits has an answer."""
    return count_requests(found.outcomes) - found.imported


def _due(found: Status) -> Iterator[str]:
    """How many of the waiting URLs may be requested, when the next one may, and the planned revisits."""
    if found.frontier:
        until = f", the first at {_time(found.next_due_at)}" if found.next_due_at else ""
        yield f"of the frontier: {found.due} due now, {found.later} later{until}"
    if found.revisits_since is not None:
        yield f"revisits: {counted(found.revisits_due, 'page')} due since {_time(found.revisits_since)}"
    if found.next_revisit_at is not None:
        yield f"next revisit by age: {_time(found.next_revisit_at)}"
    if found.next_planned_at:
        yield f"planned revisits: {found.planned}, the first at {_time(found.next_planned_at)}"


def _time(moment: float) -> str:
    return f"{datetime.fromtimestamp(moment, UTC):%Y-%m-%d %H:%M:%S} UTC"


def _go_on(found: Status) -> str:
    """What to do next, in one line."""
    directory = shlex.quote(found.directory)
    if found.running:
        return f"wait, or stop {_process(found.running)}; another crawl is refused until it ends"
    crawl = f"beamtrawl crawl {directory}"
    most, visits = found.limits.get("max_pages"), _requests(found)
    if found.next_step.step == "update":
        return crawl
    if found.due + found.later and most and visits >= most:
        return f"{crawl} --max-pages N, with more than the {visits} pages that are visited"
    if found.due:
        return crawl
    if found.revisits_due:
        return f"{crawl}, which visits {counted(found.revisits_due, 'page')} again"
    if next_at := min(filter(None, (found.next_due_at, found.next_planned_at, found.next_revisit_at)), default=None):
        return f"{crawl}, from {_time(next_at)} on; nothing is due before"
    if found.excluded:
        left = "what is left" if found.blocked else "all"
        return f"{crawl}, after a change of crawl.toml, because its settings exclude {left} of the frontier"
    if found.blocked:
        return f"beamtrawl unblock {directory} HOST, because all of the frontier is blocked"
    return f"beamtrawl seeds add {directory} URL, because the frontier is empty"


def _waits(found: Status) -> Iterator[str]:
    """The hosts that wait, with the way to list the others."""
    yield from map(wait_line, found.waits)
    if more := found.waiting_hosts - len(found.waits):
        query = "SELECT host, not_before, held_by, failures_in_row FROM hosts WHERE not_before > now() ORDER BY 2"
        words = " ".join(map(shlex.quote, ("beamtrawl", "sql", found.directory, query)))
        yield f"and {counted(more, 'more host')}; to list them: {words}"


def _blocks(found: Status) -> str:
    names = ", ".join(block.pattern for block in found.blocks[:_RULES_NAMED])
    more = f" and {left} more" if (left := len(found.blocks) - _RULES_NAMED) > 0 else ""
    return f"blocked: {names}{more}; {found.blocked} URLs of the frontier wait for that"


def _excluded(found: Status) -> str:
    return (
        f"excluded: {found.excluded} URLs of the frontier wait, because crawl.toml was changed and excludes them now;"
        f" beamtrawl explain {shlex.quote(found.directory)} URL names the rule"
    )


def _line(name: str, counts: dict[str, int]) -> str:
    return f"{name}: " + (", ".join(f"{key} {count}" for key, count in counts.items() if count) or "none")
