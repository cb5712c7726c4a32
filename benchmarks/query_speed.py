"""How fast a query is answered, and how large the index is, beside tantivy and SQLite.

    python benchmarks/query_speed.py DOCUMENTS [--queries N]

DOCUMENTS is a crawl, or a Parquet file with the columns of the table documents. They are indexed as one segment, as
eight, by tantivy, and by SQLite's FTS5: titles and texts with positions, stemmed, nothing stored. The other engines
are given the terms of `analysis.tokens` with spaces between them, so that all index the same words; tantivy has memory
enough to write one segment, and FTS5 is optimized. Beamtrawl has headings and URLs besides.

Queries are titles of the pages, cut to three words; any of the words may match. `ranking` is the time to the best ten
documents, `page` that of a search with titles and snippets, `new snippets` that where the texts of the hits are in
memory and no snippet is, `new texts` that where the texts have not been searched before either. Asked before, all take
turns query by query, so that ratios hold on a busy machine; `first` is a new index, asked each query once, with all
that has to be read and decoded. tantivy is asked over the texts alone, and over titles too. Times are medians in
milliseconds. Sizes are bytes: of Beamtrawl, of the files that ranking and phrases need. Last, first times from a
simulated object store where each request takes 20 ms.
"""

import argparse
import functools
import random
import re
import sqlite3
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import tantivy

sys.path.insert(0, str(Path(__file__).parent.parent))

from beamtrawl.search.answers.make_hits import Snippets
from beamtrawl.search.answers.searcher import Index
from beamtrawl.search.index.segment import Segment
from beamtrawl.transforms.directory.crawl_dir import CrawlDir, files_of
from beamtrawl.transforms.indexing.analysis import tokens
from beamtrawl.transforms.indexing.write_segment import FORMS, POSTINGS, write_segment
from beamtrawl.transforms.tables.schemas import DOCUMENTS
from beamtrawl.transforms.tables.table_files import read_table
from benchmarks.asking import best
from tests.support.stores import REQUESTS, url

SEGMENTS = 8
LATENCY = 0.02  # seconds of a request to the store


def documents_of(path: str) -> pa.Table:
    if path.endswith(".parquet"):
        return pq.read_table(path)
    crawl = CrawlDir(path)
    files = files_of(crawl.require_manifests(), "documents")
    found = read_table(crawl.root, [file.path for file in files], DOCUMENTS)
    return found.filter(pc.and_(pc.is_null(found["duplicate_of"]), pc.invert(pc.fill_null(found["noindex"], False))))


def median(ask: Callable[[str], object], queries: Iterable[str]) -> float:
    times = []
    for query in queries:
        start = time.perf_counter()
        ask(query)
        times.append(time.perf_counter() - start)
    return statistics.median(times) * 1000


def in_turns(asks: Mapping[str, Callable[[str], object]], queries: Iterable[str]) -> dict[str, float]:
    """The median of each where a query was asked just before."""
    times: dict[str, list[float]] = {name: [] for name in asks}
    for query in queries:
        for name, ask in asks.items():
            ask(query)
            times[name].append(median(ask, [query] * 5))
    return {name: statistics.median(found) for name, found in times.items()}


def tantivy_index(rows: Sequence[tuple[str, str]], path: Path) -> tantivy.Index:
    path.mkdir()
    builder = tantivy.SchemaBuilder()
    for field in ("title", "text"):
        builder.add_text_field(field, tokenizer_name="en_stem", index_option="position")
    index = tantivy.Index(builder.build(), path=str(path))
    writer = index.writer(4_000_000_000, 1)
    for title, text in rows:
        writer.add_document(tantivy.Document(title=title, text=text))
    writer.commit()
    writer.wait_merging_threads()
    index.reload()
    return index


def sqlite_index(rows: Sequence[tuple[str, str]], path: Path) -> sqlite3.Connection:
    database = sqlite3.connect(path)
    database.execute("CREATE VIRTUAL TABLE pages USING fts5(title, text, content='', tokenize='porter unicode61')")
    database.executemany("INSERT INTO pages (title, text) VALUES (?, ?)", rows)
    database.execute("INSERT INTO pages (pages) VALUES ('optimize')")
    database.commit()
    database.execute("VACUUM")
    return database


