"""Judges the templates of a shard of hosts, then writes its documents."""

from collections.abc import Iterable, Iterator

import pyarrow as pa
from apache_beam.pvalue import TaggedOutput

from ..transforms.documents.finish_pages import FinishFn
from ..transforms.exchange.batch_schemas import CANDIDATES, CandidateRow
from ..transforms.exchange.functions import Partition, WriteFn
from ..transforms.exchange.summaries import Found, found
from ..transforms.parsing.crawl_scope import CrawlScope
from ..transforms.traps.watch_yields import WatchFn


class WatchAndFinishFn(WriteFn):
    """Takes a shard of hosts: what `WatchFn` and then `FinishFn` take; yields what they yield.

    URLs that cannot exist become candidates as links do, if the scope of the crawl permits them.
    """

    pages, duplicates, copies, near = FinishFn.pages, FinishFn.duplicates, FinishFn.copies, FinishFn.near
    yields, traps, trap_samples = WatchFn.yields, WatchFn.traps, WatchFn.trap_samples
    trap_queues = WatchFn.trap_queues
    candidates, removals, rejections = FinishFn.candidates, FinishFn.removals, FinishFn.rejections
    trapped = WatchFn.trapped

    def __init__(self, watch: WatchFn, finish: FinishFn, scope: CrawlScope, partitions: int) -> None:
        self._watch, self._finish, self._scope, self._partitions = watch, finish, scope, partitions

    def process(self, partition: Partition, summary: Found) -> Iterator[TaggedOutput]:
        number, sides = partition
        stale = []
        for output in self._watch.process(partition):
            if output.tag == WatchFn.probes.name:
                yield from self._candidates(output.value[1])
            elif output.tag == WatchFn.stale.name:
                stale.append(output.value[1])
            else:
                yield output
        shard = number, {**sides, FinishFn.stale.name: stale}
        yield from self._finish.process(shard, found("dead", summary) or ())

    def _candidates(self, probes: Iterable[CandidateRow]) -> Iterator[TaggedOutput]:
        url_filter = self._scope.url_filter()
        rows = [row for row in probes if url_filter.reject(row["url"], row["depth"], 0) is None]
        yield from self.candidates.split(pa.Table.from_pylist(rows, schema=CANDIDATES), self._partitions)
