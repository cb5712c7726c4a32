"""The tables of fetching: frontier, visits, robots.txt files and hosts."""

from datetime import datetime
from typing import Any, TypedDict

import pyarrow as pa

from .columns import KEY, SITEMAP, TIME

FRONTIER = pa.schema(
    [
        ("url_key", KEY),
        ("url", pa.string()),
        ("host", pa.string()),
        ("depth", pa.int32()),
        ("priority", pa.float64()),  # the link score, highest first, within a depth
        ("reason", pa.string()),  # seed, new, recrawl, retry, deferred
        ("referrer", pa.string()),
        ("etag", pa.string()),
        ("last_modified", pa.string()),
        ("due_at", TIME),
        ("discovered_round", pa.int32()),
        ("redirects", pa.int32()),  # consecutive redirects that led here
        ("failures", pa.int32()),  # consecutive failed attempts
        ("digest", KEY),  # of its content at the last visit; null: not visited before
        ("kind", pa.string()),  # sitemap, tdmrep, rsl, probe, requisite, external; null: a page
        ("sitemap", SITEMAP),
        ("links_without_news", pa.bool_()),  # only pages without news link to it
        ("foreign", pa.bool_()),  # only other sites link to it; null: unknown
    ]
)

FRONTIER_LEFT = pa.schema(
    [
        ("path", pa.string()),  # of a file of the frontier, below the crawl directory
        ("number", pa.int64()),  # of the row in that file, from 0
        ("url_key", KEY),
        ("reason", pa.string()),  # of that row
        ("round", pa.int32()),  # whose update step took it out
    ]
)

VISITS = pa.schema(
    [
        ("url_key", KEY),
        ("url", pa.string()),
        ("host", pa.string()),
        ("round", pa.int32()),
        ("fetched_at", TIME),
        ("outcome", pa.string()),
        ("status", pa.int32()),
        ("redirect_to", pa.string()),
        ("address", pa.string()),
        ("media_type", pa.string()),
        ("headers", pa.list_(pa.struct([("name", pa.string()), ("value", pa.string())]))),
        ("body", pa.large_binary()),
        ("body_bytes", pa.int64()),
        ("truncated", pa.bool_()),
        ("elapsed_ms", pa.float64()),
        ("robots_rule", pa.string()),
        ("robots_at", TIME),  # fetched_at of the applied row of robots, for the same origin
        ("host_failures", pa.int32()),  # consecutive failures of its host, after this visit
        ("attempt", pa.int32()),
        ("depth", pa.int32()),
        ("referrer", pa.string()),
        ("error", pa.string()),
        ("priority", pa.float64()),
        ("redirects", pa.int32()),
        ("discovered_round", pa.int32()),
        ("digest_before", KEY),  # of its content at an earlier visit
        ("kind", pa.string()),  # sitemap, tdmrep, rsl, probe, requisite, external; null: a page
        ("sitemap", SITEMAP),
        ("links_without_news", pa.bool_()),  # only pages without news link to it
        ("robots_usage", pa.string()),  # statement of robots.txt about the use of the content
        ("body_removed", pa.bool_()),  # by storage.body_rounds; `body_bytes` is what it was
        ("foreign", pa.bool_()),  # only other sites link to it; null: unknown
        ("robots_signals", pa.string()),  # content signals of robots.txt, as "search=yes, ai-train=no"
        ("payload_digest", pa.string()),  # of an archive, as "sha1:" and hexadecimal, and compared with its payload
    ]
)

ROBOTS = pa.schema(
    [
        ("origin", pa.string()),  # scheme://host[:port]
        ("host", pa.string()),
        ("round", pa.int32()),
        ("fetched_at", TIME),
        ("expires_at", TIME),
        ("status", pa.int32()),  # of the last response; null: no response
        ("verdict", pa.string()),  # rules, allow_all, deny_all, unreachable
        ("crawl_delay", pa.float64()),  # seconds
        ("sitemaps", pa.list_(pa.string())),
        ("body", pa.large_binary()),
        ("error", pa.string()),
        ("depth", pa.int32()),  # of the URL for which it was requested
        ("signals", pa.string()),  # its Content-Signal lines for this robot, without the name, one a line
        ("licenses", pa.list_(pa.string())),  # its License lines for this robot; null: none
    ]
)

HOSTS = pa.schema(
    [
        ("host", pa.string()),
        ("round", pa.int32()),
        ("visits", pa.int64()),
        ("requests", pa.int64()),
        ("fetched", pa.int64()),
        ("failures", pa.int64()),
        ("bytes", pa.int64()),
        ("elapsed_ms", pa.float64()),  # summed over the requests
        ("last_fetched_at", TIME),  # its last response, including to requests for robots.txt
        ("latency", pa.list_(pa.int64())),  # requests by time: below 1, 2, 4, … milliseconds
        ("latency_p50_ms", pa.float64()),
        ("latency_p95_ms", pa.float64()),
        ("addresses", pa.list_(pa.string())),  # the most recent
        ("failures_in_row", pa.int32()),
        ("last_elapsed_ms", pa.float64()),
        ("crawl_delay", pa.float64()),  # seconds
        ("not_before", TIME),  # no request before this time
        ("held_by", pa.string()),  # the reason: `why` of politeness.backoff.Rest
        ("answers", pa.int64()),  # to requests for pages; null in rows of earlier versions
        ("refusals", pa.int64()),  # of these, those with status 403 or 429
    ]
)

SEEDS = pa.schema(
    [
        ("url_key", KEY),
        ("url", pa.string()),
        ("host", pa.string()),
        ("metadata", pa.string()),
        ("kind", pa.string()),  # sitemap, tdmrep, rsl, probe, requisite, external; null: a page
    ]
)


class VisitRow(TypedDict, total=False):
    """A row of table visits."""

    url_key: bytes
    url: str
    host: str
    round: int
    fetched_at: datetime
    outcome: str
    status: int | None
    redirect_to: str | None
    address: str | None
    media_type: str | None
    headers: list[dict[str, str]]
    body: bytes | None
    body_bytes: int
    truncated: bool
    elapsed_ms: float | None
    robots_rule: str | None
    robots_at: datetime | None
    host_failures: int
    attempt: int
    depth: int
    referrer: str | None
    error: str | None
    priority: float
    redirects: int
    discovered_round: int
    digest_before: bytes | None
    kind: str | None
    sitemap: dict[str, Any] | None
    links_without_news: bool | None
    robots_usage: str | None
    body_removed: bool | None
    foreign: bool | None
    robots_signals: str | None
    payload_digest: str | None


class RobotsRow(TypedDict, total=False):
    """A row of table robots."""

    origin: str
    host: str
    round: int
    fetched_at: datetime
    expires_at: datetime
    status: int | None
    verdict: str
    crawl_delay: float | None
    sitemaps: list[str]
    body: bytes | None
    error: str | None
    depth: int
    signals: str | None
    licenses: list[str] | None


class HostRow(TypedDict, total=False):
    """A row of table hosts or host_turns."""

    host: str
    round: int
    visits: int
    requests: int
    fetched: int
    failures: int
    bytes: int
    elapsed_ms: float
    last_fetched_at: datetime | None
    latency: list[int]
    latency_p50_ms: float | None
    latency_p95_ms: float | None
    addresses: list[str]
    failures_in_row: int
    last_elapsed_ms: float
    crawl_delay: float
    not_before: datetime | None
    held_by: str | None
    answers: int | None
    refusals: int | None
