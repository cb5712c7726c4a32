"""What it costs to select a round from a frontier of millions of waiting URLs.

python benchmarks/frontier.py [--rows 1000000] [--rounds 1]

Writes a frontier spread over 100,000 hosts and one of a single host, each as a large file and smaller, newer ones, and
selects rounds of 1,000 and of 100,000 URLs, each in a process of its own. Prints CPU seconds, wall time, the peak of
resident memory, the bytes read and the classes of the selected URLs in percent, in the order of `UrlClass`; 40, 40, 10
and 10 are set. With `--rounds N`, N rounds of 1,000 URLs, and the least URLs of a class in a round.
"""

import argparse
import hashlib
import json
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple

import apache_beam as beam
import numpy as np
import pyarrow as pa
from apache_beam.runners.portability.fn_api_runner import FnApiRunner

from beamtrawl.transforms.directory.waiting import Waiting
from beamtrawl.transforms.frontier.files import write_frontier
from beamtrawl.transforms.frontier.merge import merge_frontier
from beamtrawl.transforms.frontier.priority import SHARES, Quota, UrlClass
from beamtrawl.transforms.frontier.read_due import Bounds, ReadDue, spare
from beamtrawl.transforms.frontier.selection import Due, choose
from beamtrawl.transforms.settings import Priority
from beamtrawl.transforms.tables.schemas import FRONTIER, KEY
from beamtrawl.transforms.tables.table_files import conform

_CHUNK = 1_000_000
_SHARES = (0.9, 0.07, 0.02, 0.01)  # of the rows, in files of decreasing age


def generate(root: Path, rows: int, hosts: int) -> tuple[list[str], float]:
    """Paths of the files of a frontier of `rows` URLs, and CPU seconds per million rows for merging the largest."""
    random, paths, start, seconds = np.random.default_rng(1), list[str](), 0, 0.0
    for share in _SHARES:
        end = min(rows, start + int(rows * share))
        parts = []
        for first in range(start, end, _CHUNK):
            file = write_frontier(str(root), 1, _table(random, first, min(end, first + _CHUNK), hosts))
            parts += [file.path] if file else []
        if len(parts) > 1:
            begun = time.process_time()
            merged = list(merge_frontier(parts, str(root), 1, Waiting(tuple(parts), (), 0)))
            seconds = (time.process_time() - begun) / (end - start) * 1e6
            for path in parts:
                (root / path).unlink()
            parts = [file.path for file in merged]
        paths += parts
        start = end
    return paths, seconds


def _table(random: np.random.Generator, first: int, last: int, hosts: int) -> pa.Table:
    """Rows first to last, each of any host."""
    numbers = np.arange(first, last)
    own = random.integers(0, hosts, last - first).tolist()
    urls = [
        f"http://host{h}.test/section/{n % 97}/article-{n:x}.html" for h, n in zip(own, numbers.tolist(), strict=True)
    ]
    depth = random.geometric(0.3, len(urls)).clip(1, 12)
    columns = {
        "url_key": pa.array((hashlib.blake2b(url.encode(), digest_size=16).digest() for url in urls), KEY),
        "url": pa.array(urls),
        "host": pa.array([f"host{h}.test" for h in own]),
        "depth": pa.array(depth, pa.int32()),
        "priority": pa.array(np.round(random.exponential(0.1, len(urls)), 4)),
        "reason": pa.array(random.choice(["new", "recrawl", "retry"], len(urls), p=[0.9, 0.05, 0.05])),
        "referrer": pa.array([f"http://host{h}.test/section/" for h in own]),
        "discovered_round": pa.array(depth, pa.int32()),
        "redirects": pa.array(np.zeros(len(urls)), pa.int32()),
        "failures": pa.array(np.zeros(len(urls)), pa.int32()),
    }
    return conform(pa.table(columns), FRONTIER)


