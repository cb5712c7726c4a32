"""How visits ended: outcomes, HTTP status codes, errors."""

from ...outcome_words import MEANINGS
from ..content import Column, Section, Table, distribution, largest, shares
from ..known import Known

_ERRORS = 15


def section(known: Known) -> Section:
    counts = known.rows("SELECT outcome, sum(visits)::BIGINT FROM visit_counts GROUP BY 1 ORDER BY 2 DESC, 1")
    if not counts:
        return Section("outcomes", "Outcomes", ["No visits yet."])
    statuses = known.rows(
        "SELECT status, sum(visits)::BIGINT FROM visit_counts WHERE status IS NOT NULL GROUP BY 1 ORDER BY 2 DESC, 1"
    )
    errors = known.rows(
        "SELECT left(error, 400), outcome, count(*), count(DISTINCT host) FROM visits WHERE error IS NOT NULL"
        " GROUP BY ALL ORDER BY 3 DESC, 1 LIMIT ?",
        _ERRORS,
    )
    rows = [(name, MEANINGS.get(name, ""), count, share) for name, count, share in shares(counts)]
    columns = [Column("outcome"), Column("meaning"), Column("visits", "count"), Column("share", "share")]
    parts = [
        Table("Visits by outcome", columns, rows),
        distribution("Answers by HTTP status", "status", "visits", largest(statuses, 20, "other")),
    ]
    if errors:
        named = [Column("error"), Column("outcome"), Column("visits", "count"), Column("hosts", "count")]
        parts.append(Table("The most frequent errors", named, errors))
    return Section("outcomes", "Outcomes", parts)
