"""Endorsements: the edges between pages that links make."""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ..urls.canonical import host, site
from ..urls.relations import NOT_ENDORSING
from .pagerank import Floats, Longs, resolve

ENDORSING_KINDS = ("a", "area")
"""Kinds of links that people follow."""

LINK_COLUMNS = [
    *("source_key", "source_url", "target_key", "target_url", "anchor", "rel", "kind", "round", "from_duplicate"),
    "fragments",
]
DOCUMENT_COLUMNS = ["url_key", "duplicate_of", "round"]


class Pages(NamedTuple):
    """Numbered URLs at either end of links: all of them, or those of a partition."""

    keys: pa.Array  # url_key
    urls: pa.Array
    hosts: pa.Array  # names, sorted
    host_of: Longs

    def numbers(self, keys: pa.Array | pa.ChunkedArray) -> Longs:
        """The numbers of URLs by their keys; -1 for a page without links from or to it."""
        return _numbers(keys, self.keys)


class CurrentLinks(NamedTuple):
    """The links found at the last visit of their source that count for ranking."""

    endorsing: pa.Table  # source_key, target_key, anchor, fragment: "" is the page as a whole
    redirects: pa.Table  # source_key, target_key


def ends_of(links: pa.Table) -> pa.Table:
    """`key` and `url` of both ends of links, without repetitions."""
    ends = [links.select([f"{end}_key", f"{end}_url"]).rename_columns(["key", "url"]) for end in ("source", "target")]
    return pa.concat_tables(ends).group_by(["key", "url"]).aggregate([])


def pages_of(ends: pa.Table) -> Pages:
    """Numbers the URLs at the ends of links, in the order of their keys."""
    rows = ends.group_by("key").aggregate([("url", "min")]).sort_by("key")
    urls = rows["url_min"].combine_chunks()
    host_of, names = sorted_codes(pa.array(map(host, urls.to_pylist()), pa.string()))
    return Pages(rows["key"].combine_chunks(), urls, names, host_of)


def codes_of(column: pa.Array | pa.ChunkedArray) -> tuple[Longs, pa.Array]:
    """The distinct strings of a column, and the number of each of its rows among them."""
    whole = column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column  # else each chunk is compared
    encoded = whole.dictionary_encode()
    return encoded.indices.to_numpy().astype(np.int64), encoded.dictionary


def sorted_codes(column: pa.Array | pa.ChunkedArray) -> tuple[Longs, pa.Array]:
    """`codes_of` strings in their order.

    >>> codes, texts = sorted_codes(pa.chunked_array([["b", "a"], ["b"]]))
    >>> codes.tolist(), texts.to_pylist()
    ([1, 0, 1], ['a', 'b'])
    """
    codes, texts = codes_of(column)
    order = pc.array_sort_indices(texts)
    places = np.empty(len(order), np.int64)
    places[order.to_numpy()] = np.arange(len(order))
    return places[codes], texts.take(order)


def group_numbers(*columns: Longs) -> Longs:
    """The number of the group of rows that are alike in all columns, which have numbers from 0 on.

    >>> group_numbers(np.array([1, 0, 1, 1]), np.array([5, 5, 5, 6])).tolist()
    [1, 0, 1, 2]
    """
    groups = np.zeros(len(columns[0]), np.int64)
    for numbers in columns:
        _, groups = np.unique(groups * (numbers.max(initial=0) + 1) + numbers, return_inverse=True)
    return groups


def current_links(links: pa.Table) -> CurrentLinks:
    """The links that count: no nofollow, none of duplicates. `links` has LINK_COLUMNS, and all links of a source.

    The `rel` of a row is that of one link to the page. Sections have only links that endorse, so they need none.
    """
    sources = links["source_key"].combine_chunks().dictionary_encode()
    numbers, rounds = sources.indices.to_numpy(), links["round"].to_numpy()
    last = np.zeros(len(sources.dictionary), np.int64)
    np.maximum.at(last, numbers, rounds)
    is_last = rounds == last[numbers]
    kinds, ends = links["kind"], links.select(["source_key", "target_key"])
    is_whole = pc.invert(pc.fill_null(links["from_duplicate"], False)).to_numpy() & is_last
    is_followed = pc.is_in(kinds, value_set=pa.array(ENDORSING_KINDS)).to_numpy() & is_whole
    endorses = pc.invert(pc.match_substring_regex(pc.fill_null(links["rel"], ""), _NO_ENDORSEMENT)).to_numpy()
    pages, sections = links.filter(pa.array(is_followed & endorses)), links.filter(pa.array(is_followed))
    is_redirect = pa.array(pc.equal(kinds, "redirect").to_numpy() & is_last)
    return CurrentLinks(pa.concat_tables([_of_pages(pages), *_of_sections(sections)]), ends.filter(is_redirect))


def _of_pages(links: pa.Table) -> pa.Table:
    rows = links.select(["source_key", "target_key"]).append_column("anchor", pc.fill_null(links["anchor"], ""))
    return rows.append_column("fragment", pa.repeat("", len(links)))


def _of_sections(links: pa.Table) -> Iterator[pa.Table]:
    """A row for each section that a link leads to; batch by batch, because one array has at most 2 GiB of text."""
    for batch in links.select(["source_key", "target_key", "fragments"]).to_batches():
        lists = batch["fragments"]
        ends, sections = batch.select(["source_key", "target_key"]).take(pc.list_parent_indices(lists)), lists.flatten()
        rows = pa.Table.from_batches([ends]).append_column("anchor", sections.field("anchor"))
        yield rows.append_column("fragment", sections.field("id"))


def weights_of(hosts: Longs, targets: Longs, anchors: Longs, fragments: Longs) -> Floats:
    """How much each link counts for the rank of its target: 1/√n, if n links of its host to it have its anchor.

    So a host whose n pages say the same of a page or section, as those of a menu do, has √n votes for it. All are
    numbers. Needs all links to these targets.
    """
    groups = group_numbers(hosts, targets, anchors, fragments)
    return 1 / np.sqrt(np.bincount(groups)[groups])


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


def sites_of(hosts: pa.Array | pa.ChunkedArray) -> pa.Array:
    """The site of each host."""
    return pa.array(map(site, hosts.to_pylist()), pa.string())


def as_sources(representatives: Longs, sites: pa.Array) -> Longs:
    """The number of the page that stands for each page as a source of links: its representative, if of the same site.

    A page may redirect (Refresh) to another site and have links. Counted as links of that site, they would give its
    rank and its votes to whatever they lead to.

    >>> as_sources(np.array([1, 1, 1]), pa.array(["a", "a", "b"])).tolist()
    [1, 1, 2]
    """
    numbers, _ = sorted_codes(pa.chunked_array([sites]))
    return np.where(numbers[representatives] == numbers, representatives, np.arange(len(representatives)))


def _numbers(keys: pa.Array | pa.ChunkedArray, known: pa.Array) -> Longs:
    return pc.fill_null(pc.index_in(keys, value_set=known), -1).to_numpy(zero_copy_only=False).astype(np.int64)


_NO_ENDORSEMENT = rf"(?i)(^|\s)({'|'.join(sorted(NOT_ENDORSING))})(\s|$)"
