"""How well search answers the judged queries of test collections, beside tantivy and bm25s on the same text.

    python benchmarks/judged_queries.py DIRECTORY [--fit] [--queries N] [--cache FOLDER] [--korean-morphemes]

Each folder of DIRECTORY with these files is a collection:

    docs.jsonl     {"id", "title", "text", "language"} a line
    queries.jsonl  {"id", "text"} a line
    qrels.tsv      query, document and gain, separated by tabs

Each document becomes a page; each query is asked as it is, with the defaults; nDCG@10 is the mean over the queries that
have a judged document. tantivy and bm25s have title and text as one text, their English stemmers for English, and for
Chinese, Japanese and Korean the terms of our analysis, since they have none. bm25s is compared if it is installed
(pip install bm25s).

With --fit, weights are chosen by cross-validation: for each family of collections in turn, those of `grid` with the
best mean over the other families are used on it. Collections whose names are the same up to a hyphen are a family,
such as the same texts and queries in several languages, and are held out together. --queries limits the queries of
each. FOLDER keeps the indexes for the next run; one is made again when the collection, the options, the code of the
index or its libraries change. With --korean-morphemes, documents in Korean are indexed by their morphemes, too, as with
`korean_morphemes` in crawl.toml.
"""

import argparse
import hashlib
import itertools
import json
import math
import re
import statistics
import sys
import tempfile
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from importlib import metadata
from pathlib import Path
from typing import NamedTuple

import tantivy

sys.path.insert(0, str(Path(__file__).parent.parent))

from beamtrawl.search.answers.searcher import Index
from beamtrawl.search.index.bm25f import WEIGHTING, Weighting
from beamtrawl.search.index.segment import Segment
from beamtrawl.transforms import indexing
from beamtrawl.transforms.indexing.analysis import STEMMERS, tokens
from beamtrawl.transforms.indexing.write_segment import write_segment
from benchmarks.asking import best
from tests.support.corpus import documents

try:
    import bm25s
    import Stemmer
except ImportError:
    bm25s = None

DEPTH = 10
SEGMENT = "index/collection"
INDEXING = Path(indexing.__file__).parent


class Collection(NamedTuple):
    name: str
    docs: list[dict]
    queries: list[dict]
    gains: Mapping[str, Mapping[str, int]]  # by query and document


def read(folder: Path) -> Collection:
    gains: defaultdict[str, dict[str, int]] = defaultdict(dict)
    for line in (folder / "qrels.tsv").read_text().splitlines():
        query, doc, gain = line.split("\t")
        if int(gain) > 0:
            gains[query][doc] = int(gain)
    docs, queries = ([json.loads(line) for line in (folder / f"{name}.jsonl").open()] for name in ("docs", "queries"))
    return Collection(folder.name, docs, [query for query in queries if query["id"] in gains], gains)


def ndcg(found: list[str], gains: Mapping[str, int]) -> float:
    """nDCG at DEPTH, with the gains as they are."""
    ideal = sorted(gains.values(), reverse=True)[:DEPTH]
    reached = sum(gains.get(doc, 0) / math.log2(place + 2) for place, doc in enumerate(found[:DEPTH]))
    return reached / sum(gain / math.log2(place + 2) for place, gain in enumerate(ideal))


def score(collection: Collection, search: Callable[[str], list[str]]) -> float:
    scores = [ndcg(search(query["text"]), collection.gains[query["id"]]) for query in collection.queries]
    return sum(scores) / len(scores)


def segment(collection: Collection, cache: Path, korean_morphemes: bool = False) -> Segment:
    root = cache / f"{collection.name}-{version(collection, korean_morphemes)}"
    if not (root / SEGMENT).exists():
        rows = [{"url": f"http://docs.test/{doc['id']}"} | doc for doc in collection.docs]
        write_segment(str(root), f"{SEGMENT}.unfinished", documents(*rows), korean_morphemes)
        (root / f"{SEGMENT}.unfinished").rename(root / SEGMENT)
    return Segment(str(root), SEGMENT)


def version(collection: Collection, korean_morphemes: bool) -> str:
    """A digest of all that an index of the collection depends on."""
    digest = hashlib.sha256(json.dumps([collection.docs, korean_morphemes]).encode())
    for file in sorted(INDEXING.glob("*.py")):
        digest.update(file.read_bytes())
    for library in ("PyStemmer", "pyarrow", *(["kiwipiepy", "kiwipiepy_model"] if korean_morphemes else [])):
        digest.update(f"{library} {metadata.version(library)}".encode())
    return digest.hexdigest()[:16]


def ours(found: Segment, weighting: Weighting = WEIGHTING, depth: int = DEPTH) -> Callable[[str], list[str]]:
    index = Index([found], weighting=weighting)
    return lambda text: [url.rpartition("/")[2] for _, url in best(index, text, depth)]


def plain(collection: Collection) -> tuple[list[str], Callable[[str], str], str]:
    """The texts for another engine, the same treatment for a query, and the language."""
    language = collection.docs[0]["language"]
    texts = [f"{doc['title']}\n{doc['text']}" for doc in collection.docs]
    if language in ("ko", "zh", "ja"):
        treat = lambda text: " ".join(tokens(text))  # noqa: E731
        return [treat(text) for text in texts], treat, language
    return texts, str, language


