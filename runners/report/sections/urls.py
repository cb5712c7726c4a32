"""URLs: states, depth, what waits and why, links that rules excluded, alias rules."""

from operator import itemgetter

from ..charts import bins
from ..content import Chart, Columns, Part, Section, Table, count_columns, distribution, largest, shares
from ..source import Source

_STATES = ("fetched", "due", "redirected", "alias", "trapped", "gone", "denied", "failed")
_RULES = 20


def section(source: Source) -> Section:
    counts = source.rows("SELECT state, sum(urls)::BIGINT FROM url_counts GROUP BY 1 ORDER BY 2 DESC, 1")
    if not counts:
        return Section("urls", "URLs", ["No URLs yet: the first update step has not ended."])
    parts: list[Part] = [distribution("URLs by state", "state", "URLs", counts), _depth(source)]
    if waiting := [(reason, count) for reason, count in source.status.frontier.items() if count]:
        parts.append(distribution("Waiting URLs by reason", "reason", "URLs", largest(waiting, 10, "other")))
    rejected = source.rows(
        "SELECT reason, sum(count)::BIGINT, count(DISTINCT host), left(any_value(samples[1] ORDER BY round, host), 400)"
        " FROM rejections GROUP BY 1 ORDER BY 2 DESC, 1"
    )
    if rejected:
        share = {reason: share for reason, _, share in shares([row[:2] for row in rejected])}
        columns: Columns = {"rule": "text", "links": "count", "share": "share", "hosts": "count"}
        rows = [(reason, links, share[reason], hosts, sample) for reason, links, hosts, sample in rejected]
        note = "A link is counted each time that it is found."
        parts.append(Table("Links that a rule excluded", columns | {"such as": "text"}, rows, note))
    if aliases := source.status.aliases:
        columns = {"origin": "text", "rule": "text"}
        columns |= count_columns("templates", "pages agree", "held back", "fetched to verify", "since round")
        caption = f"Alias rules in use: {len(aliases):,}" + (f", the first {_RULES}" if len(aliases) > _RULES else "")
        figures = itemgetter("support", "held", "sampled", "since", "pattern")
        rows = [(r["origin"], r["rule"], len(r["templates"]), *figures(r)) for r in aliases[:_RULES]]
        note = "`beamtrawl release DIR PATTERN` has what a rule holds back fetched, too."
        parts.append(Table(caption, columns | {"released by the pattern": "text"}, rows, note))
    return Section("urls", "URLs", parts)


def _depth(source: Source) -> Chart:
    """URLs by links from a seed, by state."""
    rows = source.rows("SELECT coalesce(depth, 0), state, sum(urls)::BIGINT FROM url_counts GROUP BY ALL")
    deepest = max(depth for depth, _, _ in rows)
    counts = {(depth, state): count for depth, state, count in rows}
    parts = bins(deepest + 1, 40)
    labels = [f"{part.start}" if len(part) == 1 else f"{part.start}–{part.stop - 1}" for part in parts]
    states = [*_STATES, *sorted({state for _, state, _ in rows} - {*_STATES})]
    series = {
        state: [float(sum(counts.get((depth, state), 0) for depth in part)) for part in parts] for state in states
    }
    return Chart("URLs by depth", "links from a seed", "URLs", labels, {n: v for n, v in series.items() if any(v)})
