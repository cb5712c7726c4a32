"""What one round costs, by the history of the crawl: CPU time, peak memory, bytes read.

    python benchmarks/history.py --known 0 10000000 --waiting 5000000 [--plot FILE.svg]

Writes the history of a crawl as merging leaves it (states of URLs, hosts, robots.txt files, digests, signatures,
traps; see `beamtrawl.transforms.tables.layouts`) straight into Parquet, always the same, and runs one round of 1,000
new pages on it: 50 hosts, served on loopback by a process of its own, with links to one another, to new URLs, to URLs
of their hosts and to known URLs of any host. Shown are the CPU seconds and the peak memory of the processes of the
crawl (one worker; the largest process), and the bytes that they read in excess of the smallest history, by known URL.
"""

import argparse
import json
import os
import random
import resource
import shutil
import subprocess
import sys
import time
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from plot import Chart, write

sys.path.insert(0, str(Path(__file__).parent.parent))

from beamtrawl.pipeline.seeds import Seed, add_seeds
from beamtrawl.transforms.directory.crawl_dir import CrawlDir, Manifest, iso
from beamtrawl.transforms.frontier.files import write_frontier
from beamtrawl.transforms.settings import settings_digest
from beamtrawl.transforms.tables.merge_tables import write_arranged
from beamtrawl.transforms.tables.schemas import KEY, TABLES, TIME
from beamtrawl.transforms.tables.table_files import TableFile, conform
from beamtrawl.transforms.urls.canonical import url_key
from tests.support import crawls
from tests.support.web import html
from tests.support.web_process import WebProcess

SITES, PAGES = 50, 20
LINKED = 5_000  # known URLs that the pages may link to
URLS_PER_HOST, LARGE_HOSTS = 100, 20  # half of the URLs are on a few large hosts
DIGESTS, SIGNATURES = 0.4, 0.3  # per known URL
FILE_ROWS = 1_000_000
ROUNDS = 100
NOW = datetime(2026, 1, 1, tzinfo=UTC)
# All that waits is of one class, of which the seeds come first.
CHANGES = {"scope__mode": "any", "limits__max_pages_per_round": SITES * PAGES, "priority__high_depth": 12}
_FRONTIER = ("url_key", "url", "host", "depth", "discovered_round", "failures")  # columns of urls


def random_keys(chance: np.random.Generator, count: int, size: int = 16) -> pa.Array:
    """Random fixed-size binary values."""
    return pa.FixedSizeBinaryArray.from_buffers(
        pa.binary(size), count, [None, pa.py_buffer(chance.bytes(size * count))]
    )


def names(form: str, numbers: np.ndarray) -> pa.Array:
    """The form with each of the numbers for its `#`."""
    before, after = form.split("#")
    return pc.binary_join_element_wise(before, pa.array(numbers).cast(pa.string()), after, "")


