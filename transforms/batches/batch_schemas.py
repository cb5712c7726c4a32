"""Schemas of the batches passed between the steps of a pipeline; they are not stored in the crawl directory."""

from typing import TypedDict

import pyarrow as pa

from ..tables.schemas import DOCUMENTS, KEY, LINKS, NEAR, VISITS
from ..tables.schemas.columns import Binary, Bool, Float64, Int32, Int64, Key, Sitemap, Text, Time, schema_of

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

_OF_VISITS = (
    "url_key url host outcome status fetched_at depth referrer attempt priority redirects discovered_round"
    " host_failures redirect_to digest_before kind sitemap links_without_news foreign"
)

FACTS = pa.schema(
    [
        *map(VISITS.field, _OF_VISITS.split()),
        ("respelled", pa.string()),  # the URL of a redirect that leads to another spelling of the same URL
        ("digest", KEY),
        ("denied_meta", pa.bool_()),
        ("denied_search", pa.bool_()),
        ("etag", pa.string()),
        ("last_modified", pa.string()),
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


class CandidateRow(TypedDict, total=False):
    """A row of CANDIDATES."""

    url_key: Key
    url: Text
    host: Text
    depth: Int32
    redirects: Int32
    score: Float64
    referrer: Text
    kind: Text | None
    sitemap: Sitemap | None
    sitemap_lastmod: Time | None
    links_without_news: Bool | None  # only pages without news link to it
    foreign: Bool | None  # only other sites link to it


CANDIDATES = schema_of(CandidateRow)


class YieldRow(TypedDict):
    """A row of YIELDS."""

    url_key: Key
    url: Text
    host: Text
    depth: Int32
    priority: Float64
    links_without_news: Bool | None
    foreign: Bool | None
    referrer: Text | None
    redirects: Int32  # in a row that led to the URL
    outcome: Text
    title_words: Binary | None  # hashes of words that may be news; null: no page
    words: Binary | None  # the same for title and text
    own_words: Binary | None  # those of them that are in the page's URL, or in its links below its folder
    links: Binary | None  # hashes of the URLs that it links
    frame: Int64 | None  # equal for pages that are alike but for words of the text and of the page's URL
    kind: Text | None  # probe: a path that cannot exist; null: a page


YIELDS = schema_of(YieldRow)
"""The input of trap detection for a URL that was requested for the first time."""

Rejection = tuple[tuple[str, str], tuple[int, list[str]]]
"""((reason, host), (count, samples))"""

STALE = pa.schema([("url_key", KEY), ("is_gone", pa.bool_())])
"""The pages of a round without news, and those that their host gives to any path."""
