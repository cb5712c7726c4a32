"""How visits ended: outcomes, HTTP status codes, errors."""

from ....transforms.outcomes import Outcome
from ..content import Column, Section, Table, distribution, largest, shares
from ..known import Known

_MEANING = {
    Outcome.FETCHED: "a page",
    Outcome.NOT_MODIFIED: "304: the stored page is current",
    Outcome.REDIRECTED: "leads to another URL",
    Outcome.REDIRECT_LOOP: "a redirect that leads back",
    Outcome.BAD_REDIRECT: "a redirect without a usable target",
    Outcome.GONE: "404 or 410",
    Outcome.CLIENT_ERROR: "another 4xx",
    Outcome.SERVER_ERROR: "5xx or 429",
    Outcome.DENIED_ROBOTS: "forbidden by robots.txt; not requested",
    Outcome.UNREACHABLE_ROBOTS: "robots.txt cannot be fetched; the host waits",
    Outcome.DEFERRED: "the round ended before the request",
    Outcome.TIMEOUT: "no answer in time",
    Outcome.DNS_ERROR: "the name has no address",
    Outcome.CONNECT_ERROR: "no connection",
    Outcome.TLS_ERROR: "the certificate or TLS failed",
    Outcome.BLOCKED_ADDRESS: "a special address that is not allowed",
    Outcome.UNWANTED_TYPE: "a media type that is not parsed",
    Outcome.TOO_LONG: "beyond the limits of size",
    Outcome.BAD_RESPONSE: "not HTTP, or contradictory",
}
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
    rows = [(name, _MEANING.get(name, ""), count, share) for name, count, share in shares(counts)]
    columns = [Column("outcome"), Column("meaning"), Column("visits", "count"), Column("share", "share")]
    parts = [
        Table("Visits by outcome", columns, rows),
        distribution("Answers by HTTP status", "status", "visits", largest(statuses, 20, "other")),
    ]
    if errors:
        named = [Column("error"), Column("outcome"), Column("visits", "count"), Column("hosts", "count")]
        parts.append(Table("The most frequent errors", named, errors))
    return Section("outcomes", "Outcomes", parts)
