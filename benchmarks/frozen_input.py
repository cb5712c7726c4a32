"""What it costs to parse, link and index pages that were fetched once, by one or several versions of the program.

    beamtrawl crawl sites --seed URL…
    beamtrawl export warc sites frozen --noarchive
    python benchmarks/frozen_input.py frozen/part-*.warc.gz [--python OLD/bin/python NEW/bin/python] [--runs 3]

Freezing takes fetching, clocks and servers out of a comparison: each run imports the same bytes, whose SHA-256 is
shown, into a new crawl in one round, in a process of its own. `--python` names the interpreters of the versions, which
take turns; the first is what the others are compared with. CPU seconds are user and system time of all processes.
`same` says whether documents (URL, title, text, and what they are duplicates of) and links equal those of the first.
"""

import argparse
import hashlib
import json
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

_CHUNK = 1 << 20
_TABLES = """
SELECT (SELECT count(*) FROM documents) AS documents, (SELECT count(*) FROM links) AS links,
    (SELECT bit_xor(md5_number_lower(concat_ws(chr(0), url, title, text, hex(duplicate_of)))) FROM documents) AS texts,
    (SELECT bit_xor(md5_number_lower(concat_ws(chr(0), source_url, target_url, anchor))) FROM links) AS targets
"""


class Run(NamedTuple):
    """An import: its cost, and what came of it."""

    cpu: float  # seconds
    wall: float
    memory: int  # bytes: the largest process
    tables: dict[str, int]


def sha256(paths: Sequence[Path]) -> str:
    """The digest of files, one after the other."""
    digest = hashlib.sha256()
    for path in paths:
        with path.open("rb") as file:
            while chunk := file.read(_CHUNK):
                digest.update(chunk)
    return digest.hexdigest()


def measure(python: str, archives: Sequence[Path], workers: int) -> Run:
    """Import the archives into a new crawl with the program of an interpreter."""
    with TemporaryDirectory() as folder:
        program, crawl = [python, "-P", "-m", "beamtrawl"], f"{folder}/crawl"
        words = ["import", "warc", crawl, *map(str, archives), "--workers", str(workers)]
        started = time.monotonic()
        process = subprocess.Popen([*program, *words], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        _, status, used = os.wait4(process.pid, 0)
        wall = time.monotonic() - started
        if code := os.waitstatus_to_exitcode(status):
            raise SystemExit(f"{python}: the import ended with {code}")
        shown = subprocess.run([*program, "sql", crawl, _TABLES, "--json"], capture_output=True, check=True)
        return Run(used.ru_utime + used.ru_stime, wall, used.ru_maxrss << 10, json.loads(shown.stdout)[0])


def main() -> None:
    parser = argparse.ArgumentParser(description="Cost of an update of frozen pages")
    parser.add_argument("archives", nargs="+", type=Path, help="WARC files")
    parser.add_argument("--python", nargs="+", default=[sys.executable], help="interpreters of the versions")
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--workers", type=int, default=1)
    parser.add_argument("--json", action="store_true", help="print the figures of the last version as JSON at the end")
    arguments = parser.parse_args()
    archives = [path.resolve() for path in arguments.archives]
    print(f"{len(archives)} files, {sum(path.stat().st_size for path in archives):,} bytes, SHA-256 {sha256(archives)}")
    runs: dict[str, list[Run]] = {python: [] for python in arguments.python}
    for _ in range(arguments.runs):
        for python, done in runs.items():
            done.append(measure(python, archives, arguments.workers))
    first = runs[arguments.python[0]]
    print("| version | CPU s | ms a document | wall s | MB | of the first | documents | links | same |")
    print("|---|---|---|---|---|---|---|---|---|")
    figures: dict[str, float] = {}
    for python, done in runs.items():
        cpu, wall = (statistics.median(each) for each in ([run.cpu for run in done], [run.wall for run in done]))
        ratio = statistics.median(run.cpu / other.cpu for run, other in zip(done, first, strict=True))
        tables, memory = done[0].tables, max(run.memory for run in done)
        is_same = all(run.tables == first[0].tables for run in done)
        figures = {"cpu": cpu, "ms_document": 1000 * cpu / max(1, tables["documents"]), "wall": wall}
        row = [
            python,
            f"{cpu:.1f}",
            f"{figures['ms_document']:.2f}",
            f"{wall:.1f}",
            f"{memory / 1e6:.0f}",
            f"{ratio:.3f}",
        ]
        row += [f"{tables['documents']:,}", f"{tables['links']:,}", "yes" if is_same else "no"]
        print(f"| {' | '.join(row)} |")
    if arguments.json:
        print(json.dumps(figures))


if __name__ == "__main__":
    main()
