"""Crawls a web of a known truth to its end: what is lost, what each step takes, and how long commands take after it.

    python benchmarks/large_web.py --pages 20000
    python benchmarks/large_web.py --pages 200000 --kill 10 --recrawl 0.05 --dir DIR

The web (go/large_web.go, built by Go) is a function of `--seed`: hosts by a power law, 70 % of the pages on those of
more than five, the largest with a twentieth of all; pages of 11 kB in English, German and French, of function words and
an invented vocabulary of 300,000 words by Zipf's law, with menus, 20 to 60 links, a tenth of them to other hosts,
redirects, dead links, sitemaps with pages that nothing links, robots.txt of five kinds, copies, near copies, slow,
silent and refusing hosts. All front pages are seeds; settings are the defaults, but for the delay (0). The server's log
and its list of URLs and contents are the truth: each page that is allowed was requested once and is a document once,
nothing forbidden was requested, and documents have equal digests if and only if their contents are equal.

`--kill N` kills the crawl (all of its processes) at N random instants and runs it again, `--recrawl SHARE` visits all
pages once more after that share has changed. CPU and memory of a step are those of its manifest, of all its processes;
`all` is what the system counts for the program, its start and end included. Linux only: the server is bound to the
loopback device.
"""

import argparse
import contextlib
import json
import os
import random
import resource
import shlex
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from pathlib import Path
from urllib.parse import urlsplit
from urllib.request import urlopen

import pyarrow.compute as pc

import beamtrawl
from beamtrawl.transforms.directory.crawl_dir import CrawlDir, Manifest
from beamtrawl.transforms.tables.schemas import TABLES
from beamtrawl.transforms.tables.table_files import read_table

_PROGRAM = [sys.executable, "-P", "-m", "beamtrawl"]
_RATE = 300  # pages a second, as a guess of how long a crawl takes that is to be killed


class Web:
    """The server, and what it knows."""

    def __init__(self, port: int) -> None:
        self._at = f"http://127.0.0.1:{port}/"
        self._cpu_s = 0.0

    def lines(self, what: str) -> list[str]:
        with urlopen(self._at + what) as answer:
            return answer.read().decode().splitlines()

    def contents(self) -> dict[str, str]:
        """What must be fetched: URLs, and what equal texts share."""
        return dict(line.split("\t") for line in self.lines("truth"))

    def requests(self) -> tuple[list[str], list[str], int, float]:
        """Pages not requested, those requested more than once, forbidden requests, CPU seconds; since the last call."""
        *pages, forbidden, cpu = (line.split("\t") for line in self.lines("requests"))
        spent, self._cpu_s = float(cpu[1]) - self._cpu_s, float(cpu[1])
        lost = [url for url, times in pages if times == "0"]
        return lost, [url for url, times in pages if times != "0"], int(forbidden[1]), spent


@contextlib.contextmanager
def serve(pages: int, seed: int, port: int = 0) -> Iterator[Web]:
    """Build the server and run it, on a free port or on that of an earlier run, which is in all URLs."""
    with tempfile.TemporaryDirectory() as folder:
        source = Path(__file__).parent / "go" / "large_web.go"
        subprocess.run(["go", "build", "-o", f"{folder}/large_web", str(source)], check=True)
        command = [f"{folder}/large_web", "--pages", str(pages), "--seed", str(seed), "--port", str(port)]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
            try:
                yield Web(int(process.stdout.readline() if process.stdout else 0))
            finally:
                process.terminate()


def program(
    *words: str, kill_after: float | None = None, codes: Sequence[int] = (0,)
) -> tuple[str, float, float] | None:
    """Run a command: what it printed, wall and CPU seconds; None if it was killed first."""
    before, started = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    process = subprocess.Popen([*_PROGRAM, *words], stdout=subprocess.PIPE, text=True, start_new_session=True)
    try:
        printed, _ = process.communicate(timeout=kill_after)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        process.communicate()
        return None
    if process.returncode not in codes:
        print(f"{shlex.join(words)} ended with {process.returncode}: {printed[-500:]}", flush=True)
    wall, after = time.perf_counter() - started, resource.getrusage(resource.RUSAGE_CHILDREN)
    return printed, wall, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def crawl(words: Sequence[str], kills: int, seconds: float, chance: random.Random) -> float:
    """Crawl to the end, killed so many times; the CPU seconds of all processes of the last run."""
    for number in range(kills):
        after = chance.uniform(0.2, 1.8) * seconds / (kills + 1)
        if done := program(*words, kill_after=after):
            print(f"ended before kill {number + 1}")
            return done[2]
        print(f"killed after {after:.0f} s", flush=True)
    done = program(*words)
    assert done
    print(f"crawl: {done[1]:.0f} s")
    return done[2]


