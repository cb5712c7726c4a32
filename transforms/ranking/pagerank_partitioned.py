"""PageRank over partitioned edges in Beam: each sweep is one shuffle."""

import itertools
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

import apache_beam as beam
import numpy as np
import pyarrow as pa

from .pagerank import Floats, Longs, next_ranks, outgoing_shares
from .partition_links import EDGES, in_partition, places
from .scratch import Scratch

RANKS = pa.schema([("rank", pa.float64())])
CHANGE = pa.schema([("change", pa.float64())])


class Passed(NamedTuple):
    """The rank that the pages of a partition pass to those of another in a sweep."""

    source: int
    dangling: float  # rank of pages without links
    numbers: Longs
    sums: Floats


Ranks = tuple[int, Floats]


def read_ranks(partition: int, scratch: Scratch, sweep: int, sizes: Sequence[int]) -> Ranks:
    """The partition, and the ranks of its pages after `sweep` sweeps."""
    if not sweep:
        return partition, np.ones(sizes[partition])
    return partition, scratch.read(f"ranks{sweep}", partition, RANKS)["rank"].to_numpy()


class SweepRanks(beam.PTransform):
    """Advances the ranks by some sweeps. Takes partitions; writes `ranks` of the last sweep, and the total change.

    `sizes` has the number of pages of each partition.
    """

    def __init__(self, scratch: Scratch, sizes: Sequence[int], first: int, sweeps: int) -> None:
        super().__init__()
        self._scratch, self._sizes, self._first, self._sweeps = scratch, sizes, first, sweeps

    def expand(self, partitions: beam.PCollection[int]) -> beam.PCollection[None]:
        ranks = partitions | "ReadRanks" >> beam.Map(read_ranks, self._scratch, self._first, self._sizes)
        for sweep in range(self._sweeps):
            before = ranks
            ranks = (
                before
                | f"PassOn{sweep}" >> beam.FlatMap(_pass_on, self._scratch, len(self._sizes))
                | f"GroupByTarget{sweep}" >> beam.GroupByKey()
                | f"Receive{sweep}" >> beam.Map(_receive, self._sizes)
            )
        return (
            {"before": before, "after": ranks}
            | "BeforeAndAfter" >> beam.CoGroupByKey()
            | "WriteRanks" >> beam.Map(_write_ranks, self._scratch, self._first + self._sweeps)
            | "AddChanges" >> beam.CombineGlobally(sum)
            | "WriteChange" >> beam.Map(_write_change, self._scratch, self._first + self._sweeps)
        )


def _pass_on(ranks: Ranks, scratch: Scratch, partitions: int) -> Iterator[tuple[int, Passed]]:
    """One element for each partition, even without links to it: all share the rank of pages without links."""
    partition, values = ranks
    edges = scratch.read("edges", partition, EDGES)
    sources, weights = edges["source"].to_numpy(), edges["weight"].to_numpy()
    shares, dangling = outgoing_shares(values, np.bincount(sources, weights, minlength=len(values)))
    targets = edges["target"].to_numpy()
    starts = np.flatnonzero(np.diff(targets, prepend=-1))  # sorted: the first edge of each target
    targets, sums = targets[starts], np.add.reduceat(shares[sources] * weights, starts) if len(starts) else np.empty(0)
    _, numbers = in_partition(targets)
    bounds = np.searchsorted(targets, places(np.arange(partitions + 1), 0))
    for target, (start, end) in enumerate(itertools.pairwise(bounds)):
        yield target, Passed(partition, dangling, numbers[start:end], sums[start:end])


def _receive(passed: tuple[int, Iterable[Passed]], sizes: Sequence[int]) -> Ranks:
    partition, parts = passed
    total, dangling = np.zeros(sizes[partition]), 0.0
    for part in sorted(parts, key=lambda part: part.source):  # the sum of floats depends on their order
        total[part.numbers] += part.sums
        dangling += part.dangling
    return partition, next_ranks(total, dangling, sum(sizes))


def _write_ranks(ranks: tuple[int, dict[str, Iterable[Floats]]], scratch: Scratch, sweep: int) -> float:
    partition, values = ranks
    (before,), (after,) = values["before"], values["after"]
    scratch.write(f"ranks{sweep}", partition, pa.table([pa.array(after)], schema=RANKS))
    return float(np.abs(after - before).sum())


def _write_change(change: float, scratch: Scratch, sweep: int) -> None:
    scratch.write(f"change{sweep}", 0, pa.table([[change]], schema=CHANGE))
