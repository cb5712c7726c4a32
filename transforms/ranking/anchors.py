"""Anchors that describe the targets of links: the votes of hosts for them.

Hosts, anchors and pages are numbers, whose order is that of the strings: a crawl has few distinct ones.
"""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from ..tables.schemas import RANKS
from .endorsements import Pages, sorted_codes
from .pagerank import Longs

MAX_TARGETS = 3
"""The most targets of an anchor on one host; one with more, such as "Next", describes none of them."""

MAX_ANCHORS = 1_000
"""The most anchors that are kept for a page."""

ANCHORS = RANKS.field("anchors").type
"""The anchors of a page: each with the number of hosts that use it."""


class Votes(NamedTuple):
    """Votes: a row for each `host`, `folded` anchor and `target`; `anchor` is one of its spellings."""

    rows: pa.Table  # `folded` and `anchor` are numbers in the arrays below
    folded: pa.Array
    anchors: pa.Array

    def spelled(self) -> pa.Table:
        """The rows, with strings for `folded` and `anchor`."""
        rows = self.rows
        for name, texts in (("folded", self.folded), ("anchor", self.anchors)):
            rows = rows.set_column(rows.column_names.index(name), name, texts.take(rows[name]))
        return rows


def count_anchors(sources: Longs, targets: Longs, anchors: pa.ChunkedArray, pages: Pages) -> pa.Table:
    """The specific anchors of each page, in the form of `count_votes`, from all links that endorse pages."""
    columns = {"host": pages.host_of[sources], "target": targets, "anchor": anchors}
    votes = votes_of(pa.table(columns), pages)
    counted = count_votes(keep_specific(votes.rows))
    return counted.set_column(1, "anchor", votes.anchors.take(counted["anchor"]))


def votes_of(links: pa.Table, pages: Pages) -> Votes:
    """The votes of links.

    `links` has the `host` of the source, the `target` as a number in `pages`, and the `anchor`, of all links to these
    targets. A host has one vote for a page and an anchor, whatever the letter case. Anchors without letters or digits
    and anchors that are the end of the target's URL are left out.
    """
    codes, anchors = sorted_codes(links["anchor"])
    lower = pc.utf8_lower(anchors)
    folded_codes, folded = sorted_codes(pa.chunked_array([lower]))
    describes = pc.and_not(pc.match_substring_regex(anchors, r"[\p{L}\p{N}]"), is_direction(lower))
    chosen = describes.to_numpy(zero_copy_only=False)[codes]
    codes, targets, hosts = codes[chosen], links["target"].to_numpy()[chosen], links["host"].filter(pa.array(chosen))
    is_new = ~_is_address(codes, targets, lower, pages)
    codes, targets, hosts = codes[is_new], targets[is_new], hosts.filter(pa.array(is_new))
    rows = pa.table({"host": hosts, "folded": folded_codes[codes], "target": targets, "anchor": codes})
    votes = rows.group_by(["host", "folded", "target"]).aggregate([("anchor", "min")])
    return Votes(votes.rename_columns(["host", "folded", "target", "anchor"]), folded, anchors)


def is_direction(folded: pa.Array | pa.ChunkedArray) -> pa.Array | pa.ChunkedArray:
    """Whether each lower-case anchor says where a link leads from here, such as "next page", and not what is there.

    >>> is_direction(pa.array(["next", "« previous chapter", "read more", "next steps", "up"])).to_pylist()
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


def anchors_of(counted: pa.Table, targets: Longs) -> pa.ListArray:
    """ANCHORS of each target, most hosts first, at most MAX_ANCHORS of each; none for a target of -1."""
    column = counted["target"].to_numpy()
    firsts, ends = np.searchsorted(column, targets, "left"), np.searchsorted(column, targets, "right")
    lengths = np.minimum(ends - firsts, MAX_ANCHORS)
    offsets = np.concatenate([[0], np.cumsum(lengths)])
    rows = np.repeat(firsts - offsets[:-1], lengths) + np.arange(offsets[-1])
    found = counted.select(["anchor", "hosts"]).take(pa.array(rows)).combine_chunks()
    values = pa.StructArray.from_arrays([_whole(found[name]) for name in found.column_names], found.column_names)
    return pa.ListArray.from_arrays(pa.array(offsets, pa.int32()), values).cast(ANCHORS)


def _whole(column: pa.ChunkedArray) -> pa.Array:
    return column.chunk(0) if column.num_chunks else pa.array([], column.type)


def _is_address(codes: Longs, targets: Longs, folded: pa.Array, pages: Pages) -> npt.NDArray[np.bool_]:
    """Whether each anchor looks like a URL and is the end of its target's URL."""
    looks = pc.match_substring_regex(folded, r"^\S*[./]\S*$").to_numpy(zero_copy_only=False)
    found = looks[codes]
    pairs, which = np.unique(codes[found] * max(1, len(pages.urls)) + targets[found], return_inverse=True)
    anchors, urls = folded.take(pairs // max(1, len(pages.urls))), pages.urls.take(pairs % max(1, len(pages.urls)))
    ends = [u.lower().endswith(a) for u, a in zip(urls.to_pylist(), anchors.to_pylist(), strict=True)]
    found[found] = np.array(ends, bool)[which]
    return found


_PARTS = "page|chapter|section|topic|part|step|post|article|entry|slide|item"
_DIRECTION = (
    rf"^[^\p{{L}}\p{{N}}]*((go )?(to )?(the )?(prev|previous|next)( ({_PARTS}))?|up|back|here|click here|more|read more"
    r"|zurück|weiter|précédent|suivant|anterior|siguiente|próximo|precedente|successivo|назад|вперёд|далее"
    r"|前へ|次へ|上一页|下一页|이전|다음)[^\p{L}\p{N}]*$"
)