def engines(index: tantivy.Index, database: sqlite3.Connection) -> dict[str, Callable]:
    """The other engines by name, asked for the ten best."""
    searcher = index.searcher()
    asked = "SELECT rowid FROM pages WHERE pages MATCH ? ORDER BY rank LIMIT 10"
    return {
        "tantivy, texts": lambda text: searcher.search(index.parse_query_lenient(text.lower(), ["text"])[0], 10),
        "tantivy, titles and texts": lambda text: searcher.search(
            index.parse_query_lenient(text.lower(), ["title", "text"])[0], 10
        ),
        "SQLite FTS5": lambda text: database.execute(
            asked, [" OR ".join(f'"{word}"' for word in text.split())]
        ).fetchall(),
    }


def queries(documents: pa.Table, count: int) -> list[str]:
    titles = [title for title in documents["title"].to_pylist() if title and len(re.findall(r"\w+", title)) > 2]
    return [" ".join(re.findall(r"\w+", title)[:3]) for title in random.Random(0).sample(titles, count)]


def size(files: Iterable[Path]) -> int:
    return sum(file.stat().st_size for file in files if file.is_file())


def anew(index: Index, texts_too: bool, query: str) -> None:
    """Ask for a page whose snippets are not kept."""
    kept = index._snippets
    index._snippets = Snippets()
    if not texts_too:
        index._snippets.texts = kept.texts
    index.search(query)
    index._snippets = kept


def measure(
    root: str, parts: Mapping[str, Sequence[str]], others: Mapping[str, Callable], texts: Sequence[str]
) -> None:
    """Print the times; `parts` are segments below the root, and `others` other engines."""
    opened = {name: Index([Segment(root, folder) for folder in folders]) for name, folders in parts.items()}
    asks = {f"ranking, {name}": functools.partial(best, index) for name, index in opened.items()}
    for name, index in opened.items():
        asks |= {
            f"page, {name}": index.search,
            f"page, new snippets, {name}": functools.partial(anew, index, False),
            f"page, new texts, {name}": functools.partial(anew, index, True),
        }
    for name, found in in_turns(asks | others, texts).items():
        print(f"asked before: {name}: {found:.3f}")
    for delay, place in ((0.0, root), (LATENCY, url(Path(root)))):
        for name, folders in parts.items():
            for kind, ask in (("ranking", best), ("page", Index.search)):
                index = Index([Segment(place, folder) for folder in folders])
                REQUESTS.expect()
                REQUESTS.bytes, REQUESTS.delay = 0, delay
                found = median(functools.partial(ask, index), texts)
                requests, size = len(REQUESTS.names) / len(texts), REQUESTS.bytes / len(texts) / 1000
                told = f", {requests:.1f} requests and {size:.0f} kB of a store" if delay else ""
                print(f"first: {kind}, {name}: {found:.1f}{told}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("documents")
    parser.add_argument("--queries", type=int, default=300)
    arguments = parser.parse_args()
    documents = documents_of(arguments.documents)
    texts = queries(documents, arguments.queries)
    rows = [
        (" ".join(tokens(title or "")), " ".join(tokens(text or "")))
        for title, text in zip(documents["title"].to_pylist(), documents["text"].to_pylist(), strict=True)
    ]
    print(f"{documents.num_rows} documents, {len(texts)} queries")
    with tempfile.TemporaryDirectory() as root:
        parts = {"one segment": ["one"], "eight segments": [f"part-{number}" for number in range(SEGMENTS)]}
        write_segment(root, "one", documents)
        for number, part in enumerate(parts["eight segments"]):
            write_segment(root, part, documents.take(pa.array(range(number, documents.num_rows, SEGMENTS))))
        other, database = tantivy_index(rows, Path(root, "tantivy")), sqlite_index(rows, Path(root, "sqlite"))
        print(f"Beamtrawl: {size(Path(root, 'one', name) for name in (POSTINGS, FORMS))} bytes")
        print(f"tantivy: {size(Path(root, 'tantivy').rglob('*'))} bytes")
        print(f"SQLite FTS5: {size([Path(root, 'sqlite')])} bytes")
        measure(root, parts, engines(other, database), texts)
        database.close()


if __name__ == "__main__":
    main()
