"""Finds near duplicates: groups signatures of all rounds by band, pairs them, and decides all pairs in one place."""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import apache_beam as beam
import pyarrow as pa
import pyarrow.compute as pc
from apache_beam.pvalue import TaggedOutput

from .. import urls
from ..batches.partitions import Partition, StageFn, in_one_place, tagged, values
from ..batches.stage_progress import StageProgress
from ..batches.writers import ByPartition
from ..tables.batches import Batch, batches_by, from_ipc, split, to_ipc
from ..tables.key_scan import Wanted, matching_rows
from ..tables.schemas import NEAR
from ..tables.table_files import conform
from .clusters import DOCUMENT, ENTRIES, PAIRS, VERDICTS, decide, entries, find_pairs
from .exact import DUPLICATES


def changed_documents(documents: pa.Table) -> list[bytes]:
    """The keys of changed documents (DOCUMENT) that were visited before."""
    keys: list[bytes] = documents.filter(pc.fill_null(documents["stays"], False))["url_key"].to_pylist()
    return keys


def hosts_of_sites(documents: pa.Table) -> set[str]:
    """The hosts of the documents' sites, with and without `www.`: only documents of one site are compared."""
    sites = {urls.site(urls.host(url)) for url in documents["url"].to_pylist()}
    return sites | {f"www.{site}" for site in sites}


def read_earlier(path: str, bands: Wanted, hosts: list[str], root: str, count: int) -> Iterator[Batch]:
    """ENTRIES of the documents in a file of table near that share a band with the round's documents.

    `bands` are those of the round, `hosts` the hosts of its documents' sites.
    """
    for rows in matching_rows(root, path, NEAR, Wanted("host", hosts)):
        earlier = entries(conform(rows, DOCUMENT))
        yield from split(earlier.filter(pa.array(bands.mask(earlier))), "band", count)


def _find_pairs(partition: Partition, round_: int, similarity: float) -> Iterator[Batch]:
    """The pairs of similar documents in a partition of the bands (ENTRIES)."""
    both = pa.concat_tables(from_ipc(partition[1][name], ENTRIES) for name in ("new", "earlier"))
    pairs = find_pairs(both, round_, similarity)
    if pairs.num_rows:
        yield 0, to_ipc(pairs)


class Decided(NamedTuple):
    """The near duplicates of a round, as VERDICTS."""

    by_shard: "beam.PCollection[Batch]"
    by_url: "beam.PCollection[Batch]"


class DecideFn(StageFn):
    """Finds the near duplicates of a round and their representatives, of this round or of earlier ones.

    Takes what all partitions of the round have found: PAIRS, DUPLICATES, and the keys of `changed` documents and of
    pages whose earlier content is replaced or gone; `paths` are those of table near.
    """

    def __init__(
        self,
        root: str,
        paths: Sequence[str],
        round_: int,
        similarity: float,
        count: int,
        progress: StageProgress | None = None,
    ) -> None:
        super().__init__(progress)
        self._root, self._paths = root, paths
        self._round, self._similarity, self._count = round_, similarity, count

    def process(self, partition: Partition) -> "Iterator[TaggedOutput]":
        sides = partition[1]
        pairs = from_ipc(sides["pairs"], PAIRS)
        duplicates = set(from_ipc(sides["duplicates"], DUPLICATES)["url_key"].to_pylist())
        earlier = pairs.filter(pc.less(pairs["like_round"], self._round))
        newest = self._newest(earlier) | dict.fromkeys(values(sides["changed"]), self._round)
        verdicts = decide(pairs.to_pylist(), newest, duplicates, self._round, self._similarity)
        table = pa.Table.from_pylist(verdicts, schema=VERDICTS)
        yield from tagged("by_shard", batches_by(table, table["shard"].to_pylist()))
        yield from tagged("by_url", split(table, "url_key", self._count))

    def _newest(self, pairs: pa.Table) -> dict[bytes, int]:
        """The round of the newest row of table near for each document that is similar to one of the pairs."""
        newest: dict[bytes, int] = {}
        if not pairs.num_rows:
            return newest
        hosts = [urls.host(url) for url in pairs["like_url"].to_pylist()]
        wanted = Wanted.of(pa.table({"url_key": pairs["like_url_key"], "host": hosts}), "url_key", "host")
        for path in self._paths:
            for rows in matching_rows(self._root, path, NEAR, wanted, ["url_key", "round"]):
                for key, round_ in zip(rows["url_key"].to_pylist(), rows["round"].to_pylist(), strict=True):
                    newest[key] = max(round_, newest.get(key, 0))
        return newest


class FindNearDuplicates(beam.PTransform):
    """Pairs the documents of a round with similar ones of all rounds, by band, and decides on all pairs in one place.

    Takes ENTRIES by band (`new`, `earlier`), DUPLICATES and the keys of changed documents.
    """

    def __init__(self, round_: int, similarity: float, decide: DecideFn) -> None:
        super().__init__()
        self._pair, self._decide = ByPartition(_find_pairs, round_, similarity), decide

    def expand(self, found: "dict[str, beam.PCollection]") -> "Decided":
        by_band = {name: found[name] for name in ("new", "earlier")}
        sides = {
            "pairs": by_band | "FindPairs" >> self._pair,
            "duplicates": found["duplicates"] | "DuplicatesInOnePlace" >> beam.Map(in_one_place),
            "changed": found["changed"] | "ChangedInOnePlace" >> beam.Map(in_one_place),
        }
        together = sides | "Together" >> beam.CoGroupByKey()
        return Decided(*(together | "Decide" >> beam.ParDo(self._decide).with_outputs(*Decided._fields)))
