"""The tables that a check derives from those of the crawl, in SQL: answers, redirects, links, and what is not known.

In each, `last` is the round as of which the crawl is checked.
"""

from collections.abc import Iterable

from ...transforms.outcomes import REMOVES_PAGE, RETRIED, Outcome

PERMANENT = (301, 308)
"""Statuses of permanent redirects (RFC 9110, 15.4)."""

REFUSING = (401, 402, 403, 407, 451, 999)
"""Statuses of answers that refuse a visitor a page that may be there; 999 is what some sites say to robots."""


def listed(values: Iterable[str]) -> str:
    """Values in SQL."""
    return ", ".join(f"'{value}'" for value in sorted(values))


_REFUSED = (Outcome.DENIED_ROBOTS, Outcome.PAYMENT_REQUIRED, Outcome.FORBIDDEN)
_FAILURES = RETRIED | {Outcome.CLIENT_ERROR, Outcome.TLS_ERROR, Outcome.REDIRECT_LOOP, Outcome.BAD_REDIRECT}

VERDICTS = {
    "gone": f"outcome = '{Outcome.GONE}'",
    "blocked": f"outcome IN ({listed(_REFUSED)}) OR (outcome = '{Outcome.CLIENT_ERROR}' AND status IN {REFUSING})",
    "failed": f"outcome IN ({listed(_FAILURES)})",
    "moved": f"outcome = '{Outcome.REDIRECTED}' AND status IN {PERMANENT}",
}
"""What is wrong with an answer, as conditions on a row of visits; the first that holds counts. None of a good one."""

_VERDICT = " ".join(f"WHEN {condition} THEN '{name}'" for name, condition in VERDICTS.items())
_GIVE_PAGE = (Outcome.FETCHED, Outcome.NOT_MODIFIED)
_ANSWERED = (*_GIVE_PAGE, Outcome.UNWANTED_TYPE, Outcome.TOO_LONG)


def _giving(kind: str) -> str:
    """A query of the keys of URLs, visited as a kind, that gave something at last; a failure is no answer."""
    return f"""
        SELECT url_key FROM visits
        WHERE {kind} AND round <= {{last}} AND outcome IN ({listed(REMOVES_PAGE | set(_GIVE_PAGE))})
        GROUP BY url_key HAVING arg_max(outcome, fetched_at) IN ({listed(_GIVE_PAGE)})
    """


ANSWERS = f"""
CREATE OR REPLACE TABLE answers AS
    WITH visited AS (
        SELECT url_key, url, kind, outcome, status, redirect_to, fetched_at, round, elapsed_ms, truncated,
            lower(trim(split_part(media_type, ';', 1))) AS media_type, CASE {_VERDICT} END AS verdict
        FROM visits
        WHERE outcome <> '{Outcome.DEFERRED}' AND kind IS DISTINCT FROM 'probe' AND round <= {{last}}
    ), marked AS (
        SELECT *, first_value(verdict) OVER newest AS last_verdict, row_number() OVER newest AS age FROM visited
        WINDOW newest AS (PARTITION BY url_key ORDER BY fetched_at DESC)
    ), changed AS (
        SELECT url_key, min(age) AS age FROM marked WHERE verdict IS DISTINCT FROM last_verdict GROUP BY url_key
    ), begun AS (
        SELECT m.url_key, min(m.fetched_at) AS since, min(m.round) AS since_round
        FROM marked m LEFT JOIN changed c USING (url_key) WHERE c.age IS NULL OR m.age < c.age GROUP BY m.url_key
    )
    SELECT m.* EXCLUDE (age, last_verdict, round), b.since, b.since_round AS round
    FROM marked m JOIN begun b USING (url_key) WHERE m.age = 1;
CREATE OR REPLACE TABLE current AS
    SELECT url_key, arg_max(url, fetched_at) AS url, max(fetched_at) AS fetched_at, min(fetched_at) AS first_at,
        min(round) AS first_round
    FROM visits SEMI JOIN ({_giving("kind IS NULL")}) USING (url_key)
    WHERE kind IS NULL AND outcome = '{Outcome.FETCHED}' AND round <= {{last}} GROUP BY url_key;
CREATE OR REPLACE TABLE current_sitemaps AS
    SELECT url_key, max(fetched_at) AS fetched_at FROM visits SEMI JOIN ({_giving("kind = 'sitemap'")}) USING (url_key)
    WHERE kind = 'sitemap' AND outcome = '{Outcome.FETCHED}' AND round <= {{last}} GROUP BY url_key;
CREATE OR REPLACE TABLE sitemaps_known AS
    SELECT count(*) FILTER (outcome NOT IN ({listed((*_GIVE_PAGE, Outcome.REDIRECTED, Outcome.GONE))}) OR truncated) = 0
        AS is_known
    FROM answers WHERE kind = 'sitemap';
CREATE OR REPLACE TABLE told AS
    SELECT url_key, max(fetched_at) AS since, max(round) AS round FROM documents
    WHERE round <= {{last}} GROUP BY url_key;
CREATE OR REPLACE TABLE copies AS
    SELECT url_key FROM documents WHERE round <= {{last}}
    QUALIFY row_number() OVER (PARTITION BY url_key ORDER BY round DESC) = 1
        AND coalesce(duplicate_of, near_duplicate_of) IS NOT NULL
"""
"""`answers`: the last visit of each URL, with its verdict and since when this is the verdict. `current`: what is a
page, and its last visit with a body; a failure (5xx, a timeout) is no answer, as for searches. `current_sitemaps`: the
same of sitemaps. `told`: when the text of a page has changed. `copies`: pages that another one represents in the index.
"""

