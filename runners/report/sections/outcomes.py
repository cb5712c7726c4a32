"""The results of visits: outcomes, HTTP status codes, errors, broken links."""

from ...state.outcome_words import MEANINGS
from ..content import Columns, Section, Table, distribution, largest, shares
from ..source import Source

_ERRORS, _BROKEN, _SOURCES = 15, 30, 3

_BROKEN_LINKS = """
    SELECT left(u.url, 400), coalesce(u.last_status::VARCHAR, u.reason), count(DISTINCT source_key),
        list_transform(list_sort(list_distinct(min(source_url, ?))), lambda url: left(url, 400))
    FROM urls u JOIN links ON target_key = u.url_key
    WHERE u.state IN ('gone', 'failed') AND u.kind IS NULL
    GROUP BY u.url, u.last_status, u.reason ORDER BY 3 DESC, 1 LIMIT ?
"""


def section(source: Source) -> Section:
    counts = source.rows("SELECT outcome, sum(visits)::BIGINT FROM visit_counts GROUP BY 1 ORDER BY 2 DESC, 1")
    if not counts:
        return Section("outcomes", "Outcomes", ["No visits yet."])
    statuses = source.rows(
        "SELECT status, sum(visits)::BIGINT FROM visit_counts WHERE status IS NOT NULL GROUP BY 1 ORDER BY 2 DESC, 1"
    )
    errors = source.rows(
        "SELECT left(error, 400), outcome, count(*), count(DISTINCT host) FROM visits WHERE error IS NOT NULL"
        " GROUP BY ALL ORDER BY 3 DESC, 1 LIMIT ?",
        _ERRORS,
    )
    rows = [(name, MEANINGS.get(name, ""), count, share) for name, count, share in shares(counts)]
    columns: Columns = {"outcome": "text", "meaning": "text", "visits": "count", "share": "share"}
    parts = [
        Table("Visits by outcome", columns, rows),
        distribution("Answers by HTTP status", "status", "visits", largest(statuses, 20, "other")),
    ]
    if errors:
        columns = {"error": "text", "outcome": "text", "visits": "count", "hosts": "count"}
        parts.append(Table("The most frequent errors", columns, errors))
    if broken := source.rows(_BROKEN_LINKS, _SOURCES, _BROKEN):
        columns = {"URL": "text", "status or reason": "text", "pages": "count", "linked by": "text"}
        sources = [(*row, ", ".join(urls)) for *row, urls in broken]
        note = f"At most {_BROKEN} URLs, those with the most pages first, and at most {_SOURCES} pages of each."
        parts.append(Table("Broken links", columns, sources, note))
    return Section("outcomes", "Outcomes", parts)
