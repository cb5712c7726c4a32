"""What is written of the link graph: `ranks`, `host_ranks`, and what links say of the documents of a segment."""

from typing import NamedTuple

import numpy as np
import pyarrow as pa

from ..indexing.link_folders import write_links
from ..indexing.write_segment import DOCS
from ..storage.schemas import HOST_RANKS, RANKS
from ..storage.table_files import TableFile, TableWriter, open_parquet
from . import endorsements
from .endorsements import Pages
from .pagerank import Floats, Longs, distinct, harmonic_centrality, pagerank

ANCHORS = RANKS.field("anchors").type
FOUND = pa.schema([("link_rank", pa.float64()), ("anchors", ANCHORS)])
"""What links say of a document."""

_ROW_GROUP = 10_000


class PageRanks(NamedTuple):
    """What links say of each of some pages, as parallel arrays."""

    ranks: Floats
    links: Longs  # pages that link to it
    hosts: Longs  # and their hosts


def write_ranks(root: str, round_: int, pages: Pages, standing: PageRanks, tallied: pa.Table) -> TableFile | None:
    """Write a file of `ranks` with these pages."""
    count = len(pages.urls)
    writer = TableWriter(root, "ranks", round_)
    for start in range(0, count, _ROW_GROUP):
        part = slice(start, start + _ROW_GROUP)
        columns = {
            "url_key": pages.keys[part],
            "url": pages.urls[part],
            "host": pages.hosts.take(pa.array(pages.host_of[part])),
            "round": pa.array([round_] * len(pages.urls[part])),
            "link_rank": standing.ranks[part],
            "links": standing.links[part],
            "link_hosts": standing.hosts[part],
            "anchors": endorsements.anchors_of(tallied, np.arange(count)[part]),
        }
        writer.write(pa.table({name: pa.array(columns[name], RANKS.field(name).type) for name in RANKS.names}))
    return writer.close()


def write_host_ranks(root: str, round_: int, hosts: pa.Array, sources: Longs, targets: Longs) -> TableFile | None:
    """Write the file of `host_ranks`, by the links between hosts; these are numbers of hosts."""
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


def found(keys: pa.ChunkedArray, pages: Pages, ranks: Floats, tallied: pa.Table) -> pa.Table:
    """FOUND of the documents with these keys, of which links may know none."""
    numbers = pages.numbers(keys)
    link_ranks = np.append(ranks, 0.0)[numbers]  # -1, a page that no link knows, is the last
    return pa.table([pa.array(link_ranks), pa.array(endorsements.anchors_of(tallied, numbers), ANCHORS)], schema=FOUND)


def add_links(root: str, segment: str, folder: str, found: pa.Table) -> None:
    """Write what links say of the documents of a segment: FOUND of each, in their order (`index_links`)."""
    with open_parquet(root, f"{segment}/{DOCS}") as file:
        languages = file.read(["language"])["language"].to_pylist()
    anchors = [[a["anchor"] for a in given for _ in range(a["hosts"])] for given in found["anchors"].to_pylist()]
    write_links(root, folder, languages, anchors, found["link_rank"].to_numpy())


def doc_keys(root: str, segment: str) -> pa.ChunkedArray:
    """The URL keys of a segment's documents, in their order."""
    with open_parquet(root, f"{segment}/{DOCS}") as file:
        return file.read(["url_key"])["url_key"]
