"""How well search finds the page that somebody means: held-out anchors of a crawl as queries.

    python benchmarks/known_item.py DIR [--queries N] [--host HOST]… [--tantivy]

DIR is a crawl. Of pages with two anchors or more, those of navigation included, one that leads to no other page, and to
no section of one, is hidden, wherever it stands, and asked for as it is; the page is the one right answer. Links to it
with that text are left out before anchors are counted. MRR@10 is the mean of one over its place among the first ten
hits, or 0. `first` is the share of queries with the page in the first place. With --host, pages of these hosts alone
are asked for. A paired bootstrap over the items, all of them and those of each host, tells what anchors and link rank
change from what chance does: an interval with 0 in it shows no difference. With --tantivy, the same queries go to
tantivy over the same pages and fields, boosted as here, with its English stemmer.
The names of sections are left out: `known_sections.py` asks for them.
"""

import argparse
import os
import random
import re
import shutil
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
import tantivy

sys.path.insert(0, str(Path(__file__).parent.parent))

from beamtrawl.search.answers.searcher import Index
from beamtrawl.search.index.bm25f import WEIGHTING
from beamtrawl.search.index.segment import Segment
from beamtrawl.transforms.directory.crawl_dir import CrawlDir, files_of
from beamtrawl.transforms.indexing.live_segments import live_index
from beamtrawl.transforms.indexing.segment_files import read_file
from beamtrawl.transforms.indexing.write_segment import DOCS, url_text
from beamtrawl.transforms.ranking import endorsements
from beamtrawl.transforms.ranking.anchors import Links, anchors_of, count_votes, keep_specific, votes_of
from beamtrawl.transforms.ranking.endorsements import DOCUMENT_COLUMNS, LINK_COLUMNS, Pages
from beamtrawl.transforms.ranking.pagerank import Floats, Longs, pagerank
from beamtrawl.transforms.ranking.rank_tables import add_links, link_data
from beamtrawl.transforms.tables.schemas import DOCUMENTS, LINKS
from beamtrawl.transforms.tables.table_files import open_parquet, read_table
from beamtrawl.transforms.urls.canonical import host
from benchmarks.asking import best

DEPTH = 10
RESAMPLES = 4_000

Reciprocals = npt.NDArray[np.float64]

HIDDEN = f"index/known-item-{os.getpid()}"
"""Where the anchors without the hidden ones are kept while the benchmark runs, below DIR."""


class Item(NamedTuple):
    """A page, and the anchor that is hidden and asked for."""

    number: int
    url: str
    anchor: str


class Crawled(NamedTuple):
    """The index of a crawl, and what it is made of."""

    segments: list[str]
    documents: pa.Table  # those that the index has
    pages: Pages
    sources: Longs  # of the links
    links: Links

    def ranks(self) -> Floats:
        """The link ranks of the pages."""
        of = self.links
        weights = endorsements.weights_of(of.hosts, of.targets, of.anchors, of.fragments)
        edges = pa.table({"source": self.sources, "target": of.targets, "weight": weights})
        edges = edges.group_by(["source", "target"]).aggregate([("weight", "max")])
        sources, targets, weights = (column.to_numpy() for column in edges.columns)
        return pagerank(sources, targets, len(self.pages.urls), weights)


def count_anchors(links: Links, pages: Pages) -> pa.Table:
    return count_votes(keep_specific(votes_of(links, pages).spelled()))


