"""Kinds of URLs that are no pages, and properties of a sitemap besides its URL.

Columns `kind` (null: a page) and `sitemap` of the tables frontier, visits and urls. The properties are passed along
with the URL from discovery to parsing and, for an index, to the sitemaps that it names.
"""

from collections.abc import Iterable, Mapping
from typing import Any

from .schemas import Row

SITEMAP = "sitemap"
"""The kind of a URL that is parsed as a sitemap, never as a document."""

TDMREP = "tdmrep"
"""The kind of a URL that is read as rules about text and data mining, never as a document.

Of column `sitemap`, only the hosts apply: besides its own one, those that redirect their files to it.
"""

RSL = "rsl"
"""The kind of a URL that is read as a licence (RSL), never as a document; another host may have it."""

PROBE = "probe"
"""The kind of a URL that cannot exist, and is requested to learn what its host answers to such URLs."""

REQUISITE = "requisite"
"""The kind of a URL that a page needs to look like itself: a stylesheet, script, image, icon or font.

Of column `sitemap`, which only stylesheets have, the level and the budget apply: stylesheets above it, and how many
further requisites it may name.
"""

EXTERNAL = "external"
"""The kind of a URL outside the hosts of the crawl that a page links: only its status is asked for, never a body."""

LESSER = (REQUISITE, EXTERNAL)
"""Kinds that give way: a URL that is found as a page, a sitemap or the first of them too is that only."""

SITEMAP_VISITS = f"{SITEMAP}_visits"
"""The name under which a file of visits counts those to sitemaps; likewise of the other kinds."""

MAX_LEVEL = 3
"""Maximum number of nested indexes above a sitemap. The protocol allows one; nested indexes and loops occur."""

MAX_HOSTS = 1000
"""Maximum number of hosts that authorise one sitemap: large hosting services name the same one in each robots.txt."""


def rank(row: Mapping[str, Any]) -> int:
    """The place of a row's kind among those of one URL: the least is what the URL is.

    A licence that no robots.txt names (it has no terms) gives way like a requisite: any page may name any other.
    """
    kind = row["kind"]
    return LESSER.index(kind) + 1 if kind in LESSER else int(kind == RSL and not row["sitemap"])


def terms(level: int, budget: int, hosts: Iterable[str]) -> Row:
    """A value of column `sitemap`: indexes above it, budget of further sitemaps, and hosts that authorise it."""
    return {"level": level, "budget": budget, "hosts": sorted(set(hosts))}


def share(budget: int, count: int) -> int:
    """The budget of further sitemaps for each of `count` sitemaps, such that all stay within a common budget."""
    return (budget - count) // count if count else 0


def unite(one: Row | None, other: Row | None) -> Row | None:
    """The union of two values for one sitemap, with up to MAX_HOSTS of the hosts that authorise it."""
    if not one or not other:
        return one or other
    further = sorted(set(other["hosts"]) - set(one["hosts"]))[: MAX_HOSTS - len(one["hosts"])]
    return terms(min(one["level"], other["level"]), max(one["budget"], other["budget"]), [*one["hosts"], *further])


def with_news(url: Row, candidate: Row) -> Row:
    """The row of urls, updated from a candidate named in sitemaps; the same row if the candidate adds nothing.

    Updates are a later lastmod, and new hosts that authorise a file that is no page, which must then be read again.
    """
    lastmod, earlier = candidate["sitemap_lastmod"], url["sitemap_lastmod"]
    if lastmod and (earlier is None or lastmod > earlier):
        url = url | {"sitemap_lastmod": lastmod}
    if url["kind"] not in (None, *LESSER) and candidate["sitemap"]:
        known = url["sitemap"] or terms(0, 0, ())
        united = unite(url["sitemap"], candidate["sitemap"])
        if united and not set(united["hosts"]) <= {url["host"], *known["hosts"]}:
            url = url | {"sitemap": united}
    return url
