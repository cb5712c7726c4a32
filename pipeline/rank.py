"""The `rank` step: computes link ranks and anchors from all links, and adds them to the index.

It is a separate step, because it needs the links of all rounds. It writes the tables `ranks` and `host_ranks` and,
for each index segment, a folder with the anchors and link ranks of its documents. Links that fit into the memory of
this machine, about 1 kB each, are ranked there; more are ranked by pipelines (`rank_partitioned`).
"""

import uuid
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import UTC, datetime

import pyarrow.compute as pc

from ..transforms.directory.crawl_dir import CrawlDir, Manifest, Step, files_of, iso, next_step
from ..transforms.indexing.link_folders import links_folder
from ..transforms.indexing.live_segments import live_index
from ..transforms.indexing.segment_files import INDEX_FILE
from ..transforms.memory.bounds import RankLoad, fits_in_memory, partitioned_bound, rank_bound
from ..transforms.ranking import endorsements
from ..transforms.ranking.anchors import count_anchors
from ..transforms.ranking.rank_tables import add_links, doc_keys, link_data, rank_pages, write_host_ranks, write_ranks
from ..transforms.ranking.read_links import count_votes, read_endorsing, read_sources
from ..transforms.tables.damage import require_whole_once
from ..transforms.tables.schemas import DOCUMENTS
from ..transforms.tables.table_files import TableFile, read_table
from .attempt import Attempt, Engine, Fitted, measured
from .rank_partitioned import rank_partitioned
from .work import Work, work_of


def has_unranked_links(manifests: Iterable[Manifest]) -> bool:
    """Return whether there are links that no `rank` step has ranked since the last update step."""
    manifests = list(manifests)
    rounds = {step: max((m.round for m in manifests if m.step == step), default=0) for step in ("update", "rank")}
    return rounds["update"] > rounds["rank"] and bool(files_of(manifests, "links"))


def has_lost_ranks(manifests: Sequence[Manifest]) -> bool:
    """Return whether the index was ranked, and no segment has link data: it was made anew, and not ranked since."""
    segments = live_index(manifests).segments if any(m.step == "rank" for m in manifests) else []
    return bool(segments) and all(segment.links is None for segment in segments)


def rank(
    crawl: CrawlDir,
    engine: Engine,
    max_links: int,
    now: datetime,
    warn: Callable[[str], None] = lambda _: None,
) -> Manifest:
    """Rank the links as of the last update step, and commit the result, which replaces that of earlier calls.

    Up to `max_links` links, with the sections that they lead to, are ranked in memory if it suffices, else by `engine`.
    CrawlDirError if a file is damaged. `warn` gets a line if memory is short.
    """
    manifests = crawl.require_manifests()
    for table in ("links", "documents"):
        require_whole_once(crawl.root, files_of(manifests, table))
    attempt = Attempt.after_earlier(crawl, Step("rank", next_step(manifests).round - 1))
    suffix = uuid.uuid4().hex[:8]
    folders = {segment.folder: links_folder(segment.folder, suffix) for segment in live_index(manifests).segments}
    votes = count_votes(crawl.root, [file.path for file in files_of(manifests, "links")])
    load, memory = measured(engine, RankLoad(votes, sum(file.rows for file in files_of(manifests, "documents"))))
    is_in_memory = fits_in_memory(load, max_links, memory.most)
    bound, work = (rank_bound, Work(0)) if is_in_memory else (partitioned_bound, work_of("rank", links=votes))
    fitted = Fitted.to_memory(engine, work, load, bound, f"round {attempt.step.round} rank", warn)
    with fitted.watching():
        if is_in_memory:
            files, counters = rank_in_memory(crawl.root, attempt.step.round, manifests, folders)
        else:
            files, counters = rank_partitioned(
                crawl.root, attempt.step.round, manifests, folders, fitted.engine, attempt, votes
            )
    manifest = Manifest(
        step="rank",
        round=attempt.step.round,
        settings_digest="",
        files=tuple(file for file in files if file.table != INDEX_FILE),
        counters=counters,
        consumed=(),
        started_at=iso(now),
        ended_at=iso(datetime.now(UTC)),
        index_links=folders,
        memory=fitted.memory,
        cpu=fitted.cpu,
        index_files=tuple(file for file in files if file.table == INDEX_FILE),
    )
    crawl.commit(manifest, f"-{suffix}")
    attempt.clear()
    return manifest


def rank_in_memory(
    root: str, round_: int, manifests: Sequence[Manifest], folders: Mapping[str, str]
) -> tuple[list[TableFile], dict[str, int]]:
    """Return the files and counters of a `rank` step; `folders` maps segments to folders for their link data."""
    paths = {table: [file.path for file in files_of(manifests, table)] for table in ("links", "documents")}
    known = read_sources(root, paths["links"])
    pages = known.pages
    documents = read_table(root, paths["documents"], DOCUMENTS, endorsements.DOCUMENT_COLUMNS)
    links = read_endorsing(root, paths["links"], documents, known)
    anchors = count_anchors(links.sources, links.targets, links.anchors, links.fragments, pages)
    page_ranks = rank_pages(links, pages)
    files = [
        write_ranks(root, round_, pages, page_ranks, anchors),
        write_host_ranks(root, round_, pages.hosts, pages.host_of[links.sources], pages.host_of[links.targets]),
    ]
    for segment, folder in folders.items():
        files += add_links(root, segment, folder, link_data(doc_keys(root, segment), pages, page_ranks.ranks, anchors))
    counters = {
        "links": pc.sum(pc.equal(links.fragments, "")).as_py() or 0,
        "pages": len(pages.urls),
        "hosts": len(pages.hosts),
    }
    return [file for file in files if file], counters
