"""Finds near duplicates: groups signatures of all rounds by band, pairs them, and decides all pairs of a site."""

from collections.abc import Iterator
from typing import NamedTuple

import apache_beam as beam
import pyarrow as pa
import pyarrow.compute as pc
from apache_beam.pvalue import TaggedOutput

from ..batches.partitions import Partition, StageFn, tagged
from ..batches.stage_progress import StageProgress
from ..batches.writers import ByPartition
from ..tables.batches import Batch, batches_by, from_ipc, split, to_ipc
from ..tables.bloom import shards
from ..tables.key_scan import Wanted, matching_rows
from ..tables.schemas import NEAR
from ..tables.table_files import conform
from ..urls.canonical import host, site as site_of
from .clusters import DOCUMENT, ENTRIES, PAIRS, VERDICTS, decide, entries, find_pairs
from .exact import DUPLICATES

_ROWS_AT_A_TIME = 1 << 13  # of table near

ROUNDS = pa.schema([NEAR.field("url_key"), NEAR.field("round")])
"""The rounds of the documents in table near."""

CHANGED = pa.schema([NEAR.field("url_key")])
"""Documents that were visited before and have changed, and pages whose earlier content is replaced or gone."""


def changed_documents(documents: pa.Table) -> pa.Table:
    """The changed documents (DOCUMENT) that were visited before."""
    return documents.filter(pc.fill_null(documents["stays"], False))


def hosts_of_sites(documents: pa.Table) -> set[str]:
    """The hosts of the documents' sites, with and without `www.`: only documents of one site are compared."""
    sites = {site_of(host(url)) for url in documents["url"].to_pylist()}
    return sites | {f"www.{site}" for site in sites}


def read_earlier(
    path: str, bands: Wanted, hosts: list[str], root: str, count: int, shards_: int
) -> "Iterator[TaggedOutput]":
    """`earlier`: ENTRIES of the documents in a file of table near that share a band with the round's; `rounds`: ROUNDS.

    `bands` are those of the round, `hosts` the hosts of its documents' sites.
    """
    for rows in matching_rows(root, path, NEAR, Wanted("host", hosts)):
        hosts_of = pa.chunked_array([[host(url) for url in rows["url"].to_pylist()]], pa.string())
        yield from tagged("rounds", batches_by(conform(rows, ROUNDS), shards(hosts_of, shards_)))
        for start in range(0, rows.num_rows, _ROWS_AT_A_TIME):  # whose ten bands take a kilobyte a row
            part = conform(rows.slice(start, _ROWS_AT_A_TIME), DOCUMENT)
            yield from tagged("earlier", split(entries(part, bands), "band", count))


def _find_pairs(partition: Partition, round_: int, similarity: float) -> Iterator[Batch]:
    """The pairs of similar documents in a partition of the bands (ENTRIES), by shard of their site."""
    both = pa.concat_tables(from_ipc(partition[1][name], ENTRIES) for name in ("new", "earlier"))
    pairs = find_pairs(both, round_, similarity)
    yield from batches_by(pairs, pairs["shard"].to_pylist())


class Decided(NamedTuple):
    """The near duplicates of a round, as VERDICTS."""

    by_shard: "beam.PCollection[Batch]"
    by_url: "beam.PCollection[Batch]"


class DecideFn(StageFn):
    """Finds the near duplicates of a round and their representatives, of this round or of earlier ones.

    Takes what is known about the sites of a shard: PAIRS, DUPLICATES, ROUNDS and CHANGED.
    """

    def __init__(self, round_: int, similarity: float, count: int, progress: StageProgress | None = None) -> None:
        super().__init__(progress)
        self._round, self._similarity, self._count = round_, similarity, count

    def process(self, partition: Partition) -> "Iterator[TaggedOutput]":
        shard, sides = partition
        pairs = from_ipc(sides["pairs"], PAIRS)
        if not pairs.num_rows:
            return
        duplicates = set(from_ipc(sides["duplicates"], DUPLICATES)["url_key"].to_pylist())
        rounds = from_ipc(sides["rounds"], ROUNDS)
        rounds = rounds.filter(pc.is_in(rounds["url_key"], value_set=pairs["like_url_key"])).sort_by("round")
        newest = dict(zip(*rounds.to_pydict().values(), strict=True))
        newest |= dict.fromkeys(from_ipc(sides["changed"], CHANGED)["url_key"].to_pylist(), self._round)
        verdicts = decide(pairs.to_pylist(), newest, duplicates, self._round, self._similarity)
        table = pa.Table.from_pylist(verdicts, schema=VERDICTS)
        if table.num_rows:
            yield TaggedOutput("by_shard", (shard, to_ipc(table)))
        yield from tagged("by_url", split(table, "url_key", self._count))


class FindNearDuplicates(beam.PTransform):
    """Pairs the documents of a round with similar ones of all rounds, by band, and decides on all pairs of a site.

    Takes ENTRIES by band (`new`, `earlier`), and by shard DUPLICATES, ROUNDS and CHANGED.
    """

    def __init__(self, round_: int, similarity: float, decide: DecideFn) -> None:
        super().__init__()
        self._pair, self._decide = ByPartition(_find_pairs, round_, similarity), decide

    def expand(self, found: "dict[str, beam.PCollection]") -> "Decided":
        by_band = {name: found[name] for name in ("new", "earlier")}
        by_shard = {name: found[name] for name in ("duplicates", "changed", "rounds")}
        sites = by_shard | {"pairs": by_band | "FindPairs" >> self._pair}
        together = sites | "BySite" >> beam.CoGroupByKey()
        return Decided(*(together | "Decide" >> beam.ParDo(self._decide).with_outputs(*Decided._fields)))
