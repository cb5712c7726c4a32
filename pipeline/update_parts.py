"""Smaller parts of an update step."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import apache_beam as beam
import pyarrow as pa

from ..transforms.documents.finish_pages import FinishFn, add_rejections
from ..transforms.exchange.batch_schemas import CANDIDATES, CandidateRow
from ..transforms.exchange.writers import write_rows
from ..transforms.parsing.registry import kinds_of
from ..transforms.settings import Settings
from ..transforms.tables.batches import Batch, split
from ..transforms.tables.schemas import SEEDS
from ..transforms.tables.table_files import open_parquet, read_hosts
from ..transforms.traps.watch_yields import WatchFn
from ..transforms.urls.filters import UrlFilter

Rejection = tuple[tuple[str, str], tuple[int, list[str]]]
"""((reason, host), (count, samples))"""


def row_groups(file: tuple[str, str], root: str) -> Iterator[tuple[str, Any]]:
    """Yield what the first stage reads of a file: visits by row group; nothing of files that later stages read."""
    kind, path = file
    if kind == "visits":
        with open_parquet(root, path) as visits:
            yield from (("visits", (path, number)) for number in range(visits.num_row_groups))
    if kind in ("visits", "robots"):
        yield "sitemaps", file
    if kind in ("turns", "traps", "report"):
        yield file


class MarkFn(beam.DoFn):
    """Yields one element for the report of files, which is written even if there are none."""

    def process(self, _: str) -> Iterator[Any]:
        yield 0, None


class WatchAndFinishFn(beam.DoFn):
    """Takes a shard of hosts: what `WatchFn` and then `FinishFn` take; yields what they yield.

    URLs that cannot exist become candidates as links do, if the scope of the crawl permits them.
    """

    def __init__(
        self, root: str, round_: int, settings: Settings, partitions: int, seeds: Sequence[str], secret: bytes
    ) -> None:
        self._root, self._settings, self._partitions, self._seeds = root, settings, partitions, seeds
        self._watch = WatchFn(root, round_, settings.traps, secret)
        morphemes, scorers = settings.documents.korean_morphemes, settings.priority.scorers
        self._finish = FinishFn(root, round_, morphemes, partitions, scorers)

    def process(self, shard: tuple[int, dict[str, Iterable[Any]]], summary: Mapping[str, Any]) -> Iterator[Any]:
        number, sides = shard
        stale = []
        for output in self._watch.process(shard):
            if isinstance(output, beam.pvalue.TaggedOutput) and output.tag == "probes":
                yield from self._candidates(output.value[1])
            elif isinstance(output, beam.pvalue.TaggedOutput):
                yield output
            else:
                stale.append(output[1])
        yield from self._finish.process((number, sides | {"stale": stale}), summary.get("dead", ()))

    def _candidates(self, probes: Iterable[CandidateRow]) -> Iterator[Batch]:
        extensions = kinds_of(tuple(self._settings.documents.kinds)).extensions
        url_filter = UrlFilter(self._settings.scope, read_hosts(self._root, self._seeds, SEEDS), extensions)
        rows = [row for row in probes if url_filter.reject(row["url"], row["depth"], 0) is None]
        yield from split(pa.Table.from_pylist(rows, schema=CANDIDATES), "url_key", self._partitions)


class WriteRejectionsFn(beam.DoFn):
    """Takes a shard with {"found": lists of `Rejection`}, and writes their sums."""

    def __init__(self, root: str, round_: int) -> None:
        self._root, self._round = root, round_

    def process(self, partition: tuple[int, Mapping[str, Iterable[list[Rejection]]]], *_: Any) -> Iterator[Any]:
        found: dict[tuple[str, str], list[tuple[int, list[str]]]] = {}
        for some in partition[1]["found"]:
            for name, part in some:
                found.setdefault(name, []).append(part)
        rows = []
        for (reason, host), parts in sorted(found.items()):
            count, samples = add_rejections(parts)
            rows.append({"reason": reason, "host": host, "round": self._round, "count": count, "samples": samples})
        if file := write_rows(self._root, "rejections", self._round, rows, "reason", "count"):
            yield beam.pvalue.TaggedOutput("files", (0, file))
