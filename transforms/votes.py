"""What links say of pages: edges between pages, and the anchors that count for them."""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from transforms.link_graph import Longs, resolve
from transforms.urls import host

ENDORSING = ("a", "area")
"""Kinds of links that somebody put there for people to follow."""

MAX_TARGETS = 3
"""Pages of which an anchor of one host may speak; one that leads to more, as "Next" does, tells nothing of any."""

MAX_ANCHORS = 1_000
"""Anchors of a page that are kept."""

LINK_COLUMNS = ["source_key", "source_url", "target_key", "target_url", "anchor", "rel", "kind", "round"]
DOCUMENT_COLUMNS = ["url_key", "duplicate_of", "round"]


class Pages(NamedTuple):
    """All URLs that links know, by number."""

    keys: pa.Array  # url_key
    urls: list[str]
    hosts: pa.Array  # names, sorted
    host_of: Longs

    def numbers(self, keys: pa.Array | pa.ChunkedArray) -> Longs:
        """The numbers of URLs; -1 for one that no link knows."""
        return pc.fill_null(pc.index_in(keys, value_set=self.keys), -1).to_numpy(zero_copy_only=False).astype(np.int64)


class Links(NamedTuple):
    """Links that endorse their targets, as parallel arrays; what redirects or is a duplicate stands for another."""

    sources: Longs
    targets: Longs
    anchors: pa.Array


def pages_of(links: pa.Table) -> Pages:
    """The URLs at both ends of links, in the order of their keys."""
    ends = [links.select([f"{end}_key", f"{end}_url"]).rename_columns(["key", "url"]) for end in ("source", "target")]
    rows = pa.concat_tables(ends).group_by("key").aggregate([("url", "min")]).sort_by("key")
    urls = rows["url_min"].to_pylist()
    names, host_of = np.unique(np.array([host(url) for url in urls], object), return_inverse=True)
    return Pages(rows["key"].combine_chunks(), urls, pa.array(names, pa.string()), host_of.astype(np.int64))


def endorsing(links: pa.Table, documents: pa.Table, pages: Pages) -> Links:
    """The links that endorse a page: as they were at the last visit of their source, and not nofollow.

    `links` has LINK_COLUMNS, `documents` DOCUMENT_COLUMNS. A link to a URL that redirects counts for the one that it
    leads to in the end, a link to or from a duplicate for the document that has the content.
    """
    sources = pages.numbers(links["source_key"])
    targets = pages.numbers(links["target_key"])
    rounds = links["round"].to_numpy()
    last = np.zeros(len(pages.urls), np.int64)
    np.maximum.at(last, sources, rounds)
    is_last = rounds == last[sources]
    kinds = links["kind"]
    is_redirect = pc.equal(kinds, "redirect").to_numpy() & is_last
    counts = pc.is_in(kinds, value_set=pa.array(ENDORSING))
    counts = pc.and_not(counts, pc.match_substring_regex(pc.fill_null(links["rel"], ""), _NO_ENDORSEMENT))
    chosen = counts.to_numpy() & is_last

    aliases = np.arange(len(pages.urls))
    aliases[sources[is_redirect]] = targets[is_redirect]
    copies, originals = _duplicates(documents, pages)
    aliases[copies] = originals
    standing_for = resolve(aliases)
    sources, targets = standing_for[sources[chosen]], standing_for[targets[chosen]]
    anchors = pc.fill_null(links["anchor"], "").combine_chunks().filter(pa.array(chosen))
    elsewhere = sources != targets
    return Links(sources[elsewhere], targets[elsewhere], anchors.filter(pa.array(elsewhere)))


def tally(links: Links, pages: Pages) -> pa.Table:
    """The anchors that count for each page: `target`, `anchor`, and `hosts`, how many hosts say so.

    A host has one vote for a page and an anchor, in whatever case it is written. An anchor that is the end of the
    page's URL says nothing new. Sorted by target, and there by hosts, the most first.
    """
    given = pa.table(
        {
            "host": pages.host_of[links.sources],
            "folded": pc.utf8_lower(links.anchors),
            "target": links.targets,
            "anchor": links.anchors,
        }
    )
    given = given.filter(pc.match_substring_regex(given["anchor"], r"[\p{L}\p{N}]"))
    given = given.filter(pa.array(~_addresses(given, pages)))
    votes = given.group_by(["host", "folded", "target"]).aggregate([("anchor", "min")])
    telling = votes.group_by(["host", "folded"]).aggregate([([], "count_all")])
    telling = telling.filter(pc.less_equal(telling["count_all"], MAX_TARGETS)).select(["host", "folded"])
    votes = votes.join(telling, ["host", "folded"], join_type="left semi")
    anchors = votes.group_by(["target", "folded"]).aggregate([("anchor_min", "min"), ([], "count_all")])
    anchors = anchors.select(["target", "anchor_min_min", "count_all"]).rename_columns(["target", "anchor", "hosts"])
    return anchors.sort_by([("target", "ascending"), ("hosts", "descending"), ("anchor", "ascending")])


def anchors_of(tallied: pa.Table, targets: Longs) -> list[list[tuple[str, int]]]:
    """(anchor, hosts) of each of some pages, the most hosts first; at most MAX_ANCHORS of one. -1 is no page."""
    column = tallied["target"].to_numpy()
    firsts, ends = np.searchsorted(column, targets, "left"), np.searchsorted(column, targets, "right")
    ends = np.minimum(ends, firsts + MAX_ANCHORS)
    texts, hosts = tallied["anchor"].to_pylist(), tallied["hosts"].to_pylist()
    return [list(zip(texts[first:end], hosts[first:end], strict=True)) for first, end in zip(firsts, ends, strict=True)]


def _addresses(given: pa.Table, pages: Pages) -> npt.NDArray[np.bool_]:
    """Which of the anchors are the end of their target's URL, and look like it."""
    found = pc.match_substring_regex(given["folded"], r"^\S*[./]\S*$").to_numpy()
    some = given.filter(pa.array(found))
    pairs = zip(some["folded"].to_pylist(), some["target"].to_pylist(), strict=True)
    found[found] = [pages.urls[target].lower().endswith(anchor) for anchor, target in pairs]
    return found


def _duplicates(documents: pa.Table, pages: Pages) -> tuple[Longs, Longs]:
    """(copy, original) of the documents whose last version is a duplicate, as far as links know both."""
    newest = documents.sort_by("round").group_by("url_key", use_threads=False).aggregate([("duplicate_of", "last")])
    newest = newest.filter(pc.is_valid(newest["duplicate_of_last"]))
    copies, originals = pages.numbers(newest["url_key"]), pages.numbers(newest["duplicate_of_last"])
    known = (copies >= 0) & (originals >= 0)
    return copies[known], originals[known]


_NO_ENDORSEMENT = r"(?i)(^|\s)(nofollow|ugc|sponsored)(\s|$)"
