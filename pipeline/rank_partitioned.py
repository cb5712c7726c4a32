"""Ranks links that do not fit into memory: same result as `rank_in_memory`, by pipelines over partitions.

One pipeline partitions the links, further ones sweep over them until ranks converge, and one writes the results. They
pass data through files of the attempt (`Scratch`). Only the links between hosts are in the driver's memory.
"""

from collections.abc import Mapping, Sequence
from functools import partial

import apache_beam as beam
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ..transforms.batches.writers import ReportFiles
from ..transforms.directory.crawl_dir import Manifest, files_of
from ..transforms.memory.bounds import PARTITION_LINKS
from ..transforms.ranking.pagerank import MAX_SWEEPS, TOLERANCE
from ..transforms.ranking.pagerank_partitioned import CHANGE, SweepRanks
from ..transforms.ranking.partition_links import HOST_LINKS, HOSTS, GatherLinks
from ..transforms.ranking.rank_tables import write_host_ranks
from ..transforms.ranking.scratch import Scratch
from ..transforms.ranking.write_ranks import WriteRanks
from ..transforms.tables.table_files import TableFile
from .attempt import Attempt, Engine
from .work import work_of

_LEAST_PARTITIONS = 8  # whatever the number of workers: the sum of floats depends on it
_SWEEPS_PER_PIPELINE = 10  # amortizes the start of a pipeline


def gather(
    pipeline: beam.Pipeline, root: str, paths: Mapping[str, Sequence[str]], scratch: Scratch, count: int
) -> None:
    """Partition the links in files of the tables `links` and `documents`."""
    files = {table: pipeline | f"{table.title()}Files" >> beam.Create(paths[table]) for table in paths}
    files | "GatherLinks" >> GatherLinks(root, scratch, count)


def sweep(pipeline: beam.Pipeline, scratch: Scratch, sizes: Sequence[int], first: int) -> None:
    """Advance the ranks from sweep `first` on."""
    partitions = pipeline | "Partitions" >> beam.Create(range(len(sizes))) | "Spread" >> beam.Reshuffle()
    partitions | "SweepRanks" >> SweepRanks(scratch, sizes, first, _SWEEPS_PER_PIPELINE)


def write(pipeline: beam.Pipeline, write_ranks: WriteRanks, partitions: int, report: str) -> None:
    """Write ranks and link data."""
    numbers = pipeline | "Partitions" >> beam.Create(range(partitions))
    numbers | "WriteRanks" >> write_ranks | "Report" >> ReportFiles(report)


def rank_partitioned(
    root: str,
    round_: int,
    manifests: Sequence[Manifest],
    folders: Mapping[str, str],
    engine: Engine,
    attempt: Attempt,
    votes: int,
) -> tuple[list[TableFile], dict[str, int]]:
    """Return the files and counters of a `rank` step; `folders` maps segments to folders for their link data.

    `votes` is the number of links and of sections that they lead to.
    """
    scratch, seconds = Scratch(attempt.scratch), work_of("rank", links=votes).seconds  # of each pass
    count = max(_LEAST_PARTITIONS, -(-votes // PARTITION_LINKS))
    paths = {table: [file.path for file in files_of(manifests, table)] for table in ("links", "documents")}
    engine.run(partial(gather, root=root, paths=paths, scratch=scratch, count=count), seconds)

    hosts = [scratch.read("hosts", number, HOSTS) for number in range(count)]
    sizes = [pc.sum(part["pages"]).as_py() or 0 for part in hosts]
    sweeps, change = 0, np.inf
    while sweeps < MAX_SWEEPS and change >= TOLERANCE * sum(sizes):
        engine.run(partial(sweep, scratch=scratch, sizes=sizes, first=sweeps), seconds / 5)
        sweeps += _SWEEPS_PER_PIPELINE
        change = scratch.read(f"change{sweeps}", 0, CHANGE)["change"][0].as_py()

    write_ranks = WriteRanks(root, round_, scratch, sizes, sweeps, folders)
    engine.run(partial(write, write_ranks=write_ranks, partitions=count, report=attempt.report), seconds)
    names = pc.unique(pa.concat_tables(hosts)["host"]).sort()
    between = pa.concat_tables(scratch.read("host_links", number, HOST_LINKS) for number in range(count))
    ends = [pc.index_in(between[end], value_set=names).to_numpy().astype(np.int64) for end in ("source", "target")]
    host_ranks = write_host_ranks(root, round_, names, *ends)
    counters = {"links": pc.sum(between["links"]).as_py() or 0, "pages": sum(sizes), "hosts": len(names)}
    return [*attempt.files(), *filter(None, [host_ranks])], counters
