"""The tables of fetching: frontier, visits, robots.txt files and hosts."""

from typing import TypedDict

import pyarrow as pa

from .columns import (
    KEY,
    SITEMAP,
    TIME,
    Bool,
    Float64,
    Headers,
    Int32,
    Int64,
    Int64s,
    Key,
    LargeBinary,
    Sitemap,
    Text,
    Texts,
    Time,
    schema_of,
)

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


class VisitRow(TypedDict, total=False):
    """A row of table visits."""

    url_key: Key
    url: Text
    host: Text
    round: Int32
    fetched_at: Time
    outcome: Text
    status: Int32 | None
    redirect_to: Text | None
    address: Text | None
    media_type: Text | None
    headers: Headers
    body: LargeBinary | None
    body_bytes: Int64
    truncated: Bool
    elapsed_ms: Float64 | None
    robots_rule: Text | None
    robots_at: Time | None  # fetched_at of the applied row of robots, for the same origin
    host_failures: Int32  # consecutive failures of its host, after this visit
    attempt: Int32
    depth: Int32
    referrer: Text | None
    error: Text | None
    priority: Float64
    redirects: Int32
    discovered_round: Int32
    digest_before: Key | None  # of its content at an earlier visit
    kind: Text | None  # sitemap, tdmrep, rsl, probe, requisite, external; null: a page
    sitemap: Sitemap | None
    links_without_news: Bool | None  # only pages without news link to it
    robots_usage: Text | None  # statement of robots.txt about the use of the content
    body_removed: Bool | None  # by storage.body_rounds; `body_bytes` is what it was
    foreign: Bool | None  # only other sites link to it; null: unknown
    robots_signals: Text | None  # content signals of robots.txt, as "search=yes, ai-train=no"
    payload_digest: Text | None  # of an archive, as "sha1:" and hexadecimal, and compared with its payload


VISITS = schema_of(VisitRow)


class RobotsRow(TypedDict, total=False):
    """A row of table robots."""

    origin: Text  # scheme://host[:port]
    host: Text
    round: Int32
    fetched_at: Time
    expires_at: Time
    status: Int32 | None  # of the last response; null: no response
    verdict: Text  # rules, allow_all, deny_all, unreachable
    crawl_delay: Float64 | None  # seconds
    sitemaps: Texts
    body: LargeBinary | None
    error: Text | None
    depth: Int32  # of the URL for which it was requested
    signals: Text | None  # its Content-Signal lines for this robot, without the name, one a line
    licenses: Texts | None  # its License lines for this robot; null: none


ROBOTS = schema_of(RobotsRow)


class HostRow(TypedDict, total=False):
    """A row of table hosts or host_turns."""

    host: Text
    round: Int32
    visits: Int64
    requests: Int64
    fetched: Int64
    failures: Int64
    bytes: Int64
    elapsed_ms: Float64  # summed over the requests
    last_fetched_at: Time | None  # its last response, including to requests for robots.txt
    latency: Int64s  # requests by time: below 1, 2, 4, … milliseconds
    latency_p50_ms: Float64 | None
    latency_p95_ms: Float64 | None
    addresses: Texts  # the most recent
    failures_in_row: Int32
    last_elapsed_ms: Float64
    crawl_delay: Float64  # seconds
    not_before: Time | None  # no request before this time
    held_by: Text | None  # the reason: `why` of politeness.backoff.Rest
    answers: Int64 | None  # to requests for pages; null in rows of earlier versions
    refusals: Int64 | None  # of these, those with status 402, 403 or 429


HOSTS = schema_of(HostRow)

SEEDS = pa.schema(
    [
        ("url_key", KEY),
        ("url", pa.string()),
        ("host", pa.string()),
        ("metadata", pa.string()),
        ("kind", pa.string()),  # sitemap, tdmrep, rsl, probe, requisite, external; null: a page
    ]
)
