"""Finds near duplicates: groups signatures of all rounds by band, pairs them, and decides all pairs in one place."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import apache_beam as beam
import pyarrow as pa
import pyarrow.compute as pc

from .. import urls
from ..tables.batches import Batch, from_ipc, split, split_by, to_ipc
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


def spread(documents: pa.Table, count: int) -> Iterator[Batch]:
    """ENTRIES of documents (DOCUMENT), by partition of the band."""
    yield from split(entries(documents), "band", count)


class ReadEarlierFn(beam.DoFn):
    """Takes a file of table near; yields ENTRIES of its documents that share a band with the round's documents.

    The summary holds the round's "bands" (`Wanted`) and "sites", the hosts of its documents' sites.
    """

    def __init__(self, root: str, count: int) -> None:
        self._root, self._count = root, count

    def process(self, path: str, summary: Mapping[str, Any]) -> Iterator[Batch]:
        if not (bands := summary.get("bands")):
            return
        for rows in matching_rows(self._root, path, NEAR, Wanted("host", summary["sites"])):
            found = entries(conform(rows, DOCUMENT))
            yield from split(found.filter(pa.array(bands.mask(found))), "band", self._count)


class FindPairsFn(beam.DoFn):
    """Takes a partition of the bands with {"new": ENTRIES, "earlier": ENTRIES}; yields PAIRS."""

    def __init__(self, round_: int, similarity: float) -> None:
        self._round, self._similarity = round_, similarity

    def process(self, partition: tuple[int, dict[str, Iterable[bytes]]], *_: Any) -> Iterator[Any]:
        sides = partition[1]
        found = pa.concat_tables(from_ipc(sides[name], ENTRIES) for name in ("new", "earlier"))
        pairs = find_pairs(found, self._round, self._similarity)
        if pairs.num_rows:
            yield beam.pvalue.TaggedOutput("near", (0, to_ipc(pairs)))


class DecideFn(beam.DoFn):
    """Finds the near duplicates of a round and their representatives, of this round or of earlier ones.

    Takes {"pairs": PAIRS, "changed": lists of keys, of changed documents and of pages whose earlier content is replaced
    or gone, "duplicates": DUPLICATES}, all of the round; `paths` are those of table near. Yields VERDICTS by shard and,
    tagged "by_url", by partition of url_key.
    """

    def __init__(self, root: str, paths: Sequence[str], round_: int, similarity: float, count: int) -> None:
        self._root, self._paths = root, paths
        self._round, self._similarity, self._count = round_, similarity, count

    def process(self, together: tuple[int, dict[str, Iterable[Any]]]) -> Iterator[Any]:
        sides = together[1]
        pairs = from_ipc(sides["pairs"], PAIRS)
        duplicates = set(from_ipc(sides["duplicates"], DUPLICATES)["url_key"].to_pylist())
        earlier = pairs.filter(pc.less(pairs["like_round"], self._round))
        newest = self._newest(earlier) | {key: self._round for keys in sides["changed"] for key in keys}
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
