"""Collects what the tables of a crawl hold on one host."""

from collections.abc import Iterator
from dataclasses import asdict
from datetime import datetime

from ...transforms.blocks.files import read_blocks
from ...transforms.blocks.rules import Blocks
from ...transforms.outcomes import Outcome
from ...transforms.robots import rules
from ...transforms.tables.key_scan import Wanted
from ...transforms.tables.schemas import Row
from ...transforms.traps.template_rows import State, results_of
from ..state.host_waits import RobotsFailure, robots_failures, why
from ..state.outcome_words import MEANINGS
from ..terminal.units import counted, latency, size
from .narrative import FAILED, WAITS, robots_verdict
from .sources import Sources
from .url_tables import MOST


def host_record(sources: Sources, host: str) -> Row | None:
    """What a crawl knows about a host, JSON-like; None if no URL and no visit names it."""
    for table, columns in _READ.items():
        sources.load(table, Wanted("host", [host]), columns)
    states = sources.rows("SELECT state, count(*) AS urls FROM urls WHERE host = ? GROUP BY 1 ORDER BY 1", host)
    row = sources.row("SELECT * EXCLUDE (latency) FROM hosts WHERE host = ?", host)
    if not states and row is None:
        return None
    return {
        "host": host,
        "state": row,
        "urls": {one["state"]: one["urls"] for one in states},
        "outcomes": {
            one["outcome"]: one["visits"]
            for one in sources.rows(
                "SELECT CASE status WHEN 429 THEN ? ELSE outcome END AS outcome, count(*) AS visits"
                " FROM visits WHERE host = ? GROUP BY 1 ORDER BY 2 DESC, 1",
                Outcome.TOO_MANY_REQUESTS.value,  # of earlier versions, server_error
                host,
            )
        },
        "failed": {
            one["reason"]: one["urls"]
            for one in sources.rows(
                "SELECT reason, count(*) AS urls FROM urls WHERE host = ? AND state = 'failed'"
                " GROUP BY 1 ORDER BY 2 DESC, 1",
                host,
            )
        },
        "wait": why(row, _robots_failure(sources, host)) if row else None,
        "robots": [_robots(row, sources.robot) for row in _rows(sources, "robots", host)],
        "waiting": sources.rows(
            "SELECT reason, count(*) AS urls, min(due_at) AS first_due_at FROM frontier WHERE host = ? GROUP BY 1", host
        ),
        "traps": sources.rows(
            "SELECT template, kind, state, since, pages, fresh, failed, redirected, samples FROM traps WHERE host = ?"
            " ORDER BY 1, 2",
            host,
        ),
        "blocks": _blocks(sources, host),
        "copies_of": _copies(sources, host),  # at last: it loads other URLs
    }


_READ = {
    "urls": ["url_key", "host", "round", "state", "reason"],
    "visits": ["host", "outcome", "status"],
    "documents": ["host", "duplicate_of", "near_duplicate_of"],
} | dict.fromkeys(("hosts", "robots", "traps", "frontier"), ())
"""The columns of tables of which the rows of a host are read; (): all."""


def _copies(sources: Sources, host: str) -> list[Row]:
    """The hosts of the pages that documents of a host are copies of, with the number of these documents."""
    originals = sources.rows("SELECT DISTINCT coalesce(duplicate_of, near_duplicate_of) AS key FROM documents")
    keys = sorted(bytes.fromhex(row["key"]) for row in originals if row["key"])
    sources.load("urls", Wanted("url_key", keys), ["url_key", "host", "round"])
    return sources.rows(
        "SELECT o.host, count(*) AS documents FROM documents d JOIN urls o ON o.url_key ="
        " coalesce(d.duplicate_of, d.near_duplicate_of) GROUP BY 1 ORDER BY 2 DESC, 1 LIMIT ?",
        MOST,
    )


def _rows(sources: Sources, table: str, host: str) -> list[Row]:
    return sources.rows(f"SELECT * FROM {table} WHERE host = ? ORDER BY 1", host)


