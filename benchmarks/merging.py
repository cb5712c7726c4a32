"""What merging index segments costs, against indexing their documents, and what it gains for searches.

    python benchmarks/merging.py DIR

DIR is any crawl: its documents are indexed in ten segments, in a directory that is thrown away; these are merged.
"""

import argparse
import itertools
import random
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

sys.path.insert(0, str(Path(__file__).parent.parent))

from beamtrawl.search.index.segment import Segment
from beamtrawl.search.searcher import Index
from beamtrawl.transforms.directory.crawl_dir import CrawlDir, files_of
from beamtrawl.transforms.indexing.merge import Part, merge_segments
from beamtrawl.transforms.indexing.write_segment import write_segment
from beamtrawl.transforms.tables.schemas import DOCUMENTS
from beamtrawl.transforms.tables.table_files import read_table

SEGMENTS, QUERIES = 10, 300


def seconds(work: Callable[[], object]) -> float:
    started = time.process_time()
    work()
    return time.process_time() - started


def found_documents(crawl: CrawlDir, most: int) -> pa.Table:
    """Documents that may be in an index, each page once."""
    documents = read_table(crawl.root, [file.path for file in files_of(crawl.manifests(), "documents")], DOCUMENTS)
    documents = documents.filter(pc.and_(documents["duplicate_of"].is_null(), documents["text"].is_valid()))
    _, firsts = np.unique(documents["url"].to_numpy(zero_copy_only=False), return_index=True)
    return documents.take(random.Random(1).sample(firsts.tolist(), min(most, len(firsts))))


def queries(documents: pa.Table) -> list[str]:
    """Two words each, of titles."""
    pick = random.Random(2)
    words = sorted(
        {word for title in documents["title"].to_pylist() for word in (title or "").split() if len(word) > 3}
    )
    return [" ".join(pick.sample(words, 2)) for _ in range(QUERIES)]


def per_query(root: str, folders: list[str], asked: list[str]) -> float:
    """The median time in milliseconds, from the disk."""
    index = Index([Segment(root, folder) for folder in folders])
    times = []
    for text in asked:
        started = time.perf_counter()
        index.search(text)
        times.append(time.perf_counter() - started)
    return statistics.median(times) * 1000


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("dir", metavar="DIR")
    parser.add_argument("--documents", type=int, default=10_000, metavar="N", help="at most (10000)")
    arguments = parser.parse_args()
    documents = found_documents(CrawlDir(arguments.dir), arguments.documents)
    bounds = np.linspace(0, documents.num_rows, SEGMENTS + 1, dtype=int).tolist()
    parts = [documents.slice(start, end - start) for start, end in itertools.pairwise(bounds)]
    folders = [f"index/{number}" for number in range(SEGMENTS)]
    with tempfile.TemporaryDirectory() as root:
        indexing = sum(seconds(lambda f=f, p=p: write_segment(root, f, p)) for f, p in zip(folders, parts, strict=True))
        whole = [Part(f, None, np.ones(p.num_rows, bool)) for f, p in zip(folders, parts, strict=True)]
        merging = seconds(lambda: merge_segments(root, whole, "index/merged", "index/links"))
        asked = queries(documents)
        many, one = per_query(root, folders, asked), per_query(root, ["index/merged"], asked)
    print(f"{documents.num_rows} documents: indexing {indexing:.1f} s of CPU, merging {merging:.1f} s")
    print(f"merging / indexing {merging / indexing:.2f}; a query on {SEGMENTS} segments / on one {many / one:.2f}")


if __name__ == "__main__":
    main()
