"""Writes a large index of real texts, perturbed, for benchmarks of the query side.

    python benchmarks/large_index.py DOCUMENTS… --into DIR [--count N]

Each of DOCUMENTS is a crawl. Their texts are cut into passages of about WORDS words. A document of the index is a
passage in which one word in SWAPPED is replaced by one drawn from all texts, so frequent words stay frequent and no two
documents are equal; it has the title of its page. Segments have PER_SEGMENT documents. DIR/texts has the titles and
texts as terms, so that another engine can index the same words.
"""

import argparse
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

sys.path.insert(0, str(Path(__file__).parent.parent))

from beamtrawl.transforms.directory.crawl_dir import CrawlDir, files_of
from beamtrawl.transforms.indexing.analysis import tokens
from beamtrawl.transforms.indexing.write_segment import write_segment
from beamtrawl.transforms.tables.schemas import DOCUMENTS
from beamtrawl.transforms.tables.table_files import read_table
from beamtrawl.transforms.urls.canonical import url_key

WORDS, SWAPPED = 100, 10
PER_SEGMENT = 250_000
HOSTS = 2_000

Longs = npt.NDArray[np.int64]


class Passages:
    """The passages of some texts, as numbers of words."""

    def __init__(self, rows: pa.Table) -> None:
        self.titles = [" ".join(tokens(title or "")) for title in rows["title"].to_pylist()]
        split = [tokens(text) for text in rows["text"].to_pylist()]
        lengths = np.array(list(map(len, split)), np.int64)
        encoded = pa.array([word for words in split for word in words], pa.string()).dictionary_encode()
        self.vocabulary, self.stream = encoded.dictionary, encoded.indices.to_numpy()
        begins = np.cumsum(lengths) - lengths
        self.starts = np.concatenate([np.arange(b, b + n, WORDS) for b, n in zip(begins, lengths, strict=True)])
        self.pages = np.repeat(np.arange(len(lengths)), -(-lengths // WORDS))
        self.lengths = np.minimum(WORDS, (begins + lengths)[self.pages] - self.starts)

    def perturbed(self, chosen: Longs, random: np.random.Generator) -> pa.Array:
        """The texts of passages with some words replaced."""
        ends = np.cumsum(self.lengths[chosen])
        places = np.repeat(self.starts[chosen] - ends + self.lengths[chosen], self.lengths[chosen]) + np.arange(
            ends[-1]
        )
        swapped = random.random(len(places)) < 1 / SWAPPED
        places[swapped] = random.integers(0, len(self.stream), int(swapped.sum()))
        words = self.vocabulary.take(pa.array(self.stream[places]))
        offsets = pa.array(np.concatenate([[0], ends]).astype(np.int32))
        return pc.binary_join(pa.ListArray.from_arrays(offsets, words), " ")


def documents(passages: Passages, first: int, count: int) -> pa.Table:
    """`count` documents with numbers from `first` on."""
    random = np.random.default_rng(first)
    chosen = random.integers(0, len(passages.starts), count)
    hosts = [f"h{number}.test" for number in random.integers(0, HOSTS, count).tolist()]
    urls = [f"http://{host}/{first + number}" for number, host in enumerate(hosts)]
    columns = {
        "url_key": pa.array(list(map(url_key, urls)), DOCUMENTS.field("url_key").type),
        "url": pa.array(urls),
        "host": pa.array(hosts),
        "language": pa.array(["en"] * count),
        "media_type": pa.array(["text/html"] * count),
        "round": pa.array(np.ones(count), DOCUMENTS.field("round").type),
        "fetched_at": pa.array([1_700_000_000_000_000] * count, DOCUMENTS.field("fetched_at").type),
        "spam_score": pa.array(random.random(count) / 4, DOCUMENTS.field("spam_score").type),
        "title": pa.array([passages.titles[page] for page in passages.pages[chosen].tolist()]),
        "text": passages.perturbed(chosen, random),
    }
    missing = {field.name: pa.nulls(count, field.type) for field in DOCUMENTS if field.name not in columns}
    return pa.table(columns | missing).select(DOCUMENTS.names).cast(DOCUMENTS)


def texts_of(crawls: list[str]) -> pa.Table:
    """Title and text of the English pages of crawls."""

    def rows() -> Iterator[pa.Table]:
        for crawl in map(CrawlDir, crawls):
            paths = [file.path for file in files_of(crawl.require_manifests(), "documents")]
            found = read_table(crawl.root, paths, DOCUMENTS).select(["title", "text", "language"])
            yield found.filter(pc.and_(pc.is_valid(found["text"]), pc.equal(found["language"], "en")))

    return pa.concat_tables(rows())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("crawls", nargs="+", metavar="DOCUMENTS")
    parser.add_argument("--into", required=True, type=Path, metavar="DIR")
    parser.add_argument("--count", type=int, default=5_000_000, metavar="N")
    arguments = parser.parse_args()
    passages = Passages(texts_of(arguments.crawls))
    print(f"{len(passages.starts)} passages of {len(passages.stream)} words, {len(passages.vocabulary)} distinct")
    (arguments.into / "texts").mkdir(parents=True, exist_ok=True)
    for first in range(0, arguments.count, PER_SEGMENT):
        start, name = time.perf_counter(), f"{first // PER_SEGMENT:04d}"
        rows = documents(passages, first, min(PER_SEGMENT, arguments.count - first))
        pq.write_table(rows.select(["title", "text"]), arguments.into / "texts" / f"{name}.parquet", compression="zstd")
        write_segment(str(arguments.into), f"segments/{name}", rows)
        print(f"{first + rows.num_rows} documents, {time.perf_counter() - start:.0f} s", flush=True)


if __name__ == "__main__":
    main()
