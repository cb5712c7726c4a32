"""Facts of a sitemap besides its URL: column `sitemap` of the tables frontier, visits and urls.

It goes with the URL from where it was found to where it is read, and to the sitemaps that it names if it is an index.
"""

from collections.abc import Iterable
from typing import Any

SITEMAP = "sitemap"
"""The kind of a URL that is read as a sitemap, and never as a document."""

MAX_LEVEL = 3
"""Indexes passed on the way to a sitemap, at most. The protocol has one; indexes of indexes are found, and loops."""

MAX_HOSTS = 1000
"""Hosts that may vouch for one sitemap: hosters of very many sites name the same one in each robots.txt."""

Row = dict[str, Any]


def terms(level: int, budget: int, hosts: Iterable[str]) -> Row:
    """Indexes passed, further sitemaps that it may lead to, and the hosts that vouch for it."""
    return {"level": level, "budget": budget, "hosts": sorted(set(hosts))}


def share(budget: int, count: int) -> int:
    """The number of further sitemaps that each of `count` may lead to, so that all stay within a budget."""
    return (budget - count) // count if count else 0


def unite(one: Row | None, other: Row | None) -> Row | None:
    """The union of two findings of one sitemap, with up to MAX_HOSTS of the hosts that vouch for it."""
    if not one or not other:
        return one or other
    further = sorted(set(other["hosts"]) - set(one["hosts"]))[: MAX_HOSTS - len(one["hosts"])]
    return terms(min(one["level"], other["level"]), max(one["budget"], other["budget"]), [*one["hosts"], *further])


def with_news(url: Row, candidate: Row) -> Row:
    """The row of urls with what is new in a candidate that sitemaps have named: the same row if nothing is.

    News are a later date of change, and hosts that vouch for a sitemap from now on: it has to be read again for them.
    """
    lastmod, earlier = candidate["sitemap_lastmod"], url["sitemap_lastmod"]
    if lastmod and (earlier is None or lastmod > earlier):
        url = url | {"sitemap_lastmod": lastmod}
    if url["kind"] == SITEMAP and candidate["sitemap"]:
        known = url["sitemap"] or terms(0, 0, ())
        united = unite(url["sitemap"], candidate["sitemap"])
        if united and not set(united["hosts"]) <= {url["host"], *known["hosts"]}:
            url = url | {"sitemap": united}
    return url
