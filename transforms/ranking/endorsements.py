"""Endorsements: the edges between pages that links make, and the anchors that describe their targets."""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from ..urls.canonical import host
from .pagerank import Longs, resolve

ENDORSING_KINDS = ("a", "area")
"""Kinds of links that people follow."""

MAX_TARGETS = 3
"""The most targets of an anchor on one host; one with more, such as "Next", describes none of them."""

MAX_ANCHORS = 1_000
"""The most anchors that are kept for a page."""

LINK_COLUMNS = [
    *("source_key", "source_url", "target_key", "target_url", "anchor", "rel", "kind", "round", "from_duplicate")
]
DOCUMENT_COLUMNS = ["url_key", "duplicate_of", "round"]


class Pages(NamedTuple):
    """Numbered URLs at either end of links: all of them, or those of a partition."""

    keys: pa.Array  # url_key
    urls: list[str]
    hosts: pa.Array  # names, sorted
    host_of: Longs

    def numbers(self, keys: pa.Array | pa.ChunkedArray) -> Longs:
        """The numbers of URLs by their keys; -1 for a page without links from or to it."""
        return _numbers(keys, self.keys)


class CurrentLinks(NamedTuple):
    """The links found at the last visit of their source that count for ranking."""

    endorsing: pa.Table  # source_key, target_key, anchor
    redirects: pa.Table  # source_key, target_key


class Links(NamedTuple):
    """Links that endorse their targets, as parallel arrays; both ends are representatives (see `representatives`)."""

    sources: Longs
    targets: Longs
    anchors: pa.Array


def ends_of(links: pa.Table) -> pa.Table:
    """`key` and `url` of both ends of links, without repetitions."""
    ends = [links.select([f"{end}_key", f"{end}_url"]).rename_columns(["key", "url"]) for end in ("source", "target")]
    return pa.concat_tables(ends).group_by(["key", "url"]).aggregate([])


def pages_of(ends: pa.Table) -> Pages:
    """Numbers the URLs at the ends of links, in the order of their keys."""
    rows = ends.group_by("key").aggregate([("url", "min")]).sort_by("key")
    urls = rows["url_min"].to_pylist()
    names, host_of = np.unique(np.array([host(url) for url in urls], object), return_inverse=True)
    return Pages(rows["key"].combine_chunks(), urls, pa.array(names, pa.string()), host_of.astype(np.int64))


def current_links(links: pa.Table) -> CurrentLinks:
    """The links that count: no nofollow, none of duplicates. `links` has LINK_COLUMNS, and all links of a source."""
    sources = links["source_key"].combine_chunks().dictionary_encode()
    numbers, rounds = sources.indices.to_numpy(), links["round"].to_numpy()
    last = np.zeros(len(sources.dictionary), np.int64)
    np.maximum.at(last, numbers, rounds)
    is_last = rounds == last[numbers]
    kinds = links["kind"]
    counts = pc.is_in(kinds, value_set=pa.array(ENDORSING_KINDS))
    counts = pc.and_not(counts, pc.match_substring_regex(pc.fill_null(links["rel"], ""), _NO_ENDORSEMENT))
    counts = pc.and_not(counts, pc.fill_null(links["from_duplicate"], False))
    is_redirect = pc.equal(kinds, "redirect")
    chosen = links.select(["source_key", "target_key", "anchor"])
    endorsing, redirects = (chosen.filter(pa.array(mask.to_numpy() & is_last)) for mask in (counts, is_redirect))
    anchors = pc.fill_null(endorsing["anchor"], "")
    return CurrentLinks(endorsing.set_column(2, "anchor", anchors), redirects.drop_columns("anchor"))


def duplicates(documents: pa.Table) -> pa.Table:
    """`url_key` and `duplicate_of` of documents, given with DOCUMENT_COLUMNS, whose last version is a duplicate."""
    newest = documents.sort_by("round").group_by("url_key", use_threads=False).aggregate([("duplicate_of", "last")])
    newest = newest.filter(pc.is_valid(newest["duplicate_of_last"]))
    return newest.select(["url_key", "duplicate_of_last"]).rename_columns(["url_key", "duplicate_of"])


def representatives(keys: pa.Array, redirects: pa.Table, copies: pa.Table) -> Longs:
    """The number of the page that represents each of `keys`: the end of its chain of redirects, or itself.

    A duplicate is represented by the document that keeps the content, if both are among the keys.
    """
    aliases = np.arange(len(keys))
    aliases[_numbers(redirects["source_key"], keys)] = _numbers(redirects["target_key"], keys)
    here, there = _numbers(copies["url_key"], keys), _numbers(copies["duplicate_of"], keys)
    known = (here >= 0) & (there >= 0)
    aliases[here[known]] = there[known]
    return resolve(aliases)


