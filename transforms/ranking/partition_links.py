"""Partitions the links of a crawl by key, so that no process has all of them in memory.

The rules are those of `endorsements`, applied to the rows of one partition. The results are in `Scratch`: PAGES, HOSTS,
HOST_LINKS, LINKED, EDGES and ANCHORS of each partition. A page's place combines its partition and its number there.
"""

import zlib
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import apache_beam as beam
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ..tables.batches import Batch, batches_by, from_ipc, read_ipc, split, split_by, to_ipc
from ..tables.bloom import partitions as key_partitions
from ..tables.schemas import DOCUMENTS, KEY, LINKS
from ..tables.table_files import read_table
from . import anchors, endorsements
from .endorsements import Pages
from .pagerank import Longs
from .read_links import Part, read_part
from .scratch import Scratch

ENDS = pa.schema([("key", KEY), ("url", pa.string())])
PAGES = ENDS.append(pa.field("host", pa.string()))
HOSTS = pa.schema([("host", pa.string()), ("pages", pa.int64())])
HOST_LINKS = pa.schema([("source", pa.string()), ("target", pa.string()), ("links", pa.int64())])
LINKED = pa.schema([("links", pa.int64()), ("hosts", pa.int64())])  # of each page, as in RANKS
# number in the block, place, and the share of the source's rank; distinct, sorted by target
EDGES = pa.schema([("source", pa.int32()), ("target", pa.int64()), ("share", pa.float64())])
ANCHORS = pa.schema(
    [
        *(("is_section", pa.bool_()), ("target", pa.int64()), ("fragment", pa.string())),
        *(("anchor", pa.string()), ("hosts", pa.int64())),
    ]
)  # anchors.COUNTED

_ROWS = pa.schema([LINKS.field(n) for n in endorsements.LINK_COLUMNS if not n.endswith("_url")])
_VERSIONS = pa.schema([DOCUMENTS.field(name) for name in endorsements.DOCUMENT_COLUMNS])
_DUPLICATES = pa.schema([("url_key", KEY), ("duplicate_of", KEY)])
_REDIRECTS = pa.schema([("source_key", KEY), ("target_key", KEY)])
_KNOWN = pa.schema([("key", KEY), ("host", pa.string())])
# What represents a page as an end of links, and the host of the source.
_ALIASES = pa.schema([("key", KEY), ("source", KEY), ("target", KEY), ("host", pa.string())])
_TEXTS = [("anchor", pa.string()), ("fragment", pa.string())]
_ENDORSING = pa.schema([("source_key", KEY), ("target_key", KEY), *_TEXTS])
_ARRIVING = pa.schema([*_ENDORSING, ("host", pa.string())])
_WEIGHTS = pa.schema([("source_key", KEY), ("target", pa.int64()), ("weight", pa.float64())])
_VOTES = pa.schema(
    [
        ("host", pa.string()),
        ("folded", pa.string()),
        ("target", pa.int64()),
        ("fragment", pa.string()),
        ("is_section", pa.bool_()),
        ("is_own", pa.bool_()),
        ("anchor", pa.string()),
        ("around", pa.string()),
        ("partition", pa.int64()),
    ]
)
_BITS = 32  # of a place, for the number
BLOCK = 8
"""Partitions whose edges are in one table: these take less memory than links do."""

Grouped = tuple[int, Iterable[bytes]]


def places(partition: int | Longs, numbers: int | Longs) -> Longs:
    """The places of pages, by partition and number."""
    return (np.asarray(partition, np.int64) << _BITS) + numbers


def in_partition(place: Longs) -> tuple[Longs, Longs]:
    """The inverse of `places`: partitions and numbers."""
    return place >> _BITS, place & ((1 << _BITS) - 1)


def read_pages(scratch: Scratch, partition: int) -> Pages:
    """The pages of a partition."""
    pages = scratch.read("pages", partition, PAGES).combine_chunks()
    host_of, hosts = endorsements.sorted_codes(pages["host"])
    return Pages(pages["key"].combine_chunks(), pages["url"].combine_chunks(), hosts, host_of)


