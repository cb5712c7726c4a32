"""The `rank` step: computes link ranks and anchors from all links, and adds them to the index.

It is a separate step, because it needs the links of all rounds. It writes the tables `ranks` and `host_ranks` and,
for each index segment, a folder with the anchors and link ranks of its documents. One pipeline partitions the links,
further ones sweep over them until ranks converge, and one writes the results. They pass data through files of the
attempt (`Scratch`). Only the links between hosts are in the driver's memory.
"""

import uuid
from collections.abc import Callable, Iterable, Sequence
from datetime import UTC, datetime
from functools import partial
from typing import Any

import apache_beam as beam
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ..transforms.batches.writers import ReportFiles
from ..transforms.directory.crawl_dir import CrawlDir, Manifest, Step, files_of, iso, last_updated
from ..transforms.indexing.link_folders import links_folder
from ..transforms.indexing.live_segments import live_index
from ..transforms.indexing.read_segment import count_documents
from ..transforms.indexing.segment_files import INDEX_FILE
from ..transforms.memory.bounds import RankLoad, rank_bound, rank_partitions
from ..transforms.ranking.pagerank import MAX_SWEEPS, TOLERANCE
from ..transforms.ranking.pagerank_partitioned import CHANGE, Blocks, SweepRanks, rank_block
from ..transforms.ranking.partition_links import HOST_LINKS, HOSTS, GatherLinks
from ..transforms.ranking.rank_tables import write_host_ranks
from ..transforms.ranking.read_links import Part, parts_of, together
from ..transforms.ranking.scratch import Scratch
from ..transforms.ranking.write_ranks import WriteRanks
from ..transforms.tables.damage import require_whole_once
from ..transforms.tables.table_files import TableFile
from .attempt import Attempt, Engine, Fitted
from .work import work_of

_RANKED = ("links", "documents")
_SWEEPS_PER_PIPELINE = 10  # amortizes the start of a pipeline


def has_unranked_links(manifests: Iterable[Manifest]) -> bool:
    """Return whether there are links, and rounds after the last `rank` step wrote or merged some, or documents."""
    manifests = list(manifests)
    ranked = max((m.round for m in manifests if m.step == "rank"), default=0)
    is_due = any(file.table in _RANKED for m in manifests if m.round > ranked for file in m.files)
    return is_due and bool(files_of(manifests, "links"))


def has_lost_ranks(manifests: Sequence[Manifest]) -> bool:
    """Return whether the index was ranked, and no segment has link data: it was made anew, and not ranked since."""
    segments = live_index(manifests).segments if any(m.step == "rank" for m in manifests) else []
    return bool(segments) and all(segment.links is None for segment in segments)


def rank(
    crawl: CrawlDir,
    engine: Engine,
    now: datetime,
    warn: Callable[[str], None] = lambda _: None,
    partitions: int | None = None,
) -> Manifest:
    """Rank the links as of the last update step, and commit the result, which replaces that of earlier calls.

    CrawlDirError if a file is damaged. `warn` gets a line if memory is short. Links are in so many `partitions`, or as
    many as `rank_partitions` gives.
    """
    manifests = crawl.require_manifests()
    for table in _RANKED:
        require_whole_once(crawl.root, files_of(manifests, table))
    attempt = Attempt.after_earlier(crawl, Step("rank", last_updated(manifests)))
    suffix = uuid.uuid4().hex[:8]
    folders = {segment.folder: links_folder(segment.folder, suffix) for segment in live_index(manifests).segments}
    parts = parts_of(crawl.root, [file.path for file in files_of(manifests, "links")])
    documents = files_of(manifests, "documents")
    segment = max((count_documents(crawl.root, folder) for folder in folders), default=0)
    load = RankLoad(sum(part.votes for part in parts), sum(file.rows for file in documents), segment)
    work = work_of("rank", links=load.links)
    fitted = Fitted.to_memory(engine, work, load, rank_bound, f"round {attempt.step.round} rank", warn)
    ranking = _Ranking(crawl.root, attempt, fitted.engine, work.seconds, partitions or rank_partitions(load.links))
    try:
        with fitted.watching():
            blocks = ranking.gather(parts, documents)
            files = ranking.write(blocks, ranking.sweep(blocks), folders)
            host_file, counters = ranking.rank_hosts()
        manifest = Manifest(
            step="rank",
            round=attempt.step.round,
            settings_digest="",
            files=tuple(file for file in [*files, *host_file] if file.table != INDEX_FILE),
            counters=counters | {"pages": int(blocks.offsets[-1])},
            consumed=(),
            started_at=iso(now),
            ended_at=iso(datetime.now(UTC)),
            index_links=folders,
            memory=fitted.memory,
            cpu=fitted.cpu,
            index_files=tuple(file for file in files if file.table == INDEX_FILE),
        )
        crawl.commit(manifest, f"-{suffix}")
    finally:
        attempt.clear()
    return manifest


