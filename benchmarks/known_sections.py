"""How well search finds the section that somebody means: the names that links give to sections, as queries.

    python benchmarks/known_sections.py DIR [--queries N] [--host HOST]… [--misses]

DIR is a crawl. A query is the text of links to a section of an indexed page (`page#id`) that leads to no other section
and no other page, asked for as it is. The page is to be among the first three hits, and that hit is to lead to the
section (`section_url`). A second figure also counts the queries for which another page with a heading of that name is
among the first three: whoever asks for "For developers" may mean either. Each is asked twice: as the crawl is, and with
the text hidden wherever it names this section. Results are by host.
"""

import argparse
import random
import re
import shutil
import sys
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

sys.path.insert(0, str(Path(__file__).parent.parent))

from beamtrawl.search.answers.searcher import Index
from beamtrawl.search.index.segment import Segment
from beamtrawl.transforms.directory.crawl_dir import CrawlDir
from beamtrawl.transforms.indexing import analysis
from beamtrawl.transforms.indexing.segment_files import read_file
from beamtrawl.transforms.indexing.write_segment import DOCS
from beamtrawl.transforms.ranking.endorsements import Pages
from beamtrawl.transforms.ranking.rank_tables import add_links, link_data
from beamtrawl.transforms.sections.section import url_of
from beamtrawl.transforms.urls.canonical import host
from benchmarks.known_item import HIDDEN, Crawled, count_anchors, read_crawl

FIRST = 3


class Item(NamedTuple):
    """A section, and a text of links to it."""

    url: str
    fragment: str
    anchor: str


def items_of(counted: pa.Table, pages: Pages, askable: set[str], most: int) -> list[Item]:
    """At most so many items of each host."""
    texts = Counter(anchor.lower() for anchor in counted["anchor"].to_pylist())
    of_pages = {a.lower() for a in counted.filter(pc.invert(counted["is_section"]))["anchor"].to_pylist()}
    by_host: dict[str, list[Item]] = {}
    for row in counted.filter(counted["is_section"]).to_pylist():
        url, folded = pages.urls[row["target"]].as_py(), row["anchor"].lower()
        if url in askable and texts[folded] - (folded in of_pages) == 1 and re.search(r"[^\W\d]{3}", folded):
            by_host.setdefault(host(url), []).append(Item(url, row["fragment"], row["anchor"]))
    return [
        item for _, items in sorted(by_host.items()) for item in random.Random(0).sample(items, min(most, len(items)))
    ]


class Headings:
    """The pages that have a heading, by its words."""

    def __init__(self, documents: pa.Table) -> None:
        self._having: dict[str, set[str]] = {}
        for batch in documents.select(["url", "text", "sections"]).to_batches(max_chunksize=1_000):
            for row in batch.to_pylist():
                for section in row["sections"] or ():
                    heading = row["text"][section["offset"] :][: section["length"]]
                    if name := analysis.name(analysis.tokens(heading)):
                        self._having.setdefault(name, set()).add(row["url"])

    def having(self, text: str) -> set[str]:
        """The URLs of the pages with a heading of these words, stop words aside."""
        return self._having.get(analysis.name(analysis.tokens(text)) or "", set())


def judge(name: str, index: Index, items: Sequence[Item], headings: Headings, shows_misses: bool) -> None:
    """Ask for each item, and print by host how often its page and its section are found."""
    asked, pages, first, sections, alike = (Counter[str]() for _ in range(5))
    for item in items:
        hits = index.search(item.anchor).hits[:FIRST]
        hit = next((hit for hit in hits if hit.url == item.url), None)
        of = host(item.url)
        asked[of] += 1
        pages[of] += hit is not None
        alike[of] += not {item.url, *headings.having(item.anchor)}.isdisjoint(hit.url for hit in hits)
        first[of] += bool(hits) and hits[0].url == item.url
        is_right = hit is not None and hit.section_url == url_of(item.url, item.fragment)
        sections[of] += is_right
        if shows_misses and not is_right:
            print(f"  {item.anchor!r} {url_of(item.url, item.fragment)}: {[h.section_url or h.url for h in hits]}")
    for of in [*asked]:
        print(
            f"{name} {of}: {asked[of]} queries, page first {first[of] / asked[of]:.3f}, in the first {FIRST} "
            f"{pages[of] / asked[of]:.3f} (it or another with that heading {alike[of] / asked[of]:.3f}); "
            f"of these the section {sections[of] / max(1, pages[of]):.3f}",
            flush=True,
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("dir")
    parser.add_argument("--queries", type=int, default=300, help="for each host")
    parser.add_argument("--host", action="append", dest="hosts", metavar="HOST")
    parser.add_argument("--misses", action="store_true", help="print what is not found")
    arguments = parser.parse_args()
    crawl = CrawlDir(arguments.dir)
    crawled = read_crawl(crawl)
    pages, links = crawled.pages, crawled.links
    askable = {
        url for url in crawled.documents["url"].to_pylist() if not arguments.hosts or host(url) in arguments.hosts
    }
    counted = count_anchors(links, pages)
    items = items_of(counted, pages, askable, arguments.queries)
    ranks = crawled.ranks()
    headings = Headings(crawled.documents)
    for name, left in (("as it is", counted), ("hidden", without(counted, pages, items))):
        try:
            index = linked(crawl, crawled, ranks, left)
            judge(name, index, items, headings, arguments.misses)
        finally:
            shutil.rmtree(crawl.path(HIDDEN), ignore_errors=True)


def without(counted: pa.Table, pages: Pages, items: Sequence[Item]) -> pa.Table:
    """The votes without the texts of items for their sections, and for their pages."""
    hidden = {(item.url, item.anchor.lower()) for item in items}
    urls = pages.urls.take(counted["target"]).to_pylist()
    kept = [
        (url, anchor.lower()) not in hidden for url, anchor in zip(urls, counted["anchor"].to_pylist(), strict=True)
    ]
    return counted.filter(pa.array(kept))


def linked(crawl: CrawlDir, crawled: Crawled, ranks: object, counted: pa.Table) -> Index:
    """The index with these votes."""
    folders = [f"{HIDDEN}/{number}" for number, _ in enumerate(crawled.segments)]
    for segment, folder in zip(crawled.segments, folders, strict=True):
        keys = read_file(crawl.root, f"{segment}/{DOCS}", ["url_key"])["url_key"]
        add_links(crawl.root, segment, folder, link_data(keys, crawled.pages, ranks, counted))
    pairs = zip(crawled.segments, folders, strict=True)
    return Index([Segment(crawl.root, segment, folder) for segment, folder in pairs])


if __name__ == "__main__":
    main()
