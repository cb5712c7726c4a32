"""Updates the target of a link: it is new, it is found again, or its earlier visit gets another chance."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from itertools import chain
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ..tables.schemas import FRONTIER, KEY, URLS, Row
from ..tables.sitemap_terms import RSL, rank, unite
from ..tables.table_files import conform
from ..traps.discovery import doubt, from_elsewhere
from ..traps.template_rows import State
from ..urls.canonical import neatness, url_key
from ..urls.filters import MAX_REDIRECTS

FAILED_STATES = ("failed", "gone", "denied")
"""States of URLs whose last visit gave no page."""

CLAIMED = "claimed"
"""Counter of the redirects that their own site has linked first, in a round that did not visit them: their targets are
its own, too (`release_targets`)."""

_COUNTED = ("fetches", "changes")  # columns of urls about earlier visits
_OF_BOTH = ("url", "depth", "redirects", "foreign", "kind", "sitemap")  # columns of urls and of the frontier
_WAY = ("depth", "redirects")

# Columns of urls and of the frontier, each with that of the candidate from which a new URL has it; and those that are
# the same for all new URLs.
_SHARED = {name: name for name in ("url_key", "url", "host", "depth", "kind", "sitemap", "redirects", "foreign")}
_URL = _SHARED | {"score": "score", "discovered_from": "referrer", "sitemap_lastmod": "sitemap_lastmod"}
_WAITS = _SHARED | {"priority": "score", "referrer": "referrer", "links_without_news": "links_without_news"}
_NEW_URL: Row = {"state": "due", "fetches": 0, "failures": 0, "changes": 0}
_NEW_WAITS: Row = {"reason": "new", "failures": 0}


def separate(
    candidates: pa.Table, earlier: Sequence[pa.Table], judged_hosts: Collection[str]
) -> tuple[pa.Table, pa.Table]:
    """(the CANDIDATES that are new URLs and meet nothing else in the round, all others).

    Where a crawl grows, these are most of the URLs of a round: nothing about them is to be decided, so their rows are
    made in columns, and `url_states.advance` takes only the others. Such a URL is found once, has no row in the
    `earlier` tables, stands in for none of their URLs, and is on none of the `judged_hosts`, whose URLs may be joined
    or held.
    """
    keys = pa.chunked_array(chain(*(table["url_key"].chunks for table in earlier)), KEY)
    is_known = pc.or_(pc.is_in(candidates["url_key"], keys), pc.is_in(candidates["url_key"], _stand_ins(earlier)))
    is_judged = pc.is_in(candidates["host"], pa.array(judged_hosts, pa.string()))
    number = candidates["url_key"].combine_chunks().dictionary_encode().indices.to_numpy()
    is_new = pc.and_(pc.invert(pc.or_(is_known, is_judged)), pa.array(np.bincount(number)[number] == 1))
    return candidates.filter(is_new), candidates.filter(pc.invert(is_new))


def _stand_ins(earlier: Iterable[pa.Table]) -> pa.Array:
    """The keys of the URLs that stand in for others."""
    some = (pc.list_flatten(table["stand_ins"]).to_pylist() for table in earlier if "stand_ins" in table.column_names)
    return pa.array({url_key(url) for url in chain(*some)}, KEY)


def discovered(candidate: Row, round_: int) -> tuple[Row, Row]:
    """(row of urls, row of the frontier) of a newly discovered URL."""
    url = {name: candidate[source] for name, source in _URL.items()}
    waits = {name: candidate[source] for name, source in _WAITS.items()}
    first = {"discovered_round": round_}
    return url | _NEW_URL | first, waits | _NEW_WAITS | first


def discovered_tables(candidates: pa.Table, round_: int) -> tuple[pa.Table, pa.Table]:
    """`discovered` of a table of CANDIDATES: (URLS, FRONTIER)."""
    first = {"discovered_round": round_}
    urls = _renamed(candidates, _URL, _NEW_URL | first | {"round": round_}, URLS)
    return urls, _renamed(candidates, _WAITS, _NEW_WAITS | first, FRONTIER)


def _renamed(table: pa.Table, names: Mapping[str, str], values: Row, schema: pa.Schema) -> pa.Table:
    columns = {name: table[source] for name, source in names.items()}
    scalars = {name: pa.scalar(value, schema.field(name).type) for name, value in values.items()}
    columns |= {name: pa.repeat(scalar, table.num_rows) for name, scalar in scalars.items()}
    return conform(pa.table(columns), schema)


def merge_candidates(candidates: Iterable[Row]) -> dict[bytes, Row]:
    """Each candidate once, with the least depth, the fewest redirects and the sum of the scores.

    Other columns are from the first of: links of its own site, least `doubt`, least depth, neatest spelling, fewest
    redirects. Columns from sitemaps are merged. If its own site links it, what others say of its kind does not count.
    Of several kinds, the first by `rank` counts: a requisite that is found as a page or as a sitemap too is that only.
    """
    merged: dict[bytes, Row] = {}
    for row in sorted(candidates, key=_order):
        first = merged.get(row["url_key"])
        if first is None:
            merged[row["url_key"]] = row
        elif rank(row) == rank(first):
            merged[row["url_key"]] = _merged(first, row)
    return merged


def _merged(first: Row, row: Row) -> Row:
    merged = first | nearest(first, row) | {"score": first["score"] + row["score"]}
    if from_elsewhere(row) and not from_elsewhere(first):
        return merged
    lastmods = [time for time in (first["sitemap_lastmod"], row["sitemap_lastmod"]) if time]
    return merged | {
        "kind": first["kind"] or row["kind"],
        "sitemap": unite(first["sitemap"], row["sitemap"]),
        "sitemap_lastmod": max(lastmods, default=None),
    }


def nearest(one: Row, other: Row) -> Row:
    """The least depth and the fewest redirects of two ways to a URL; each counts by itself."""
    return {name: min(one[name], other[name]) for name in ("depth", "redirects")}


def _order(row: Row) -> tuple[Any, ...]:
    return (rank(row), from_elsewhere(row), _doubt(row), *precedence(row)[1:], row["redirects"], row["referrer"])


def _doubt(row: Row) -> int:
    return doubt(row["url"], row["referrer"], row["links_without_news"])


def precedence(row: Row) -> tuple[bool, int, tuple[int, str]]:
    """Sort key of the candidates of one URL, smallest first: its own site, least depth, then neatest spelling."""
    return (from_elsewhere(row), row["depth"], neatness(row["url"]))


def found_again(
    candidate: Row, url: Row, due: Row | None, max_depth: int | None = None
) -> tuple[Row, Row | None] | None:
    """(the URL's new row, its new row in the next frontier) if a link to a known URL changes either; else None.

    `due` is its row in the next frontier so far. The least depth and the fewest redirects count, whoever links. The
    first link of a URL's own site replaces what other sites said of it, which does not count from then on. A requested
    URL keeps its spelling while it is due, because a redirect may have led there. The link of the least `doubt` is the
    referrer of a waiting URL. A requisite of a page, or an external target, that is linked as a page becomes one, and
    is requested as such; a page stays one.
    """
    if rank(candidate) > rank(url):
        return None
    if rank(candidate) < rank(url):
        new, row = discovered(candidate, url["discovered_round"])
        return url | {name: value for name, value in new.items() if name not in _COUNTED}, row
    is_own, was_own = not from_elsewhere(candidate), not from_elsewhere(due or url)
    if due is None:
        return _found_after_visit(candidate, url, is_own, was_own, max_depth)
    way = nearest(candidate, due)
    if not url["fetches"] and precedence(candidate) < precedence(due):
        way["url"] = candidate["url"]
    if is_own and not was_own:
        url = url | {"discovered_from": candidate["referrer"]}
        way |= {name: candidate[name] for name in ("foreign", "referrer", "links_without_news", "kind", "sitemap")}
    elif is_own and candidate["kind"] == RSL:
        way |= {name: candidate[name] for name in ("kind", "sitemap")}
    elif is_own == was_own and _doubt(candidate) < _doubt(due):
        way |= {name: candidate[name] for name in ("links_without_news", "referrer")}
    way = {name: value for name, value in way.items() if value != due[name]}
    if not way:
        return None
    return url | {name: value for name, value in way.items() if name in _OF_BOTH}, due | way


def _found_after_visit(
    candidate: Row, url: Row, is_own: bool, was_own: bool, max_depth: int | None
) -> tuple[Row, Row | None] | None:
    """`found_again` for a URL that is not due.

    A link from a page with news, or the first one of its own site, releases a URL in state `trapped`. After failed
    visits a URL is tried again in a neater spelling, because robots.txt may forbid, or the site may have forgotten, a
    spelling with a session or a counter. What was taken for a sitemap because other sites named it is visited as a
    page. A page or a redirect whose links may have been rejected for their depth or their redirects, or counted as
    links of other sites, is visited again.
    """
    if was_own and not is_own:
        is_new_try = False
    elif url["state"] == State.TRAPPED:
        is_new_try = not candidate["links_without_news"] or is_own != was_own
    else:
        is_neater = url["state"] in FAILED_STATES and neatness(candidate["url"]) < neatness(url["url"])
        is_new_try = is_neater or (is_own != was_own and url["kind"] is not None and candidate["kind"] is None)
        is_new_try = is_new_try or (candidate["kind"] == RSL and url["kind"] is None)  # taken for a page so far
    changed = url | {"foreign": False, "discovered_from": candidate["referrer"]} if is_own and not was_own else url
    way = nearest(candidate, {name: candidate[name] if url[name] is None else url[name] for name in _WAY})
    if is_new_try:
        _, row = discovered(candidate | way, url["discovered_round"])
        kept = {"url": candidate["url"], "state": "due", "failures": 0, "next_fetch_at": None}
        kept |= {"kind": candidate["kind"], "sitemap": candidate["sitemap"]}
        return changed | way | kept, row
    if is_reopened(candidate, url, is_own and not was_own, max_depth):
        _, row = discovered(candidate | way | {"url": url["url"]}, url["discovered_round"])
        kept = {"digest": url["digest"], "priority": url["score"], "foreign": not (is_own or was_own)}
        return changed | way, row | kept | {"reason": "recrawl"}
    return None if changed is url else (changed, None)


def is_reopened(candidate: Row, url: Row, is_first_of_own: bool, max_depth: int | None) -> bool:
    """Whether a link to a visited URL gives its own links another chance.

    With a limit of depth, a page that is nearer than known is visited again, so at most as often as its depth shrinks.
    A way with fewer redirects counts if the known one used more than half of those allowed. So does the first link of
    its own site to a redirect whose target is unknown, as in rows of earlier versions (`release_targets`).
    """
    if url["state"] not in ("fetched", "redirected") or url["kind"] is not None:
        return False
    is_nearer = max_depth is not None and candidate["depth"] < url["depth"]
    redirects = url["redirects"] or 0
    has_fewer = redirects > MAX_REDIRECTS // 2 and candidate["redirects"] < redirects
    is_lost = url["state"] == "redirected" and url.get("redirect_to") is None
    return is_nearer or has_fewer or (is_first_of_own and is_lost)


def is_own_redirect(url: Row) -> bool:
    """Whether a row of urls is of a redirect to a known target that its own site links."""
    return url["state"] == "redirected" and not url["foreign"] and url.get("redirect_to") is not None
