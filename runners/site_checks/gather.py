"""Gathers what the rules of a check read, as tables in memory: last answers, redirects, pages, references, sitemaps.

In memory are a few bodies, a batch of rows and eight bytes for each URL; DuckDB moves what exceeds its memory to a
temporary folder.
"""

import bisect
from array import array
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.compute as pc

from ...transforms import urls
from ...transforms.directory.crawl_dir import CrawlDir, Manifest, files_of
from ...transforms.outcomes import REMOVES_PAGE, Outcome
from ...transforms.sitemaps.parse import INDEX, parse_sitemap
from ...transforms.tables.schemas import VISITS
from ...transforms.tables.table_files import TableFile, conform, open_parquet
from ...transforms.urls.filters import UrlFilter
from .page_facts import SUBRESOURCES, PageFacts, Reference, is_html, page_facts
from .rules import VERDICTS

TABLES = ("visits", "urls", "links", "documents", "seeds")
"""The tables of the crawl that a check reads."""

_BATCH = 64  # visits in memory, with their bodies
_ROWS = 5_000  # of a table, before they are written
_COLUMNS = ("url_key", "url", "fetched_at", "media_type", "headers", "body")
_TYPED = frozenset({"img", "srcset", "icon", "poster", "stylesheet", "script"})

_KEY = pa.binary(16)
_TARGET = pa.struct([("url", pa.string()), ("url_key", _KEY)])
_SCHEMAS = {
    "pages": pa.schema(
        [
            ("url_key", _KEY),
            ("title", pa.string()),
            ("has_description", pa.bool_()),
            ("h1_count", pa.int32()),
            ("without_alt", pa.list_(pa.string())),
            ("canonical_url", pa.string()),
            ("canonical_key", _KEY),
            ("languages", pa.list_(_TARGET)),
            ("noindex", pa.bool_()),
            ("is_whole", pa.bool_()),
            ("ids", pa.list_(pa.string())),
        ]
    ),
    "refs": pa.schema(
        [
            ("url_key", _KEY),  # of the page
            ("number", pa.int32()),  # among its references
            *((name, pa.string()) for name in Reference._fields),
            ("target_key", _KEY),
            ("secure_key", _KEY),  # of the same URL with https; null if it is none with http
            ("is_mixed", pa.bool_()),  # a page of https loads it by http
        ]
    ),
    "entries": pa.schema([("sitemap", pa.string()), ("url", pa.string()), ("url_key", _KEY)]),
    "hops": pa.schema([("url_key", _KEY), ("next_key", _KEY), ("next_url", pa.string())]),
}


def gather(
    connection: duckdb.DuckDBPyConnection,
    crawl: CrawlDir,
    manifests: Sequence[Manifest],
    robot_name: str,
    slow_s: float,
    last: int,
) -> None:
    """Create the tables that the rules read, of the crawl as it was after the round `last`."""
    verdicts = " ".join(f"WHEN {condition} THEN '{name}'" for name, condition in VERDICTS.items())
    connection.execute(_ANSWERS.format(last=last, verdicts=verdicts))
    rows = {name: _Rows(connection, name, schema) for name, schema in _SCHEMAS.items()}
    for key, url in _fetched(connection, "SELECT url_key, redirect_to FROM answers WHERE redirect_to IS NOT NULL"):
        rows["hops"].add([{"url_key": key, "next_key": urls.url_key(url), "next_url": url}])
    rows["hops"].write()
    connection.execute(_TARGETS.format(last=last, slow_ms=1000 * slow_s))
    wanted = _Wanted(connection)
    for visit in _bodies(connection, crawl, manifests, "current"):
        if is_html(visit["body"], visit["media_type"]):
            headers = [(header["name"], header["value"]) for header in visit["headers"] or ()]
            facts = page_facts(visit["body"], visit["url"], visit["media_type"], headers, robot_name)
            rows["pages"].add([_page_row(visit["url_key"], facts)])
            rows["refs"].add(_reference_rows(visit["url_key"], visit["url"], facts.references, wanted))
    for visit in _bodies(connection, crawl, manifests, "current_sitemaps"):
        rows["entries"].add(_entry_rows(visit["url"], visit["body"]))
    for table in rows.values():
        table.write()
    connection.execute(_LINKS.format(last=last))


