"""The time of an explanation, by the history of the crawl.

    python benchmarks/explain.py --known 50000 5000000 [--dir DIR] [--calls 20] [--batch 500]

Writes the history of `history.py` with a fetched page for most URLs: its visit, document, entry in the index and
links to known URLs. DIR keeps it for a further run. Shown are the wall time of `beamtrawl explain` as a user runs it
(median and maximum of calls for different URLs, with the start of the program), its CPU time (median), and the CPU
time for each URL of one call for many.
"""

import argparse
import json
import os
import random
import resource
import statistics
import subprocess
import sys
import time
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from tempfile import TemporaryDirectory

import history
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from against_scrapy import installed

sys.path.insert(0, str(Path(__file__).parent.parent))

from beamtrawl.pipeline.seeds import Seed, add_seeds
from beamtrawl.transforms.directory.crawl_dir import CrawlDir, Manifest, iso
from beamtrawl.transforms.documents.finish_pages import ROW_GROUPS
from beamtrawl.transforms.indexing.segment_files import write_opening
from beamtrawl.transforms.settings import render, settings_digest
from beamtrawl.transforms.tables.schemas import TABLES
from beamtrawl.transforms.tables.table_files import TableFile, TableWriter, conform
from tests.support import crawls

LINKS = 10  # of a page
PART = 50_000  # URLs of a file of visits, documents and links

SEED = "http://h1.test/articles/"


def write_pages(root: str, states: pa.Table, round_: int) -> tuple[list[TableFile], list[TableFile]]:
    """The visits, and the documents, links and index segment, of the fetched URLs among rows of urls."""
    fetched = states.filter(pc.equal(states["state"], "fetched"))
    chance, count = np.random.default_rng(round_), fetched.num_rows
    common = {name: fetched[name] for name in ("url_key", "url", "host")} | {
        "round": np.full(count, round_, np.int32),
        "fetched_at": fetched["last_fetched_at"],
    }
    visit = common | {"outcome": ["fetched"] * count, "status": np.full(count, 200), "depth": fetched["depth"]}
    visit |= {"body": pa.array([b"<p>A page."] * count, pa.large_binary()), "body_bytes": np.full(count, 10)}
    title = history.names("Page #", np.arange(count))
    document = common | {"title": title, "text": title, "digest": fetched["digest"], "language": ["en"] * count}
    source = np.repeat(np.arange(count), LINKS)
    target = chance.integers(0, states.num_rows, len(source))
    link = {
        **{f"source_{name}": fetched[column].take(source) for name, column in (("key", "url_key"), ("url", "url"))},
        **{f"target_{name}": states[column].take(target) for name, column in (("key", "url_key"), ("url", "url"))},
        "anchor": title.take(source),
        "kind": ["a"] * len(source),
        "round": np.full(len(source), round_, np.int32),
    }
    written = {name: write(root, name, round_, rows) for name, rows in (("visits", visit), ("documents", document))}
    written["links"] = write(root, "links", round_, link)
    docs = pa.table({"url_key": fetched["url_key"], "round": pa.array(common["round"])})
    index = write_opening(root, f"index/round={round_:06d}/shard-0000/docs.parquet", docs, {})
    return [written["visits"]], [written["documents"], written["links"], *index]


def write(root: str, table: str, round_: int, columns: dict[str, object]) -> TableFile:
    rows = conform(pa.table(columns), TABLES[table])
    writer = TableWriter(root, table, round_)
    size = ROW_GROUPS.get(table, 1_000)
    for start in range(0, rows.num_rows, size):
        writer.write(rows.slice(start, size))
    return writer.close()  # type: ignore[return-value]


def write_crawl(crawl: CrawlDir, known: int) -> None:
    """A crawl of so many known URLs, of which most were fetched, in rounds of PART URLs."""
    settings = crawls.settings(**history.CHANGES)
    digest = settings_digest(settings)
    crawl.write_text("crawl.toml", render(settings))
    add_seeds(crawl, [Seed(SEED)], digest, datetime.now(UTC))
    history.write_history(crawl, known, known // 4, digest)
    round_ = history.ROUNDS
    for first in range(0, known, history.FILE_ROWS):
        states = history.known_urls(first, min(history.FILE_ROWS, known - first), known)
        for start in range(0, states.num_rows, PART):
            round_ += 1
            visits, others = write_pages(crawl.root, states.slice(start, PART), round_)
            folder = (f"index/round={round_:06d}/shard-0000",)
            for step, files, index in ("fetch", visits, ()), ("update", others, folder):
                now = iso(history.NOW)
                crawl.commit(Manifest(step, round_, digest, tuple(files), {}, (), now, now, index))


def explain(root: str, urls: Sequence[str]) -> tuple[float, float]:
    """The wall and CPU seconds of a call."""
    before, started = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    paths = {"PYTHONPATH": os.pathsep.join([str(Path(__file__).parent.parent), os.environ.get("PYTHONPATH", "")])}
    command = [sys.executable, "-m", "beamtrawl", "explain", root, *urls, "--json"]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, env=installed() | paths)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return time.perf_counter() - started, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def measure(root: str, known: int, calls: int, batch: int) -> dict[str, float]:
    """Print what explanations take; the median seconds of one, and the CPU milliseconds of a URL of many."""
    crawl = CrawlDir(root)
    if not crawl.manifests():
        write_crawl(crawl, known)
    urls = random.Random(0).sample(history.linked_urls(known), calls + batch)
    walls, cpus = zip(*(explain(root, [url]) for url in urls[:calls]), strict=True)
    wall, cpu = explain(root, urls[calls:])
    cells = (
        f"{known:,}",
        f"{statistics.median(walls):.2f}",
        f"{max(walls):.2f}",
        f"{statistics.median(cpus):.2f}",
        f"{wall:.1f}",
    )
    print(f"| {' | '.join(cells)} | {1000 * cpu / batch:.1f} |", flush=True)
    one, each = f"{known:,} known, one URL, s", f"{known:,} known, CPU ms per URL of many"
    return {one: statistics.median(walls), each: 1000 * cpu / batch}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--known", type=int, nargs="+", default=[50_000, 5_000_000], metavar="N")
    parser.add_argument("--dir", help="keep the histories in this directory, and use those that are there")
    parser.add_argument("--calls", type=int, default=20)
    parser.add_argument("--batch", type=int, default=500, help="URLs of the call for many")
    parser.add_argument("--json", action="store_true", help="print the figures as one line of JSON at the end")
    arguments = parser.parse_args()
    print("| known URLs | one URL, s | at most, s | its CPU, s | a batch, s | CPU ms per URL of it |\n|" + "---|" * 6)
    figures: dict[str, float] = {}
    for known in arguments.known:
        with TemporaryDirectory() as scratch:
            root = f"{arguments.dir or scratch}/{known}"
            figures |= measure(root, known, arguments.calls, arguments.batch)
    if arguments.json:
        print(json.dumps(figures))


if __name__ == "__main__":
    main()