def known_urls(first: int, count: int, known: int) -> pa.Table:
    """The rows of urls with the numbers from `first` on; some are fetched, some are waiting, some are gone."""
    chance, numbers = np.random.default_rng(first), np.arange(first, first + count)
    hosts = numbers // URLS_PER_HOST
    hosts = np.where(hosts % 2, hosts, hosts % (2 * LARGE_HOSTS))
    host = names("h#.test", hosts)
    url = pc.binary_join_element_wise("http://", host, names("/articles/section/page-#.html", numbers), "")
    keys = random_keys(chance, count).to_numpy(zero_copy_only=False).copy()
    for number in range(0, count, max(1, known // LINKED)):
        keys[number] = url_key(url[number].as_py())
    kinds = pa.array(chance.choice([0, 0, 0, 0, 1, 1, 1, 2], count))
    state = pa.DictionaryArray.from_arrays(kinds, pa.array(["fetched", "due", "gone"])).cast(pa.string())
    is_fetched = pc.equal(state, "fetched")
    rounds = pa.array(chance.integers(1, ROUNDS, count), pa.int32())
    return conform(
        pa.table(
            {
                "url_key": pa.array(keys, KEY),
                "url": url,
                "host": host,
                "state": state,
                "depth": pa.array(chance.integers(0, 12, count), pa.int32()),
                "score": chance.random(count),
                "discovered_round": rounds,
                "discovered_from": pc.binary_join_element_wise("http://", host, "/articles/", ""),
                "fetches": is_fetched.cast(pa.int32()),
                "failures": np.zeros(count, np.int32),
                "last_status": pc.if_else(is_fetched, 200, None).cast(pa.int32()),
                "last_fetched_at": pc.if_else(is_fetched, pa.scalar(NOW, TIME), None),
                "changes": np.zeros(count, np.int32),
                "digest": pc.if_else(is_fetched, random_keys(chance, count), None),
                "etag": pc.if_else(is_fetched, names('"#"', chance.integers(0, 1 << 40, count)), None),
                "reason": pc.if_else(is_fetched, "fetched", "new"),
                "round": rounds,
            }
        ),
        TABLES["urls"],
    )


def host_rows(count: int) -> dict[str, pa.Table]:
    """The rows of all hosts, by table."""
    chance = np.random.default_rng(1)
    host = names("h#.test", np.arange(count))
    rounds = pa.array(chance.integers(1, ROUNDS, count), pa.int32())
    at = pa.array([NOW - timedelta(hours=int(hours)) for hours in chance.integers(0, 720, count)])
    common = {"host": host, "round": rounds}
    sums = {name: chance.integers(1, 1000, count) for name in ("visits", "requests", "fetched", "bytes", "failures")}
    latency = pa.array([[0, 3, 5, 7, 9, 2]] * count)
    state = {"last_fetched_at": at, "latency": latency, "not_before": at}
    state |= {"last_elapsed_ms": chance.random(count) * 100}
    times = {"fetched_at": at, "expires_at": at, "status": np.full(count, 200)}
    body = names("User-agent: *\nDisallow: /search?q=#\nDisallow: /private/\n", np.arange(count)).cast(
        pa.large_binary()
    )
    rules = {"origin": pc.binary_join_element_wise("http://", host, ""), "verdict": ["rules"] * count, "body": body}
    judged = {name: np.full(count, 20) for name in ("pages", "fresh", "news", "different", "budget", "first", "since")}
    trap = {"template": ["/articles/*"] * count, "kind": ["plain"] * count, "state": ["open"] * count}
    words = pa.array([[chance.bytes(400)] for _ in range(count)], pa.list_(pa.binary()))
    found = {
        "hosts": common | sums | state,
        "robots": common | times | rules,
        "traps": common | judged | trap,
        "trap_samples": common | {"template": ["/articles"] * count, "words": words, "forms": [b""] * count},
    }
    return {name: conform(pa.table(columns), TABLES[name]) for name, columns in found.items()}


def content_rows(first: int, count: int) -> pa.Table:
    """Documents with their digests and signatures."""
    chance, numbers = np.random.default_rng(first + 7), np.arange(first, first + count)
    host = names("h#.test", numbers // 40)
    url = pc.binary_join_element_wise("http://", host, names("/articles/section/page-#.html", numbers), "")
    keys = {"url_key": random_keys(chance, count), "digest": random_keys(chance, count)}
    signature = {"signature": random_keys(chance, count, 128)}
    rounds = {"round": pa.array(chance.integers(1, ROUNDS, count), pa.int32())}
    return pa.table(
        keys | signature | rounds | {"url": url, "host": host, "site": host, "depth": np.full(count, 3, np.int32)}
    )


def write_history(crawl: CrawlDir, known: int, waiting: int, digest: str) -> None:
    """Write the history of so many known URLs, and commit it as a fetch and an update step."""
    files: list[TableFile] = []
    hosts = known // URLS_PER_HOST
    for table, rows in host_rows(hosts).items() if hosts else ():
        files += write_arranged(crawl.root, table, ROUNDS, rows)
    for first in range(0, known, FILE_ROWS):
        count = min(FILE_ROWS, known - first)
        rows = known_urls(first, count, known)
        files += write_arranged(crawl.root, "urls", ROUNDS, rows)
        if first < waiting:
            files.append(write_waiting(crawl.root, rows.slice(0, waiting - first)))
        contents = content_rows(first, int(count * DIGESTS))
        files += write_arranged(crawl.root, "digests", ROUNDS, contents)
        files += write_arranged(crawl.root, "near", ROUNDS, contents.slice(0, int(count * SIGNATURES)))
    for step, written in ("fetch", ()), ("update", files):
        crawl.commit(Manifest(step, ROUNDS, digest, tuple(written), {}, (), iso(NOW), iso(NOW)))


def write_waiting(root: str, rows: pa.Table) -> TableFile:
    """Write rows of urls as a frontier file."""
    columns = {name: rows[name] for name in _FRONTIER} | {
        "depth": pc.add(rows["depth"], 1).cast(pa.int32()),
        "priority": rows["score"],
        "redirects": rows["failures"],
        "reason": pa.array(["new"] * rows.num_rows),
        "referrer": rows["discovered_from"],
    }
    return write_frontier(root, ROUNDS + 1, conform(pa.table(columns), TABLES["frontier"]))  # type: ignore[return-value]


def linked_urls(known: int) -> list[str]:
    """The known URLs with their own keys, which pages may link to."""
    found = []
    for first in range(0, known, FILE_ROWS):
        for number in range(first, min(first + FILE_ROWS, known), max(1, known // LINKED)):
            host = number // URLS_PER_HOST
            host = host if host % 2 else host % (2 * LARGE_HOSTS)
            found.append(f"http://h{host}.test/articles/section/page-{number}.html")
    return found


def pages(known: int) -> dict[str, dict[str, Any]]:
    """The sites of the round: 1,000 pages of 600 words with 40 links each."""
    chance = random.Random(1)
    words = [f"w{chance.getrandbits(28):x}" for _ in range(5000)]
    linked = linked_urls(known)
    sites: dict[str, dict[str, Any]] = {}
    for site in range(SITES):
        sites[f"s{site}.test"] = found = {}
        for page in range(PAGES):
            links = [f"/{other}.html" for other in range(PAGES)] + [f"/new-{page}-{n}.html" for n in range(10)]
            links += [f"/known-{chance.randrange(200)}.html" for _ in range(5)]
            links += chance.sample(linked, 5) if linked else [f"http://x{chance.random()}.test/" for _ in range(5)]
            found[f"/{page}.html"] = html(f"Page {page} of {site}", " ".join(chance.choices(words, k=600)), links)
    return sites


def run_round(root: str, pins: list[str]) -> None:
    """Run a round, and print what it cost: CPU seconds, peak bytes, bytes read, pages."""
    silent, started = crawls.Silent(), time.perf_counter()
    before = _read()
    crawls.crawl(Path(root), rounds=1, observer=silent, fetch__resolve=pins, **CHANGES)
    wall = time.perf_counter() - started
    spent = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    fetched = sum(m.counters.get("fetched", 0) for m in silent.committed if m.step == "fetch")
    cpu, peak = sum(use.ru_utime + use.ru_stime for use in spent), max(_peak(), spent[1].ru_maxrss << 10)
    print(json.dumps([cpu, peak, _read() - before, fetched, wall]), flush=True)


def _read() -> int:
    """The bytes that this process and those that it has waited for have read."""
    return int(Path("/proc/self/io").read_text().split()[1])


def _peak() -> int:
    """The peak memory of this process; unlike ru_maxrss, not that of the process that started it."""
    (line,) = (line for line in Path("/proc/self/status").read_text().splitlines() if line.startswith("VmHWM"))
    return int(line.split()[1]) << 10


def history_folder(kept: Path, known: int, waiting: int, digest: str) -> Path:
    """The folder below `kept` with such a history, which is written if there is none."""
    folder = kept / f"{known}-{waiting}"
    if not folder.exists():
        unfinished = folder.with_suffix(".unfinished")
        shutil.rmtree(unfinished, ignore_errors=True)
        write_history(CrawlDir(str(unfinished)), known, waiting, digest)
        unfinished.rename(folder)
    return folder


def measure(known: int, waiting: int, kept: Path | None = None) -> list[float]:
    """What a round costs on such a history, which is written first, or linked from the folder of `kept`."""
    with TemporaryDirectory(dir=kept) as root, WebProcess(pages(known), by_name=True) as web:
        crawl, pins = CrawlDir(root), list(web.pins)
        digest = settings_digest(crawls.settings(**CHANGES))
        if kept:  # a round writes new files and removes old ones; it does not write into them
            history = history_folder(kept, known, waiting, digest)
            shutil.copytree(history, root, copy_function=os.link, dirs_exist_ok=True)
        else:
            write_history(crawl, known, waiting, digest)
        seeds = [Seed(web.url(f"s{site}.test", f"/{page}.html")) for site in range(SITES) for page in range(PAGES)]
        add_seeds(crawl, seeds, digest, datetime.now(UTC))
        command = [sys.executable, __file__, "--round", root, "--pins", *pins]
        paths = {"PYTHONPATH": os.pathsep.join([str(Path(__file__).parent.parent), os.environ.get("PYTHONPATH", "")])}
        answer = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True, env=os.environ | paths)
    return list(json.loads(answer.stdout.splitlines()[-1]))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--known", type=int, nargs="+", default=[0, 1_000_000, 5_000_000], metavar="N")
    parser.add_argument("--waiting", type=int, nargs="+", default=[0], metavar="N")
    parser.add_argument(
        "--keep", type=Path, metavar="DIR", help="keep the histories in DIR, and use those that are there"
    )
    parser.add_argument("--plot", metavar="FILE", help="draw the cost by known and by waiting URLs, as SVG")
    parser.add_argument("--json", action="store_true", help="print the figures as one line of JSON at the end")
    parser.add_argument("--round", help=argparse.SUPPRESS)
    parser.add_argument("--pins", nargs="*", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.round:
        run_round(arguments.round, arguments.pins)
        return
    print("| known URLs | waiting | CPU s | peak MB | read MB | read per known URL | wall s | pages |\n|" + "---|" * 8)
    least = None
    costs: list[tuple[int, int, float, float]] = []
    for known in arguments.known:
        for waiting in sorted({min(waiting, known) for waiting in arguments.waiting}):
            cpu, peak, read, fetched, wall = measure(known, waiting, arguments.keep)
            least = read if least is None else least
            costs.append((known, waiting, cpu, peak))
            each = (read - least) / known if known else 0
            cells = (f"{known:,}", f"{waiting:,}", f"{cpu:.1f}", f"{peak / 1e6:,.0f}", f"{read / 1e6:,.1f}")
            print(f"| {' | '.join(cells)} | {each:.1f} | {wall:.1f} | {fetched:,.0f} |", flush=True)

    if arguments.plot:
        plot(arguments.plot, costs)
    if arguments.json:
        named = [(f"{known:,} known, {waiting:,} waiting", cpu, peak) for known, waiting, cpu, peak in costs]
        figures = {f"{name}, CPU s": cpu for name, cpu, _ in named}
        print(json.dumps(figures | {f"{name}, MB": peak / 1e6 for name, _, peak in named}))


def plot(path: str, costs: Sequence[tuple[int, int, float, float]]) -> None:
    """Draw CPU time and peak memory of (known, waiting, CPU seconds, peak bytes) by known and by waiting URLs."""
    measures = ("CPU time", "s", [cpu for *_, cpu, _ in costs]), ("peak memory", "MB", [p / 1e6 for *_, p in costs])
    charts = []
    for name, unit, values in measures:
        for place, axis in enumerate(("known URLs", "waiting URLs")):
            lines: dict[str, list[tuple[float, float]]] = {}
            for cost, value in zip(costs, values, strict=True):
                other = f"{cost[1 - place]:,} {('waiting', 'known')[place]}"
                lines.setdefault(other, []).append((cost[place], value))
            charts.append(Chart(f"{name} of a round of 1,000 pages", axis, f"{name}, {unit}", lines))
    write(path, charts)


if __name__ == "__main__":
    main()
