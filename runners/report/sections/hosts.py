"""Hosts: the largest, slowest, refusing, trapped and blocked ones, and how fast they answer."""

from operator import itemgetter

from ..content import Chart, Columns, Part, Section, Table, count_columns
from ..source import Source

_NAMED = 15  # hosts of a table
_URL_COUNTS = "SELECT host, sum(urls)::BIGINT AS urls FROM url_counts GROUP BY 1"
_PAGES = "SELECT host, count(*) AS pages FROM pages GROUP BY 1"


def section(source: Source) -> Section:
    status = source.status
    if not source.row("SELECT count(*) FROM hosts")[0]:
        return Section("hosts", "Hosts", ["No host has been requested yet."])
    parts: list[Part] = [_latency(source), _largest(source), _slowest(source)]
    parts += _refusing(source)
    parts.append(_trapped(source) if status.traps else "No template of URLs is throttled or trapped.")
    if blocks := status.blocks:
        caption = f"Blocks: {len(blocks):,}{_first(len(blocks))}; {status.blocked:,} waiting URLs match"
        columns: Columns = {"blocked": "text", "since": "text", "reason": "text", "stored content is removed": "text"}
        rows = [(b.pattern, b.since, b.reason, "yes" if b.forget else "no") for b in blocks[:_NAMED]]
        parts.append(Table(caption, columns, rows))
    else:
        parts.append("No host is blocked.")
    return Section("hosts", "Hosts", parts)


def _latency(source: Source) -> Chart:
    """Requests by duration, over all hosts: place n of `latency` counts those below 2**n milliseconds."""
    rows = source.rows(
        "SELECT place, sum(n)::BIGINT FROM (SELECT unnest(latency) AS n, generate_subscripts(latency, 1) - 1 AS place"
        " FROM hosts) GROUP BY 1 HAVING sum(n) > 0"
    )
    counts = dict(rows)
    places = range(min(counts, default=0), max(counts, default=0) + 1)
    labels = [f"{2**place:,}" for place in places]
    series = {"requests": [float(counts.get(place, 0)) for place in places]}
    return Chart("Requests by duration", "milliseconds, at most", "requests", labels, series)


def _largest(source: Source) -> Table:
    rows = source.rows(
        f"SELECT host, urls, coalesce(pages, 0), requests, bytes, failures FROM hosts LEFT JOIN ({_URL_COUNTS})"
        f" USING (host) LEFT JOIN ({_PAGES}) USING (host)"
        " ORDER BY 3 DESC, urls DESC NULLS LAST, host LIMIT ?",
        _NAMED,
    )
    columns: Columns = {"host": "text", "URLs": "count", "pages": "count", "requests": "count"}
    return Table("The largest hosts, by pages", columns | {"received": "bytes", "failures": "count"}, rows)


def _slowest(source: Source) -> Table:
    rows = source.rows(
        "SELECT host, latency_p50_ms, latency_p95_ms, crawl_delay, requests, not_before FROM hosts"
        " WHERE requests > 0 ORDER BY latency_p95_ms DESC NULLS LAST, crawl_delay DESC NULLS LAST, host LIMIT ?",
        _NAMED,
    )
    columns: Columns = {"host": "text", "median": "ms", "95th percentile": "ms", "Crawl-delay": "seconds"}
    columns |= {"requests": "count", "next request from (UTC)": "time"}
    note = "Durations are estimates, at most a factor of 1.42 off."
    return Table("The slowest hosts, by the 95th percentile of durations", columns, rows, note)


def _refusing(source: Source) -> list[Part]:
    """Hosts that fail, deny by robots.txt or hold the crawl back."""
    rows = source.rows(
        "SELECT host, requests, failures, failures / nullif(requests, 0), coalesce(denied, 0), coalesce(refused, 0),"
        " failures_in_row, CASE WHEN not_before > ? THEN held_by END, CASE WHEN not_before > ? THEN not_before END"
        " FROM hosts LEFT JOIN (SELECT host, count(*) FILTER (WHERE outcome = 'denied_robots') AS denied,"
        " count(*) FILTER (WHERE status IN (401, 402, 403, 429)) AS refused FROM visits"
        " WHERE outcome = 'denied_robots' OR status IN (401, 402, 403, 429) GROUP BY 1)"
        " USING (host) WHERE failures > 0 OR denied > 0 OR refused > 0 OR failures_in_row > 0"
        " ORDER BY failures + coalesce(denied, 0) + coalesce(refused, 0) DESC, host LIMIT ?",
        source.now,
        source.now,
        _NAMED,
    )
    if not rows:
        return ["No host has refused or failed a request."]
    columns: Columns = {"host": "text", "requests": "count", "failed": "count", "share": "share"}
    columns |= count_columns("denied by robots.txt", "401, 402, 403, 429", "failures in a row")
    columns |= {"held by": "text", "until (UTC)": "time"}
    return [Table("Refusing and failing hosts", columns, rows)]


def _trapped(source: Source) -> Table:
    traps = sorted(source.status.traps, key=lambda trap: (-trap["held"] - trap["waiting"], trap["host"], trap["name"]))
    columns: Columns = {"host": "text", "template": "text", "state": "text", "since round": "count"}
    columns |= count_columns("pages", "with news", "waiting", "held") | {"such as": "text"}
    shown = itemgetter("host", "name", "state", "since", "pages", "fresh", "waiting", "held")
    rows = [(*shown(trap), next(iter(trap["samples"] or []), None)) for trap in traps[:_NAMED]]
    caption = f"Throttled and trapped templates of URLs: {len(traps):,}{_first(len(traps))}"
    return Table(caption, columns, rows, "release makes the held URLs wait for a visit again.")


def _first(count: int) -> str:
    return f", the first {_NAMED}" if count > _NAMED else ""