def newest(crawl_dir: CrawlDir) -> tuple[dict[str, bytes], int, Counter[str]]:
    """The digest of the newest document of each URL, how many are there twice, and how many are copies of each kind."""
    names = ["url", "round", "digest", "duplicate_of", "same_content_as", "near_duplicate_of"]
    paths = [file.path for each in crawl_dir.manifests() for file in each.files if file.path.startswith("documents/")]
    rows = read_table(crawl_dir.root, paths, TABLES["documents"], names)
    keys = rows.group_by(["url", "round"]).aggregate([([], "count_all")])
    rows = rows.sort_by("round")
    kinds = Counter({name: rows.num_rows - rows[name].null_count for name in names[3:]})
    digests = dict(zip(rows["url"].to_pylist(), rows["digest"].to_pylist(), strict=True))
    return digests, pc.sum(pc.greater(keys["count_all"], 1)).as_py() or 0, kinds


def faults(root: str, web: Web, resumed: bool, began_before: bool = False) -> list[str]:
    """What differs from the truth, in sentences; what another server was asked for is not known."""
    contents, (lost, repeated, forbidden, served_s) = web.contents(), web.requests()
    digests, twice, kinds = newest(CrawlDir(root))
    by_content, by_digest = defaultdict(set), defaultdict(set)
    for url, content in contents.items():
        if url in digests:
            by_content[content].add(digests[url])
            by_digest[digests[url]].add(content)
    problems = {
        "pages lost": sum(url not in digests for url in contents),
        "pages not requested": 0 if began_before else len(lost),
        "pages requested more than once": 0 if resumed else len(repeated),
        "documents twice": twice,
        "documents that are no pages of this web": sum(url not in contents for url in digests),
        "forbidden requests": forbidden,
        "equal contents with several digests": sum(len(some) > 1 for some in by_content.values()),
        "digests of several contents": sum(len(some) > 1 for some in by_digest.values()),
    }
    print(
        f"truth: {len(contents):,} pages of {len(set(contents.values())):,} contents; documents: {len(digests):,}, with"
    )
    print(
        f"  {dict(kinds)}; requested again after kills {len(repeated)}; the server took {served_s:.1f} CPU s",
        flush=True,
    )
    return [f"{number:,} {name}" for name, number in problems.items() if number]


def show_steps(steps: Sequence[Manifest], cpu_s: float, by_round: bool) -> dict[str, float]:
    """Print what each kind of step took, or each step, by visit of its rounds; CPU milliseconds and MB by kind."""
    visits = {step.round: step.counters.get("visits_rows", 0) for step in steps if step.step == "fetch"}
    kinds, rounds = defaultdict[str, list[Manifest]](list), dict[str, list[Manifest]]()
    for step in steps:
        kinds[step.step].append(step)
        rounds[f"{step.round} {step.step}"] = [step]
    print("| step | steps | wall s | CPU s | cores busy | CPU ms a visit | peak MB |\n|---|---|---|---|---|---|---|")
    figures = {"all_cpu_ms": 1000 * cpu_s / sum(visits.values())}
    for name, some in (rounds if by_round else kinds).items():
        wall, cpu = sum(each.seconds for each in some), sum((each.cpu or {}).get("taken", 0) for each in some) / 1000
        peak, seen = max((each.memory or {}).get("peak", 0) for each in some) / 1e6, visits.get(some[0].round, 0)
        each_ms = 1000 * cpu / max(1, seen if by_round else sum(visits.values()))
        busy = cpu / wall if wall else 0
        print(f"| {name} | {len(some)} | {wall:.1f} | {cpu:.1f} | {busy:.2f} | {each_ms:.2f} | {peak:,.0f} |")
        figures |= {} if by_round else {f"{name}_cpu_ms": each_ms, f"{name}_peak_mb": peak}
    print(f"| all | {len(steps)} | | {cpu_s:.1f} | | {figures['all_cpu_ms']:.2f} | |", flush=True)
    return figures