def drop_files(connection: duckdb.DuckDBPyConnection, url_filter: UrlFilter) -> None:
    """Remove from table `gaps` the URLs that lead to no page: by their extension, they are files of other kinds."""
    reader = connection.sql("SELECT url FROM gaps WHERE reason = 'unvisited'").to_arrow_reader(_ROWS)
    files = [url for batch in reader for url in batch["url"].to_pylist() if url_filter.reject_url(url) == "extension"]
    connection.register("files", pa.table({"url": pa.array(files, pa.string())}))
    connection.execute("DELETE FROM gaps WHERE url IN (SELECT url FROM files)")
    connection.unregister("files")


class _Rows:
    """Rows on their way to a table."""

    def __init__(self, connection: duckdb.DuckDBPyConnection, name: str, schema: pa.Schema) -> None:
        self._connection, self._name, self._schema = connection, name, schema
        self._rows = list[dict[str, Any]]()
        self._send(f"CREATE OR REPLACE TABLE {name} AS FROM batch")

    def add(self, rows: Iterable[dict[str, Any]]) -> None:
        self._rows.extend(rows)
        if len(self._rows) >= _ROWS:
            self.write()

    def write(self) -> None:
        if self._rows:
            self._send(f"INSERT INTO {self._name} FROM batch")

    def _send(self, statement: str) -> None:
        self._connection.register("batch", pa.Table.from_pylist(self._rows, schema=self._schema))
        self._connection.execute(statement)
        self._connection.unregister("batch")
        self._rows = []


class _Wanted:
    """Which references a rule may find fault with: nearly all others lead to pages that are there.

    Keys are compared by their first eight bytes; a rule compares the whole.
    """

    def __init__(self, connection: duckdb.DuckDBPyConnection) -> None:
        notable = "verdict IS NOT NULL OR is_redirect OR elapsed_ms > (SELECT ms FROM slow)"
        self._notable = _prefixes(connection, f"SELECT url_key FROM targets WHERE {notable}")
        self._answered = _prefixes(connection, "SELECT url_key FROM targets WHERE is_answered")

    def holds(self, reference: Reference, key: bytes, secure_key: bytes | None) -> bool:
        """Whether a reference to a key is kept; `secure_key` is that of its URL with https, if it has http."""
        return bool(
            reference.fragment
            or _has(self._notable, key)
            or (secure_key and _has(self._answered, secure_key))
            or (reference.kind in _TYPED and _has(self._answered, key))
        )


def _prefixes(connection: duckdb.DuckDBPyConnection, query: str) -> "array[int]":
    found = array("Q", (_prefix(key) for (key,) in _fetched(connection, query)))
    return array("Q", sorted(found))


def _prefix(key: bytes) -> int:
    return int.from_bytes(key[:8], "big")


def _has(prefixes: "array[int]", key: bytes) -> bool:
    prefix = _prefix(key)
    place = bisect.bisect_left(prefixes, prefix)
    return place < len(prefixes) and prefixes[place] == prefix


def _fetched(connection: duckdb.DuckDBPyConnection, query: str) -> Iterator[tuple[Any, ...]]:
    """The rows of a query, read in batches, by a cursor of its own, so that others can be asked meanwhile."""
    for batch in connection.cursor().sql(query).to_arrow_reader(_ROWS):
        yield from zip(*(column.to_pylist() for column in batch.columns), strict=True)


