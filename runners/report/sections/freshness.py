"""Revisits: how old the stored pages are, how often pages change, and when they are visited again."""

from ..content import Chart, Column, Figure, Figures, Part, Section, Table
from ..known import Known

_DAY = 86_400
_AGES = ((1, "1 day"), (7, "7 days"), (30, "30 days"), (90, "90 days"), (365, "a year"), (None, "older"))


def section(known: Known) -> Section:
    recrawl = known.recrawl
    revisited, changed = known.row(
        "SELECT coalesce(sum(revisited), 0)::BIGINT, coalesce(sum(changed), 0)::BIGINT FROM url_counts"
    )
    current = known.status.outcomes.get("not_modified", 0)
    figures = [
        Figure("URLs requested more than once", revisited),
        Figure("URLs that a revisit found changed", changed),
        Figure("answers 304 (not modified)", current),
    ]
    parts: list[Part] = [Figures(figures)]
    if not recrawl.is_on:
        parts.append("Revisits are off: recrawl.per_day and recrawl.after are not set.")
    if known.row("SELECT count(*) FROM pages")[0]:
        parts.append(_ages(known))
    rates = known.rows("SELECT rate, sum(pages)::BIGINT FROM change_rates GROUP BY 1 HAVING sum(pages) > 0 ORDER BY 1")
    if rates:
        columns = [Column("change, on the average, each"), Column("pages", "count")]
        rows = [(_interval(2 ** (rate / 4)), pages) for rate, pages in rates]
        parts.append(Table("Pages by estimated interval of change", columns, rows))
    due = known.rows(
        "SELECT date_trunc('day', due_at) AS day, count(*) FROM revisits WHERE due_at >= ? GROUP BY 1 ORDER BY 1"
        " LIMIT 30",
        known.now,
    )
    if due:
        labels = [f"{day:%m-%d}" for day, _ in due]
        planned = {"planned": [float(count) for _, count in due]}
        parts.append(Chart("Planned revisits", "day (UTC)", "pages", labels, planned))
    return Section("freshness", "Freshness", parts)


def _ages(known: Known) -> Chart:
    """Pages by the time since their newest stored version was fetched."""
    counts, below = [], 0
    for days, _ in _AGES:
        condition = f"epoch(?::TIMESTAMPTZ - fetched_at) < {days * _DAY}" if days else "? IS NOT NULL"
        upto = known.row(
            f"SELECT count(*) FILTER (WHERE {condition}) FROM pages WHERE fetched_at IS NOT NULL", known.now
        )[0]
        counts.append(float(upto - below))
        below = upto
    return Chart("Age of the stored versions", "up to", "pages", [name for _, name in _AGES], {"pages": counts})


def _interval(per_day: float) -> str:
    """A mean interval in words.

    >>> _interval(2), _interval(0.1)
    ('12 hours', '10 days')
    """
    days = 1 / per_day
    return f"{days:.3g} days" if days >= 1 else f"{days * 24:.3g} hours"
