"""The words for committed steps and the end of a crawl."""

from collections.abc import Mapping
from datetime import datetime

from ...pipeline.control import End
from ...pipeline.seeds import Added
from ...transforms.directory.crawl_dir import Manifest
from ...transforms.outcomes import REQUESTED, Outcome, count_requests
from ..terminal.units import counted


def describe_manifest(manifest: Manifest) -> str:
    """Return one line on a committed step."""
    counters = manifest.counters
    took = f"in {manifest.seconds:.1f} s"
    if manifest.step == "fetch":
        requests = count_requests(counters)
        rate = f", {requests / manifest.seconds:.1f}/s" if manifest.seconds > 0 else ""
        sent, unsent = (_outcomes(counters, is_sent) for is_sent in (True, False))
        robots = f"; {counters['robots_rows']} of robots.txt" if counters.get("robots_rows") else ""
        parts = f"{f' ({sent})' if sent else ''}{robots}{f'; without a request: {unsent}' if unsent else ''}"
        return f"round {manifest.round} fetch: {counted(requests, 'request')} {took}{rate}{parts}"
    if manifest.step == "compact" and "bodies_removed_bytes" in counters:
        freed = f"{counters['bodies_removed_bytes'] / 1e6:.1f} MB of old bodies"
        files = counted(len(manifest.replaced), "file")
        return f"round {manifest.round} compact: {freed} removed from {files} of visits, {took}"
    if manifest.step == "compact" and manifest.replaced:
        before, after = len(manifest.replaced), len(manifest.files)
        return f"round {manifest.round} compact: {counted(before, 'file')} of tables merged into {after}, {took}"
    if manifest.step == "compact":
        before, after = len(manifest.index_replaced), len(manifest.index)
        return f"round {manifest.round} compact: {counted(before, 'segment')} of the index merged into {after}, {took}"
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
    urls, count = counted(waiting, "URL"), max(0, waiting - end.blocked - end.excluded)
    waits = _urls(count, "waits", "wait") if count else "no page is due"
    blocked = _urls(end.blocked, "that is blocked", "that are blocked") if end.blocked else ""
    excluded = (
        f"{counted(end.excluded, 'URL')} that the settings exclude (explain URL names the rule)" if end.excluded else ""
    )
    closed = " and ".join(filter(None, (blocked, excluded)))
    among = f", among them {excluded}" if excluded else ""
    reasons = {
        "frontier_empty": "the frontier is empty"
        + (f" but for {closed}" if closed else "")
        + (f"; {_urls(end.held, 'is', 'are')} held as traps; to release them: {release}" if end.held else ""),
        "rounds": f"{counted(end.rounds, 'round')} done, {urls} in the frontier{among}",
        "max_pages": f"the limit of {counted(end.max_pages, 'page')} is reached, {urls} in the frontier{among};"
        " to go on, raise limits.max_pages (--max-pages)",
        "stopped": f"stopped, {urls} in the frontier; the same command goes on",
        "not_due": f"{waits} until {end.due_at:%Y-%m-%d %H:%M:%S} UTC; the same command goes on then"
        + (
            f"; {_refused(end.refused)}: with other settings (--allow-address) it goes on at once"
            if end.refused
            else ""
        )
        + (f"; besides, the frontier has {closed}" if closed else "")
        if end.due_at
        else f"{_urls(waiting, 'waits', 'wait')}: the last round was too short to ask for any of them;"
        " limits.round_time is its time",
    }
    return reasons[end.reason]


def _urls(count: int, verb: str, plural: str) -> str:
    return f"{counted(count, 'URL')} {verb if count == 1 else plural}"


def _refused(hosts: int) -> str:
    return "the address of 1 host is refused" if hosts == 1 else f"the addresses of {hosts} hosts are refused"
