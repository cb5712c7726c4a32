"""Partitions the links of a crawl by key, when they are too many for one machine's memory.

The rules are those of `endorsements`, applied to the rows of one partition. The results are in `Scratch`: PAGES, HOSTS,
HOST_LINKS, LINKED, EDGES and ANCHORS of each partition. A page's place combines its partition and its number there.
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import apache_beam as beam
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ..tables.batches import Batch, from_ipc, split, split_by, to_ipc
from ..tables.bloom import shard
from ..tables.schemas import DOCUMENTS, KEY, LINKS
from ..tables.table_files import read_table
from . import anchors, endorsements
from .endorsements import Pages
from .pagerank import Longs
from .scratch import Scratch

PAGES = pa.schema([("key", KEY), ("url", pa.string())])
HOSTS = pa.schema([("host", pa.string()), ("pages", pa.int64())])
HOST_LINKS = pa.schema([("source", pa.string()), ("target", pa.string()), ("links", pa.int64())])
LINKED = pa.schema([("links", pa.int64()), ("hosts", pa.int64())])  # of each page, as in RANKS
EDGES = pa.schema(
    [("source", pa.int64()), ("target", pa.int64()), ("weight", pa.float64())]
)  # number, place; distinct, sorted by target
_ORDER = [("target", "ascending"), ("source", "ascending")]  # the sum of floats depends on their order
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
_KNOWN = pa.schema([("key", KEY), ("site", pa.string())])
_ALIASES = pa.schema([("key", KEY), ("source", KEY), ("target", KEY)])  # what represents a page as an end of links
_TEXTS = [("anchor", pa.string()), ("fragment", pa.string())]
_ENDORSING = pa.schema([("source_key", KEY), ("target_key", KEY), *_TEXTS])
_ARRIVING = pa.schema([("source", pa.int64()), ("host", pa.string()), ("target_key", KEY), *_TEXTS])
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

Grouped = tuple[int, Iterable[bytes]]


def places(partition: int | Longs, numbers: int | Longs) -> Longs:
    """The places of pages, by partition and number."""
    return (np.asarray(partition, np.int64) << _BITS) + numbers


def in_partition(place: Longs) -> tuple[Longs, Longs]:
    """The inverse of `places`: partitions and numbers."""
    return place >> _BITS, place & ((1 << _BITS) - 1)


def read_pages(scratch: Scratch, partition: int) -> Pages:
    """The pages of a partition."""
    return endorsements.pages_of(scratch.read("pages", partition, PAGES))


class GatherLinks(beam.PTransform):
    """Writes the partitioned links to `Scratch`. Redirects and duplicates must fit into memory, at 50 bytes each.

    Takes the paths of `links` and `documents`; has no output.
    """

    def __init__(self, root: str, scratch: Scratch, partitions: int) -> None:
        super().__init__()
        self._root, self._scratch, self._partitions = root, scratch, partitions

    def expand(self, paths: "dict[str, beam.PCollection[str]]") -> None:
        scratch, partitions = self._scratch, self._partitions
        read = paths["links"] | "ReadLinks" >> beam.FlatMap(_read_links, self._root, partitions).with_outputs(
            "ends", main="links"
        )
        copies = (
            paths["documents"]
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
            paths["links"].pipeline
            | "Once" >> beam.Create([None])
            | "FindAliases" >> beam.Map(_aliases, *joined, beam.pvalue.AsList(known))
        )
        arrived = (
            chosen.endorsing
            | "ReplaceAliases" >> beam.FlatMap(_replace_aliases, beam.pvalue.AsSingleton(aliases), partitions)
            | "GroupByRepresentative" >> beam.GroupByKey()
            | "NumberSources" >> beam.FlatMap(_number_sources, scratch, partitions)
            | "GroupByTarget" >> beam.GroupByKey()
            | "Arrive" >> beam.FlatMap(_arrive, scratch, partitions).with_outputs("edges", main="votes")
        )
        arrived.edges | "GroupEdges" >> beam.GroupByKey() | "WriteEdges" >> beam.Map(_write_edges, scratch)
        (
            arrived.votes
            | "GroupByAnchor" >> beam.GroupByKey()
            | "KeepSpecific" >> beam.FlatMap(_keep_specific)
            | "GroupVotes" >> beam.GroupByKey()
            | "WriteAnchors" >> beam.Map(_write_anchors, scratch)
        )


def _read_links(path: str, root: str, partitions: int) -> Iterator[Any]:
    links = read_table(root, [path], LINKS, endorsements.LINK_COLUMNS)
    for batch in split(endorsements.ends_of(links), "key", partitions):
        yield beam.pvalue.TaggedOutput("ends", batch)
    yield from split(links.select(_ROWS.names), "source_key", partitions)


def _read_documents(path: str, root: str, partitions: int) -> Iterator[Batch]:
    yield from split(read_table(root, [path], DOCUMENTS, endorsements.DOCUMENT_COLUMNS), "url_key", partitions)


def _duplicates(documents: Grouped) -> bytes:
    return to_ipc(endorsements.duplicates(from_ipc(documents[1], _VERSIONS)))


def _write_pages(ends: Grouped, scratch: Scratch, redirects: Sequence[bytes], copies: Sequence[bytes]) -> bytes:
    """Write the pages of a partition; return _KNOWN of those that are an end of a redirect, duplicates or have some."""
    partition, batches = ends
    pages = endorsements.pages_of(from_ipc(batches, PAGES))
    scratch.write("pages", partition, pa.table([pages.keys, pages.urls], schema=PAGES))
    counts = np.bincount(pages.host_of, minlength=len(pages.hosts))
    scratch.write("hosts", partition, pa.table([pages.hosts, pa.array(counts)], schema=HOSTS))
    pairs = (from_ipc(redirects, _REDIRECTS), from_ipc(copies, _DUPLICATES))
    wanted = pa.chunked_array([chunk for table in pairs for column in table.columns for chunk in column.chunks], KEY)
    is_wanted = pc.is_in(pages.keys, value_set=wanted)
    sites = endorsements.sites_of(pages).take(pa.array(pages.host_of).filter(is_wanted))
    return to_ipc(pa.table([pages.keys.filter(is_wanted), sites], schema=_KNOWN))


def _keep_latest(links: Grouped) -> Iterator[Any]:
    current = endorsements.current_links(from_ipc(links[1], _ROWS))
    yield beam.pvalue.TaggedOutput("redirects", to_ipc(current.redirects))
    yield to_ipc(current.endorsing)


def _aliases(_: None, redirects: Sequence[bytes], copies: Sequence[bytes], known: Sequence[bytes]) -> bytes:
    """_ALIASES of the pages that are an end of a redirect or a duplicate."""
    pages = from_ipc(known, _KNOWN).combine_chunks()
    keys = pages["key"].combine_chunks()
    targets = endorsements.representatives(keys, from_ipc(redirects, _REDIRECTS), from_ipc(copies, _DUPLICATES))
    sources = endorsements.as_sources(targets, pages["site"].combine_chunks())
    return to_ipc(pa.table([keys, *(keys.take(pa.array(ends)) for ends in (sources, targets))], schema=_ALIASES))


def _replace_aliases(links: bytes, aliases: bytes, partitions: int) -> Iterator[Batch]:
    """The links between representatives, by partition of the source, without links of a page to itself."""
    table, known = from_ipc([links], _ENDORSING), from_ipc([aliases], _ALIASES)
    for number, end in enumerate(("source", "target")):
        name = f"{end}_key"
        other = known[end].take(pc.index_in(table[name], value_set=known["key"]))
        table = table.set_column(number, name, pc.coalesce(other, table[name]))
    yield from split(table.filter(pc.not_equal(table["source_key"], table["target_key"])), "source_key", partitions)


def _number_sources(links: Grouped, scratch: Scratch, partitions: int) -> Iterator[Batch]:
    partition, batches = links
    table, pages = from_ipc(batches, _ENDORSING), read_pages(scratch, partition)
    numbers = pages.numbers(table["source_key"])
    hosts = pages.hosts.take(pa.array(pages.host_of[numbers]))
    columns = [pa.array(places(partition, numbers)), hosts, table["target_key"], table["anchor"], table["fragment"]]
    yield from split(pa.table(columns, schema=_ARRIVING), "target_key", partitions)


def _arrive(links: Grouped, scratch: Scratch, partitions: int) -> Iterator[Any]:
    """Count the links to the pages of a partition; yield edges by partition of the source, and votes."""
    partition, batches = links
    table, pages = from_ipc(batches, _ARRIVING), read_pages(scratch, partition)
    targets = pages.numbers(table["target_key"])
    hosts_of = pages.hosts.take(pa.array(pages.host_of[targets]))
    given = table.select(["source", "host", "anchor", "fragment"]).append_column("target", pa.array(targets))
    given = given.append_column("is_own", pc.equal(table["host"], hosts_of))

    edges, hosts = (given.group_by([end, "target"]).aggregate([])["target"] for end in ("source", "host"))
    counts = [pa.array(np.bincount(column.to_numpy(), minlength=len(pages.urls))) for column in (edges, hosts)]
    scratch.write("linked", partition, pa.table(counts, schema=LINKED))
    is_link = pc.equal(table["fragment"], "").cast(pa.int64())  # a section is a further vote, not a further link
    between = pa.table([table["host"], hosts_of, is_link], schema=HOST_LINKS)
    host_links = between.group_by(["source", "target"]).aggregate([("links", "sum")])
    scratch.write("host_links", partition, host_links.rename_columns(HOST_LINKS.names))

    names, _ = endorsements.sorted_codes(given["host"])
    weights = endorsements.weights_of(names, targets, given["anchor"], given["fragment"])
    weighted = given.append_column("weight", pa.array(weights)).group_by(["source", "target"])
    pairs = weighted.aggregate([("weight", "max")])
    source_in, numbers = in_partition(pairs["source"].to_numpy())
    columns = [pa.array(numbers), pa.array(places(partition, pairs["target"].to_numpy())), pairs["weight_max"]]
    pairs = pa.table(columns, schema=EDGES)
    for source, rows in split_by(pairs, source_in):
        yield beam.pvalue.TaggedOutput("edges", (source, to_ipc(rows)))

    found = anchors.votes_of(given, pages)
    votes = found.spelled(found.rows)
    votes = votes.append_column("partition", pa.array(np.full(votes.num_rows, partition)))
    pairs_of_votes = zip(votes["host"].to_pylist(), votes["folded"].to_pylist(), strict=True)
    for number, rows in split_by(votes, [shard(f"{host} {anchor}", partitions) for host, anchor in pairs_of_votes]):
        yield number, to_ipc(rows)


def _write_edges(edges: Grouped, scratch: Scratch) -> None:
    partition, batches = edges
    scratch.write("edges", partition, from_ipc(batches, EDGES).sort_by(_ORDER))


def _keep_specific(votes: Grouped) -> Iterator[Batch]:
    specific = anchors.keep_specific(from_ipc(votes[1], _VOTES))
    for partition, rows in split_by(specific, specific["partition"].to_numpy()):
        yield partition, to_ipc(rows)


def _write_anchors(votes: Grouped, scratch: Scratch) -> None:
    partition, batches = votes
    scratch.write("anchors", partition, anchors.count_votes(from_ipc(batches, _VOTES)))
