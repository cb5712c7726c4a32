"""The tables of URLs: their states, and the rules that keep some of them out of rounds."""

import pyarrow as pa

from .columns import KEY, SITEMAP, TIME

URLS = pa.schema(
    [
        ("url_key", KEY),
        ("url", pa.string()),
        ("host", pa.string()),
        ("state", pa.string()),  # due, fetched, redirected, gone, failed, denied, trapped, alias
        ("depth", pa.int32()),
        ("score", pa.float64()),
        ("discovered_round", pa.int32()),
        ("discovered_from", pa.string()),
        ("fetches", pa.int32()),
        ("failures", pa.int32()),
        ("last_status", pa.int32()),
        ("last_fetched_at", TIME),
        ("next_fetch_at", TIME),
        ("changes", pa.int32()),
        ("digest", KEY),
        ("etag", pa.string()),
        ("last_modified", pa.string()),
        ("reason", pa.string()),
        ("round", pa.int32()),  # of this row: the newest row of a key counts
        ("kind", pa.string()),  # sitemap; null: a page
        ("sitemap", SITEMAP),
        ("sitemap_lastmod", TIME),  # when it changed last, as the sitemaps that name it say
        ("near_duplicate_of", KEY),  # as its last visit found
        ("joined_to", KEY),  # of an alias, or of a permanent redirect: the URL that stands for it
        ("stand_ins", pa.list_(pa.string())),  # a few aliases of a URL that is due, in case that it gives nothing
    ]
)

_PAIR = pa.struct([("url", pa.string()), ("other_url", pa.string()), ("digest", KEY)])

ALIASES = pa.schema(
    [
        ("origin", pa.string()),  # scheme://host[:port] of the URLs that the rule changes
        ("host", pa.string()),
        ("kind", pa.string()),  # index_page, case, trailing_slash, parameter, www, scheme, mirror
        ("detail", pa.string()),  # name of the index page or parameter, or the origin that stands for this one; or ""
        ("support", pa.int64()),  # contents that URLs had in common which the rule says are one
        ("contradictions", pa.int64()),  # such URLs with different contents
        ("state", pa.string()),  # proposed, used, dropped
        ("since", pa.int32()),  # the round of that state
        ("round", pa.int32()),  # of this row: the newest row of a rule counts
        ("evidence", pa.list_(_PAIR)),  # pairs with one content, the first few
        ("against", pa.list_(_PAIR)),  # pairs with different contents
    ]
)

REJECTIONS = pa.schema(
    [
        ("reason", pa.string()),
        ("host", pa.string()),
        ("round", pa.int32()),
        ("count", pa.int64()),
        ("samples", pa.list_(pa.string())),
    ]
)

TRAPS = pa.schema(
    [
        ("host", pa.string()),
        ("template", pa.string()),  # of paths and queries; * is all that is new on the host
        ("kind", pa.string()),  # of way to it: plain, series, links_without_news, variant, type
        ("round", pa.int32()),  # of this row: the newest of a template and kind counts
        ("state", pa.string()),  # open, throttled, trapped
        ("since", pa.int32()),  # the round that brought the state
        ("pages", pa.int64()),  # visited for the first time
        ("fresh", pa.int64()),  # of those, with news; of kind plain, those that are no copy
        ("recent_pages", pa.float64()),  # about the last 32
        ("recent_fresh", pa.float64()),
        ("samples", pa.list_(pa.string())),
        ("first", pa.int32()),  # the round of its first page
        ("news", pa.int64()),  # of the pages, those with news
        ("different", pa.int64()),  # of the pages, those that are no copy
        ("failed", pa.int64()),  # requests that gave no page: errors, refused types
        ("redirected", pa.int64()),  # requests that gave a redirect
        ("budget", pa.int64()),  # pages that the next round may visit
        ("waiting", pa.int64()),  # URLs of the host in the frontier before the round
    ]
)

TRAP_QUEUES = pa.schema(
    [
        ("host", pa.string()),
        ("template", pa.string()),  # throttled or trapped; empty: all URLs of the host
        ("kind", pa.string()),
        ("round", pa.int32()),
        ("waiting", pa.int64()),  # URLs of it in the frontier after the round
        ("held", pa.int64()),  # URLs that the round has put into state trapped
    ]
)

TRAP_SAMPLES = pa.schema(
    [
        ("host", pa.string()),
        ("template", pa.string()),  # of a family of paths
        ("round", pa.int32()),
        ("words", pa.list_(pa.binary())),  # hashes of words that this round has shown for the first time
        ("forms", pa.binary()),  # of URLs without their opaque tokens: those that this round has added
        ("telling", pa.int32()),  # pages of this round that showed ten new words or more
    ]
)
