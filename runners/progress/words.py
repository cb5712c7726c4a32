"""The words for what happens in a crawl: a step under way, a committed step, the end. Pure functions."""

from collections.abc import Iterator, Mapping
from datetime import datetime

from ...pipeline.control import End
from ...pipeline.seeds import Added
from ...transforms.directory.crawl_dir import Manifest
from ...transforms.outcomes import EXTERNAL_VISITS, IMPORTED, NO_ADDRESS, REQUESTED, Outcome, count_requests
from ...transforms.politeness.workers.reports import ANSWER, Queue
from ..terminal.units import counted, duration, size
from .running import Running

_NAMED = 3  # queues


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
        f"visits: {_counts(known.outcomes) or 'none yet'}",
        *([f"longest queues: {'; '.join(queues)}"] if (queues := _queues(running)) else []),
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
    yield f"{running.reported.rate:.1f}/s now"
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
    if ends := _counts(running.reported.outcomes):
        yield f"visits {ends}"
    if queues := _queues(running):
        yield f"longest queues: {'; '.join(queues)}"


def _queues(running: Running) -> list[str]:
    return [
        f"{q.name} {counted(q.urls, 'URL')}, {why_slow(q)},"
        f" {f'{duration(q.seconds)} left' if q.holds else 'not waited for'}"
        for q in running.reported.queues[:_NAMED]
    ]


def why_slow(queue: Queue) -> str:
    """Return the reason for a queue's delay, in a few words."""
    seconds = duration(queue.delay_s) if queue.delay_s >= 10 else f"{queue.delay_s:g} s"
    return {
        ANSWER: f"no answer for {seconds}",
        "delay": f"delay {seconds}",
        "crawl_delay": f"Crawl-delay {seconds}",
        "response_time": f"slow answers, delay {seconds}",
        "retry_after": "asked to wait (Retry-After)",
        "dead": "did not answer",
        "dns": "no address",
        "refused": "address not allowed",
        "robots": "no robots.txt",
    }.get(queue.why, "failed")


def _update(running: Running) -> Iterator[str]:
    yield from _visits(running)
    yield _stage(running)
    yield duration(running.seconds)


def _visits(running: Running) -> Iterator[str]:
    parsed = f"{running.done} of " if running.reported.stage and running.reported.stage.number == 1 else ""
    yield f"{parsed}{counted(running.rows, 'visit')}" if running.rows else f"{running.done} done"


def _stage(running: Running) -> str:
    stage = running.reported.stage
    return f"stage {stage.number} of {stage.stages}: {stage.name}" if stage else _waits(running)


def _counts(outcomes: Mapping[str, int]) -> str:
    return ", ".join(f"{name} {count}" for name, count in sorted(outcomes.items(), key=lambda item: -item[1]))


def _robots(counters: Mapping[str, int]) -> str:
    """The requests of robots.txt; the rows of a step that had no address to connect to stand for none."""
    ends = {outcome for outcome in Outcome if counters.get(outcome)} - {Outcome.DEFERRED}
    count = 0 if ends and ends <= NO_ADDRESS else counters.get("robots_rows")
    return f"; {count} of robots.txt" if count else ""


def _external(counters: Mapping[str, int]) -> str:
    count = counters.get(EXTERNAL_VISITS, 0)
    return f"; {counted(count, 'external target')}" if count else ""