def _bodies(
    connection: duckdb.DuckDBPyConnection, crawl: CrawlDir, manifests: Sequence[Manifest], wanted: str
) -> Iterator[dict[str, Any]]:
    """The visits with a body that are in the table `wanted`, by key and time."""
    schema = pa.schema([VISITS.field(name) for name in _COLUMNS])
    for each in files_of(manifests, "visits"):
        with open_parquet(crawl.root, each.path) as file:
            keys = conform(file.read(["url_key", "fetched_at"]), pa.schema([schema.field(0), schema.field(2)]))
            connection.register("keys", keys.append_column("number", pa.array(range(keys.num_rows), pa.int64())))
            found = connection.sql(f"SELECT number FROM keys SEMI JOIN {wanted} USING (url_key, fetched_at)")
            numbers = pa.array(found.to_arrow_table()["number"].to_pylist(), pa.int64())
            connection.unregister("keys")
            if not len(numbers):
                continue
            start = 0
            for batch in file.iter_batches(_BATCH, columns=list(_COLUMNS)):
                places = pa.array(range(start, start + batch.num_rows), pa.int64())
                start += batch.num_rows
                kept = pa.Table.from_batches([batch]).filter(pc.is_in(places, numbers))
                if kept.num_rows:
                    rows = conform(kept, schema).to_pylist()
                    yield from (row for row in rows if row["body"] is not None)


def _page_row(key: bytes, facts: PageFacts) -> dict[str, Any]:
    return {
        "url_key": key,
        "title": facts.title,
        "has_description": facts.has_description,
        "h1_count": facts.h1_count,
        "without_alt": facts.without_alt,
        "canonical_url": facts.canonical_url,
        "canonical_key": urls.url_key(facts.canonical_url) if facts.canonical_url else None,
        "languages": [{"url": url, "url_key": urls.url_key(url)} for url in facts.languages],
        "noindex": facts.noindex,
        "is_whole": facts.is_whole,
        "ids": sorted(facts.ids),
    }


def _reference_rows(
    key: bytes, page: str, references: Sequence[Reference], wanted: _Wanted
) -> Iterator[dict[str, Any]]:
    is_secure = page.startswith("https:")
    for number, reference in enumerate(references):
        target_key = urls.url_key(reference.url)
        secure_key = None
        if (is_plain := reference.url.startswith("http:")) and ":" not in urls.host(reference.url):
            secure_key = urls.url_key(f"https{reference.url[4:]}")
        is_mixed = is_secure and is_plain and reference.kind in SUBRESOURCES
        if is_mixed or wanted.holds(reference, target_key, secure_key):
            keys = {"url_key": key, "number": number, "target_key": target_key, "secure_key": secure_key}
            yield reference._asdict() | keys | {"is_mixed": is_mixed}


def _entry_rows(url: str, body: bytes) -> Iterator[dict[str, Any]]:
    sitemap = parse_sitemap(body, url)
    if sitemap is not None and sitemap.form != INDEX:
        for entry in sitemap.entries:
            yield {"sitemap": url, "url": entry.url, "url_key": urls.url_key(entry.url)}


_GIVE_PAGE = (Outcome.FETCHED, Outcome.NOT_MODIFIED)
_ANSWERED = (*_GIVE_PAGE, Outcome.UNWANTED_TYPE, Outcome.TOO_LONG)


def _listed(outcomes: Iterable[Outcome]) -> str:
    return ", ".join(f"'{outcome}'" for outcome in sorted(outcomes))


_ANSWERS = f"""
CREATE OR REPLACE TABLE answers AS
    WITH visited AS (
        SELECT url_key, url, kind, outcome, status, redirect_to, fetched_at, round, elapsed_ms, truncated,
            lower(trim(split_part(media_type, ';', 1))) AS media_type, CASE {{verdicts}} END AS verdict
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
    WITH settled AS (
        SELECT url_key, arg_max(outcome, fetched_at) AS outcome FROM visits
        WHERE kind IS NULL AND round <= {{last}} AND outcome IN ({_listed(REMOVES_PAGE | set(_GIVE_PAGE))})
        GROUP BY url_key
    )
    SELECT url_key, arg_max(url, fetched_at) AS url, max(fetched_at) AS fetched_at, min(fetched_at) AS first_at,
        min(round) AS first_round
    FROM visits SEMI JOIN (FROM settled WHERE outcome IN ({_listed(_GIVE_PAGE)})) USING (url_key)
    WHERE kind IS NULL AND outcome = '{Outcome.FETCHED}' AND round <= {{last}} GROUP BY url_key;
CREATE OR REPLACE TABLE current_sitemaps AS
    SELECT url_key, max(fetched_at) AS fetched_at FROM visits
    WHERE kind = 'sitemap' AND outcome = '{Outcome.FETCHED}' AND round <= {{last}} GROUP BY url_key;
CREATE OR REPLACE TABLE sitemaps_known AS
    SELECT count(*) FILTER (outcome NOT IN ({_listed((*_GIVE_PAGE, Outcome.REDIRECTED, Outcome.GONE))}) OR truncated) = 0
        AS is_known
    FROM answers WHERE kind = 'sitemap';
CREATE OR REPLACE TABLE told AS
    SELECT url_key, max(fetched_at) AS since, max(round) AS round FROM documents
    WHERE round <= {{last}} GROUP BY url_key
"""
"""`answers`: the last visit of each URL, with its verdict and since when this is the verdict. `current`: what is a page,
and its last visit with a body; a failure (5xx, a timeout) is no answer, as for searches. `told`: when its text changed.
"""

