"""Finds near duplicates: groups signatures of all rounds by band, pairs them, and decides all pairs in one place."""

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

import apache_beam as beam
import pyarrow as pa
import pyarrow.compute as pc

from .. import urls
from ..storage.batches import Batch, from_ipc, split, split_by, to_ipc
from ..storage.key_scan import Wanted, matching_rows
from ..storage.schemas import NEAR
from ..storage.semi_join import CollectHosts, CollectKeys
from ..storage.table_files import conform
from .clusters import DOCUMENT, ENTRIES, PAIRS, VERDICTS, decide, entries, find_pairs
from .exact import DUPLICATES, RELEASED
from .minhash import BANDS


def _changed(batch: bytes) -> Iterator[tuple[None, bytes]]:
    """The keys of changed documents that were visited before."""
    documents = from_ipc([batch], DOCUMENT)
    for key in documents.filter(pc.fill_null(documents["stays"], False))["url_key"].to_pylist():
        yield None, key


def _released(batch: Batch) -> Iterator[tuple[None, bytes]]:
    """The keys of pages whose earlier content is replaced or gone."""
    for key in from_ipc([batch[1]], RELEASED)["url_key"].to_pylist():
        yield None, key


def _hosts_of_sites(batch: bytes) -> Iterator[str]:
    """The hosts of the documents' sites, with and without `www.`: only documents of one site are compared."""
    sites = {urls.site(urls.host(url)) for url in from_ipc([batch], DOCUMENT)["url"].to_pylist()}
    for site in sites:
        yield site
        yield f"www.{site}"


class _SpreadFn(beam.DoFn):
    def __init__(self, count: int) -> None:
        self._count = count

    def process(self, batch: bytes) -> Iterator[Batch]:
        yield from split(entries(from_ipc([batch], DOCUMENT)), "band", self._count)


class _ReadEarlierFn(beam.DoFn):
    """Takes a file of table near; emits its documents that share a band with the round's documents."""

    def __init__(self, root: str, count: int) -> None:
        self._root, self._count = root, count

    def process(self, path: str, bands: Wanted, hosts: Wanted) -> Iterator[Batch]:
        for rows in matching_rows(self._root, path, NEAR, hosts):
            found = entries(conform(rows, DOCUMENT))
            yield from split(found.filter(pa.array(bands.mask(found))), "band", self._count)


class _FindPairsFn(beam.DoFn):
    def __init__(self, round_: int, similarity: float) -> None:
        self._round, self._similarity = round_, similarity

    def process(self, partition: tuple[int, dict[str, Iterable[bytes]]]) -> Iterator[bytes]:
        _, sides = partition
        found = pa.concat_tables(from_ipc(sides[name], ENTRIES) for name in ("new", "earlier"))
        pairs = find_pairs(found, self._round, self._similarity)
        if pairs.num_rows:
            yield to_ipc(pairs)


class _DecideFn(beam.DoFn):
    def __init__(self, root: str, paths: Sequence[str], round_: int, similarity: float, count: int) -> None:
        self._root, self._paths = root, paths
        self._round, self._similarity, self._count = round_, similarity, count

    def process(self, together: tuple[None, dict[str, Iterable[bytes]]]) -> Iterator[Batch]:
        _, sides = together
        pairs = from_ipc(sides["pairs"], PAIRS)
        duplicates = set(from_ipc(sides["duplicates"], DUPLICATES)["url_key"].to_pylist())
        earlier = pairs.filter(pc.less(pairs["like_round"], self._round))
        newest = self._newest(earlier) | dict.fromkeys(sides["changed"], self._round)
        verdicts = decide(pairs.to_pylist(), newest, duplicates, self._round, self._similarity)
        table = pa.Table.from_pylist(verdicts, schema=VERDICTS)
        for shard, part in split_by(table, table["shard"].to_pylist()):
            yield shard, to_ipc(part)
        yield from (beam.pvalue.TaggedOutput("by_url", batch) for batch in split(table, "url_key", self._count))

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


class NearDuplicates(NamedTuple):
    """The outputs of `FindNearDuplicates`: VERDICTS, by shard and by partition of url_key."""

    by_shard: "beam.PCollection[Batch]"
    by_url: "beam.PCollection[Batch]"


class FindNearDuplicates(beam.PTransform):
    """Finds the near duplicates of a round and their representatives, of this round or of earlier ones.

    Takes {"documents": DOCUMENT in batches, also of those without a signature, "duplicates": DUPLICATES by shard,
    "released": RELEASED}; `paths` are those of table near, `expected` is the approximate number of documents of the
    round. The cost grows with the documents of the round, and with the signatures of earlier rounds that are read.
    """

    def __init__(
        self, root: str, round_: int, similarity: float, paths: Sequence[str], partitions: int, expected: int
    ) -> None:
        super().__init__()
        self._paths, self._expected = paths, expected
        self._spread = _SpreadFn(partitions)
        self._read = _ReadEarlierFn(root, partitions)
        self._pairs = _FindPairsFn(round_, similarity)
        self._decide = _DecideFn(root, paths, round_, similarity, partitions)

    def expand(self, sides: "dict[str, beam.PCollection]") -> "NearDuplicates":
        new = sides["documents"] | "Spread" >> beam.ParDo(self._spread)
        bands = new | "Bands" >> CollectKeys(self._expected * BANDS, "band", None)
        hosts = sides["documents"] | "HostsOfSites" >> beam.FlatMap(_hosts_of_sites) | "Hosts" >> CollectHosts()
        earlier = (
            sides["documents"].pipeline
            | "NearFiles" >> beam.Create(self._paths)
            | "ReadEarlier" >> beam.ParDo(self._read, beam.pvalue.AsSingleton(bands), beam.pvalue.AsSingleton(hosts))
        )
        pairs = (
            {"new": new, "earlier": earlier} | "WithEarlier" >> beam.CoGroupByKey() | "Pair" >> beam.ParDo(self._pairs)
        )
        changed = sides["documents"] | "Changed" >> beam.FlatMap(_changed)
        released = sides["released"] | "Released" >> beam.FlatMap(_released)
        together = {
            "pairs": pairs | "Pairs" >> beam.Map(lambda batch: (None, batch)),
            "changed": (changed, released) | "ChangedAndReleased" >> beam.Flatten(),
            "duplicates": sides["duplicates"] | "Duplicates" >> beam.MapTuple(lambda _, batch: (None, batch)),
        }
        verdicts = (
            together
            | "Together" >> beam.CoGroupByKey()
            | "Decide" >> beam.ParDo(self._decide).with_outputs("by_url", main="by_shard")
        )
        return NearDuplicates(verdicts.by_shard, verdicts.by_url)
