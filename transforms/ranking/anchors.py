"""Anchors that describe the targets of links, pages or sections of them: the votes of hosts for them.

Hosts, anchors and pages are numbers, whose order is that of the strings: a crawl has few distinct ones.
"""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from ..indexing.link_folders import as_names
from ..tables.list_offsets import offsets, ranges
from ..tables.schemas import RANKS
from .endorsements import Pages, codes_of, group_numbers, sorted_codes
from .pagerank import Longs
from .words_around import with_words_around, without_words_around

MAX_TARGETS = 3
"""The most targets of an anchor on one host; one with more, such as "Next", describes none of them."""

MAX_ANCHORS = 1_000
"""The most anchors that are kept for a page."""

MAX_ANCHORS_ABROAD = 200
"""The most anchors that a host gives a page of another host: a few hosts together do not displace those of others."""

ANCHORS = RANKS.field("anchors").type
"""The anchors of a page: each with the number of hosts that use it."""

MAX_NAMES = 10_000
"""The most anchors that are kept for the sections of a page: their names."""

MAX_NAMES_ABROAD = 50
"""The most anchors that a host gives the sections of one page of another host: one host does not rename its page."""

NAMES = RANKS.field("names").type
"""The anchors of the sections of a page: each with its section's `fragment` and the number of hosts that use it."""

COUNTED = ["is_section", "target", "fragment", "anchor", "hosts"]
"""The columns of counted votes; `fragment` is "" for pages."""

_KEY = ["host", "folded", "target", "fragment"]
_OF_KEY = ["is_section", "is_own"]
_TEXTS = ("host", "folded", "around", "anchor", "fragment")
_STRINGS = ["host", "anchor", "fragment"]


class Links(NamedTuple):
    """Links that endorse pages, as parallel arrays of numbers, and the strings that these stand for, sorted."""

    hosts: Longs  # of the sources
    targets: Longs
    anchors: Longs
    fragments: Longs  # of the section that is linked, or of ""
    is_own: npt.NDArray[np.bool_]  # the target is of the same host
    texts: tuple[pa.Array, pa.Array, pa.Array]  # of hosts, anchors, fragments

    @classmethod
    def of(cls, links: pa.Table, targets: Longs, pages: Pages) -> "Links":
        """Links with `host`, `anchor` and `fragment`, to these `targets`, which are numbers in `pages`."""
        (hosts, names), (anchors, texts), (fragments, ids) = map(sorted_codes, links.select(_STRINGS).columns)
        of_targets = pc.fill_null(pc.index_in(pages.hosts, value_set=names), -1).to_numpy()[pages.host_of[targets]]
        return cls(hosts, targets, anchors, fragments, hosts == of_targets, (names, texts, ids))


class Votes(NamedTuple):
    """Votes: a row for each `host`, `folded` anchor, `target` and `fragment`; `anchor` is one of its spellings.

    `fragment` is that of a section of the target, or "" for the page as a whole. Words around other anchors are votes
    without `anchor` (`with_words_around`).
    """

    rows: pa.Table  # _TEXTS are numbers below; `is_section`: there is a fragment; `is_own`: of the target's own host
    texts: tuple[pa.Array, ...]

    def spelled(self) -> pa.Table:
        """The rows with strings."""
        rows = self.rows
        for name, texts in zip(_TEXTS, self.texts, strict=True):
            rows = rows.set_column(rows.column_names.index(name), name, texts.take(rows[name]))
        return rows


def votes_of(links: Links, pages: Pages) -> Votes:
    """The votes of all links to these targets.

    A host has one vote for a page or section and an anchor, whatever the letter case. Left out are anchors that are the
    end of the target's URL, of pages those without letters or digits and directions, and of sections those that are no
    `analysis.name`: "next()" may be one.
    """
    codes, (names, anchors, fragments) = links.anchors, links.texts
    lower = pc.utf8_lower(anchors)
    folded_codes, folded = codes_of(lower)
    is_section = pc.not_equal(fragments, "").to_numpy(zero_copy_only=False)[links.fragments]
    describes = pc.and_not(pc.match_substring_regex(anchors, r"[\p{L}\p{N}]"), is_direction(lower))
    chosen = describes.to_numpy(zero_copy_only=False)[codes]
    chosen[is_section] = _are_names(codes[is_section], anchors)
    chosen &= ~_is_address(codes, links.targets, lower, pages)
    columns = [links.hosts, folded_codes[codes], links.targets, links.fragments, is_section, links.is_own, codes]
    table = pa.table([column[chosen] for column in columns], [*_KEY, *_OF_KEY, "anchor"])
    votes = table.group_by([*_KEY, *_OF_KEY]).aggregate([("anchor", "min")])
    rows, folded = with_words_around(votes.rename_columns([*_KEY, *_OF_KEY, "anchor"]), folded)
    return Votes(rows, (names, folded, folded, anchors, fragments))


def is_direction(folded: pa.Array | pa.ChunkedArray) -> pa.Array | pa.ChunkedArray:
    """Whether each lower-case anchor says where a link leads from here, such as "next page", and not what is there.

    >>> is_direction(pa.array(["next", "« previous chapter", "read more", "next steps", "up"])).to_pylist()
    [True, True, True, False, True]
    """
    return pc.match_substring_regex(folded, _DIRECTION)


def keep_specific(votes: pa.Table) -> pa.Table:
    """The votes whose host uses the anchor for at most MAX_TARGETS targets: pages, or sections for votes for these.

    Needs all votes of a host and anchor.
    """
    groups = group_numbers(*(codes_of(votes[name])[0] for name in ("host", "folded", "is_section")))
    return votes.filter(pa.array(np.bincount(groups)[groups] <= MAX_TARGETS))