def _blocks(sources: Sources, host: str) -> list[Row]:
    """The blocks of a host, or of some of its URLs if they name the host."""
    blocks = read_blocks(sources.crawl)
    return [
        asdict(block)
        for block in blocks
        if block.pattern.partition("/")[0] == host or Blocks([block]).match(f"http://{host}/")
    ]


def _robots(row: Row, robot: str) -> Row:
    """A row of robots with the rules for the robot instead of the file."""
    of_robot = rules.parse(row.pop("body") or b"", robot, row["origin"])
    return row | {"rules": [f"{'Allow' if rule.allow else 'Disallow'}: {rule.text}" for rule in of_robot.rules]}


def host_lines(record: Row, now: datetime) -> Iterator[str]:
    """One line per fact."""
    state, wait = record["state"], _wait(record, now)
    urls = f"{counted(sum(record['urls'].values()), 'URL')} ({_counts(record['urls'])})"
    yield f"{record['host']}: {urls}{'; blocked' if is_blocked(record) else f'; {wait}' if wait else ''}"
    if state:
        failed = counted(state["failures"], "failure")
        yield (
            f"{counted(state['requests'], 'request')}, {state['fetched']} fetched, {failed}, {size(state['bytes'])};"
            f" half of the answers within about {latency(state['latency_p50_ms'])}"
        )
        if state["not_before"] and state["not_before"] > now:
            yield f"not asked before {state['not_before']:%Y-%m-%d %H:%M:%S} UTC: {wait}"
    for row in record["blocks"]:
        since = f"{datetime.fromisoformat(row['since']):%Y-%m-%d %H:%M:%S} UTC"
        yield f"{row['pattern']} is blocked since {since}" + (f" ({row['reason']})" if row["reason"] else "")
    yield f"visits: {_counts(record['outcomes']) or 'none'}"
    for reason, count in record["failed"].items():
        yield f"failed: {count} ({FAILED.get(reason) or MEANINGS.get(reason, reason)})"
    for row in record["robots"]:
        yield f"{row['origin']}/robots.txt of {row['fetched_at']:%Y-%m-%d %H:%M:%S} UTC: {_verdict(row)}"
        yield from (f"  {rule}" for rule in row["rules"][:MOST])
        if row["crawl_delay"] is not None:
            yield f"  Crawl-delay: {row['crawl_delay']:g}"
    for row in record["waiting"]:
        yield f"waiting: {row['urls']} ({waits_for(row['reason'], record, wait)})"
    for row in record["traps"]:
        if row["state"] != State.OPEN:
            yield f"template {row['template']}: {row['state']}, {results_of(row)}"
    for row in record["copies_of"]:
        yield f"copies of pages of {row['host']}: {row['documents']}"


def is_blocked(record: Row) -> bool:
    """Whether all URLs of the host are blocked."""
    return any("/" not in block["pattern"] for block in record["blocks"])


def _robots_failure(sources: Sources, host: str) -> RobotsFailure | None:
    columns = "origin, host, fetched_at, status, verdict, error"
    return robots_failures(sources.rows(f"SELECT {columns} FROM robots_history WHERE host = ?", host)).get(host)


def _wait(record: Row, now: datetime) -> str:
    """Why the host is not asked now; empty if it may be."""
    state = record["state"]
    return record["wait"] if state and state["not_before"] and state["not_before"] > now else ""


def waits_for(reason: str, record: Row, wait: str) -> str:
    """Why URLs of a host wait, by their reason in the frontier; `wait` is why the host is not asked now."""
    if is_blocked(record):
        return "blocked"
    state = record["state"] or {}
    is_of_host = reason == "deferred" or (reason == "retry" and state.get("held_by") == "robots")
    if is_of_host and wait:
        return wait
    if reason == "deferred" and state.get("failures_in_row"):
        return f"the host failed, {counted(state['failures_in_row'], 'failure')} in a row; it may be asked again now"
    return WAITS[reason]


def _verdict(row: Row) -> str:
    return robots_verdict(row, "its rules for this robot are" if row["rules"] else "it has no rule for this robot")


def _counts(counts: Row) -> str:
    return ", ".join(f"{count} {name}" for name, count in counts.items())
