"""Finds near duplicates: groups signatures of all rounds by band, pairs them, and decides all pairs in one place."""

from collections.abc import Iterator, Sequence

import pyarrow as pa
import pyarrow.compute as pc
from apache_beam.pvalue import TaggedOutput

from .. import urls
from ..exchange.functions import Output, Partition, Side, StageFn
from ..exchange.summaries import Found, found
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


class ReadEarlierFn(StageFn):
    """Takes a file of table near; yields ENTRIES of its documents that share a band with the round's documents.

    The summary holds the round's "bands" (`Wanted`) and "sites", the hosts of its documents' sites.
    """

    entries = Output(ENTRIES, key="band")

    def __init__(self, root: str, count: int) -> None:
        self._root, self._count = root, count

    def process(self, path: str, summary: Found) -> Iterator[TaggedOutput]:
        if not (bands := found("bands", summary)):
            return
        for rows in matching_rows(self._root, path, NEAR, Wanted("host", found("sites", summary))):
            earlier = entries(conform(rows, DOCUMENT))
            yield from self.entries.split(earlier.filter(pa.array(bands.mask(earlier))), self._count)


class FindPairsFn(StageFn):
    """Pairs the similar documents in a partition of the bands."""

    new, earlier = Side(ENTRIES), Side(ENTRIES)
    pairs = Output(PAIRS)

    def __init__(self, round_: int, similarity: float) -> None:
        self._round, self._similarity = round_, similarity

    def process(self, partition: Partition) -> Iterator[TaggedOutput]:
        both = pa.concat_tables(side.table(partition[1]) for side in (self.new, self.earlier))
        pairs = find_pairs(both, self._round, self._similarity)
        if pairs.num_rows:
            yield self.pairs.once(pairs)


class DecideFn(StageFn):
    """Finds the near duplicates of a round and their representatives, of this round or of earlier ones.

    Takes what all partitions of the round have found; `paths` are those of table near.
    """

    pairs, duplicates = Side(PAIRS, in_one_place=True), Side(DUPLICATES, in_one_place=True)
    changed = Side(list[bytes], in_one_place=True)  # documents, and pages whose earlier content is replaced or gone
    by_shard, by_url = Output(VERDICTS), Output(VERDICTS, key="url_key")

    def __init__(self, root: str, paths: Sequence[str], round_: int, similarity: float, count: int) -> None:
        self._root, self._paths = root, paths
        self._round, self._similarity, self._count = round_, similarity, count

    def process(self, partition: Partition) -> Iterator[TaggedOutput]:
        sides = partition[1]
        pairs = self.pairs.table(sides)
        duplicates = set(self.duplicates.table(sides)["url_key"].to_pylist())
        earlier = pairs.filter(pc.less(pairs["like_round"], self._round))
        newest = self._newest(earlier) | dict.fromkeys(self.changed.values(sides), self._round)
        verdicts = decide(pairs.to_pylist(), newest, duplicates, self._round, self._similarity)
        table = pa.Table.from_pylist(verdicts, schema=VERDICTS)
        yield from self.by_shard.split_by(table, table["shard"].to_pylist())
        yield from self.by_url.split(table, self._count)

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
