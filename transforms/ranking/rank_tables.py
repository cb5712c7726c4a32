"""Writes the results of ranking: the tables `ranks` and `host_ranks`, and the link data of index segments."""

import itertools
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from ..indexing.invert import Inverted
from ..indexing.link_folders import Name, as_names, invert_links, write_link_index
from ..indexing.merge import blocks_of, merge_blocks
from ..indexing.segment_files import read_file
from ..indexing.write_segment import DOCS
from ..memory.bounds import INVERTED_LINKS
from ..tables.schemas import HOST_RANKS, RANKS
from ..tables.table_files import TableFile, TableWriter
from .anchors import ANCHORS, NAMES, anchors_of, names_of
from .endorsements import Pages
from .pagerank import Floats, Longs, distinct, harmonic_centrality, pagerank

LINK_DATA = pa.schema([("link_rank", pa.float64()), ("anchors", ANCHORS), ("names", NAMES)])
"""The link data of a document."""

_ROW_GROUP = 10_000
_TERMS = 16_384  # of each part that are merged at a time


class PageRanks(NamedTuple):
    """The ranks of pages, as parallel arrays."""

    ranks: Floats
    links: Longs  # pages that link to it
    hosts: Longs  # hosts of these pages


def write_ranks(root: str, round_: int, pages: Pages, page_ranks: PageRanks, anchors: pa.Table) -> TableFile | None:
    """Write a file of `ranks` with these pages; `anchors` is that of `count_votes`."""
    count = len(pages.urls)
    writer = TableWriter(root, "ranks", round_)
    for start in range(0, count, _ROW_GROUP):
        part = slice(start, start + _ROW_GROUP)
        columns = {
            "url_key": pages.keys[part],
            "url": pages.urls[part],
            "host": pages.hosts.take(pa.array(pages.host_of[part])),
            "round": pa.array(np.full(len(pages.urls[part]), round_), pa.int32()),
            "link_rank": page_ranks.ranks[part],
            "links": page_ranks.links[part],
            "link_hosts": page_ranks.hosts[part],
            "anchors": anchors_of(anchors, np.arange(count)[part]),
            "names": names_of(anchors, np.arange(count)[part]),
        }
        writer.write(pa.table(columns, RANKS))
    return writer.close()


def write_host_ranks(root: str, round_: int, hosts: pa.Array, sources: Longs, targets: Longs) -> TableFile | None:
    """Write the file of `host_ranks` from links between hosts, given as numbers of hosts."""
    count = len(hosts)
    sources, targets = distinct(sources, targets, count)
    columns = {
        "host": hosts,
        "round": pa.array([round_] * count, pa.int32()),
        "centrality": pa.array(harmonic_centrality(sources, targets, count)),
        "link_rank": pa.array(pagerank(sources, targets, count)),
        "link_hosts": pa.array(np.bincount(targets, minlength=count)),
    }
    writer = TableWriter(root, "host_ranks", round_)
    writer.write(pa.table(columns, HOST_RANKS))
    return writer.close()


def link_data(keys: pa.ChunkedArray, pages: Pages, ranks: Floats, anchors: pa.Table) -> pa.Table:
    """LINK_DATA of the documents with these keys; a document without links has rank 0 and no anchors."""
    numbers = pages.numbers(keys)
    link_ranks = np.append(ranks, 0.0)[numbers]  # -1, a page without links, takes the last
    columns = [pa.array(link_ranks), anchors_of(anchors, numbers), names_of(anchors, numbers)]
    return pa.table(columns, schema=LINK_DATA)


def add_links(
    root: str, segment: str, folder: str, links: pa.Table, most: int = INVERTED_LINKS, terms: int = _TERMS
) -> list[TableFile]:
    """Write a folder of link data of a segment, and return its files.

    `links` has LINK_DATA of its documents, in their order. In memory are the inverted links, and what inverting those
    of `most` documents takes.
    """
    languages = read_file(root, f"{segment}/{DOCS}", ["language"])["language"].to_pylist()
    parts = [
        _inverted(languages[start : start + most], links.slice(start, most)) for start in range(0, len(languages), most)
    ]
    lengths = np.concatenate([part.lengths["anchors"] for part in parts])
    docs = pa.table({"link_rank": links["link_rank"].cast(pa.float32()), "length_anchors": pa.array(lengths)})
    numbers = np.split(np.arange(len(languages)), range(most, len(languages), most))
    blocks = merge_blocks([blocks_of(part, terms) for part in parts], numbers)
    return write_link_index(root, folder, languages, blocks, docs)


def _inverted(languages: list[str | None], links: pa.Table) -> Inverted:
    anchors = [[a["anchor"] for a in given for _ in range(a["hosts"])] for given in links["anchors"].to_pylist()]
    return invert_links(languages, anchors, _by_term(links["names"].combine_chunks()))


def _by_term(column: pa.ListArray) -> list[dict[str, Name]]:
    """The names of the sections of each page by their terms, each of the section that most hosts use it for.

    So a host that calls three sections alike has one vote. The page's own host comes first, as in `names`.
    """
    anchors, hosts, fragments = (column.flatten().field(name) for name in ("anchor", "hosts", "fragment"))
    distinct = anchors.dictionary_encode()
    terms = list(as_names(distinct.dictionary))
    rows = zip(distinct.indices.to_pylist(), hosts.to_pylist(), fragments.to_pylist(), strict=True)
    found = list[dict[str, Name]]()
    for count in column.value_lengths().to_pylist():
        of_page = dict[str, Name]()
        for code, uses, fragment in itertools.islice(rows, count):
            if term := terms[code]:
                of_page.setdefault(term, Name(uses, fragment))
        found.append(of_page)
    return found