class GatherLinks(beam.PTransform):
    """Writes the partitioned links to `Scratch`. Redirects and duplicates must fit into memory, at 50 bytes each.

    Takes lists of parts of files of `links`, and of paths of `documents`; has no output.
    """

    def __init__(self, root: str, scratch: Scratch, partitions: int) -> None:
        super().__init__()
        self._root, self._scratch, self._partitions = root, scratch, partitions

    def expand(self, read_from: "dict[str, beam.PCollection]") -> None:
        scratch, partitions = self._scratch, self._partitions
        read = read_from["links"] | "ReadLinks" >> beam.FlatMap(_read_links, self._root, partitions).with_outputs(
            "ends", main="links"
        )
        copies = (
            read_from["documents"]
            | "ReadDocuments" >> beam.FlatMap(_read_documents, self._root, partitions)
            | "GroupDocuments" >> beam.GroupByKey()
            | "FindDuplicates" >> beam.Map(_duplicates)
        )
        chosen = (
            read.links
            | "GroupBySource" >> beam.GroupByKey()
            | "KeepLatest" >> beam.FlatMap(_keep_latest).with_outputs("redirects", main="endorsing")
        )
        joined = (beam.pvalue.AsList(chosen.redirects), beam.pvalue.AsList(copies))
        known = read.ends | "GroupEnds" >> beam.GroupByKey() | "WritePages" >> beam.Map(_write_pages, scratch, *joined)
        # `known` depends on all pages, so steps with the aliases as a side input start after all pages are written.
        aliases = (
            read_from["links"].pipeline
            | "Once" >> beam.Create([None])
            | "FindAliases" >> beam.Map(_aliases, *joined, beam.pvalue.AsList(known))
        )
        arrived = (
            chosen.endorsing
            | "SpreadLinks" >> beam.Reshuffle()
            | "ReplaceAliases" >> beam.FlatMap(_replace_aliases, beam.pvalue.AsSingleton(aliases), scratch, partitions)
            | "GroupByTarget" >> beam.GroupByKey()
            | "Arrive" >> beam.FlatMap(_arrive, scratch, partitions).with_outputs("edges", main="votes")
        )
        arrived.edges | "GroupEdges" >> beam.GroupByKey() | "WriteEdges" >> beam.Map(_write_edges, scratch, partitions)
        (
            arrived.votes
            | "GroupByAnchor" >> beam.GroupByKey()
            | "KeepSpecific" >> beam.FlatMap(_keep_specific)
            | "GroupVotes" >> beam.GroupByKey()
            | "WriteAnchors" >> beam.Map(_write_anchors, scratch)
        )


def _read_links(parts: Sequence[Part], root: str, partitions: int) -> Iterator[Any]:
    links = pa.concat_tables(read_part(root, part, endorsements.LINK_COLUMNS) for part in parts)
    for batch in split(endorsements.ends_of(links), "key", partitions):
        yield beam.pvalue.TaggedOutput("ends", batch)
    yield from split(links.select(_ROWS.names), "source_key", partitions)


def _read_documents(paths: Sequence[str], root: str, partitions: int) -> Iterator[Batch]:
    yield from split(read_table(root, paths, DOCUMENTS, endorsements.DOCUMENT_COLUMNS), "url_key", partitions)


def _duplicates(documents: Grouped) -> bytes:
    return to_ipc(endorsements.duplicates(from_ipc(documents[1], _VERSIONS)))


def _write_pages(ends: Grouped, scratch: Scratch, redirects: Sequence[bytes], copies: Sequence[bytes]) -> bytes:
    """Write the pages of a partition; return _KNOWN of those that are an end of a redirect, duplicates or have some."""
    partition, batches = ends
    pages = endorsements.pages_of(from_ipc(batches, ENDS))
    hosts = pages.hosts.take(pa.array(pages.host_of))
    scratch.write("pages", partition, pa.table([pages.keys, pages.urls, hosts], schema=PAGES))
    counts = np.bincount(pages.host_of, minlength=len(pages.hosts))
    scratch.write("hosts", partition, pa.table([pages.hosts, pa.array(counts)], schema=HOSTS))
    pairs = (from_ipc(redirects, _REDIRECTS), from_ipc(copies, _DUPLICATES))
    wanted = pa.chunked_array([chunk for table in pairs for column in table.columns for chunk in column.chunks], KEY)
    return to_ipc(pa.table([pages.keys, hosts], schema=_KNOWN).filter(pc.is_in(pages.keys, value_set=wanted)))


def _keep_latest(links: Grouped) -> Iterator[Any]:
    """The links that endorse, by partition of the source, and redirects."""
    current = endorsements.current_links(from_ipc(links[1], _ROWS))
    yield beam.pvalue.TaggedOutput("redirects", to_ipc(current.redirects))
    yield links[0], to_ipc(current.endorsing)


def _aliases(_: None, redirects: Sequence[bytes], copies: Sequence[bytes], known: Sequence[bytes]) -> bytes:
    """_ALIASES of the pages that are an end of a redirect or a duplicate."""
    pages = from_ipc(known, _KNOWN).combine_chunks()
    keys, hosts = (pages[name].combine_chunks() for name in _KNOWN.names)
    targets = endorsements.representatives(keys, from_ipc(redirects, _REDIRECTS), from_ipc(copies, _DUPLICATES))
    sources = pa.array(endorsements.as_sources(targets, endorsements.sites_of(hosts)))
    columns = [keys, keys.take(sources), keys.take(pa.array(targets)), hosts.take(sources)]
    return to_ipc(pa.table(columns, schema=_ALIASES))


