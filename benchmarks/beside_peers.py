"""Search beside Lucene, tantivy and bm25s on judged collections, with a noise interval for each difference.

    python benchmarks/beside_peers.py COLLECTION… [--queries N] [--cache FOLDER] [--save FILE] [--before FILE]

A COLLECTION is a folder as `public_collections.py` writes them, in the form of `judged_queries.py`. Each engine has
title and text, the queries as plain text, ours by `plain_query`, and its defaults: Lucene its standard analyzer and
those of the language; tantivy and bm25s stems where they have some for the language and, for Chinese, Japanese and
Korean, our terms, since their own take a sentence for a word. The best peer is the one with the highest mean.

A line gives nDCG@10 of each, our difference to the best peer with the 95 % interval of a paired bootstrap over the
queries, and recall at 100, ours and the highest of the peers. With --save, the scores of each query are kept, and with
--before, those of an earlier run of the same collections are compared with: the last column is what changed. It takes
some minutes of one core for a hundred collections; lucene.py tells what Lucene needs.
"""

import argparse
import json
import sys
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path
from statistics import mean

import numpy as np

sys.path.insert(0, str(Path(__file__).parent.parent))

from beamtrawl.search.query.lexemes import plain_query
from benchmarks import lucene
from benchmarks.judged_queries import Collection, by_bm25s, by_tantivy, ndcg, ours, read, segment
from benchmarks.known_item import interval

DEPTH = 100
OURS = "Beamtrawl"

Scores = dict[str, list[float]]
"""For each engine, a figure of each query."""


def by_lucene(collection: Collection) -> dict[str, Callable[[str], list[str]]]:
    """Search with each analyzer of Lucene for the language of a collection."""
    docs = ({"id": doc["id"], "text": f"{doc['title']} {doc['text']}"} for doc in collection.docs)
    texts = [query["text"] for query in collection.queries]
    names = lucene.analyzers(collection.docs[0]["language"])
    found = lucene.search(docs, texts, names, depth=DEPTH)
    return {
        f"Lucene {name.rpartition('.')[2].removesuffix('Analyzer')}": dict(zip(texts, ids, strict=True)).__getitem__
        for (name, _), ids in found.items()
    }


def recall(found: list[str], gains: Mapping[str, int]) -> float:
    """The share of the relevant documents among those that were found."""
    return len(gains.keys() & set(found)) / len(gains)


def judge(collection: Collection, search: Callable[[str], list[str]]) -> tuple[list[float], list[float]]:
    """nDCG at ten and recall at DEPTH of each query."""
    found = [(search(query["text"]), collection.gains[query["id"]]) for query in collection.queries]
    return [ndcg(*each) for each in found], [recall(*each) for each in found]


def difference(ours_: list[float], others: list[float]) -> str:
    """The mean difference and its interval.

    >>> difference([1.0, 1.0], [0.5, 0.5])
    '+.500 (+.500 to +.500)'
    """
    each = np.array(ours_) - np.array(others)
    middle, low, high = (f"{value:+.3f}".replace("0.", ".") for value in (each.mean(), *interval(each)))
    return f"{middle} ({low} to {high})"


def line(collection: Collection, quality: Scores, found: Scores, before: list[float] | None) -> str:
    """The line of the table for a collection."""
    means = {engine: mean(values) for engine, values in quality.items()}
    peers = [engine for engine in means if engine != OURS]
    best = max(peers, key=means.__getitem__)
    languages = [name for name in peers if name.startswith("Lucene ") and name != "Lucene Standard"]
    of_lucene = max(languages, key=means.__getitem__, default="")
    cells = [
        *(str(len(each)) for each in (collection.docs, collection.queries)),
        *(
            f"{means[engine]:.3f}" if engine else "–"
            for engine in (OURS, of_lucene, "Lucene Standard", "tantivy", "bm25s")
        ),
        f"{best} {difference(quality[OURS], quality[best])}",
        f"{mean(found[OURS]):.3f}, {max(mean(found[engine]) for engine in peers):.3f}",
        *([difference(quality[OURS], before)] if before else []),
    ]
    return f"| {collection.name} | {' | '.join(cells)} |"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("collections", type=Path, nargs="+", metavar="COLLECTION")
    parser.add_argument("--queries", type=int, default=300, metavar="N", help="at most N of each collection (300)")
    parser.add_argument("--cache", type=Path, metavar="FOLDER", help="keep our indexes here")
    parser.add_argument("--save", type=Path, metavar="FILE", help="write the scores of each query, in JSON")
    parser.add_argument("--before", type=Path, metavar="FILE", help="compare with what --save wrote")
    arguments = parser.parse_args()
    earlier = json.loads(arguments.before.read_text()) if arguments.before else {}
    saved = {}
    names = ["collection", "documents", "queries", OURS, "Lucene, language", "Lucene, standard", "tantivy", "bm25s"]
    names += ["minus the best peer", "recall at 100: ours, best peer", *(["minus before"] if earlier else [])]
    print(f"| {' | '.join(names)} |\n|{'---|' * len(names)}")
    with tempfile.TemporaryDirectory() as scratch:
        for folder in arguments.collections:
            collection = read(folder)
            collection = collection._replace(queries=collection.queries[: arguments.queries])
            search = ours(segment(collection, arguments.cache or Path(scratch)), depth=DEPTH)
            engines = {
                OURS: lambda text, search=search: search(plain_query(text)),
                **by_lucene(collection),
                "tantivy": by_tantivy(collection, DEPTH),
                "bm25s": by_bm25s(collection, DEPTH),
            }
            judged = {engine: judge(collection, search) for engine, search in engines.items()}
            quality, found = ({engine: pair[which] for engine, pair in judged.items()} for which in (0, 1))
            saved[collection.name] = quality[OURS]
            print(line(collection, quality, found, earlier.get(collection.name)), flush=True)
            if arguments.save:
                arguments.save.write_text(json.dumps(saved))
    return 0


if __name__ == "__main__":
    sys.exit(main())
