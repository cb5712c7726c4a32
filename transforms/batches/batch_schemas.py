"""Schemas of the batches passed between the steps of a pipeline; they are not stored in the crawl directory."""

from datetime import datetime
from typing import Any, TypedDict

import pyarrow as pa

from ..tables.schemas import DOCUMENTS, KEY, LINKS, NEAR, SITEMAP, TIME, VISITS

NOT_FOLLOWED = "not_followed"  # a link of a kind that is not followed: an image, a style sheet, …


LINK = pa.struct(
    [
        ("target_key", KEY),
        ("target_url", pa.string()),
        ("anchor", pa.string()),
        ("rel", pa.string()),
        ("kind", pa.string()),
        ("depth", pa.int32()),
        ("redirects", pa.int32()),
        ("rejected", pa.string()),  # the rule that rejects the target; null: a candidate
        ("fragments", LINKS.field("fragments").type),
    ]
)


PAGES = pa.schema(
    [
        *DOCUMENTS,
        ("is_document", pa.bool_()),  # false for a redirect and an unchanged page: links without content
        ("links_without_news", pa.bool_()),  # as in the frontier
        ("foreign", pa.bool_()),  # as in the frontier
        ("score", pa.float64()),
        ("signature", NEAR.field("signature").type),
        ("stays", pa.bool_()),  # visited before, and not a near duplicate
        ("links", pa.list_(LINK)),
        ("content_bytes", pa.int64()),  # of the text and the links in memory, roughly
    ]
)


FACTS = pa.schema(
    [
        *((name, VISITS.field(name).type) for name in ("url_key", "url", "host", "outcome", "status", "fetched_at")),
        *((name, VISITS.field(name).type) for name in ("depth", "referrer", "attempt", "priority", "redirects")),
        ("discovered_round", pa.int32()),
        ("host_failures", pa.int32()),
        ("redirect_to", pa.string()),
        ("respelled", pa.string()),  # the URL of a redirect that leads to another spelling of the same URL
        ("digest", KEY),
        ("digest_before", KEY),
        ("denied_meta", pa.bool_()),
        ("denied_search", pa.bool_()),
        ("etag", pa.string()),
        ("last_modified", pa.string()),
        ("kind", pa.string()),
        ("sitemap", SITEMAP),
        ("links_without_news", pa.bool_()),
        ("foreign", pa.bool_()),
    ]
)


CONTENTS = pa.schema(
    [
        *(("digest", KEY), ("url_key", KEY), ("url", pa.string())),
        *(("host", pa.string()), ("depth", pa.int32()), ("shard", pa.int32())),
        ("yields", pa.bool_()),  # names another page as canonical
        ("canonical_key", KEY),  # url_key of the page named as canonical, on any host
        ("foreign", pa.bool_()),  # only other sites link it
    ]
)


CANDIDATES = pa.schema(
    [
        ("url_key", KEY),
        ("url", pa.string()),
        ("host", pa.string()),
        ("depth", pa.int32()),
        ("redirects", pa.int32()),
        ("score", pa.float64()),
        ("referrer", pa.string()),
        ("kind", pa.string()),
        ("sitemap", SITEMAP),
        ("sitemap_lastmod", TIME),
        ("links_without_news", pa.bool_()),  # only pages without news link to it
        ("foreign", pa.bool_()),  # only other sites link to it
    ]
)


class CandidateRow(TypedDict, total=False):
    """A row of CANDIDATES."""

    url_key: bytes
    url: str
    host: str
    depth: int
    redirects: int
    score: float
    referrer: str
    kind: str | None
    sitemap: dict[str, Any] | None
    sitemap_lastmod: datetime | None
    links_without_news: bool | None
    foreign: bool | None


YIELDS = pa.schema(
    [
        ("url_key", KEY),
        ("url", pa.string()),
        ("host", pa.string()),
        ("depth", pa.int32()),
        ("priority", pa.float64()),
        ("links_without_news", pa.bool_()),
        ("foreign", pa.bool_()),
        ("referrer", pa.string()),
        ("redirects", pa.int32()),  # in a row that led to the URL
        ("outcome", pa.string()),
        ("title_words", pa.binary()),  # hashes of words that may be news; null: no page
        ("words", pa.binary()),  # the same for title and text
        ("own_words", pa.binary()),  # those of them that are in the page's URL, or in its links below its folder
        ("frame", pa.int64()),  # equal for pages that are alike but for words of the text and of the page's URL
        ("kind", pa.string()),  # probe: a path that cannot exist; null: a page
    ]
)
"""The input of trap detection for a URL that was requested for the first time."""


class YieldRow(TypedDict):
    """A row of YIELDS."""

    url_key: bytes
    url: str
    host: str
    depth: int
    priority: float
    links_without_news: bool | None
    foreign: bool | None
    referrer: str | None
    redirects: int
    outcome: str
    title_words: bytes | None
    words: bytes | None
    own_words: bytes | None
    frame: int | None
    kind: str | None


Rejection = tuple[tuple[str, str], tuple[int, list[str]]]
"""((reason, host), (count, samples))"""

STALE = pa.schema([("url_key", KEY)])
"""The pages of a round without news."""