def endorsing(links: pa.Table, documents: pa.Table, pages: Pages) -> Links:
    """The links that endorse a page, between the representatives of their ends; without links of a page to itself.

    `links` has LINK_COLUMNS, `documents` DOCUMENT_COLUMNS.
    """
    found = current_links(links)
    representative = representatives(pages.keys, found.redirects, duplicates(documents))
    sources, targets = (representative[pages.numbers(found.endorsing[f"{end}_key"])] for end in ("source", "target"))
    elsewhere = sources != targets
    anchors = found.endorsing["anchor"].combine_chunks()
    return Links(sources[elsewhere], targets[elsewhere], anchors.filter(pa.array(elsewhere)))


def count_anchors(links: Links, pages: Pages) -> pa.Table:
    """The specific anchors of each page, in the form of `count_votes`."""
    columns = {"host": pages.host_of[links.sources], "target": links.targets, "anchor": links.anchors}
    return count_votes(keep_specific(votes_of(pa.table(columns), pages)))


def votes_of(links: pa.Table, pages: Pages) -> pa.Table:
    """Votes: a row for each `host`, `folded` anchor and `target`; `anchor` is one of its spellings.

    `links` has the `host` of the source, the `target` as a number in `pages`, and the `anchor`, of all links to these
    targets. A host has one vote for a page and an anchor, whatever the letter case. Anchors without letters or digits
    and anchors that are the end of the target's URL are left out.
    """
    links = links.append_column("folded", pc.utf8_lower(links["anchor"]))
    links = links.filter(pc.match_substring_regex(links["anchor"], r"[\p{L}\p{N}]"))
    links = links.filter(pc.invert(is_direction(links["folded"])))
    links = links.filter(pa.array(~_is_address(links, pages)))
    votes = links.group_by(["host", "folded", "target"]).aggregate([("anchor", "min")])
    return votes.rename_columns(["host", "folded", "target", "anchor"])


def is_direction(folded: pa.ChunkedArray) -> pa.ChunkedArray:
    """Whether each lower-case anchor says where a link leads from here, such as "next page", and not what is there.

    >>> is_direction(pa.chunked_array([["next", "« previous chapter", "read more", "next steps", "up"]])).to_pylist()
    [True, True, True, False, True]
    """
    return pc.match_substring_regex(folded, _DIRECTION)


def keep_specific(votes: pa.Table) -> pa.Table:
    """The votes whose host uses the anchor for at most MAX_TARGETS targets. Needs all votes of a host and anchor."""
    counts = votes.group_by(["host", "folded"]).aggregate([([], "count_all")])
    few = counts.filter(pc.less_equal(counts["count_all"], MAX_TARGETS)).select(["host", "folded"])
    return votes.join(few, ["host", "folded"], join_type="left semi")


def count_votes(votes: pa.Table) -> pa.Table:
    """`target`, `anchor` and `hosts`, the number of hosts that use it. Needs all votes for these targets.

    Sorted by target, then by hosts, most first.
    """
    anchors = votes.group_by(["target", "folded"]).aggregate([("anchor", "min"), ([], "count_all")])
    anchors = anchors.select(["target", "anchor_min", "count_all"]).rename_columns(["target", "anchor", "hosts"])
    return anchors.sort_by([("target", "ascending"), ("hosts", "descending"), ("anchor", "ascending")])


def anchors_of(counted: pa.Table, targets: Longs) -> list[list[tuple[str, int]]]:
    """(anchor, hosts) for each target, most hosts first, at most MAX_ANCHORS of each; none for a target of -1."""
    column = counted["target"].to_numpy()
    firsts, ends = np.searchsorted(column, targets, "left"), np.searchsorted(column, targets, "right")
    ends = np.minimum(ends, firsts + MAX_ANCHORS)
    texts, hosts = counted["anchor"].to_pylist(), counted["hosts"].to_pylist()
    return [list(zip(texts[first:end], hosts[first:end], strict=True)) for first, end in zip(firsts, ends, strict=True)]


def _is_address(links: pa.Table, pages: Pages) -> npt.NDArray[np.bool_]:
    """Whether each anchor looks like a URL and is the end of its target's URL."""
    found = pc.match_substring_regex(links["folded"], r"^\S*[./]\S*$").to_numpy()
    some = links.filter(pa.array(found))
    pairs = zip(some["folded"].to_pylist(), some["target"].to_pylist(), strict=True)
    found[found] = [pages.urls[target].lower().endswith(anchor) for anchor, target in pairs]
    return found


def _numbers(keys: pa.Array | pa.ChunkedArray, known: pa.Array) -> Longs:
    return pc.fill_null(pc.index_in(keys, value_set=known), -1).to_numpy(zero_copy_only=False).astype(np.int64)


_NO_ENDORSEMENT = r"(?i)(^|\s)(nofollow|ugc|sponsored|prev|previous|next)(\s|$)"

_PARTS = "page|chapter|section|topic|part|step|post|article|entry|slide|item"
_DIRECTION = (
    rf"^[^\p{{L}}\p{{N}}]*((go )?(to )?(the )?(prev|previous|next)( ({_PARTS}))?|up|back|here|click here|more|read more"
    r"|zurück|weiter|précédent|suivant|anterior|siguiente|próximo|precedente|successivo|назад|вперёд|далее"
    r"|前へ|次へ|上一页|下一页|이전|다음)[^\p{L}\p{N}]*$"
)
