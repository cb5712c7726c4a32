"""Ranks the links of a crawl that is made up as tables: CPU time, time and memory of the step, by pages and links.

    PYTHONPATH=. python benchmarks/large_links.py --pages 200000 --links 45 --dir DIR [--only-make]

Hosts have pages by a power law, as in `large_web`; of the links of a page, eight are a menu that its host repeats, a
tenth of the others lead to other hosts, and a twentieth to sections too. Their anchors are one to four words of 300,000
by Zipf's law: most are said once. `--workers` as for `beamtrawl rank`, which is run on the tables.
"""

import argparse
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from beamtrawl.transforms.directory.crawl_dir import CrawlDir, Manifest
from beamtrawl.transforms.indexing.write_segment import write_segment
from beamtrawl.transforms.settings import Settings, render
from beamtrawl.transforms.tables.schemas import DOCUMENTS, LINKS
from beamtrawl.transforms.tables.table_files import TableFile, TableWriter
from beamtrawl.transforms.urls.canonical import url_key

_ROUNDS, _MENU, _GROUP = 5, 8, 100  # pages of a row group
_WORDS, _SEGMENT = 300_000, 20_000
_AT = datetime(2026, 1, 1, tzinfo=UTC)


class Web:
    """Pages with their hosts, and words."""

    def __init__(self, pages: int, seed: int) -> None:
        self.chance = np.random.default_rng(seed)
        sizes = np.maximum(5, (pages / 20 * np.arange(1, pages // 5 + 1) ** -0.8).astype(np.int64))
        sizes = sizes[: np.searchsorted(np.cumsum(sizes), pages) + 1]
        self.host_of = np.repeat(np.arange(len(sizes)), sizes)[:pages]
        self.first = (np.cumsum(sizes) - sizes)[self.host_of]  # page of the host
        self.size = np.minimum(sizes[self.host_of], pages - self.first)
        urls = [f"http://host-{h}.test/docs/{n - f}.html" for n, (h, f) in enumerate(zip(*self._lists(), strict=True))]
        self.urls = pa.array(urls)
        self.keys = pa.array([url_key(url) for url in urls], LINKS.field("source_key").type)
        letters = self.chance.integers(97, 123, (_WORDS, 9), dtype=np.uint8)
        lengths = self.chance.integers(3, 10, _WORDS)
        self.words = pa.array([bytes(row[:n]).decode() for row, n in zip(letters, lengths, strict=True)])
        self._ranks = np.cumsum(1 / np.arange(1, _WORDS + 1))

    def _lists(self) -> tuple[list[int], list[int]]:
        return self.host_of.tolist(), self.first.tolist()

    def some_words(self, count: int) -> pa.Array:
        places = self.chance.random(count) * self._ranks[-1]
        return self.words.take(pa.array(np.searchsorted(self._ranks, places)))

    def anchors(self, count: int) -> pa.Array:
        """One to four words each."""
        words, one = self.chance.integers(1, 5, count), self.some_words(count)
        for more in range(1, 4):
            longer = pc.binary_join_element_wise(one, self.some_words(count), " ")
            one = pc.if_else(pa.array(words > more), longer, one)
        return one

    def links(self, pages: np.ndarray, links: int, round_: int, menu: pa.Array) -> pa.Table:
        """The rows of `links` of some pages."""
        counts = self.chance.integers(links - 20, links + 21, len(pages))
        sources = np.repeat(pages, counts)
        place = np.arange(len(sources)) - np.repeat(np.cumsum(counts) - counts, counts)
        is_menu, abroad = place < _MENU, self.chance.random(len(sources)) < 0.1
        own = self.first[sources] + (self.chance.random(len(sources)) * self.size[sources]).astype(np.int64)
        of_menu = self.first[sources] + np.minimum(place, self.size[sources] - 1)
        targets = np.where(abroad, self.chance.integers(len(self.host_of), size=len(sources)), own)
        targets = np.where(is_menu, of_menu, targets)
        said = menu.take(pa.array(self.host_of[sources] % 2000 * _MENU + np.minimum(place, _MENU - 1)))
        texts = pc.if_else(pa.array(is_menu), said, self.anchors(len(sources)))
        sections = [[{"id": f"s{n % 9}", "anchor": f"Part {n}"}] if n < 9 else None for n in
                    self.chance.integers(180, size=len(sources)).tolist()]  # fmt: skip
        ends = {"source": pa.array(sources), "target": pa.array(targets)}
        columns = {f"{end}_{name}": of.take(numbers) for end, numbers in ends.items()
                   for name, of in (("key", self.keys), ("url", self.urls))}  # fmt: skip
        columns |= {"anchor": texts, "fragments": pa.array(sections, LINKS.field("fragments").type)}
        constant = {"rel": "", "kind": "a", "round": round_, "from_duplicate": False}
        columns |= {name: pa.array([value] * len(sources)) for name, value in constant.items()}
        return _table(columns, len(sources), LINKS)


def _table(columns: dict, rows: int, schema: pa.Schema) -> pa.Table:
    return pa.table([columns[f.name].cast(f.type) if f.name in columns else pa.nulls(rows, f.type) for f in schema],
                    schema=schema)  # fmt: skip


def make(root: str, pages: int, links: int, seed: int) -> int:
    """Write the tables of a crawl of five rounds; return the number of links."""
    web, crawl = Web(pages, seed), CrawlDir(root)
    crawl.write_text("crawl.toml", render(Settings()))
    crawl.commit(Manifest("seeds", 0, "", (), {}, (), "", ""))
    menu, made = web.anchors(2000 * _MENU), 0
    order = web.chance.permutation(pages)
    for round_, part in enumerate(np.array_split(order, _ROUNDS), 1):
        writer = TableWriter(root, "links", round_)
        for start in range(0, len(part), _GROUP):
            rows = web.links(np.sort(part[start : start + _GROUP]), links, round_, menu)
            writer.write(rows)
            made += rows.num_rows
        files, segments = [writer.close()], []
        documents = TableWriter(root, "documents", round_)
        for number, start in enumerate(range(0, len(part), _SEGMENT)):
            some = np.sort(part[start : start + _SEGMENT])
            numbers = pa.array(some)
            fixed = {"round": round_, "language": "en", "noarchive": False, "fetched_at": _AT}
            columns = {name: pa.array([value] * len(some)) for name, value in fixed.items()}
            columns |= {"url_key": web.keys.take(numbers), "url": web.urls.take(numbers)}
            columns |= {"host": pa.array([f"host-{h}.test" for h in web.host_of[some]]), "text": web.anchors(len(some))}
            table = _table(columns, len(some), DOCUMENTS)
            documents.write(table)
            segments.append(f"index/round={round_:06d}/shard-{number:04d}-{round_:016x}")
            write_segment(root, segments[-1], table)
        files.append(documents.close())
        written: tuple[TableFile, ...] = tuple(file for file in files if file)
        crawl.commit(Manifest("fetch", round_, "", (), {}, (), "", ""))
        crawl.commit(Manifest("update", round_, "", written, {}, (), "", "", tuple(segments)))
    return made


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pages", type=int, default=200_000)
    parser.add_argument("--links", type=int, default=45, help="of a page, in the mean; at least 28")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--dir", type=Path, required=True, help="of the crawl; it is made if it is not there")
    parser.add_argument("--only-make", action="store_true")
    given = parser.parse_args()
    if not given.dir.exists():
        print(f"{make(str(given.dir), given.pages, given.links, given.seed):,} links")
    if given.only_make:
        return
    command = [sys.executable, "-P", "-m", "beamtrawl", "rank", str(given.dir), "--workers", str(given.workers)]
    subprocess.run(command, check=True)
    ranked = [m for m in CrawlDir(str(given.dir)).manifests() if m.step == "rank"][-1]
    memory, cpu = ranked.memory or {}, ranked.cpu or {}
    print(f"| {ranked.counters['links']:,} links | {cpu['taken'] / 1000:.1f} CPU s | {ranked.seconds:.1f} s |"
          f" {memory['peak'] / 1e6:,.0f} of {memory['projected'] / 1e6:,.0f} MB |")  # fmt: skip


if __name__ == "__main__":
    main()