def select(root: str, paths: list[str], bounds: Bounds, per_host: int) -> None:
    """Select a round, grouped by host as the fetch step does, and print the number of its URLs of each class."""

    def chosen(pair: tuple[str, Iterable[list[tuple]]]) -> list[tuple[int, int]]:
        due = choose((Due._make(row) for rows in pair[1] for row in rows), per_host, quota=bounds.quota)
        return list(Counter(row.class_ for row in due).items())

    with beam.Pipeline(runner=FnApiRunner()) as pipeline:
        host_to_due = pipeline | beam.Create(paths) | ReadDue(root, [], bounds) | "ByHost" >> beam.GroupByKey()
        counts = host_to_due | "Choose" >> beam.FlatMap(chosen)
        counts | "Sum" >> beam.CombinePerKey(sum) | "Print" >> beam.MapTuple(lambda kind, n: print(f"urls {kind} {n}"))


class Selected(NamedTuple):
    """What some rounds have selected, and what that cost."""

    urls: int  # in each round
    percent: list[float]  # by class, of all rounds
    least: int  # URLs of a class in a round
    cost: dict[str, float]


def _measured(rounds: int, **arguments: Any) -> Selected:
    """Rounds of a run of this file in another process."""
    words = [sys.executable, __file__, "--select", json.dumps(arguments | {"rounds": rounds})]
    run = subprocess.run(words, stdout=subprocess.PIPE, text=True, check=True)
    *lines, cost = run.stdout.splitlines()
    counts = [(int(words[1]), int(words[2])) for line in lines if (words := line.split())[0] == "urls"]
    total = sum(count for _, count in counts)
    percent = [100 * sum(count for found, count in counts if found == kind) / total for kind in UrlClass]
    least = min(count for _, count in counts) if len(counts) == len(UrlClass) * rounds else 0
    return Selected(total // rounds, percent, least, json.loads(cost))


def _select(root: str, paths: list[str], at_most: int | None, per_host: int, rounds: int) -> None:
    begun, used, read = time.monotonic(), time.process_time(), _kernel("io", "rchar")
    priority = Priority(high_depth=1)
    for number in range(1, rounds + 1):
        quota = Quota(SHARES, number)
        bounds = Bounds(datetime.now(UTC), spare(per_host), at_most, priority=priority, quota=quota)
        select(root, paths, bounds, per_host)
    cost = {"cpu": time.process_time() - used, "wall": time.monotonic() - begun}
    print(json.dumps(cost | {"peak": _kernel("status", "VmHWM") / 1024, "read": (_kernel("io", "rchar") - read) / 1e6}))


def _kernel(file: str, name: str) -> int:
    """A number that Linux counts for this process."""
    lines = Path(f"/proc/self/{file}").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith(name))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--rounds", type=int, default=1, metavar="N", help="rounds of 1,000 URLs")
    parser.add_argument("--select", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.select:
        _select(**json.loads(arguments.select))
        return
    names = ("waiting URLs", "hosts", "round", "selected", "CPU s", "wall s", "peak MB", "read MB", "classes", "least")
    print(f"| {' | '.join(names)} |\n{'|---' * len(names)}|")
    for hosts in (100_000, 1):
        with tempfile.TemporaryDirectory() as folder:
            paths, seconds = generate(Path(folder), arguments.rows, hosts)
            if seconds:
                print(f"merging: {seconds:.1f} CPU s per million rows", file=sys.stderr)
            size = sum((Path(folder) / path).stat().st_size for path in paths) / 1e6
            for count in (1_000, 100_000) if arguments.rounds == 1 else (1_000,):
                # Many hosts: the first of all. One host: its budget.
                plan = {"at_most": count, "per_host": 10_000} if hosts > 1 else {"at_most": None, "per_host": count}
                found = _measured(arguments.rounds, root=folder, paths=paths, **plan)
                cost, percent = found.cost, " ".join(f"{share:.1f}" for share in found.percent)
                figures = (
                    f"{cost['cpu']:.1f} | {cost['wall']:.1f} | {cost['peak']:.0f} | {cost['read']:.0f} of {size:.0f}"
                )
                row = f"{arguments.rows:,} | {hosts:,} | {count:,} | {found.urls:,} | {figures}"
                print(f"| {row} | {percent} | {found.least} |", flush=True)


if __name__ == "__main__":
    main()