_TARGETS = f"""
CREATE OR REPLACE TABLE slow AS SELECT {{slow_ms}} AS ms;
INSERT INTO hops
    SELECT u.url_key, u.joined_to, a.url
    FROM (
        SELECT url_key, state, joined_to FROM urls_history WHERE round <= {{last}}
        QUALIFY row_number() OVER (PARTITION BY url_key ORDER BY round DESC) = 1
    ) u JOIN answers a ON a.url_key = u.joined_to
    WHERE u.state = 'alias' AND u.url_key NOT IN (SELECT url_key FROM hops);
CREATE OR REPLACE TABLE targets AS
    WITH RECURSIVE walk(start, place, url, hops) AS (
        SELECT url_key, next_key, next_url, 1 FROM hops
        UNION ALL
        SELECT w.start, h.next_key, h.next_url, w.hops + 1 FROM walk w JOIN hops h ON w.place = h.url_key WHERE w.hops < 20
    ), ends AS (
        SELECT start, arg_max(place, hops) AS place, arg_max(url, hops) AS url FROM walk GROUP BY start
    ), judged AS (
        SELECT coalesce(a.url_key, e.start) AS url_key, a.url_key IS NOT NULL AS is_visited, e.place AS final_key,
            e.url AS final, coalesce(f.verdict IN ('gone', 'blocked', 'failed'), false) AS ends_badly,
            coalesce(f.outcome, a.outcome) AS last_outcome, a, f
        FROM answers a FULL JOIN ends e ON a.url_key = e.start LEFT JOIN answers f ON e.place = f.url_key
    )
    SELECT url_key, final_key, final, a.outcome = '{Outcome.REDIRECTED}' AS is_redirect,
        CASE WHEN ends_badly THEN f.verdict ELSE a.verdict END AS verdict,
        CASE WHEN ends_badly THEN f.status ELSE a.status END AS status,
        CASE WHEN ends_badly THEN f.outcome ELSE a.outcome END AS outcome,
        CASE WHEN ends_badly THEN f.since ELSE coalesce(a.since, f.since) END AS since,
        CASE WHEN ends_badly THEN f.round ELSE coalesce(a.round, f.round) END AS round,
        coalesce(f.media_type, a.media_type, '') AS media_type, a.elapsed_ms,
        coalesce(last_outcome IN ({_listed(_ANSWERED)}), false) AS is_answered
    FROM judged
"""
"""`hops`: from a URL to the next one, by a redirect or as an alias. `targets`: what a link to each URL ends with."""

_LINKS = """
CREATE OR REPLACE TABLE ids AS
    SELECT p.url_key, unnest(p.ids) AS id FROM pages p
    SEMI JOIN (
        SELECT coalesce(t.final_key, r.target_key) AS url_key
        FROM refs r LEFT JOIN targets t ON r.target_key = t.url_key WHERE r.fragment <> ''
    ) USING (url_key);
CREATE OR REPLACE VIEW newest_links AS
    SELECT l.* FROM links l SEMI JOIN current c ON l.source_key = c.url_key
    WHERE l.round <= {last} QUALIFY l.round = max(l.round) OVER (PARTITION BY l.source_key);
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
        coalesce(t.is_answered, false) AS is_answered,
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
