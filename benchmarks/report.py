"""What the report of a large crawl costs: seconds, CPU seconds, peak memory, size of the file.

    python benchmarks/report.py --urls 100000 1000000

Writes a crawl of so many URLs in 100 rounds, always the same: their states and hosts (as in `benchmarks/history.py`),
with a visit and a document for each, but without bodies and texts, which a report does not read.
"""

import argparse
import multiprocessing
import os
import subprocess
import sys
import time
from collections.abc import Sequence
from datetime import timedelta
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pyarrow as pa

sys.path.insert(0, str(Path(__file__).parent.parent))

from beamtrawl.transforms.directory.crawl_dir import CrawlDir, Manifest, iso
from beamtrawl.transforms.tables.schemas import TABLES
from beamtrawl.transforms.tables.table_files import TableWriter, conform
from benchmarks.history import NOW, ROUNDS, known_urls, write_history

_OUTCOMES = ("fetched", "fetched", "redirected", "gone", "timeout", "denied_robots")
_TYPES = ("text/html", "text/html", "application/pdf", "text/plain")


def write_crawl(root: str, urls: int) -> None:
    """Write a crawl of so many URLs, at least one for each round."""
    crawl, size = CrawlDir(root), urls // ROUNDS
    for round_ in range(1, ROUNDS):
        rows = known_urls((round_ - 1) * size, size, urls)
        chance = np.random.default_rng(round_)
        common = {name: rows[name] for name in ("url_key", "url", "host", "depth")}
        common |= {"round": np.full(size, round_), "fetched_at": pa.array([NOW] * size)}
        numbers = {"body_bytes": chance.integers(0, 60_000, size), "elapsed_ms": chance.random(size) * 300}
        visits = numbers | {"outcome": _chosen(chance, _OUTCOMES, size), "status": np.full(size, 200)}
        documents = {"spam_score": chance.random(size), "noindex": chance.random(size) < 0.1}
        documents |= {
            "media_type": _chosen(chance, _TYPES, size),
            "language": _chosen(chance, ("en", "de", "ko"), size),
        }
        for step, table, values in (("fetch", "visits", visits), ("update", "documents", documents)):
            writer = TableWriter(root, table, round_)
            writer.write(conform(pa.table(common | values), TABLES[table]))
            counters = {"fetched": size, "visits_rows": size} if step == "fetch" else {"documents_rows": size}
            ended = iso(NOW + timedelta(seconds=300))
            files = tuple(filter(None, [writer.close()]))
            crawl.commit(Manifest(step, round_, "", files, counters, (), iso(NOW), ended))
    write_history(crawl, urls, urls // 4, "")


def _chosen(chance: np.random.Generator, values: Sequence[str], count: int) -> pa.Array:
    numbers = pa.array(chance.integers(0, len(values), count))
    return pa.DictionaryArray.from_arrays(numbers, pa.array(values)).cast(pa.string())


def measure(urls: int) -> tuple[float, float, int, int]:
    """Seconds, CPU seconds, peak memory and size of the file in bytes."""
    with TemporaryDirectory() as folder:
        writer = multiprocessing.get_context("spawn").Process(target=write_crawl, args=(f"{folder}/crawl", urls))
        writer.start()  # in a process of its own: a child starts with the peak memory of its parent
        writer.join()
        command = [sys.executable, "-m", "beamtrawl", "report", f"{folder}/crawl", "-o", f"{folder}/report.html"]
        started = time.perf_counter()
        child = subprocess.Popen(command)
        _, status, used = os.wait4(child.pid, 0)
        wall = time.perf_counter() - started
        if status:
            sys.exit("the report failed")
        return wall, used.ru_utime + used.ru_stime, used.ru_maxrss << 10, Path(f"{folder}/report.html").stat().st_size


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--urls", type=int, nargs="+", default=[100_000, 1_000_000], metavar="N")
    print("| URLs | seconds | CPU s | peak MB | file kB |\n|" + "---|" * 5)
    for urls in parser.parse_args().urls:
        wall, cpu, peak, size = measure(urls)
        print(f"| {urls:,} | {wall:.1f} | {cpu:.1f} | {peak / 1e6:,.0f} | {size / 1e3:,.0f} |", flush=True)


if __name__ == "__main__":
    main()
