"""The source of the sections of a report: the state of a crawl, its manifests, and queries over its tables."""

import dataclasses
from collections.abc import Sequence
from datetime import datetime
from typing import Any

import duckdb

from ...transforms.directory.crawl_dir import CrawlDir, Manifest
from ..state.crawl_status import Status

TABLES = ("visits", "robots", "documents", "links", "urls", "hosts", "rejections")
"""The tables that the queries of the sections name."""

_PREPARED = """
CREATE TEMP TABLE hosts AS FROM main.hosts;
CREATE TEMP TABLE visits AS SELECT round, host, outcome, status, body_bytes, robots_rule, error FROM main.visits;
CREATE TEMP TABLE urls AS
    SELECT url_key, host, state, depth, kind, last_status, reason, if(state IN ('gone', 'failed'), url, NULL) AS url
    FROM main.urls;
CREATE TEMP TABLE url_counts AS
    SELECT host, state, depth, count(*) AS urls FROM urls GROUP BY ALL;
CREATE TEMP TABLE pages AS
    SELECT host, media_type, charset, language, duplicate_of IS NOT NULL AS is_duplicate,
        near_duplicate_of IS NOT NULL AS is_near_duplicate, same_content_as IS NOT NULL AS is_copy,
        canonical_url IS NOT NULL AND canonical_ignored IS NULL AS has_canonical,
        noindex, nofollow, noarchive, spam_score, truncated,
        facts['parse_error'] AS parse_error, content_usage, tdm_reservation, noai, noimageai, ai_training,
        content_signals, ai_input, search
    FROM documents QUALIFY row_number() OVER (PARTITION BY url_key ORDER BY round DESC) = 1;
CREATE TEMP TABLE visit_counts AS
    SELECT round, outcome, status, count(*) AS visits, sum(body_bytes) AS bytes
    FROM visits GROUP BY ALL
"""
"""Tables that several sections read, each from one pass: newest versions, and counts of URLs and visits."""


@dataclasses.dataclass(frozen=True)
class Source:
    """A crawl as a report sees it. `status` may be a step newer than `manifests`, if the crawl goes on meanwhile."""

    crawl: CrawlDir
    manifests: Sequence[Manifest]
    status: Status
    now: datetime
    connection: duckdb.DuckDBPyConnection

    def prepare(self) -> None:
        """Create the tables of `_PREPARED`."""
        self.connection.execute(_PREPARED)

    def rows(self, query: str, *values: Any) -> list[tuple[Any, ...]]:
        """Return the rows of a query; `values` are those of its question marks."""
        return self.connection.execute(query, values).fetchall()

    def row(self, query: str, *values: Any) -> tuple[Any, ...]:
        """Return the only row of a query without GROUP BY."""
        return self.rows(query, *values)[0]

    def count(self, table: str, *conditions: str) -> list[int]:
        """Return the number of rows of a table for which each of the conditions holds."""
        return list(self.row(f"SELECT {', '.join(f'count(*) FILTER (WHERE {c})' for c in conditions)} FROM {table}"))
