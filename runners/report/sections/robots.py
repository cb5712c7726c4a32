"""robots.txt, and what authors say about the use of their content."""

from ....transforms.rights.licence_files import read_licences
from ....transforms.rights.tdm_rules import read_tdm_rules
from ..content import Columns, Part, Section, Table, distribution, largest
from ..source import Source

_NAMED = 15
_VERDICTS = {
    "rules": "its rules apply",
    "allow_all": "none (4xx): everything is allowed",
    "deny_all": "401 or 403: everything is forbidden",
    "unreachable": "cannot be fetched: the host waits",
}


def section(source: Source) -> Section:
    verdicts = source.rows("SELECT verdict, count(*) FROM robots GROUP BY 1 ORDER BY 2 DESC, 1")
    if not verdicts:
        return Section("robots", "robots.txt", ["No robots.txt has been requested yet."])
    counts = [(f"{verdict}: {_VERDICTS[verdict]}" if verdict in _VERDICTS else verdict, n) for verdict, n in verdicts]
    parts: list[Part] = [distribution("Origins by verdict", "verdict", "origins", counts)]
    parts += _table(
        source,
        "URLs that robots.txt denies, by rule",
        {"host": "text", "rule": "text", "visits": "count"},
        "SELECT host, left(robots_rule, 400), count(*) FROM visits WHERE outcome = 'denied_robots' GROUP BY ALL"
        " ORDER BY 3 DESC, 1, 2 LIMIT ?",
    )
    parts += _table(
        source,
        "The longest Crawl-delays",
        {"origin": "text", "Crawl-delay": "seconds", "fetched (UTC)": "time"},
        "SELECT origin, crawl_delay, fetched_at FROM robots WHERE crawl_delay > 0 ORDER BY 2 DESC, 1 LIMIT ?",
    )
    parts += _table(
        source,
        "robots.txt that cannot be fetched",
        {"origin": "text", "status": "count", "error": "text", "next try (UTC)": "time"},
        "SELECT origin, status, left(error, 400), expires_at FROM robots WHERE verdict = 'unreachable'"
        " ORDER BY fetched_at DESC, 1 LIMIT ?",
    )
    return Section("robots", "robots.txt", parts)


def usage(source: Source) -> Section:
    """The section about usage preferences."""
    allowed, reserved, silent, mining, noai, noimageai, total = source.count(
        *("pages", "ai_training", "NOT ai_training", "ai_training IS NULL"),
        *("tdm_reservation", "noai", "noimageai", "true"),
    )
    if not total:
        return Section("usage", "Usage preferences", ["No page has been parsed yet."])
    training = [("allowed", allowed), ("reserved", reserved), ("nothing stated", silent)]
    caption = "Training of AI models, as pages and robots.txt conclude"
    parts: list[Part] = [distribution(caption, "preference", "pages", training)]
    rows = [("text and data mining reserved (TDMRep)", mining), ("noai", noai), ("noimageai", noimageai)]
    hidden, no_input = source.count("pages", "NOT search", "NOT ai_input")
    rows += [("reserved from search", hidden), ("reserved as input of AI models", no_input)]
    for name, column in (("Content-Usage", "content_usage"), ("Content-Signal", "content_signals")):
        statements = source.rows(
            f"SELECT {column}, count(*) FROM pages WHERE {column} IS NOT NULL GROUP BY 1 ORDER BY 2 DESC, 1"
        )
        rows += [(f"{name}: {value}", n) for value, n in largest(statements, _NAMED, "other values")]
    stated = [(name, count, count / total) for name, count in rows if count]
    if stated:
        columns: Columns = {"statement": "text", "pages": "count", "share of all": "share"}
        parts.append(Table("Statements", columns, stated))
    if files := read_tdm_rules(source.crawl, source.manifests):
        columns = {"host": "text", "file": "text", "rules": "count", "problem": "text"}
        stated_by = ((host, file.url, file.reservations) for host, file in files.items())
        rules = [(host, url, len(found.rules), found.error) for host, url, found in stated_by]
        parts.append(Table("Files of TDMRep, which add to what pages say", columns, sorted(rules)[:_NAMED]))
    if licences := read_licences(source.crawl, source.manifests):
        columns = {"URL": "text", "contents": "count", "problem": "text"}
        read = [(url, len(licence.contents), licence.error) for url, licence in sorted(licences.items())]
        parts.append(Table("Licences (RSL), which add to what pages say", columns, read[:_NAMED]))
    return Section("usage", "Usage preferences", parts)


def _table(source: Source, caption: str, columns: Columns, query: str) -> list[Part]:
    rows = source.rows(query, _NAMED)
    return [Table(caption, columns, rows)] if rows else []
