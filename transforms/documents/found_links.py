"""Columns of the links that a batch of visits has found: distances, keys, and which of them become candidates."""

import functools
import itertools
from collections.abc import Iterable, Iterator, Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ..batches.batch_schemas import CANDIDATES, LINK, NOT_FOLLOWED, CandidateRow
from ..parsing.crawl_scope import CrawlScope
from ..parsing.html_links import FOLLOWED_KINDS, Fragment, Link, followed
from ..parsing.source import Page
from ..tables.batches import Batch, split
from ..tables.schemas import KEY, VisitRow
from ..urls.canonical import url_key
from ..urls.filters import UrlFilter

FoundLinks = tuple[VisitRow, Page | None, list[Link]]
"""(visit, its page, the links that it has found)"""


@functools.lru_cache(1 << 16)
def key_of(url: str) -> bytes:
    """`url_key`, cached."""
    return url_key(url)


def links_column(
    found: Sequence[FoundLinks], url_filter: UrlFilter, kinds: frozenset[str] = FOLLOWED_KINDS
) -> pa.ListArray:
    """The links of each visit as LINK; only links of some kinds are followed.

    Pages of a host share most of their links, so each distinct target is keyed and filtered once. A redirect does not
    increase the depth, because it takes no click.
    """
    links = [link for _, _, some in found for link in some]
    is_followed = [
        followed(link, page is not None and page.nofollow, kinds) for _, page, some in found for link in some
    ]
    counts = [len(some) for _, _, some in found]
    *texts, fragments = zip(*links, strict=True) if links else [()] * len(Link._fields)
    target, anchor, rel, kind = (pa.array(values, pa.string()) for values in texts)
    is_redirect = pc.equal(kind, "redirect").to_numpy(zero_copy_only=False)
    redirected = np.repeat([visit["redirects"] or 0 for visit, _, _ in found], counts)
    depth = np.repeat([visit["depth"] or 0 for visit, _, _ in found], counts) + ~is_redirect
    redirects = np.where(is_redirect, redirected + 1, 0)
    rejected = _rejected(links, is_followed, list(zip(depth.tolist(), redirects.tolist(), strict=True)), url_filter)
    encoded = target.dictionary_encode()
    key = pa.array(map(key_of, encoded.dictionary.to_pylist()), KEY).take(encoded.indices)
    columns = [key, target, anchor, rel, kind, pa.array(depth, pa.int32()), pa.array(redirects, pa.int32()), rejected]
    columns.append(_fragments(fragments))
    offsets = pa.array(np.cumsum([0, *counts]), pa.int32())
    return pa.ListArray.from_arrays(offsets, pa.StructArray.from_arrays(columns, fields=list(LINK)))


def _fragments(of_links: Sequence[Sequence[Fragment]]) -> pa.Array:
    """The fragments of each link; null for most."""
    ids, anchors = zip(*itertools.chain.from_iterable(of_links), strict=True) if any(of_links) else ((), ())
    values = pa.StructArray.from_arrays([pa.array(part, pa.string()) for part in (ids, anchors)], ["id", "anchor"])
    lengths = np.fromiter(map(len, of_links), np.int32, len(of_links))
    offsets = pa.array(np.cumsum([0, *lengths]), pa.int32())
    return pa.ListArray.from_arrays(offsets, values, mask=pa.array(lengths == 0))


def _rejected(
    links: Sequence[Link], is_followed: Sequence[bool], ways: Sequence[tuple[int, int]], url_filter: UrlFilter
) -> pa.Array:
    """The rule that rejects each link, null if none does; `ways` are their depths and redirects."""
    targets = {link.url for link, follows in zip(links, is_followed, strict=True) if follows}
    of_target = {url: url_filter.reject_target(url) for url in targets}
    of_way = {way: url_filter.reject_way(*way) for way in set(ways)}
    reasons = (
        of_target[link.url] or of_way[way] if follows else NOT_FOLLOWED
        for link, follows, way in zip(links, is_followed, ways, strict=True)
    )
    return pa.array(reasons, pa.string())


def permitted(probes: Iterable[CandidateRow], scope: CrawlScope, partitions: int) -> Iterator[Batch]:
    """CANDIDATES of the URLs that cannot exist, as far as the scope of the crawl permits them."""
    url_filter = scope.url_filter()
    rows = [row for row in probes if url_filter.reject(row["url"], row["depth"], 0) is None]
    return split(pa.Table.from_pylist(rows, schema=CANDIDATES), "url_key", partitions)