def _replace_aliases(links: Batch, aliases: bytes, scratch: Scratch, partitions: int) -> Iterator[Batch]:
    """_ARRIVING: the links between representatives, by partition of the target, without those of a page to itself."""
    (partition, batch), known = links, read_ipc(aliases)
    table, pages = from_ipc([batch], _ENDORSING), read_pages(scratch, partition)
    sources, targets = (pc.index_in(table[f"{end}_key"], value_set=known["key"]) for end in ("source", "target"))
    hosts = pages.hosts.take(pa.array(pages.host_of[pages.numbers(table["source_key"])]))
    columns = [
        pc.coalesce(known["source"].take(sources), table["source_key"]),
        pc.coalesce(known["target"].take(targets), table["target_key"]),
        *table.select(["anchor", "fragment"]).columns,
        pc.coalesce(known["host"].take(sources), hosts),
    ]
    found = pa.table(columns, schema=_ARRIVING)
    yield from split(found.filter(pc.not_equal(found["source_key"], found["target_key"])), "target_key", partitions)


def _arrive(links: Grouped, scratch: Scratch, partitions: int) -> Iterator[Any]:
    """Count the links to the pages of a partition; yield edges by partition of the source, and votes."""
    partition, batches = links
    table, pages = from_ipc(batches, _ARRIVING).combine_chunks(), read_pages(scratch, partition)
    targets = pages.numbers(table["target_key"])
    given, count = anchors.Links.of(table, targets, pages), len(pages.urls)

    weights = endorsements.weights_of(given.hosts, targets, given.anchors, given.fragments)
    columns = [table["source_key"], pa.array(targets), pa.array(weights)]
    edges = pa.table(columns, schema=_WEIGHTS).group_by(["source_key", "target"]).aggregate([("weight", "max")])
    by_host = np.unique(given.hosts * count + targets) % max(1, count)  # a page for each host that links to it
    linked = (np.bincount(ends, minlength=count) for ends in (edges["target"].to_numpy(), by_host))
    scratch.write("linked", partition, pa.table([*linked], schema=LINKED))
    edges = edges.set_column(1, "target", pa.array(places(partition, edges["target"].to_numpy())))
    blocks = key_partitions(edges["source_key"], partitions) // BLOCK
    for batch in batches_by(edges.rename_columns(_WEIGHTS.names), blocks):
        yield beam.pvalue.TaggedOutput("edges", batch)

    # A section is a further vote, not a further link.
    is_link = pc.equal(table["fragment"], "").cast(pa.int64())
    hosts_of = pages.hosts.take(pa.array(pages.host_of[targets]))
    between = pa.table([table["host"], hosts_of, is_link], schema=HOST_LINKS)
    host_links = between.group_by(["source", "target"]).aggregate([("links", "sum")])
    scratch.write("host_links", partition, host_links.rename_columns(HOST_LINKS.names))

    votes = anchors.votes_of(given, pages).spelled()
    votes = votes.append_column("partition", pa.array(np.full(votes.num_rows, partition)))
    yield from batches_by(votes, _partitions_of(votes["host"], votes["folded"], partitions))


def _partitions_of(hosts: pa.ChunkedArray, folded: pa.ChunkedArray, partitions: int) -> Longs:
    """The partition of each pair of a host and an anchor."""
    pairs = zip(hosts.cast(pa.binary()).to_pylist(), folded.cast(pa.binary()).to_pylist(), strict=True)
    return np.array([zlib.crc32(anchor, zlib.crc32(host)) for host, anchor in pairs], np.int64) * partitions >> 32


def _write_edges(edges: Grouped, scratch: Scratch, partitions: int) -> None:
    """Write the edges of a block. The order of keys is that of partitions, too, so pages are numbered through them."""
    block, batches = edges
    numbers = range(block * BLOCK, min(block * BLOCK + BLOCK, partitions))
    keys = pa.concat_tables(scratch.read("pages", number, PAGES).select(["key"]) for number in numbers)["key"]
    table = from_ipc(batches, _WEIGHTS)
    sources = pc.index_in(table["source_key"], value_set=keys).to_numpy()
    targets, weights = table["target"].to_numpy(), table["weight"].to_numpy()
    order = np.lexsort((sources, targets))  # sums of floats depend on it
    sources, targets, weights = sources[order], targets[order], weights[order]
    shares = weights / np.bincount(sources, weights)[sources]
    scratch.write("edges", block, pa.table([sources, targets, shares], schema=EDGES))


def _keep_specific(votes: Grouped) -> Iterator[Batch]:
    specific = anchors.keep_specific(from_ipc(votes[1], _VOTES))
    for partition, rows in split_by(specific, specific["partition"].to_numpy()):
        yield partition, to_ipc(rows)


def _write_anchors(votes: Grouped, scratch: Scratch) -> None:
    partition, batches = votes
    scratch.write("anchors", partition, anchors.count_votes(from_ipc(batches, _VOTES)))