def read_crawl(crawl: CrawlDir) -> Crawled:
    manifests = crawl.require_manifests()
    segments = [segment.folder for segment in live_index(manifests).segments]
    indexed: set[str] = set()
    for segment in segments:
        with open_parquet(crawl.root, f"{segment}/{DOCS}") as file:
            indexed |= set(file.read(["url"])["url"].to_pylist())
    links = [file.path for file in files_of(manifests, "links")]
    documents = read_table(crawl.root, [f.path for f in files_of(manifests, "documents")], DOCUMENTS)
    table = read_table(crawl.root, links, LINKS, LINK_COLUMNS)
    pages, current = endorsements.pages_of(endorsements.ends_of(table)), endorsements.current_links(table)
    copies = endorsements.duplicates(documents.select(DOCUMENT_COLUMNS))
    targets = endorsements.representatives(pages.keys, current.redirects, copies)
    sources = endorsements.as_sources(targets, endorsements.sites_of(pages.hosts).take(pa.array(pages.host_of)))
    rows = current.endorsing
    ends = sources[pages.numbers(rows["source_key"])], targets[pages.numbers(rows["target_key"])]
    sources, targets = (end[ends[0] != ends[1]] for end in ends)
    hosts = pages.hosts.take(pa.array(pages.host_of[sources]))
    rows = rows.filter(pa.array(ends[0] != ends[1])).append_column("host", hosts)
    shown = documents.filter(pc.is_in(documents["url"], value_set=pa.array(sorted(indexed))))
    return Crawled(segments, shown, pages, sources, Links.of(rows, targets, pages))


def items_of(links: Links, pages: Pages, askable: set[str], most: int) -> list[Item]:
    """At most so many items of each host."""
    given = keep_specific(votes_of(links, pages).spelled())
    given = given.filter(pc.is_valid(given["anchor"]))
    leads = given.group_by(["target", "folded"]).aggregate([])
    alone = {row["values"] for row in pc.value_counts(leads["folded"]).to_pylist() if row["counts"] == 1}
    of_pages = given.filter(pc.invert(given["is_section"]))
    by_page: dict[int, list[str]] = {}
    for row in of_pages.group_by(["target", "folded"]).aggregate([("anchor", "min")]).to_pylist():
        by_page.setdefault(row["target"], []).append(row["anchor_min"])
    by_host: dict[str, list[Item]] = {}
    for target, anchors in sorted(by_page.items()):
        candidates = sorted(a for a in anchors if a.lower() in alone and len(re.findall(r"\w+", a)) > 1)
        if len(anchors) > 1 and candidates and (url := pages.urls[target].as_py()) in askable:
            by_host.setdefault(host(url), []).append(Item(target, url, random.Random(url).choice(candidates)))
    return [
        item for _, items in sorted(by_host.items()) for item in random.Random(0).sample(items, min(most, len(items)))
    ]


def without(links: Links, items: Sequence[Item]) -> Links:
    """The links without those to the pages of items, and to sections of them, that have the text of the item."""
    hidden = {item.number: item.anchor.lower() for item in items}
    is_left = np.ones(len(links.targets), bool)
    numbers = np.flatnonzero(np.isin(links.targets, list(hidden)))
    texts = links.texts[1].take(pa.array(links.anchors[numbers])).to_pylist()
    is_left[numbers] = [
        text.lower() != hidden[target] for target, text in zip(links.targets[numbers].tolist(), texts, strict=True)
    ]
    return Links(*(column[is_left] for column in links[:5]), links.texts)


def judge(name: str, items: Sequence[Item], search: Callable[[str], list[str]]) -> Reciprocals:
    """Ask for each item, print how high its page came, and return one over its place for each item; 0: not found."""
    places = [found.index(item.url) + 1 if item.url in (found := search(item.anchor)[:DEPTH]) else 0 for item in items]
    reciprocals = np.array([1 / place if place else 0.0 for place in places])
    print(
        f"{name}: {len(items)} queries, MRR@10 {reciprocals.mean():.4f}, first {(reciprocals == 1).mean():.3f}",
        flush=True,
    )
    return reciprocals


def compare(ours: Reciprocals, others: Reciprocals) -> str:
    """The mean difference, its 95 % interval by a paired bootstrap over the items, and how many items differ.

    >>> compare(np.array([1, 0.5, 0]), np.array([1, 1, 0]))
    '-0.1667 (95 % of resamples from -0.5000 to +0.0000), 0 better, 1 worse'
    """
    differences = ours - others
    low, high = interval(differences)
    return (
        f"{differences.mean():+.4f} (95 % of resamples from {low:+.4f} to {high:+.4f}), "
        f"{(differences > 0).sum()} better, {(differences < 0).sum()} worse"
    )


