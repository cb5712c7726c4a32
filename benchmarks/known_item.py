"""How well search finds the page that somebody means: held-out anchors of a crawl as queries.

    python benchmarks/known_item.py DIR [--queries N] [--host HOST]… [--tantivy]

DIR is a crawl. Of pages with two anchors or more (`transforms/ranking`), one that leads to no other page is hidden,
wherever it stands, and asked for as it is; the page is the one right answer. MRR@10 is the mean of one over its place
among the first ten hits, or 0. `first` is the share of queries with the page in the first place. With --host, pages
of these hosts alone are asked for. A paired bootstrap over the items tells what anchors and link rank change from what
chance does: an interval with 0 in it shows no difference. With --tantivy, the same queries go to tantivy over the same
pages and fields, boosted as here, with its English stemmer.
The names of sections are left out: `known_sections.py` asks for them.
"""

import argparse
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

from beamtrawl.search.index.bm25f import WEIGHTING
from beamtrawl.search.index.segment import Segment
from beamtrawl.search.searcher import Index
from beamtrawl.transforms.directory.crawl_dir import CrawlDir, files_of
from beamtrawl.transforms.indexing.live_segments import live_index
from beamtrawl.transforms.indexing.write_segment import DOCS, url_text
from beamtrawl.transforms.ranking.anchors import anchors_of, count_anchors
from beamtrawl.transforms.ranking.endorsements import DOCUMENT_COLUMNS, Pages
from beamtrawl.transforms.ranking.pagerank import distinct, pagerank
from beamtrawl.transforms.ranking.rank_tables import add_links, doc_keys, link_data
from beamtrawl.transforms.ranking.read_links import Links, read_endorsing, read_sources
from beamtrawl.transforms.tables.schemas import DOCUMENTS
from beamtrawl.transforms.tables.table_files import open_parquet, read_table
from beamtrawl.transforms.urls.canonical import host
from benchmarks.asking import best

DEPTH = 10
RESAMPLES = 4_000

Reciprocals = npt.NDArray[np.float64]

HIDDEN = "index/known-item"
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
    endorsing: Links


def read_crawl(crawl: CrawlDir) -> Crawled:
    manifests = crawl.require_manifests()
    segments = [segment.folder for segment in live_index(manifests).segments]
    indexed: set[str] = set()
    for segment in segments:
        with open_parquet(crawl.root, f"{segment}/{DOCS}") as file:
            indexed |= set(file.read(["url"])["url"].to_pylist())
    links = [file.path for file in files_of(manifests, "links")]
    documents = read_table(crawl.root, [f.path for f in files_of(manifests, "documents")], DOCUMENTS)
    known = read_sources(crawl.root, links)
    endorsing = read_endorsing(crawl.root, links, documents.select(DOCUMENT_COLUMNS), known)
    shown = documents.filter(pc.is_in(documents["url"], value_set=pa.array(sorted(indexed))))
    return Crawled(segments, shown, known.pages, endorsing)


def hide(tallied: pa.Table, pages: Pages, askable: set[str], most: int) -> tuple[list[Item], pa.Table]:
    """The items, and the anchors that are left."""
    folded = pc.utf8_lower(tallied["anchor"])
    alone = {row["values"] for row in pc.value_counts(folded).to_pylist() if row["counts"] == 1}
    by_page: dict[int, list[str]] = {}
    for target, anchor in zip(tallied["target"].to_pylist(), tallied["anchor"].to_pylist(), strict=True):
        by_page.setdefault(target, []).append(anchor)
    items = []
    for target, anchors in by_page.items():
        candidates = sorted(a for a in anchors if a.lower() in alone and len(re.findall(r"\w+", a)) > 1)
        if len(anchors) > 1 and candidates and (url := pages.urls[target].as_py()) in askable:
            items.append(Item(target, url, random.Random(url).choice(candidates)))
    items = sorted(random.Random(0).sample(items, min(most, len(items))))
    hidden = {(item.number, item.anchor) for item in items}
    left = [
        (target, anchor) not in hidden
        for target, anchor in zip(tallied["target"].to_pylist(), tallied["anchor"].to_pylist(), strict=True)
    ]
    return items, tallied.filter(pa.array(left))


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
    parser.add_argument("--queries", type=int, default=2_000)
    parser.add_argument("--host", action="append", dest="hosts", metavar="HOST")
    parser.add_argument("--tantivy", action="store_true")
    arguments = parser.parse_args()
    crawl = CrawlDir(arguments.dir)
    segments, documents, pages, endorsing = read_crawl(crawl)
    ranks = pagerank(*distinct(endorsing.sources, endorsing.targets, len(pages.urls)), len(pages.urls))
    askable = {url for url in documents["url"].to_pylist() if not arguments.hosts or host(url) in arguments.hosts}
    counted = count_anchors(endorsing.sources, endorsing.targets, endorsing.anchors, endorsing.fragments, pages)
    items, left = hide(counted.filter(pc.invert(counted["is_section"])), pages, askable, arguments.queries)

    try:
        for number, segment in enumerate(segments):
            keys = doc_keys(crawl.root, segment)
            add_links(crawl.root, segment, f"{HIDDEN}/{number}", link_data(keys, pages, ranks, left))
        index = Index([Segment(crawl.root, s, f"{HIDDEN}/{number}") for number, s in enumerate(segments)])
        linked = judge("beamtrawl", items, lambda text: [url for _, url in best(index, text)])
    finally:
        shutil.rmtree(crawl.path(HIDDEN), ignore_errors=True)
    plain = Index([Segment(crawl.root, segment) for segment in segments])
    unlinked = judge("beamtrawl without links", items, lambda text: [url for _, url in best(plain, text)])
    print(f"with links minus without: {compare(linked, unlinked)}", flush=True)
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
