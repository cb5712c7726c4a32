"""Kills imports of web archives at random instants, resumes them, and compares their tables with those of one unkilled.

    python benchmarks/killed_imports.py WORK OUT/*.warc.gz --kills 10 --part 3000 --seed 1

The unkilled import comes first. The instants, after each start, are drawn from a share of the time that it took, so
that the kills spread over scanning, reading and updates of all parts. An import that ends between two kills is
compared, and the next one begins in a new directory; the last one is left to its end. Each kill is of the whole session
of a child of this program, and shows which step it interrupted.
"""

import argparse
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from hashlib import blake2b
from pathlib import Path

import pyarrow as pa

from beamtrawl.transforms.directory.crawl_dir import CrawlDir, paths_of
from beamtrawl.transforms.tables.schemas import TABLES
from beamtrawl.transforms.tables.table_files import read_table

_STEP = re.compile(r"(\d{6}-(?:import|update|rank|compact))|(import)-[0-9a-f]+-scan")


def start(folder: Path, files: list[str], words: list[str]) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-P", "-m", "beamtrawl", "import", "warc", str(folder), *files, *words]
    return subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True)


def where(folder: Path) -> str:
    """The step of an import that was killed: what its youngest file below `attempts` is of."""
    attempts = sorted((folder / "attempts").glob("*"), key=lambda path: path.stat().st_mtime) if folder.exists() else []
    found = next((match for path in reversed(attempts) if (match := _STEP.match(path.name))), None)
    committed = len(list((folder / "manifests").glob("*"))) if folder.exists() else 0
    return f"{(found[1] or 'scan') if found else 'no attempt yet'}, after {committed} manifests"


_MEASURED = {"elapsed_ms", "last_elapsed_ms", "latency", "latency_p50_ms", "latency_p95_ms", "held_by", "path"}


def tables(folder: Path) -> dict[str, list[bytes]]:
    """Digests of the rows of all tables, sorted, without what differs between two runs: times of ours, and paths."""
    return {name: sorted(digests(folder, name)) for name in TABLES}


def digests(folder: Path, table: str) -> Iterator[bytes]:
    crawl = CrawlDir(str(folder))
    names = [f.name for f in TABLES[table] if not pa.types.is_timestamp(f.type) and f.name not in _MEASURED]
    for path in paths_of(crawl.manifests(), table):
        for row in read_table(crawl.root, [path], TABLES[table], names).to_pylist():
            yield blake2b(repr(row).encode(), digest_size=16).digest()


def compare(folder: Path, expected: dict[str, list[bytes]]) -> bool:
    found = tables(folder)
    different = [name for name in expected if found[name] != expected[name]]
    print(f"{folder.name}: {'DIFFERENT: ' + ', '.join(different) if different else 'all tables equal'}", flush=True)
    return not different


def main() -> int:
    parser = argparse.ArgumentParser(description="Kill imports, resume them, and compare their tables")
    parser.add_argument("work", type=Path, help="a folder for the crawl directories")
    parser.add_argument("files", nargs="+", metavar="FILE")
    parser.add_argument("--kills", type=int, default=10)
    parser.add_argument("--part", help="captures of a round")
    parser.add_argument("--share", type=float, default=0.25, help="of the time of the unkilled import, for instants")
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    words = ["--workers", "2", *(["--part", arguments.part] if arguments.part else [])]
    print(f"seed {arguments.seed}")
    rng = random.Random(arguments.seed)
    began = time.monotonic()
    whole = arguments.work / "whole"
    if code := start(whole, arguments.files, words).wait():
        return code
    longest = time.monotonic() - began
    expected = tables(whole)
    counts = {name: len(found) for name, found in expected.items() if found}
    print(f"unkilled: {longest:.0f} s; rows: {counts}", flush=True)
    kills, number, is_equal = 0, 1, True
    while True:
        folder = arguments.work / f"killed-{number}"
        process, instant = start(folder, arguments.files, words), rng.uniform(0, arguments.share * longest)
        try:
            code = process.wait(instant if kills < arguments.kills else None)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
            kills += 1
            print(f"kill {kills} of {folder.name}, {instant:.1f} s after its start: {where(folder)}", flush=True)
            continue
        if code:
            print(f"{folder.name}: exit code {code}")
            return 1
        is_equal &= compare(folder, expected)
        shutil.rmtree(folder)
        if kills == arguments.kills:
            return not is_equal
        number += 1


if __name__ == "__main__":
    sys.exit(main())