def interval(differences: Reciprocals) -> tuple[float, float]:
    """Where the mean of 95 % of the resamples of differences is: a paired bootstrap, with a seed."""
    draws = np.random.default_rng(0).integers(0, len(differences), (RESAMPLES, len(differences)))
    low, high = np.quantile(differences[draws].mean(axis=1), (0.025, 0.975))
    return float(low), float(high)


def tantivy_search(documents: Iterator[dict]) -> Callable[[str], list[str]]:
    """Search with tantivy over documents of `url` and the fields of WEIGHTING."""
    builder = tantivy.SchemaBuilder()
    builder.add_text_field("id", stored=True, tokenizer_name="raw")
    for field in WEIGHTING.fields:
        builder.add_text_field(field, tokenizer_name="en_stem")
    index = tantivy.Index(builder.build())
    writer = index.writer(50_000_000, 1)
    for document in documents:
        writer.add_document(tantivy.Document(**document))
    writer.commit()
    index.reload()
    searcher = index.searcher()

    def search(text: str) -> list[str]:
        words = " ".join(re.findall(r"\w+", text.lower()))
        query, _ = index.parse_query_lenient(words, list(WEIGHTING.fields), field_boosts=dict(WEIGHTING.fields))
        return [searcher.doc(address)["id"][0] for _, address in searcher.search(query, 10).hits]

    return search


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("dir")
    parser.add_argument("--queries", type=int, default=300, help="for each host")
    parser.add_argument("--host", action="append", dest="hosts", metavar="HOST")
    parser.add_argument("--tantivy", action="store_true")
    arguments = parser.parse_args()
    crawl = CrawlDir(arguments.dir)
    crawled = read_crawl(crawl)
    segments, documents, pages, _, endorsing = crawled
    ranks = crawled.ranks()
    askable = {url for url in documents["url"].to_pylist() if not arguments.hosts or host(url) in arguments.hosts}
    items = items_of(endorsing, pages, askable, arguments.queries)
    links = without(endorsing, items)
    left = count_anchors(links, pages)

    try:
        for number, segment in enumerate(segments):
            keys = read_file(crawl.root, f"{segment}/{DOCS}", ["url_key"])["url_key"]
            add_links(crawl.root, segment, f"{HIDDEN}/{number}", link_data(keys, pages, ranks, left))
        index = Index([Segment(crawl.root, s, f"{HIDDEN}/{number}") for number, s in enumerate(segments)])
        linked = judge("beamtrawl", items, lambda text: [url for _, url in best(index, text)])
    finally:
        shutil.rmtree(crawl.path(HIDDEN), ignore_errors=True)
    plain = Index([Segment(crawl.root, segment) for segment in segments])
    unlinked = judge("beamtrawl without links", items, lambda text: [url for _, url in best(plain, text)])
    print(f"with links minus without: {compare(linked, unlinked)}", flush=True)
    hosts = np.array([host(item.url) for item in items])
    for name in np.unique(hosts):
        of = hosts == name
        print(f"of {name}: {of.sum()} items, {linked[of].mean():.4f}, {compare(linked[of], unlinked[of])}", flush=True)
    if arguments.tantivy:
        judge("tantivy", items, tantivy_search(fields_of(documents, pages, left)))


def fields_of(documents: pa.Table, pages: Pages, left: pa.Table) -> Iterator[dict[str, str]]:
    """The `id` (the URL) and the fields of WEIGHTING of each document, for another engine."""
    numbers = pages.numbers(documents["url_key"])
    for row, anchors in zip(documents.to_pylist(), anchors_of(left, np.asarray(numbers)).to_pylist(), strict=True):
        yield {
            "id": row["url"],
            "title": row["title"] or "",
            "body": row["text"] or "",
            "headings": "\n".join(row["headings"] or ()),
            "url": url_text(row["url"]),
            "anchors": "\n".join(each["anchor"] for each in anchors),
        }


if __name__ == "__main__":
    main()
