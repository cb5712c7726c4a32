"""What a round costs after many rounds, and how many files they leave.

    python benchmarks/rounds.py --rounds 1000 [--each 50]

A site is a chain of pages: each round fetches one page, which links to the next one and to one of three that are known.
Shown are, for each so many rounds, the CPU milliseconds and the median wall time of a round (driver and worker are one
process), merging and folding included, and the files of the crawl: those that count (`visible`), the manifests, the
files of the index, and all.
"""

import argparse
import itertools
import statistics
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

sys.path.insert(0, str(Path(__file__).parent.parent))

from beamtrawl.transforms.storage.crawl_dir import CrawlDir, Manifest
from tests.support import crawls
from tests.support.web import html
from tests.support.web_process import WebProcess

WORDS = " ".join(f"word{n}" for n in range(50))


class Clocked(crawls.Silent):
    """Notes when each update step was committed, in CPU and wall seconds."""

    def __init__(self) -> None:
        super().__init__()
        self.times = [(time.process_time(), time.perf_counter())]

    def step_committed(self, manifest: Manifest) -> None:
        if manifest.step == "update":
            self.times.append((time.process_time(), time.perf_counter()))


def files(root: Path) -> tuple[int, int, int, int]:
    """The number of table files that count, of manifests, of files of the index, and of all files."""
    found = [path.relative_to(root).parts[0] for path in root.rglob("*") if path.is_file()]
    counted = sum(len(manifest.files) for manifest in CrawlDir(str(root)).manifests())
    return counted, found.count("manifests"), found.count("index"), len(found)


def report(first: int, times: Sequence[tuple[float, float]], root: Path) -> None:
    cpu = (times[-1][0] - times[0][0]) / (len(times) - 1)
    wall = statistics.median(after[1] - before[1] for before, after in itertools.pairwise(times))
    cells = (f"{first + 1} to {first + len(times) - 1}", f"{cpu * 1000:.0f}", f"{wall * 1000:.0f}", *files(root))
    print(f"| {' | '.join(map(str, cells))} |", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=1000, metavar="N")
    parser.add_argument("--each", type=int, default=50, metavar="N")
    arguments = parser.parse_args()
    pages = {
        f"/{n}": html(f"Page {n}", f"{WORDS} {n}", [f"/{n + 1}", f"/{n % 3}"]) for n in range(arguments.rounds + 1)
    }
    print("| rounds | CPU ms | wall ms | visible | manifests | index | all files |\n|" + "---|" * 7)
    with TemporaryDirectory() as folder, WebProcess({"a.test": pages}) as web:
        root = Path(folder) / "crawl"
        crawls.crawl(root, [web.url("a.test", "/0")], rounds=1)
        for first in range(1, arguments.rounds, arguments.each):
            clocked = Clocked()
            crawls.crawl(root, rounds=min(arguments.each, arguments.rounds - first), observer=clocked)
            report(first, clocked.times, root)


if __name__ == "__main__":
    main()
