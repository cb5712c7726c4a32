"""Whether the page that a developer means comes first: sixty queries over five documentation sites.

    python benchmarks/developers_queries.py DIR NAME=URL… [--queries FILE] [--misses]

DIR is a crawl of the sites, and NAME=URL gives for each site of `developers_queries.tsv` the URL that its paths are
relative to. A line of that file has a site, the path of the obvious page there, and a query; a page that a site has at
two paths has both, separated by `|`. The queries are as developers type them: names, phrases, questions and, where the
words alone fit many systems, the name of the system. They were written before any of them was asked, and no weight was
chosen by them. --queries asks those of another file instead: `developers_queries_held_out.tsv` has sixty more, over
five other sites, which were written later and before any of them was asked, to tell changes that help from changes that
fit.

Each query is asked over all sites at once, and once more as the page of the gateway asks it, with the hits grouped by
host. `first` and `in the top three` are shares of the queries; MRR@10 is the
mean of one over the place of the page among the first ten hits, or 0. tantivy has the same pages, fields and anchors,
boosted as here, with its English stemmer; bm25s, if it is installed, the same fields as one text. --misses names the
queries whose page is not in the top three, its place among the first hundred hits, and the first hit.
"""

import argparse
import json
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import ir_measures
from ir_measures import RR, Success

sys.path.insert(0, str(Path(__file__).parent.parent))

from beamtrawl.search.answers.searcher import Index
from beamtrawl.search.gateway.searches import PAGE_PER_HOST
from beamtrawl.search.index.bm25f import WEIGHTING
from beamtrawl.transforms.directory.crawl_dir import CrawlDir
from benchmarks import lucene
from benchmarks.asking import best
from benchmarks.judged_queries import Collection, bm25s, by_bm25s
from benchmarks.known_item import count_anchors, fields_of, read_crawl, tantivy_search

QUERIES = Path(__file__).with_suffix(".tsv")
DEPTH = 100  # of --misses
ALIKE = {"title": 1, "headings": 1, "url": 1, "anchors": 1, "body": 1}
LUCENE = [  # k1, b and weights: those of Lucene and those of Anserini, with names that weigh little, more and as here
    f"{k1_b}:" + "+".join(f"{field}={weight}" for field, weight in fields.items())
    for k1_b in ("1.2:0.75", "0.9:0.4")
    for fields in (
        ALIKE,
        {"title": 3, "headings": 2, "url": 2, "anchors": 2, "body": 1},
        {"title": 8, "headings": 3, "url": 3, "anchors": 3, "body": 1},
        WEIGHTING.fields,
    )
]
MEASURES = (
    ("first", Success @ 1),
    ("in the top three", Success @ 3),
    ("in the top ten", Success @ 10),
    ("MRR@10", RR @ 10),
)


class Asked(NamedTuple):
    """A query, and the URLs of the page that it means."""

    site: str
    text: str
    urls: list[str]


def read(path: Path, roots: Mapping[str, str]) -> list[Asked]:
    """The queries. ValueError if a site has no root."""
    found = []
    for line in path.read_text(encoding="utf-8").splitlines():
        site, paths, text = line.split("\t")
        if site not in roots:
            raise ValueError(f"site {site} has no URL; give {site}=URL")
        found.append(Asked(site, text, [f"{roots[site]}/{place}" for place in paths.split("|")]))
    return found


def judge(name: str, queries: Sequence[Asked], search: Callable[[str], list[str]]) -> dict[str, float]:
    """Ask each query, print the figures, and return them by their names."""
    qrels = [ir_measures.Qrel(query.text, url, 1) for query in queries for url in query.urls]
    run = [
        ir_measures.ScoredDoc(query.text, url, -place)
        for query in queries
        for place, url in enumerate(search(query.text))
    ]
    found = ir_measures.calc_aggregate([measure for _, measure in MEASURES], qrels, run)
    figures = {label: float(found[measure]) for label, measure in MEASURES}
    print(f"{name}: {len(queries)} queries, {', '.join(f'{k} {v:.3f}' for k, v in figures.items())}", flush=True)
    return {f"{name}: {label}": value for label, value in figures.items()}


def judge_lucene(queries: Sequence[Asked], fields: Sequence[Mapping[str, str]]) -> dict[str, float]:
    """Judge Lucene with each analyzer and setting, and return the figures of that with most pages in the first place.

    Ties are decided by the top three, then by the top ten.
    """
    texts = [query.text for query in queries]
    found = lucene.search(fields, texts, lucene.analyzers("en"), LUCENE)
    judged = [
        judge(f"Lucene {name} {setting}", queries, dict(zip(texts, ids, strict=True)).__getitem__)
        for (name, setting), ids in found.items()
    ]
    return max(judged, key=lambda figures: list(figures.values()))


def grouped(index: Index, text: str, most: int = 10) -> list[str]:
    """The URLs of the best documents in the order of the gateway's page."""
    return [hit.url for hit in index.search(text, most, per_host=PAGE_PER_HOST).hits]


def name_misses(queries: Sequence[Asked], search: Callable[[str], list[str]]) -> None:
    """Print the queries whose page is not in the top three."""
    for query in queries:
        found = search(query.text)
        place = next((place for place, url in enumerate(found, 1) if url in query.urls), None)
        if place is None or place > 3:
            print(
                f"  {query.text}: {query.urls[0]} at {place or f'none of {DEPTH}'}; first {found[0] if found else '-'}"
            )


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("dir")
    parser.add_argument("sites", nargs="+", metavar="NAME=URL")
    parser.add_argument("--queries", type=Path, default=QUERIES, metavar="FILE")
    parser.add_argument("--misses", action="store_true")
    parser.add_argument("--lucene", action="store_true", help="Lucene beside it, in sixteen settings (needs Java 21)")
    parser.add_argument("--json", action="store_true", help="print the figures as the last line")
    arguments = parser.parse_args()
    roots = {name: url.rstrip("/") for name, _, url in (site.partition("=") for site in arguments.sites)}
    queries = read(arguments.queries, roots)
    crawl = CrawlDir(arguments.dir)
    _, documents, pages, _, links = read_crawl(crawl)
    if missing := {url for query in queries for url in query.urls} - set(documents["url"].to_pylist()):
        print(f"not in the index: {', '.join(sorted(missing))}")
    index = Index.open(crawl)
    figures = judge("beamtrawl", queries, lambda text: [url for _, url in best(index, text)])
    figures |= judge("beamtrawl, grouped", queries, lambda text: grouped(index, text))
    if arguments.misses:
        name_misses(queries, lambda text: [url for _, url in best(index, text, DEPTH)])
    anchors = count_anchors(links, pages)
    fields = list(fields_of(documents, pages, anchors))
    figures |= judge("tantivy", queries, tantivy_search(iter(fields)))
    if bm25s:
        texts = ("\n".join(value for name, value in row.items() if name != "id") for row in fields)
        docs = [
            {"id": row["id"], "title": "", "text": text, "language": "en"}
            for row, text in zip(fields, texts, strict=True)
        ]
        figures |= judge("bm25s", queries, by_bm25s(Collection("developers", docs, [], {})))
    if arguments.lucene:
        figures |= judge_lucene(queries, fields)
    if arguments.json:
        print(json.dumps(figures))
    return 0


if __name__ == "__main__":
    sys.exit(main())
