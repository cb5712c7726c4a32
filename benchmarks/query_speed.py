"""How fast a query is answered, and how large the index is, beside tantivy.

    python benchmarks/query_speed.py DIR [--queries N]

DIR is a crawl. Its documents are indexed as one segment, and by tantivy with stemmed titles and texts with positions,
without stored text. Queries are titles of the pages, cut to three words. `ranking` is the time to the best ten
documents once a query has been asked before; `first` when it has not, with all that has to be read and decoded;
`whole` that of a search with titles and snippets, asked before. tantivy is asked with its own parser, any of the
words, once over the texts alone and once over both fields. Medians, in milliseconds; sizes in bytes of the files that
ranking and phrases need.
"""

import argparse
import random
import re
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterable
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import tantivy

sys.path.insert(0, str(Path(__file__).parent.parent))

from benchmarks.asking import best
from search.index import Index
from search.segment import Segment
from transforms.crawl_dir import CrawlDir, files_of
from transforms.index import FORMS, POSITIONS, POSTINGS, write_segment
from transforms.tables import DOCUMENTS, read_table


def documents_of(crawl: CrawlDir) -> pa.Table:
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


def tantivy_index(documents: pa.Table, path: Path) -> tantivy.Index:
    builder = tantivy.SchemaBuilder()
    for field in ("title", "text"):
        builder.add_text_field(field, tokenizer_name="en_stem", index_option="position")
    index = tantivy.Index(builder.build(), path=str(path))
    writer = index.writer(50_000_000, 1)
    for title, text in zip(documents["title"].to_pylist(), documents["text"].to_pylist(), strict=True):
        writer.add_document(tantivy.Document(title=title or "", text=text or ""))
    writer.commit()
    writer.wait_merging_threads()
    index.reload()
    return index


def size(files: Iterable[Path]) -> int:
    return sum(file.stat().st_size for file in files if file.is_file())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("dir")
    parser.add_argument("--queries", type=int, default=300)
    arguments = parser.parse_args()
    documents = documents_of(CrawlDir(arguments.dir))
    titles = [title for title in documents["title"].to_pylist() if title and len(re.findall(r"\w+", title)) > 2]
    texts = [" ".join(re.findall(r"\w+", title)[:3]) for title in random.Random(0).sample(titles, arguments.queries)]
    with tempfile.TemporaryDirectory() as root:
        write_segment(root, "index", documents)
        index = Index([Segment(root, "index")])
        own = size(Path(root, "index", name) for name in (POSTINGS, POSITIONS, FORMS))

        def ask(text: str) -> object:
            return best(index, text)

        first = median(ask, texts)
        rounds = [[text] * 5 for text in texts]  # the first of five is what fills the caches again
        ranking = statistics.median(median(ask, five) for five in rounds)
        whole = statistics.median(median(index.search, five) for five in rounds)
        Path(root, "tantivy").mkdir()
        other = tantivy_index(documents, Path(root, "tantivy"))
        searcher = other.searcher()
        fields = (["text"], ["title", "text"])
        theirs = [
            median(lambda text, f=f: searcher.search(other.parse_query_lenient(text.lower(), f)[0], 10), texts * 2)
            for f in fields
        ]
        theirs_size = size(Path(root, "tantivy").rglob("*"))
    print(f"{documents.num_rows} documents, {len(texts)} queries")
    print(f"beamtrawl: ranking {ranking:.3f}, first {first:.3f}, whole {whole:.3f}, {own} bytes")
    print(f"tantivy: texts {theirs[0]:.3f}, titles and texts {theirs[1]:.3f}, {theirs_size} bytes")


if __name__ == "__main__":
    main()
