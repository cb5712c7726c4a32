"""How well search answers judged questions: a test collection through the index, scored by ir-measures.

    python benchmarks/cranfield.py DIRECTORY [--segments N]

The directory holds `docs.jsonl` (id, title, text), `queries.tsv` (id, text) and `qrels.tsv` (query, document, gain).
Each document becomes a page, each query is asked as it is, with default settings; the first 1,000 hits are judged:
nDCG@10 by gain, MAP with every gain above 0 as relevant.
"""

import argparse
import json
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import ir_measures
from ir_measures import AP, nDCG

sys.path.insert(0, str(Path(__file__).parent.parent))

from beamtrawl.search.searcher import Index
from benchmarks.asking import best
from tests.support.corpus import indexed

DEPTH = 1_000


def rows(directory: Path) -> Iterator[dict]:
    with (directory / "docs.jsonl").open() as lines:
        for doc in map(json.loads, lines):
            yield {"url": f"http://docs.test/{doc['id']}", "title": doc["title"], "text": doc["text"]}


def pairs(path: Path) -> Iterator[list[str]]:
    with path.open() as lines:
        yield from (line.rstrip("\n").split("\t") for line in lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("directory", type=Path)
    parser.add_argument("--segments", type=int, default=1)
    arguments = parser.parse_args()
    documents = list(rows(arguments.directory))
    qrels = [ir_measures.Qrel(query, doc, int(gain)) for query, doc, gain in pairs(arguments.directory / "qrels.tsv")]
    with tempfile.TemporaryDirectory() as root:
        parts = (documents[number :: arguments.segments] for number in range(arguments.segments))
        index = Index.open(indexed(Path(root), *parts))
        start = time.perf_counter()
        run = [
            ir_measures.ScoredDoc(number, url.rpartition("/")[2], score)
            for number, text in pairs(arguments.directory / "queries.tsv")
            for score, url in best(index, text, DEPTH)
        ]
        took = time.perf_counter() - start
    found = ir_measures.calc_aggregate([nDCG @ 10, AP], qrels, run)
    print(f"{len(documents)} documents, nDCG@10 {found[nDCG @ 10]:.4f}, MAP {found[AP]:.4f}, in {took:.1f} s")


if __name__ == "__main__":
    main()
