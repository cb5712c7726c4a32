"""Whether the page that is meant is among the first three while its name is typed, beside a prefix search by tantivy.

    python benchmarks/as_you_type.py DIR python=URL sqlite=URL debref=URL

DIR is a crawl of the three manuals. Each of the NAMES is typed letter by letter; from the fourth letter on, the share
of the prefixes is counted for which the page is among the first three hits. tantivy searches the same titles: all words
before the last one, and the last one as a prefix. Milliseconds are those of a prefix that was typed before.
"""

import re
import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import tantivy

sys.path.insert(0, str(Path(__file__).parent.parent))

from beamtrawl.search.answers.searcher import Index
from beamtrawl.transforms.directory.crawl_dir import CrawlDir

NAMES = {
    "python": [
        *("argparse", "subprocess", "json", "logging", "asyncio", "dataclasses", "itertools", "functools", "pathlib"),
        *("sqlite3", "unittest", "threading", "multiprocessing", "decimal", "fractions", "contextlib", "tempfile"),
        *("shutil", "zipfile"),
    ],
    "sqlite": ["vacuum", "pragma", "explain", "datefunc", "fts5", "rtree", "json1", "wal", "backup", "isolation"],
    "debref": ["ch01"],
}
TITLES = {"datefunc": "date and time functions", "json1": "json functions", "wal": "write-ahead logging"}
TITLES |= {"rtree": "r*tree module", "ch01": "gnu/linux tutorials", "backup": "backup api", "fts5": "fts5 extension"}
PATHS = {"python": "library/{}.html", "sqlite": "{}.html|lang_{}.html", "debref": "{}.en.html"}


def by_tantivy(index: Index) -> Callable[[str], list[str]]:
    builder = tantivy.SchemaBuilder()
    builder.add_text_field("url", stored=True, tokenizer_name="raw")
    builder.add_text_field("title")
    schema = builder.build()
    found = tantivy.Index(schema)
    writer = found.writer(50_000_000, 1)
    for segment, mask in index.parts():
        for doc, (_, texts, _) in segment.stored(np.flatnonzero(mask).tolist()).items():
            writer.add_document(tantivy.Document(url=segment.facts["url"][doc].as_py(), title=texts["title"] or ""))
    writer.commit()
    found.reload()
    searcher = found.searcher()

    def search(text: str) -> list[str]:
        *words, last = re.findall(r"\w+", text.lower())
        parts = [tantivy.Query.term_query(schema, "title", word) for word in words]
        parts.append(tantivy.Query.regex_query(schema, "title", f"{last}.*"))
        query = tantivy.Query.boolean_query([(tantivy.Occur.Must, part) for part in parts])
        return [searcher.doc(address)["url"][0] for _, address in searcher.search(query, 3).hits]

    return search


def main() -> None:
    index = Index.open(CrawlDir(sys.argv[1]))
    sites = dict(argument.split("=", 1) for argument in sys.argv[2:])
    engines: dict[str, Callable[[str], list[str]]] = {
        "Beamtrawl": lambda text: [hit.url for hit in index.search(text, 3, typing=True).hits],
        "tantivy": by_tantivy(index),
    }
    for engine, search in engines.items():
        places, times, missed = [], [], []
        for site, names in NAMES.items():
            for name in names:
                text = TITLES.get(name, name)
                pages = {sites[site] + path.format(name) for path in PATHS[site].split("|")}
                for end in range(4, len(text) + 1):
                    search(text[:end])
                    begin = time.perf_counter()
                    found = search(text[:end])
                    times.append(1_000 * (time.perf_counter() - begin))
                    places.append(bool(pages & set(found)))
                    missed += [] if places[-1] else [text[:end]]
        print(f"{engine}: {sum(places)} of {len(places)} prefixes ({sum(places) / len(places):.1%}),", end=" ")
        print(f"{statistics.median(times):.1f} ms, at most {max(times):.1f}; missed {missed}", flush=True)


if __name__ == "__main__":
    main()
