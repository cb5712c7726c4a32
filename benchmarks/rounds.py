"""What a round costs after many rounds, and how many files they leave.

    python benchmarks/rounds.py --rounds 1000 [--each 50] [--plot FILE.svg]

A site is a chain of pages: each round fetches one page, which links to the next one and to one of three that are known.
Shown are, for each so many rounds, the CPU milliseconds and the median wall time of a round (user and system; driver
and worker are one process, the web server is another), merging and folding included, and the files of the crawl: those
that count (`visible`), the manifests, the files of the index, and all. `young` are the CPU milliseconds of rounds 3 to
10 of a new crawl of the same pages, measured just after: both rise with other load of the machine.
"""

import argparse
import itertools
import shutil
import statistics
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

sys.path.insert(0, str(Path(__file__).parent.parent))

from beamtrawl.transforms.directory.crawl_dir import CrawlDir, Manifest
from benchmarks.plot import Chart, write
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
    manifests = CrawlDir(str(root)).manifests()
    consumed = {path for manifest in manifests for path in manifest.consumed}
    counted = sum(file.path not in consumed for manifest in manifests for file in manifest.files)
    return counted, found.count("manifests"), found.count("index"), len(found)


def cpu_ms(times: Sequence[tuple[float, float]]) -> float:
    """The mean CPU milliseconds of a round."""
    return (times[-1][0] - times[0][0]) / (len(times) - 1) * 1000


def young(folder: Path, seed: str) -> float:
    """CPU milliseconds of a round of a new crawl."""
    root = folder / "young"
    crawls.crawl(root, [seed], rounds=2)
    clocked = Clocked()
    crawls.crawl(root, rounds=8, observer=clocked)
    shutil.rmtree(root)
    return cpu_ms(clocked.times)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=1000, metavar="N")
    parser.add_argument("--each", type=int, default=50, metavar="N")
    parser.add_argument("--plot", metavar="FILE", help="write the CPU time and the files as charts (SVG)")
    arguments = parser.parse_args()
    pages = {
        f"/{n}": html(f"Page {n}", f"{WORDS} {n}", [f"/{n + 1}", f"/{n % 3}"]) for n in range(arguments.rounds + 1)
    }
    names = ("CPU ms", "young", "wall ms", "visible", "manifests", "index", "all files")
    print(f"| rounds | {' | '.join(names)} |\n|{'---|' * (len(names) + 1)}")
    results: dict[str, list[tuple[float, float]]] = {name: [] for name in names}
    with TemporaryDirectory() as folder, WebProcess({"a.test": pages}) as web:
        root, seed = Path(folder) / "crawl", web.url("a.test", "/0")
        crawls.crawl(root, [seed], rounds=1)
        for first in range(1, arguments.rounds, arguments.each):
            clocked = Clocked()
            crawls.crawl(root, rounds=min(arguments.each, arguments.rounds - first), observer=clocked)
            times = clocked.times
            wall = statistics.median(after[1] - before[1] for before, after in itertools.pairwise(times))
            cells = (cpu_ms(times), young(Path(folder), seed), wall * 1000, *files(root))
            last = first + len(times) - 1
            print(f"| {first + 1} to {last} | {' | '.join(f'{cell:.0f}' for cell in cells)} |", flush=True)
            for name, cell in zip(names, cells, strict=True):
                results[name].append((last, cell))
    if arguments.plot:
        write(arguments.plot, charts(results))


def charts(results: Mapping[str, Sequence[tuple[float, float]]]) -> list[Chart]:
    """CPU time and files by the number of rounds."""
    costs = {"this crawl": results["CPU ms"], "a new crawl": results["young"]}
    counts = {"that count": results["visible"], "manifests": results["manifests"], "index": results["index"]}
    return [
        Chart("CPU time of a round", "rounds", "ms", costs),
        Chart("Files that are read", "rounds", "files", counts),
    ]


if __name__ == "__main__":
    main()
