"""The rules of a check: what each finds, how bad that is, and its query over what `gather` has collected.

A rule is SQL that gives rows of `COLUMNS`, in order. docs/site-checks.md describes the rules.
"""

from collections.abc import Mapping
from datetime import datetime
from enum import StrEnum
from types import MappingProxyType
from typing import Any, NamedTuple

from ...transforms.outcomes import Outcome

SLOW_S = 5.0
"""Seconds from which on an answer counts as slow, unless it is said otherwise."""


class Finding(NamedTuple):
    """What a rule has found."""

    rule: str
    page: str  # where it is: a page, or a sitemap
    section: str | None  # the heading above it
    place: str  # URL of the page with the id of that heading, if it has one
    anchor: str | None  # text of the link
    target: str | None  # what it is about, if not the page itself
    status: int | None  # of the answer that decided
    final: str | None  # where redirects of the target end
    detail: str | None
    since: datetime | None  # when it was seen first, as far as is known
    round: int | None

    def to_dict(self) -> dict[str, Any]:
        """JSON values by name."""
        return self._asdict() | {"since": f"{self.since:%Y-%m-%dT%H:%M:%SZ}" if self.since else None}


class Severity(StrEnum):
    """How bad a finding is."""

    ERROR = "error"
    """A visitor does not get what the page promises."""
    WARNING = "warning"
    """A visitor or a search engine gets less than there is."""
    NOTICE = "notice"
    """It works, and could be better."""


ERROR, WARNING, NOTICE = Severity

COLUMNS = ("page", "section", "section_id", "anchor", "target", "status", "final", "detail", "since", "round")
"""Columns of a finding, besides its rule: where it is, what it is about, and since when it holds as far as is known."""


class Rule(NamedTuple):
    """A rule of a check."""

    name: str
    severity: Severity
    meaning: str  # of its findings, after their number
    query: str  # that gives COLUMNS


def _of_links(name: str, severity: Severity, meaning: str, condition: str, detail: str = "nullif(kind, 'a')") -> Rule:
    query = (
        f"SELECT page, section, section_id, anchor, target, status, final, {detail}, since, round FROM found_links"
        f" WHERE {condition} QUALIFY row_number() OVER (PARTITION BY page, target_key ORDER BY number) = 1"
    )
    return Rule(name, severity, meaning, query)


def _of_pages(
    name: str,
    severity: Severity,
    meaning: str,
    condition: str,
    target: str = "NULL",
    detail: str = "NULL",
    more: str = "",
) -> Rule:
    query = (
        f"SELECT c.url, NULL, NULL, NULL, {target}, NULL, NULL, {detail}, d.since, d.round FROM pages p"
        f" JOIN current c USING (url_key) LEFT JOIN told d USING (url_key) {more} WHERE {condition}"
    )
    return Rule(name, severity, meaning, query)


_INDEXABLE = "NOT p.noindex AND coalesce(p.canonical_key = p.url_key, true)"
_IMAGE = "kind IN ('img', 'srcset', 'icon', 'poster') AND media_type NOT LIKE 'image/%'"
_STYLE = "kind = 'stylesheet' AND media_type <> 'text/css'"
_SCRIPT = r"kind = 'script' AND NOT regexp_matches(media_type, '^(text|application)/(x-)?(java|ecma)script$')"
_UNKNOWN_TYPES = "('', 'application/octet-stream', 'binary/octet-stream')"
_BECOMES_SECURE = "url LIKE 'http://%' AND final LIKE 'https://%' AND substr(final, 9) = substr(url, 8)"
_INSECURE = f"coalesce(({_BECOMES_SECURE}) OR has_secure, false)"

_ENTRIES = (
    "SELECT e.sitemap, NULL, NULL, NULL, e.url, t.status, t.final, NULL, t.since, t.round"
    " FROM entries e JOIN targets t USING (url_key) WHERE "
)

_NOT_IN_SITEMAP = (
    "p.url_key NOT IN (SELECT url_key FROM entries UNION ALL SELECT t.final_key FROM entries e JOIN targets t"
    " USING (url_key) WHERE t.final_key IS NOT NULL)"
    " AND split_part(c.url, '/', 3) IN (SELECT split_part(url, '/', 3) FROM entries)"
    " AND (SELECT is_known FROM sitemaps_known)"
)

