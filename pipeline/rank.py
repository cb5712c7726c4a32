"""The link graph: who links to whom, how much that counts, and what it adds to the index.

A step of its own, for it needs all links at once: it reads the links of all rounds, and writes the tables `ranks` and
`host_ranks` and, for each index segment, a folder with the anchors and ranks of its documents. It works in the memory
of one machine, about 1 kB a link.
"""

import uuid
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime

import numpy as np
import pyarrow as pa

from transforms import votes
from transforms.crawl_dir import CrawlDir, Manifest, files_of, iso, next_step
from transforms.index import DOCS
from transforms.index_links import links_folder, write_links
from transforms.link_graph import Floats, Longs, distinct, harmonic_centrality, pagerank
from transforms.segments import live_index
from transforms.tables import DOCUMENTS, HOST_RANKS, LINKS, RANKS, TableFile, TableWriter, open_parquet, read_table
from transforms.votes import Pages

_ROW_GROUP = 10_000


def unranked_links(manifests: Iterable[Manifest]) -> int:
    """How many links there are to rank; 0 if that was done after the last update step."""
    manifests = list(manifests)
    rounds = {step: max((m.round for m in manifests if m.step == step), default=0) for step in ("update", "rank")}
    return sum(file.rows for file in files_of(manifests, "links")) if rounds["update"] > rounds["rank"] else 0


def rank(crawl: CrawlDir, settings_digest: str, now: datetime) -> Manifest:
    """Rank all that is linked as of the last update step, and commit it; what an earlier call wrote is replaced."""
    manifests = crawl.require_manifests()
    step = next_step(manifests)
    round_ = step.round - 1
    read = {}
    for table, schema, columns in (
        ("links", LINKS, votes.LINK_COLUMNS),
        ("documents", DOCUMENTS, votes.DOCUMENT_COLUMNS),
    ):
        read[table] = read_table(crawl.root, (file.path for file in files_of(manifests, table)), schema, columns)
    pages = votes.pages_of(read["links"])
    links = votes.endorsing(read["links"], read["documents"], pages)
    tallied = votes.tally(links, pages)
    ranks = pagerank(*distinct(links.sources, links.targets, len(pages.urls)), len(pages.urls))

    files = [
        _write(crawl.root, "ranks", round_, _rank_rows(pages, links, ranks, tallied, round_)),
        _write(crawl.root, "host_ranks", round_, _host_rows(pages, links, round_)),
    ]
    attempt = uuid.uuid4().hex[:8]
    segments = [segment.folder for segment in live_index(manifests).segments]
    folders = {segment: links_folder(segment, attempt) for segment in segments}
    for segment, folder in folders.items():
        add_links(crawl.root, segment, folder, pages, ranks, tallied)
    manifest = Manifest(
        step="rank",
        round=round_,
        settings_digest=settings_digest,
        files=tuple(file for file in files if file),
        counters={"links": len(links.sources), "pages": len(pages.urls), "hosts": len(pages.hosts)},
        consumed=(),
        started_at=iso(now),
        ended_at=iso(datetime.now(UTC)),
        index_links=folders,
    )
    crawl.commit(manifest, f"-{attempt}")
    return manifest


def add_links(root: str, segment: str, folder: str, pages: Pages, ranks: Floats, tallied: pa.Table) -> None:
    """Write what links say of the documents of a segment (`index_links`)."""
    with open_parquet(root, f"{segment}/{DOCS}") as file:
        docs = file.read(["url_key", "language"])
    numbers = pages.numbers(docs["url_key"])
    anchors = [
        [anchor for anchor, hosts in found for _ in range(hosts)] for found in votes.anchors_of(tallied, numbers)
    ]
    link_ranks = np.append(ranks, 0.0)[numbers]  # -1, a page that no link knows, is the last
    write_links(root, folder, docs["language"].to_pylist(), anchors, link_ranks)


def _rank_rows(pages: Pages, links: votes.Links, ranks: Floats, tallied: pa.Table, round_: int) -> Iterator[pa.Table]:
    count = len(pages.urls)
    _, targets = distinct(links.sources, links.targets, count)
    linking = np.bincount(targets, minlength=count)
    hosts = np.bincount(_linking_hosts(pages, links), minlength=count)
    for start in range(0, count, _ROW_GROUP):
        part = slice(start, start + _ROW_GROUP)
        columns = {
            "url_key": pages.keys[part],
            "url": pages.urls[part],
            "host": pages.hosts.take(pa.array(pages.host_of[part])),
            "round": pa.array([round_] * len(pages.urls[part])),
            "link_rank": ranks[part],
            "links": linking[part],
            "link_hosts": hosts[part],
            "anchors": votes.anchors_of(tallied, np.arange(count)[part]),
        }
        yield pa.table({name: pa.array(columns[name], RANKS.field(name).type) for name in RANKS.names})


def _linking_hosts(pages: Pages, links: votes.Links) -> Longs:
    """The target of each distinct pair of a host and a page that it links to."""
    return np.unique(pages.host_of[links.sources] * len(pages.urls) + links.targets) % max(1, len(pages.urls))


def _host_rows(pages: Pages, links: votes.Links, round_: int) -> Iterator[pa.Table]:
    count = len(pages.hosts)
    sources, targets = distinct(pages.host_of[links.sources], pages.host_of[links.targets], count)
    columns = {
        "host": pages.hosts,
        "round": pa.array([round_] * count, pa.int32()),
        "centrality": pa.array(harmonic_centrality(sources, targets, count)),
        "link_rank": pa.array(pagerank(sources, targets, count)),
        "link_hosts": pa.array(np.bincount(targets, minlength=count)),
    }
    yield pa.table(columns, HOST_RANKS)


def _write(root: str, table: str, round_: int, parts: Iterator[pa.Table]) -> TableFile | None:
    writer = TableWriter(root, table, round_)
    for part in parts:
        writer.write(part)
    return writer.close()