TARGETS = f"""
CREATE OR REPLACE TABLE slow AS SELECT {{slow_ms}} AS ms;
INSERT INTO hops
    SELECT u.url_key, u.joined_to, a.url
    FROM (
        SELECT url_key, state, joined_to FROM urls_history WHERE round <= {{last}}
        QUALIFY row_number() OVER (PARTITION BY url_key ORDER BY round DESC) = 1
    ) u JOIN answers a ON a.url_key = u.joined_to
    WHERE u.state = 'alias' AND u.url_key NOT IN (SELECT url_key FROM hops);
CREATE OR REPLACE TABLE placed AS
    SELECT v.url_key FROM visits v SEMI JOIN answers a ON v.url_key = a.url_key AND v.fetched_at = a.fetched_at
    WHERE v.outcome = '{Outcome.REDIRECTED}'
        AND len([h FOR h IN v.headers IF lower(h.name) = 'location' AND contains(h.value, '#')]) > 0;
CREATE OR REPLACE TABLE targets AS
    WITH RECURSIVE walk(start, place, url, hops) AS (
        SELECT url_key, next_key, next_url, 1 FROM hops
        UNION ALL
        SELECT w.start, h.next_key, h.next_url, w.hops + 1 FROM walk w JOIN hops h ON w.place = h.url_key
        WHERE w.hops < 20
    ), ends AS (
        SELECT start, arg_max(place, hops) AS place, arg_max(url, hops) AS url,
            bool_or(p.url_key IS NOT NULL OR q.url_key IS NOT NULL) AS is_placed
        FROM walk LEFT JOIN placed p ON p.url_key = place LEFT JOIN placed q ON q.url_key = start GROUP BY start
    ), judged AS (
        SELECT coalesce(a.url_key, e.start) AS url_key, a.url_key IS NOT NULL AS is_visited, e.place AS final_key,
            e.url AS final, coalesce(e.is_placed, false) AS is_placed,
            coalesce(f.verdict IN ('gone', 'blocked', 'failed'), false) AS ends_badly,
            coalesce(f.outcome, a.outcome) AS last_outcome, a, f
        FROM answers a FULL JOIN ends e ON a.url_key = e.start LEFT JOIN answers f ON e.place = f.url_key
    )
    SELECT url_key, final_key, final, is_placed, a.outcome = '{Outcome.REDIRECTED}' AS is_redirect,
        CASE WHEN ends_badly THEN f.verdict ELSE a.verdict END AS verdict,
        CASE WHEN ends_badly THEN f.status ELSE a.status END AS status,
        CASE WHEN ends_badly THEN f.outcome ELSE a.outcome END AS outcome,
        CASE WHEN ends_badly THEN f.since ELSE coalesce(a.since, f.since) END AS since,
        CASE WHEN ends_badly THEN f.round ELSE coalesce(a.round, f.round) END AS round,
        coalesce(f.media_type, a.media_type, '') AS media_type, a.elapsed_ms,
        coalesce(last_outcome IN ({listed(_ANSWERED)}), false) AS is_answered
    FROM judged
"""
"""`hops`: from a URL to the next one, by a redirect or as an alias. `targets`: what a link to each URL ends with.
`placed`: redirects whose Location has a fragment, which replaces that of the link (Fetch standard, "location URL").
"""