_ORPHANS = "c.url_key NOT IN (SELECT url_key FROM inlinked) AND (SELECT count(*) = 0 FROM gaps)"

_CANONICALS = """
WITH RECURSIVE named AS (
    SELECT url_key, canonical_key AS next_key, canonical_url AS next_url
    FROM pages WHERE canonical_key <> url_key
), walk(start, first_url, place, url, hops, is_loop) AS (
    SELECT n.url_key, n.next_url, n.next_key, n.next_url, 1, false
    FROM named n SEMI JOIN named m ON n.next_key = m.url_key
    UNION ALL
    SELECT w.start, w.first_url, n.next_key, n.next_url, w.hops + 1, n.next_key = w.start
    FROM walk w JOIN named n ON w.place = n.url_key WHERE NOT w.is_loop AND w.hops < 10
), ends AS (
    SELECT start, any_value(first_url) AS first_url, bool_or(is_loop) AS is_loop, arg_max(url, hops) AS final
    FROM walk GROUP BY start
)
SELECT c.url, NULL, NULL, NULL, e.first_url, NULL, e.final, NULL, d.since, d.round
FROM ends e JOIN current c ON e.start = c.url_key LEFT JOIN told d USING (url_key) WHERE """

_LANGUAGES = """
WITH named AS (
    SELECT p.url_key, v.url AS url, coalesce(t.final_key, v.url_key) AS other_key
    FROM (SELECT url_key, unnest(languages) AS v FROM pages) p LEFT JOIN targets t ON t.url_key = v.url_key
)
SELECT c.url, NULL, NULL, NULL, n.url, NULL, NULL, NULL, greatest(d.since, o.since), greatest(d.round, o.round)
FROM (SELECT * FROM named WHERE other_key <> url_key) n
SEMI JOIN pages p ON n.other_key = p.url_key
JOIN current c ON n.url_key = c.url_key LEFT JOIN told d ON n.url_key = d.url_key
LEFT JOIN told o ON n.other_key = o.url_key
ANTI JOIN named r ON r.url_key = n.other_key AND r.other_key = n.url_key
"""

_FRAGMENTS = """
SELECT f.page, f.section, f.section_id, f.anchor, f.target || '#' || f.fragment, NULL, f.final, nullif(f.kind, 'a'),
    greatest(f.since, d.since), greatest(f.round, d.round)
FROM (SELECT *, coalesce(final_key, target_key) AS page_key FROM found_links WHERE fragment <> '' AND NOT is_placed) f
SEMI JOIN pages p ON f.page_key = p.url_key AND p.is_whole
LEFT JOIN told d ON f.page_key = d.url_key
ANTI JOIN ids a ON a.url_key = f.page_key AND a.id = f.fragment
ANTI JOIN ids b ON b.url_key = f.page_key AND b.id = f.fragment_id
"""

_MALFORMED = """
SELECT c.url, NULL, NULL, NULL, m.target, NULL, NULL, NULL, d.since, d.round
FROM (SELECT url_key, unnest(malformed) AS target FROM pages) m
JOIN current c USING (url_key) LEFT JOIN told d USING (url_key)
"""

_NO_COPY = f"{_INDEXABLE} AND p.url_key NOT IN (SELECT url_key FROM copies)"

_SAME_TITLES = f"""
JOIN (
    SELECT p.title AS same, split_part(c.url, '/', 3) AS host, count(*) AS count, min(c.url) AS one, max(c.url) AS other
    FROM pages p JOIN current c USING (url_key) WHERE p.title <> '' AND {_NO_COPY} GROUP BY ALL HAVING count(*) > 1
) s ON p.title = s.same AND split_part(c.url, '/', 3) = s.host
"""

_SEEDS = f"""
SELECT s.url, NULL, NULL, NULL, NULL, t.status, t.final, t.outcome, t.since, t.round
FROM (SELECT DISTINCT url_key, url FROM seeds) s JOIN targets t USING (url_key)
WHERE t.verdict IN ('gone', 'failed', 'blocked') OR t.outcome IN ('{Outcome.UNWANTED_TYPE}', '{Outcome.TOO_LONG}')
"""