def count_votes(votes: pa.Table) -> pa.Table:
    """COUNTED: the number of hosts that use an anchor for a page or section. Needs all votes for these targets.

    An anchor that repeats another with words around does not count if these words are not specific either.
    Sorted: pages first, by target, then by hosts, most first; of equally many, those with the target's own first.
    """
    counted = _limited(without_words_around(votes)).group_by(["is_section", "target", "fragment", "folded"])
    counted = counted.aggregate([("anchor", "min"), ([], "count_all"), ("is_own", "any")])
    counted = counted.rename_columns({"anchor_min": "anchor", "count_all": "hosts"})
    order = [
        ("is_section", "ascending"),
        ("target", "ascending"),
        ("hosts", "descending"),
        ("is_own_any", "descending"),
    ]
    return counted.sort_by([*order, ("anchor", "ascending"), ("fragment", "ascending")]).select(COUNTED)


def anchors_of(counted: pa.Table, targets: Longs) -> pa.ListArray:
    """ANCHORS of each target, most hosts first, at most MAX_ANCHORS of each; none for a target of -1."""
    of_pages = counted.filter(pc.invert(counted["is_section"]))
    return _of_targets(of_pages, targets, MAX_ANCHORS, ["anchor", "hosts"]).cast(ANCHORS)


def names_of(counted: pa.Table, targets: Longs) -> pa.ListArray:
    """NAMES of each target, most hosts first, at most MAX_NAMES of each; none for a target of -1."""
    found = _of_targets(counted.filter(counted["is_section"]), targets, MAX_NAMES, ["fragment", "anchor", "hosts"])
    return found.cast(NAMES)


def _of_targets(counted: pa.Table, targets: Longs, most: int, columns: list[str]) -> pa.ListArray:
    """Columns of the rows of each target, in their order, at most `most` of each."""
    column = counted["target"].to_numpy()
    firsts, ends = np.searchsorted(column, targets, "left"), np.searchsorted(column, targets, "right")
    lengths = np.minimum(ends - firsts, most)
    found = counted.select(columns).take(pa.array(ranges(firsts, lengths)))
    values = pa.StructArray.from_arrays([found[name].combine_chunks() for name in columns], columns)
    return pa.ListArray.from_arrays(pa.array(offsets(lengths), pa.int32()), values)


def _limited(votes: pa.Table) -> pa.Table:
    """The votes without those of a host for a page of another host beyond the first MAX_ANCHORS_ABROAD.

    Of those for sections of the page, the first MAX_NAMES_ABROAD are left.
    """
    of_page = ["host", "target", "is_section"]
    counts = votes.filter(pc.invert(votes["is_own"])).group_by(of_page).aggregate([([], "count_all")])
    many = counts.filter(pc.greater(counts["count_all"], MAX_NAMES_ABROAD)).select(of_page)
    if not len(many):
        return votes
    order = [(column, "ascending") for column in (*of_page, "folded", "fragment")]
    some = votes.join(many, of_page, join_type="left semi").sort_by(order)
    lengths = some.group_by(of_page, use_threads=False).aggregate([([], "count_all")])["count_all"].to_numpy()
    places = np.arange(len(some)) - np.repeat(np.cumsum(lengths) - lengths, lengths)
    most = np.where(some["is_section"].to_numpy(), MAX_NAMES_ABROAD, MAX_ANCHORS_ABROAD)
    others = votes.join(many, of_page, join_type="left anti")
    return pa.concat_tables([others, some.filter(pa.array(places < most))])


def _are_names(codes: Longs, anchors: pa.Array) -> npt.NDArray[np.bool_]:
    """Whether each anchor, given as a number, is a name."""
    used, which = np.unique(codes, return_inverse=True)
    return np.array([term is not None for term in as_names(anchors.take(pa.array(used)))], bool)[which]


def _is_address(codes: Longs, targets: Longs, folded: pa.Array, pages: Pages) -> npt.NDArray[np.bool_]:
    """Whether each anchor looks like a URL and is the end of its target's URL, or of the path that it was made from."""
    looks = pc.match_substring_regex(folded, r"^\S*[./]\S*$").to_numpy(zero_copy_only=False)
    found = looks[codes]
    pairs, which = np.unique(codes[found] * max(1, len(pages.urls)) + targets[found], return_inverse=True)
    anchors, urls = folded.take(pairs // max(1, len(pages.urls))), pages.urls.take(pairs % max(1, len(pages.urls)))
    ends = [_is_end(url.lower(), text) for url, text in zip(urls.to_pylist(), anchors.to_pylist(), strict=True)]
    found[found] = np.array(ends, bool)[which]
    return found


def _is_end(url: str, anchor: str) -> bool:
    """Whether the anchor ends the URL, or has the same two last parts but for what follows a dot in the last one.

    >>> _is_end("http://a.org/process/howto.html", "documentation/process/howto.rst")
    True
    """
    return url.endswith(anchor) or ("/" in anchor and _last_parts(url) == _last_parts(anchor))


def _last_parts(path: str) -> tuple[str, str]:
    before, _, last = path.rpartition("/")
    return before.rpartition("/")[2], last.partition(".")[0]


_PARTS = "page|chapter|section|topic|part|step|post|article|entry|slide|item"
_DIRECTION = (
    rf"^[^\p{{L}}\p{{N}}]*((go )?(to )?(the )?(prev|previous|next)( ({_PARTS}))?|up|back|here|click here|more|read more"
    r"|zurück|weiter|précédent|suivant|anterior|siguiente|próximo|precedente|successivo|назад|вперёд|далее"
    r"|前へ|次へ|上一页|下一页|이전|다음)[^\p{L}\p{N}]*$"
)