def show_files(root: Path) -> int:
    """Print bytes and files by table; the number of files, with those that were replaced within the last hour."""
    sizes: dict[str, list[int]] = defaultdict(list)
    for path in root.rglob("*"):
        if path.is_file():
            sizes[path.relative_to(root).parts[0]].append(path.stat().st_size)
    some = sorted(sizes.items(), key=lambda each: -sum(each[1]))
    print("bytes (files): " + ", ".join(f"{name} {sum(each) / 1e6:,.1f} MB ({len(each)})" for name, each in some))
    print(
        f"all: {sum(map(sum, sizes.values())) / 1e6:,.0f} MB in {(count := sum(map(len, sizes.values()))):,} files",
        flush=True,
    )
    return count


def show_commands(root: str, url: str, start: Sequence[str], queries: Sequence[str]) -> dict[str, float]:
    """Print how long the commands take that read, and those that have next to nothing to do."""
    commands = {
        "status": ["status", root],
        "explain": ["explain", root, url],
        "search, cold": ["search", root, queries[0]],
        "sql": ["sql", root, "SELECT outcome, count(*) FROM visits GROUP BY outcome"],
        "report": ["report", root],
        "seeds add": ["seeds", "add", root, url],
        "start without work": [*start, "--rounds", "0"],
        "check crawl": ["check", "crawl", root],
    }
    figures = {}
    for name, words in commands.items():
        if done := program(*words):
            figures |= {f"{name}, s": done[1], f"{name}, CPU s": done[2]}
            found = f"; {done[0].strip()[-200:]}" if name == "check crawl" else ""
            print(f"{name}: {done[1]:.2f} s, {done[2]:.2f} CPU s{found}")
    opened, times = beamtrawl.open(root), []
    for query in queries:
        started = time.perf_counter()
        opened.search(query)
        times.append(time.perf_counter() - started)
    figures["search, warm, s"] = statistics.median(times[1:])
    print(
        f"search, warm: median {1000 * statistics.median(times[1:]):.0f} ms, worst {1000 * max(times[1:]):.0f}",
        flush=True,
    )
    return figures


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pages", type=int, default=20_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--kill", type=int, default=0, metavar="N")
    parser.add_argument(
        "--recrawl", type=float, metavar="SHARE", help="visit all pages again, of which so many changed"
    )
    parser.add_argument("--dir", help="for the crawl, which is kept, or which goes on; a temporary one by default")
    parser.add_argument("--by-round", action="store_true", help="show each step")
    parser.add_argument("--json", action="store_true", help="print the figures as one line of JSON at the end")
    given = parser.parse_args()
    chance, problems = random.Random(given.seed), list[str]()
    with tempfile.TemporaryDirectory() as scratch, contextlib.ExitStack() as stack:
        folder = Path(given.dir or scratch)
        folder.mkdir(parents=True, exist_ok=True)
        root, seeds = f"{folder}/crawl", folder / "seeds.txt"
        began_before = seeds.exists()
        port = urlsplit(seeds.read_text().split("\n", 1)[0]).port if began_before else 0
        web = stack.enter_context(serve(given.pages, given.seed, port or 0))
        seeds.write_text("\n".join(web.lines("seeds")))
        words = ["crawl", root, "--workers", str(given.workers), "--delay", "0", "--allow-address", "127.0.0.0/8"]
        cpu_s = crawl([*words, "--seeds", str(seeds)], given.kill, given.pages / _RATE, chance)
        steps, contents = CrawlDir(root).manifests(), web.contents()
        problems += faults(root, web, given.kill > 0, began_before)
        figures = show_steps(steps, cpu_s, given.by_round) | {"files": show_files(Path(root))}
        titles = beamtrawl.open(root).sql("SELECT title FROM documents ORDER BY url_key LIMIT 21")
        queries = [" ".join(title.split()[:2]) for (title,) in titles.fetchall()]
        figures |= show_commands(root, next(iter(contents)), words, queries)
        if given.recrawl:
            web.lines(f"change?share={given.recrawl}")
            cpu_s = crawl([*words, "--again"], 0, 0, chance)
            problems += [f"after the revisits: {each}" for each in faults(root, web, resumed=False)]
            revisits = CrawlDir(root).manifests()[len(steps) :]
            figures |= {f"again_{k}": v for k, v in show_steps(revisits, cpu_s, given.by_round).items()}
            for round_ in (steps[-1].round, revisits[-1].round):
                done = program("search", root, queries[0], "--as-of", str(round_))
                print(f"search as of round {round_}: {done[2] if done else 0:.2f} CPU s")
        print("; ".join(problems) or "nothing lost, nothing twice, nothing forbidden; equal texts as in the truth")
        if given.json:
            print(json.dumps({name: round(float(value), 3) for name, value in figures.items()}))
    return bool(problems)


if __name__ == "__main__":
    sys.exit(main())
