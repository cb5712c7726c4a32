"""How fast a query is answered, and how large the index is, beside tantivy and SQLite.

    python benchmarks/query_speed.py DOCUMENTS [--queries N]

DOCUMENTS is a crawl, or a Parquet file with the columns of the table documents. They are indexed as one segment, as
eight, by tantivy, and by SQLite's FTS5: titles and texts with positions, stemmed, nothing stored. The other engines
are given the terms of `analysis.tokens` with spaces between them, so that all index the same words; tantivy has memory
enough to write one segment, and FTS5 is optimized. Beamtrawl has headings and URLs besides.

Queries are titles of the pages, cut to three words; any of the words may match. `ranking` is the time to the best ten
documents of all fields once a query has been asked before; `first` when it has not, with all that has to be read and
decoded; `page` and `first page` those of a search with titles and snippets. tantivy is asked over the texts alone, and
over titles too; it decodes with each query. Times are medians in milliseconds. Sizes are bytes: of Beamtrawl, of the
files that ranking and phrases need.
"""

import argparse
import random
import re
import sqlite3
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import tantivy

sys.path.insert(0, str(Path(__file__).parent.parent))

from benchmarks.asking import best
from search.index import Index
from search.segment import Segment
from transforms.analysis import tokens
from transforms.crawl_dir import CrawlDir, files_of
from transforms.index import FORMS, POSTINGS, write_segment
from transforms.tables import DOCUMENTS, read_table

SEGMENTS = 8


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


def repeated(ask: Callable[[str], object], queries: Iterable[str]) -> float:
    """The median where each query was asked just before."""
    return statistics.median(median(ask, [query] * 5) for query in queries)


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


def size(files: Iterable[Path]) -> int:
    return sum(file.stat().st_size for file in files if file.is_file())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("documents")
    parser.add_argument("--queries", type=int, default=300)
    arguments = parser.parse_args()
    documents = documents_of(arguments.documents)
    titles = [title for title in documents["title"].to_pylist() if title and len(re.findall(r"\w+", title)) > 2]
    texts = [" ".join(re.findall(r"\w+", title)[:3]) for title in random.Random(0).sample(titles, arguments.queries)]
    print(f"{documents.num_rows} documents, {len(texts)} queries")
    with tempfile.TemporaryDirectory() as root:
        write_segment(root, "one", documents)
        parts = [f"part-{number}" for number in range(SEGMENTS)]
        for number, part in enumerate(parts):
            write_segment(root, part, documents.take(pa.array(range(number, documents.num_rows, SEGMENTS))))
        for folders in (["one"], parts):
            index = Index([Segment(root, folder) for folder in folders])
            first = median(lambda text, i=index: best(i, text), texts)
            ranking = repeated(lambda text, i=index: best(i, text), texts)
            page = repeated(index.search, texts)
            index = Index([Segment(root, folder) for folder in folders])
            first_page = median(index.search, texts)
            own = size(Path(root, folder, name) for name in (POSTINGS, FORMS) for folder in folders)
            print(
                f"Beamtrawl, segments {len(folders)}: ranking {ranking:.3f}, first {first:.3f}, page {page:.3f}, "
                f"first page {first_page:.3f}, {own} bytes"
            )
        rows = [
            (" ".join(tokens(title or "")), " ".join(tokens(text or "")))
            for title, text in zip(documents["title"].to_pylist(), documents["text"].to_pylist(), strict=True)
        ]
        other = tantivy_index(rows, Path(root, "tantivy"))
        searcher = other.searcher()
        body, both = (
            median(lambda text, f=f: searcher.search(other.parse_query_lenient(text.lower(), f)[0], 10), texts * 2)
            for f in (["text"], ["title", "text"])
        )
        print(
            f"tantivy, segments {searcher.num_segments}: texts {body:.3f}, titles and texts {both:.3f}, "
            f"{size(Path(root, 'tantivy').rglob('*'))} bytes"
        )
        database = sqlite_index(rows, Path(root, "sqlite"))
        asked = "SELECT rowid FROM pages WHERE pages MATCH ? ORDER BY rank LIMIT 10"
        theirs = median(
            lambda text: database.execute(asked, [" OR ".join(f'"{word}"' for word in text.split())]).fetchall(),
            texts * 2,
        )
        print(f"SQLite FTS5: {theirs:.3f}, {size([Path(root, 'sqlite')])} bytes")
        database.close()


if __name__ == "__main__":
    main()