def _gather(pipeline: beam.Pipeline, links: list[Any], documents: list[Any], gather: GatherLinks) -> None:
    read_from = {"links": pipeline | "Links" >> beam.Create(links)}
    read_from["documents"] = pipeline | "Documents" >> beam.Create(documents)
    read_from | "GatherLinks" >> gather


def _sweep(pipeline: beam.Pipeline, blocks: int, sweep: SweepRanks) -> None:
    pipeline | "Blocks" >> beam.Create(range(blocks)) | "Spread" >> beam.Reshuffle() | "SweepRanks" >> sweep


def _write(pipeline: beam.Pipeline, partitions: int, write: WriteRanks, report: str) -> None:
    written = pipeline | "Partitions" >> beam.Create(range(partitions)) | "WriteRanks" >> write
    written | "Report" >> ReportFiles(report)


class _Ranking:
    """The pipelines of a `rank` step, in their order. `seconds` estimates the CPU time of all of them."""

    def __init__(self, root: str, attempt: Attempt, engine: Engine, seconds: float, partitions: int) -> None:
        self._root, self._attempt, self._engine, self._seconds = root, attempt, engine, seconds
        self._scratch, self._partitions = Scratch(attempt.scratch), partitions

    def gather(self, parts: Sequence[Part], documents: Sequence[TableFile]) -> Blocks:
        """Partition the links in parts of files of `links`, with the duplicates in files of `documents`."""
        links = together(parts, [part.size for part in parts])
        paths = together([file.path for file in documents], [file.rows for file in documents])
        gather = GatherLinks(self._root, self._scratch, self._partitions)
        self._engine.run(partial(_gather, links=links, documents=paths, gather=gather), self._seconds / 2)
        sizes = [pc.sum(hosts["pages"]).as_py() or 0 for hosts in self._read("hosts", HOSTS)]
        return Blocks(np.cumsum([0, *sizes]))

    def sweep(self, blocks: Blocks) -> int:
        """Sweep until ranks converge; return the number of sweeps."""
        if len(blocks.bounds) == 2:  # a single block
            rank_block(self._scratch, blocks)
            return 1
        sweeps, change = 0, np.inf
        while sweeps < MAX_SWEEPS and change >= TOLERANCE * blocks.offsets[-1]:
            sweep = SweepRanks(self._scratch, blocks, sweeps, _SWEEPS_PER_PIPELINE)
            self._engine.run(partial(_sweep, blocks=len(blocks.bounds) - 1, sweep=sweep), self._seconds / 30)
            sweeps += _SWEEPS_PER_PIPELINE
            change = self._scratch.read(f"change{sweeps}", 0, CHANGE)["change"][0].as_py()
        return sweeps

    def write(self, blocks: Blocks, sweeps: int, folders: dict[str, str]) -> list[TableFile]:
        """Write ranks and link data; `folders` maps segments to folders for their link data."""
        write = WriteRanks(self._root, self._attempt.step.round, self._scratch, blocks, sweeps, folders)
        build = partial(_write, partitions=self._partitions, write=write, report=self._attempt.report)
        self._engine.run(build, self._seconds / 2)
        return self._attempt.files()

    def rank_hosts(self) -> tuple[list[TableFile], dict[str, int]]:
        """Write `host_ranks`; return its file, and the counters of links and hosts."""
        names = pc.unique(pa.concat_tables(self._read("hosts", HOSTS))["host"]).sort()
        between = pa.concat_tables(self._read("host_links", HOST_LINKS))
        ends = [pc.index_in(between[end], value_set=names).to_numpy().astype(np.int64) for end in ("source", "target")]
        file = write_host_ranks(self._root, self._attempt.step.round, names, *ends)
        return [file] if file else [], {"links": pc.sum(between["links"]).as_py() or 0, "hosts": len(names)}

    def _read(self, name: str, schema: pa.Schema) -> list[pa.Table]:
        return [self._scratch.read(name, number, schema) for number in range(self._partitions)]