def describe_manifest(manifest: Manifest) -> str:
    """Return one line on a committed step."""
    counters = manifest.counters
    took = f"in {manifest.seconds:.1f} s"
    if manifest.step == "fetch" and IMPORTED in counters:
        found = _outcomes(counters, is_sent=True)
        visits = counted(counters[IMPORTED], "visit")
        return f"round {manifest.round} import: {visits} {took}{f' ({found})' if found else ''}{_robots(counters)}"
    if manifest.step == "fetch":
        requests = count_requests(counters)
        rate = f", {requests / manifest.seconds:.1f}/s" if manifest.seconds > 0 else ""
        sent, unsent = (_outcomes(counters, is_sent) for is_sent in (True, False))
        others = f"{_robots(counters)}{_external(counters)}"
        parts = f"{f' ({sent})' if sent else ''}{others}{f'; without a request: {unsent}' if unsent else ''}"
        return f"round {manifest.round} fetch: {counted(requests, 'request')} {took}{rate}{parts}"
    if manifest.step == "compact" and "bodies_removed_bytes" in counters:
        freed = f"{counters['bodies_removed_bytes'] / 1e6:.1f} MB of old bodies"
        files = counted(len(manifest.replaced), "file")
        return f"round {manifest.round} compact: {freed} removed from {files} of visits, {took}"
    if manifest.step == "compact":
        of_frontier = sum(file.table.startswith("frontier") for file in manifest.files)
        merged = [
            ("segment", "the index", len(manifest.index_replaced), len(manifest.index)),
            ("file", "tables", len(manifest.replaced), len(manifest.files) - of_frontier),
            ("file", "the frontier", len(manifest.consumed), of_frontier),
        ]
        merges = [
            f"{counted(many, kind)} of {where} merged into {few}" for kind, where, many, few in merged if many + few
        ]
        return f"round {manifest.round} compact: {', '.join(merges)}, {took}"
    if manifest.step == "rank":
        links, pages, hosts = (counted(counters[f"{thing}s"], thing) for thing in ("link", "page", "host"))
        found = f"{links} between {pages} of {hosts}"
        return f"round {manifest.round} rank: {found}, {took}"
    return (
        f"round {manifest.round} update: {counted(counters.get('documents_rows', 0), 'document')}"
        f" ({counted(counters.get('duplicates', 0), 'duplicate')}), {counted(counters.get('links_rows', 0), 'link')},"
        f" {counted(counters.get('frontier_waiting', 0), 'URL')} in the next frontier, {took}"
    )


def _outcomes(counters: Mapping[str, int], is_sent: bool) -> str:
    """Return the outcomes of visits with or without a request, with their counts."""
    some = [o for o in Outcome if counters.get(o) and (o in REQUESTED) == is_sent]
    return ", ".join(f"{outcome} {counters[outcome]}" for outcome in some)


def describe_added(added: Added) -> str:
    again = f", {added.again} to be asked for once more" if added.again else ""
    known = f", {added.known} known already" if added.known else ""
    return f"{counted(added.new, 'seed')} added{again}{known}"


def describe_waiting(until: datetime, urls: int) -> str:
    return f"waiting until {until:%H:%M:%S} UTC, when the next URLs are due; {urls} in the frontier"


def describe_end(end: End, waiting: int, release: str = "") -> str:
    """Return one line on why a crawl ended, with the number of URLs in its frontier.

    `release` is the command that releases URLs held as traps.
    """
    urls, count = counted(waiting, "URL"), max(0, waiting - end.blocked - end.excluded - end.full)
    waits = _urls(count, "waits", "wait") if count else "no page is due"
    blocked = _urls(end.blocked, "that is blocked", "that are blocked") if end.blocked else ""
    excluded = (
        f"{counted(end.excluded, 'URL')} that the settings exclude (explain URL names the rule)" if end.excluded else ""
    )
    most = "of hosts with all visits that limits.max_pages_per_host_total permits (--max-pages-per-host)"
    full = f"{counted(end.full, 'URL')} {most}" if end.full else ""
    closed = " and ".join(filter(None, (blocked, excluded, full)))
    among = f", among them {excluded}" if excluded else ""
    refused = "the address of 1 host is" if end.refused == 1 else f"the addresses of {end.refused} hosts are"
    reasons = {
        "frontier_empty": "the frontier is empty"
        + (f" but for {closed}" if closed else "")
        + (f"; {_urls(end.held, 'is', 'are')} held as traps; to release them: {release}" if end.held else "")
        + (f"; links beyond a depth of {end.depth} were not followed (--depth)" if end.depth is not None else "")
        + (
            "; pages are not visited again, unless crawl --again (all, now) or --recrawl-after DAYS"
            if end.is_over
            else ""
        ),
        "rounds": f"{counted(end.rounds, 'round')} done, {urls} in the frontier{among}",
        "max_pages": f"the limit of {counted(end.max_pages, 'page')} is reached, {urls} in the frontier{among};"
        " to go on, raise limits.max_pages (--max-pages)",
        "stopped": f"stopped, {urls} in the frontier; the same command goes on",
        "not_due": f"{waits} until {end.due_at:%Y-%m-%d %H:%M:%S} UTC; the same command goes on then"
        + (f"; {refused} refused: with other settings (--allow-address) it goes on at once" if end.refused else "")
        + (f"; besides, the frontier has {closed}" if closed else "")
        if end.due_at
        else f"{_urls(waiting, 'waits', 'wait')}: the last round requested none of those that are due, for lack of time"
        " (limits.round_time) or because they look like a trap's; explain URL says which",
    }
    return reasons[end.reason]


def _urls(count: int, verb: str, plural: str) -> str:
    return f"{counted(count, 'URL')} {verb if count == 1 else plural}"