RULES: tuple[Rule, ...] = (
    Rule("seed", ERROR, "seeds of the crawl that give no page", _SEEDS),
    _of_links("gone", ERROR, "links to pages that are gone (404, 410)", "verdict = 'gone'"),
    _of_links("failed", ERROR, "links to pages that give no usable answer", "verdict = 'failed'", "outcome"),
    _of_links("blocked", WARNING, "links to what robots.txt or the server refuses", "verdict = 'blocked'", "outcome"),
    _of_links(
        "moved",
        NOTICE,
        "links to pages that have moved for good (301, 308)",
        f"verdict = 'moved' AND NOT {_INSECURE}",
    ),
    _of_links(
        "insecure",
        WARNING,
        "links by http to pages that https has, too",
        f"verdict IS DISTINCT FROM 'gone' AND {_INSECURE}",
    ),
    _of_links(
        "slow",
        NOTICE,
        "links to pages that took longer than --slow seconds",
        "elapsed_ms > (SELECT ms FROM slow) AND verdict IS NULL",
        "printf('%.1f s', elapsed_ms / 1000)",
    ),
    _of_links(
        "wrong_type",
        ERROR,
        "images, stylesheets and scripts that are of another type",
        f"is_answered AND media_type NOT IN {_UNKNOWN_TYPES} AND (({_IMAGE}) OR ({_STYLE}) OR ({_SCRIPT}))",
        "kind || ': ' || media_type",
    ),
    Rule("malformed", ERROR, "links that are no URL (a bracket in the host, a port beyond 65535)", _MALFORMED),
    Rule("fragment", WARNING, "links to a place that their page does not have (#id)", _FRAGMENTS),
    Rule(
        "orphan",
        WARNING,
        "pages that no link leads to",
        "SELECT c.url, NULL, NULL, NULL, NULL, NULL, NULL, NULL, c.first_at, c.first_round FROM current c"
        f" WHERE {_ORPHANS}",
    ),
    _of_pages("no_title", WARNING, "pages without title", "p.title = ''"),
    _of_pages(
        "same_title",
        NOTICE,
        "pages whose title others of their host have, too",
        _NO_COPY,
        "CASE WHEN s.one = c.url THEN s.other ELSE s.one END",
        "printf('%d pages: %s', s.count, p.title)",
        _SAME_TITLES,
    ),
    _of_pages("no_description", NOTICE, "pages without description", f"NOT p.has_description AND {_INDEXABLE}"),
    _of_pages("several_h1", NOTICE, "pages with more than one h1", "p.h1_count > 1", "NULL", "p.h1_count::VARCHAR"),
    _of_pages(
        "no_alt",
        WARNING,
        "pages with images without alternative text",
        "len(p.without_alt) > 0",
        "p.without_alt[1]",
        "len(p.without_alt) || CASE WHEN len(p.without_alt) = 1 THEN ' image' ELSE ' images' END",
    ),
    Rule(
        "canonical_chain",
        WARNING,
        "pages whose canonical page names another one",
        _CANONICALS + "NOT e.is_loop",
    ),
    Rule("canonical_loop", ERROR, "pages whose canonical links lead back to them", _CANONICALS + "e.is_loop"),
    Rule(
        "sitemap_gone",
        ERROR,
        "entries of sitemaps that give no page",
        _ENTRIES + "t.verdict IN ('gone', 'failed', 'blocked')",
    ),
    Rule(
        "sitemap_moved",
        WARNING,
        "entries of sitemaps that redirect",
        _ENTRIES + "t.is_redirect AND (t.verdict IS NULL OR t.verdict = 'moved')",
    ),
    _of_pages(
        "not_in_sitemap", NOTICE, "pages that no sitemap of their host has", f"{_INDEXABLE} AND {_NOT_IN_SITEMAP}"
    ),
    Rule(
        "mixed_content",
        ERROR,
        "what pages of https load by http",
        "SELECT c.url, r.section, r.section_id, r.anchor, r.url, NULL, NULL, r.kind, d.since, d.round FROM refs r"
        " JOIN current c USING (url_key) LEFT JOIN told d USING (url_key) WHERE r.is_mixed"
        " QUALIFY row_number() OVER (PARTITION BY r.url_key, r.target_key ORDER BY r.number) = 1",
    ),
    Rule("hreflang", WARNING, "versions in other languages that do not name the page in turn", _LANGUAGES),
)
"""All rules, in the order in which they are shown."""

BY_NAME: Mapping[str, Rule] = MappingProxyType({rule.name: rule for rule in RULES})
