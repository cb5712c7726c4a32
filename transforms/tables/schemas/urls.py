"""The tables of URLs: their states, and the alias rules and traps that exclude URLs from rounds."""

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
        ("kind", pa.string()),  # sitemap, tdmrep, rsl, probe, requisite, external; null: a page
        ("sitemap", SITEMAP),
        ("sitemap_lastmod", TIME),  # its latest lastmod in sitemaps
        ("near_duplicate_of", KEY),  # as of its last visit
        ("joined_to", KEY),  # for an alias or a permanent redirect: the URL that represents it
        ("stand_ins", pa.list_(pa.string())),  # a few aliases of a due URL, candidates if its visit gives no page
        ("unchanged", pa.int32()),  # visits that found the content of the visit before
        ("unchanged_s", pa.float64()),  # seconds since the visit before, summed over them
        ("changed", pa.int32()),  # visits that found another content
        ("changed_log_s", pa.float64()),  # natural logarithms of the seconds since the visit before, summed over them
        ("changes_per_day", pa.float64()),  # estimate of the last visit; null: revisits are not planned
        ("revisit_weight", pa.float64()),  # with which the next visit was planned
        ("fade_s", pa.float64()),  # seconds from the last visit to the next of a page that is gone; null: not gone
        ("redirects", pa.int32()),  # consecutive redirects that led here, the fewest
        ("foreign", pa.bool_()),  # only other sites link to it; null: unknown
        ("redirect_to", pa.string()),  # where its last visit led, if its state is redirected; null: unknown
    ]
)

EXTERNAL_TARGETS = pa.schema(
    [
        ("url_key", KEY),
        ("url", pa.string()),
        ("round", pa.int32()),  # that added it
    ]
)

REVISITS = pa.schema(
    [
        ("url_key", KEY),
        ("host", pa.string()),
        ("due_at", TIME),  # next_fetch_at of the URL when the row was written
        ("round", pa.int32()),
    ]
)

CHANGE_RATES = pa.schema(
    [
        ("rate", pa.int32()),  # 4 log2 of changes per day, rounded
        ("weight", pa.int32()),  # 4 log2 of the weight, rounded
        ("pages", pa.int64()),
        ("round", pa.int32()),  # of this row: the newest row of a rate and weight counts
    ]
)

HOST_CHANGES = pa.schema(
    [
        ("host", pa.string()),
        ("round", pa.int32()),  # of this row: the newest row of a host counts
        ("unchanged", pa.int64()),  # the same columns of urls, summed over its pages
        ("unchanged_s", pa.float64()),
        ("changed", pa.int64()),
        ("changed_log_s", pa.float64()),
    ]
)

_PAIR = pa.struct([("url", pa.string()), ("other_url", pa.string()), ("digest", KEY)])

ALIASES = pa.schema(
    [
        ("origin", pa.string()),  # scheme://host[:port] of the URLs that the rule changes
        ("host", pa.string()),
        ("kind", pa.string()),  # index_page, case, trailing_slash, parameter, www, scheme
        ("detail", pa.string()),  # name of the index page or parameter, or the origin that represents this one; or ""
        ("support", pa.int64()),  # number of contents shared by URLs that the rule equates
        ("contradictions", pa.int64()),  # number of such URLs with different contents
        ("state", pa.string()),  # proposed, used, dropped
        ("since", pa.int32()),  # the round of that state
        ("round", pa.int32()),  # of this row: the newest row of a rule counts
        ("evidence", pa.list_(_PAIR)),  # pairs with the same content, the first few
        ("against", pa.list_(_PAIR)),  # pairs with different contents
        ("template", pa.string()),  # of the URLs that the rule makes; null: a rule of an earlier version, not used
    ]
)

ALIAS_COUNTS = pa.schema(
    [
        ("origin", pa.string()),  # the rule and its template, as in aliases
        ("kind", pa.string()),
        ("detail", pa.string()),
        ("template", pa.string()),
        ("round", pa.int32()),  # of this row: the newest row of a rule and template counts
        ("held", pa.int64()),  # URLs that the rule has held back
        ("sampled", pa.int64()),  # URLs that were fetched all the same, to verify it
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
        ("template", pa.string()),  # of paths and queries; others: `template_rows`
        ("kind", pa.string()),  # of discovery: `template_rows.Kind`
        ("round", pa.int32()),  # of this row: the newest of a template and kind counts
        ("state", pa.string()),  # open, throttled, trapped
        ("since", pa.int32()),  # the round in which the state was set
        ("pages", pa.int64()),  # visited for the first time
        ("fresh", pa.int64()),  # pages with news; for kind plain, pages that are not copies
        ("recent_pages", pa.float64()),  # about the last 24
        ("recent_fresh", pa.float64()),
        ("samples", pa.list_(pa.string())),
        ("first", pa.int32()),  # the round of its first page
        ("news", pa.int64()),  # pages with news
        ("different", pa.int64()),  # pages that are not copies
        ("failed", pa.int64()),  # requests that gave no page: errors, refused types
        ("redirected", pa.int64()),  # requests that gave a redirect
        ("unresolved", pa.int64()),  # redirects of the round, of which the next one shows where they lead
        ("reached", pa.int64()),  # pages with news, and other templates, to which its redirects led
        ("budget", pa.int64()),  # requests that its results have earned in the next round
        ("waiting", pa.int64()),  # of the host: its URLs in the frontier before the round
        ("requested", pa.int64()),  # of the host: URLs that the round requested for the first time
    ]
)

TRAP_QUEUES = pa.schema(
    [
        ("host", pa.string()),
        ("template", pa.string()),  # throttled or trapped; empty: all URLs of the host
        ("kind", pa.string()),
        ("round", pa.int32()),
        ("waiting", pa.int64()),  # its URLs in the frontier after the round
        ("held", pa.int64()),  # URLs moved to state trapped by the round
    ]
)

TRAP_SAMPLES = pa.schema(
    [
        ("host", pa.string()),
        ("template", pa.string()),  # of a family of paths
        ("round", pa.int32()),
        ("words", pa.list_(pa.binary())),  # hashes of words that are new in this round
        ("forms", pa.binary()),  # hashes of URLs without opaque tokens, new in this round
        ("telling", pa.int32()),  # pages of this round with ten or more new words
        ("answer", pa.string()),  # to paths that cannot exist: asked, none, same, random; the newest counts
        ("answer_words", pa.binary()),  # hashes of the words of the answer, if it is the same
        ("answer_frame", pa.int64()),  # hash of its title, number of links and classes, if they are the same
    ]
)