def by_tantivy(collection: Collection, depth: int = DEPTH) -> Callable[[str], list[str]]:
    texts, treat, language = plain(collection)
    stems = {"en": "en_stem"}.get(language, "default")
    builder = tantivy.SchemaBuilder()
    builder.add_text_field("text", tokenizer_name=stems)
    builder.add_text_field("id", stored=True, tokenizer_name="raw")
    index = tantivy.Index(builder.build())
    if language != "en" and (analyzer := tantivy_analyzer(language)):
        index.register_tokenizer("default", analyzer)
    writer = index.writer(50_000_000, 1)
    for doc, text in zip(collection.docs, texts, strict=True):
        writer.add_document(tantivy.Document(id=doc["id"], text=text))
    writer.commit()
    index.reload()
    searcher = index.searcher()

    def search(text: str) -> list[str]:
        words = " ".join(re.findall(r"\w+", treat(text).lower()))  # no operators
        query, _ = index.parse_query_lenient(words, ["text"])
        return [searcher.doc(address)["id"][0] for _, address in searcher.search(query, depth).hits]

    return search


def tantivy_analyzer(language: str) -> tantivy.TextAnalyzer | None:
    """tantivy's stems of a language, of which it has some; None for others."""
    builder = tantivy.TextAnalyzerBuilder(tantivy.Tokenizer.simple()).filter(tantivy.Filter.lowercase())
    try:
        return builder.filter(tantivy.Filter.stemmer(STEMMERS.get(language, ""))).build()
    except ValueError:
        return None


def by_bm25s(collection: Collection, depth: int = DEPTH) -> Callable[[str], list[str]]:
    texts, treat, language = plain(collection)
    stemmer = Stemmer.Stemmer(STEMMERS[language]) if language in STEMMERS else None
    options = {"stopwords": "en" if language == "en" else [], "stemmer": stemmer, "show_progress": False}
    index = bm25s.BM25()
    index.index(bm25s.tokenize(texts, **options), show_progress=False)
    ids = [doc["id"] for doc in collection.docs]
    depth = min(depth, len(ids))

    def search(text: str) -> list[str]:
        words = bm25s.tokenize([treat(text)], **options)
        found, scores = index.retrieve(words, k=depth, show_progress=False)
        return [
            ids[number] for number, score in zip(found[0], scores[0], strict=True) if score > 0
        ]  # k, matching or not

    return search


def grid() -> Iterator[Weighting]:
    for k1, b, names in itertools.product((1.2, 2.0), (0.6, 0.75), (0.0, 1.0, 2.0)):
        yield WEIGHTING._replace(k1=k1, b=WEIGHTING.b | {"body": b}, names=names)


def told(weighting: Weighting) -> str:
    return f"k1 {weighting.k1}, b {weighting.b['body']}, names {weighting.names}"


def fit(collections: list[Collection], segments: Mapping[str, Segment]) -> None:
    """Print the score of each collection with the weights that are best on the other families."""
    weightings, scores = list(grid()), []
    families = {c.name.partition("-")[0]: [] for c in collections}
    for w in weightings:
        scores.append(found := {c.name: score(c, ours(segments[c.name], w)) for c in collections})
        each = " ".join(f"{value:.3f}" for value in found.values())
        print(f"{told(w)}: {each}", flush=True)
    for found in collections:
        families[found.name.partition("-")[0]].append(found.name)
    means = [
        {family: statistics.mean(found[n] for n in names) for family, names in families.items()} for found in scores
    ]
    print(
        "| held out | chosen by the others | nDCG@10 | with the defaults | with its own best |\n|---|---|---|---|---|"
    )
    defaults = weightings.index(WEIGHTING)
    for family, names in families.items():
        others = [sum(value for name, value in found.items() if name != family) for found in means]
        chosen = max(range(len(others)), key=others.__getitem__)
        for name in names:
            own = max(found[name] for found in scores)
            values = f"{scores[chosen][name]:.3f} | {scores[defaults][name]:.3f} | {own:.3f}"
            print(f"| {name} | {told(weightings[chosen])} | {values} |", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("directory", type=Path)
    parser.add_argument("--cache", type=Path)
    parser.add_argument("--fit", action="store_true")
    parser.add_argument("--queries", type=int, default=10_000)
    parser.add_argument("--korean-morphemes", action="store_true")
    arguments = parser.parse_args()
    collections = [read(path.parent) for path in sorted(arguments.directory.glob("*/qrels.tsv"))]
    collections = [found._replace(queries=found.queries[: arguments.queries]) for found in collections]
    with tempfile.TemporaryDirectory() as scratch:
        cache, korean = arguments.cache or Path(scratch), arguments.korean_morphemes
        segments = {found.name: segment(found, cache, korean) for found in collections}
        if arguments.fit:
            fit(collections, segments)
            return
        print("| collection | documents | queries | Beamtrawl | tantivy | bm25s |\n|---|---|---|---|---|---|")
        for found in collections:
            runs = [ours(segments[found.name]), by_tantivy(found), *([by_bm25s(found)] if bm25s else [])]
            scores = " | ".join(f"{score(found, run):.3f}" for run in runs)
            print(f"| {found.name} | {len(found.docs)} | {len(found.queries)} | {scores} |", flush=True)


if __name__ == "__main__":
    main()