LINKS = """
CREATE OR REPLACE TABLE ids AS
    SELECT p.url_key, unnest(p.ids) AS id FROM pages p
    SEMI JOIN (
        SELECT coalesce(t.final_key, r.target_key) AS url_key
        FROM refs r LEFT JOIN targets t ON r.target_key = t.url_key WHERE r.fragment <> ''
    ) USING (url_key);
CREATE OR REPLACE TABLE last_links AS
    SELECT l.source_key, max(l.round) AS round FROM links l SEMI JOIN current c ON l.source_key = c.url_key
    WHERE l.round <= {last} GROUP BY l.source_key;
CREATE OR REPLACE VIEW newest_links AS SELECT l.* FROM links l SEMI JOIN last_links USING (source_key, round);
INSERT INTO refs BY NAME
    SELECT l.source_key AS url_key, 0 AS number, l.target_url AS url, '' AS fragment, '' AS fragment_id, l.kind,
        l.anchor, '' AS section, '' AS section_id, l.target_key, false AS is_mixed
    FROM newest_links l SEMI JOIN targets t ON l.target_key = t.url_key ANTI JOIN pages p ON l.source_key = p.url_key
    WHERE l.kind NOT IN ('redirect', 'link');
CREATE OR REPLACE TABLE first_links AS
    SELECT l.source_key AS url_key, l.target_key, min(l.round) AS round, min(v.fetched_at) AS since
    FROM links l SEMI JOIN refs r ON l.source_key = r.url_key AND l.target_key = r.target_key
    JOIN visits v ON l.source_key = v.url_key AND l.round = v.round WHERE l.round <= {last} GROUP BY ALL;
CREATE OR REPLACE VIEW found_links AS
    SELECT c.url AS page, r.section, r.section_id, r.anchor, r.url, r.url AS target, r.target_key, r.number, r.kind,
        r.fragment, r.fragment_id, t.verdict, t.status, t.outcome, t.final, t.final_key, t.media_type, t.elapsed_ms,
        coalesce(t.is_answered, false) AS is_answered, coalesce(t.is_placed, false) AS is_placed,
        coalesce(r.secure_key IN (SELECT url_key FROM targets WHERE is_answered), false) AS has_secure,
        greatest(t.since, f.since, CASE WHEN f.since IS NULL THEN d.since END) AS since,
        greatest(t.round, f.round, CASE WHEN f.round IS NULL THEN d.round END) AS round
    FROM refs r JOIN current c ON r.url_key = c.url_key LEFT JOIN targets t ON r.target_key = t.url_key
    LEFT JOIN first_links f ON r.url_key = f.url_key AND r.target_key = f.target_key
    LEFT JOIN told d ON r.url_key = d.url_key;
CREATE OR REPLACE TABLE inlinked AS
    WITH linked AS (
        SELECT DISTINCT target_key AS url_key FROM newest_links
        WHERE source_key <> target_key AND kind IN ('a', 'area', 'frame', 'iframe', 'redirect', 'link', 'alternate')
        UNION SELECT url_key FROM seeds
    )
    FROM linked UNION SELECT t.final_key FROM linked JOIN targets t USING (url_key) WHERE t.final_key IS NOT NULL;
CREATE OR REPLACE TABLE gaps AS
    WITH linked AS (
        SELECT target_key AS url_key, any_value(target_url) AS url FROM newest_links
        WHERE kind IN ('a', 'area', 'frame', 'iframe', 'redirect')
            AND split_part(target_url, '/', 3) IN (SELECT split_part(url, '/', 3) FROM current)
        GROUP BY target_key
    )
    SELECT 'unvisited' AS reason, l.url FROM linked l ANTI JOIN targets t USING (url_key)
    UNION ALL
    SELECT t.verdict, l.url FROM linked l JOIN targets t USING (url_key) WHERE t.verdict IN ('failed', 'blocked')
    UNION ALL
    SELECT 'cut', c.url FROM current c SEMI JOIN (
        SELECT url_key, truncated IS NOT NULL OR facts['parse_error'] IS NOT NULL AS is_cut FROM documents
        WHERE round <= {last} QUALIFY row_number() OVER (PARTITION BY url_key ORDER BY round DESC) = 1
    ) d ON c.url_key = d.url_key AND d.is_cut
"""
"""`found_links`: what the rules about links read. `first_links`: since when a page has a link, by table links.
`inlinked`: seeds, and what links lead to. `gaps`: what may have further links, so that no page is proven an orphan.
"""
