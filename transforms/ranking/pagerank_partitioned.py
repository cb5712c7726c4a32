"""PageRank over partitioned edges in Beam: each sweep is one shuffle.

What a sweep passes on grows with the number of parts that edges are in, so partitions are swept in blocks.
"""

import itertools
from collections.abc import Iterable, Iterator
from typing import NamedTuple

import apache_beam as beam
import numpy as np
import pyarrow as pa

from .pagerank import Floats, Longs, next_ranks, pagerank
from .partition_links import BLOCK, EDGES, in_partition
from .scratch import Scratch

RANKS = pa.schema([("rank", pa.float64())])
CHANGE = pa.schema([("change", pa.float64())])


class Passed(NamedTuple):
    """The rank that the pages of a block pass to those of another in a sweep."""

    source: int
    dangling: float  # rank of pages without links
    numbers: Longs  # in the other block
    sums: Floats


Ranks = tuple[int, Floats]
"""A block, and the ranks of its pages."""


class Blocks(NamedTuple):
    """Blocks of BLOCK partitions. Pages are numbered through all of them."""

    offsets: Longs  # the number of the first page of each partition; last the number of all pages

    @property
    def bounds(self) -> Longs:
        """The number of the first page of each block; last the number of all pages."""
        return np.append(self.offsets[:-1:BLOCK], self.offsets[-1])

    def numbers(self, places: Longs) -> Longs:
        partitions, numbers = in_partition(places)
        return self.offsets[partitions] + numbers

    def ranks(self, block: int, scratch: Scratch, sweeps: int) -> Ranks:
        """The ranks of a block after so many sweeps."""
        if not sweeps:
            return block, np.ones(np.diff(self.bounds)[block])
        return block, scratch.read(f"ranks{sweeps}", block, RANKS)["rank"].to_numpy()

    def ranks_of(self, partition: int, scratch: Scratch, sweeps: int) -> Floats:
        """The ranks of a partition after so many sweeps."""
        block, ranks = self.ranks(partition // BLOCK, scratch, sweeps)
        start, end = self.offsets[partition : partition + 2] - self.bounds[block]
        return ranks[start:end]


def rank_block(scratch: Scratch, blocks: Blocks) -> None:
    """Write the ranks of pages that are in one block, as those of its first sweep: no shuffle is needed."""
    edges = scratch.read("edges", 0, EDGES)
    sources, places, shares = (edges[name].to_numpy() for name in EDGES.names)
    ranks = pagerank(sources, blocks.numbers(places), int(blocks.offsets[-1]), shares)
    scratch.write("ranks1", 0, pa.table([ranks], schema=RANKS))


class SweepRanks(beam.PTransform):
    """Advances the ranks by some sweeps. Takes blocks; writes `ranks` of the last sweep, and the total change."""

    def __init__(self, scratch: Scratch, blocks: Blocks, first: int, sweeps: int) -> None:
        super().__init__()
        self._scratch, self._blocks, self._first, self._sweeps = scratch, blocks, first, sweeps

    def expand(self, blocks: beam.PCollection[int]) -> beam.PCollection[None]:
        ranks = blocks | "ReadRanks" >> beam.Map(self._blocks.ranks, self._scratch, self._first)
        for sweep in range(self._sweeps):
            before = ranks
            ranks = (
                before
                | f"PassOn{sweep}" >> beam.FlatMap(_pass_on, self._scratch, self._blocks)
                | f"GroupByTarget{sweep}" >> beam.GroupByKey()
                | f"Receive{sweep}" >> beam.Map(_receive, self._blocks)
            )
        return (
            {"before": before, "after": ranks}
            | "BeforeAndAfter" >> beam.CoGroupByKey()
            | "WriteRanks" >> beam.Map(_write_ranks, self._scratch, self._first + self._sweeps)
            | "AddChanges" >> beam.CombineGlobally(sum)
            | "WriteChange" >> beam.Map(_write_change, self._scratch, self._first + self._sweeps)
        )


def _pass_on(ranks: Ranks, scratch: Scratch, blocks: Blocks) -> Iterator[tuple[int, Passed]]:
    """One element for each block, even without links to it: all share the rank of pages without links."""
    block, values = ranks
    edges = scratch.read("edges", block, EDGES)
    sources, places, shares = (edges[name].to_numpy() for name in EDGES.names)
    dangling = float(values[np.bincount(sources, minlength=len(values)) == 0].sum())
    starts = np.flatnonzero(np.diff(places, prepend=-1))  # sorted: the first edge of each target
    sums = np.add.reduceat(values[sources] * shares, starts) if len(starts) else np.empty(0)
    targets, bounds = blocks.numbers(places[starts]), blocks.bounds
    for target, (start, end) in enumerate(itertools.pairwise(np.searchsorted(targets, bounds))):
        numbers = (targets[start:end] - bounds[target]).astype(np.int32)
        yield target, Passed(block, dangling, numbers, sums[start:end])


def _receive(passed: tuple[int, Iterable[Passed]], blocks: Blocks) -> Ranks:
    block, parts = passed
    total, dangling = np.zeros(np.diff(blocks.bounds)[block]), 0.0
    for part in sorted(parts, key=lambda part: part.source):  # the sum of floats depends on their order
        total[part.numbers] += part.sums
        dangling += part.dangling
    return block, next_ranks(total, dangling, int(blocks.offsets[-1]))


def _write_ranks(ranks: tuple[int, dict[str, Iterable[Floats]]], scratch: Scratch, sweep: int) -> float:
    block, values = ranks
    (before,), (after,) = values["before"], values["after"]
    scratch.write(f"ranks{sweep}", block, pa.table([pa.array(after)], schema=RANKS))
    return float(np.abs(after - before).sum())


def _write_change(change: float, scratch: Scratch, sweep: int) -> None:
    scratch.write(f"change{sweep}", 0, pa.table([[change]], schema=CHANGE))
