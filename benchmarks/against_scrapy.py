"""Crawl the same sites with Beamtrawl and others in turns; compare pages per second and per CPU second.

    python benchmarks/against_scrapy.py --depth 3 --runs 3 --save runs.jsonl http://127.0.1.1:8480/index.html …

`--contestants` names the programs: beamtrawl, one (Beamtrawl with `--workers 1`), pages (Beamtrawl that asks for HTML
and text alone, as the spiders do; by default it reads PDF too, and one file may cost as much as a hundred pages),
scrapy, tuned (Scrapy by hand, for the least CPU time), outputs (Scrapy put together for Beamtrawl's outputs,
scrapy_same_outputs.py), crawlee, wget. One that is not installed is left out. `--save` appends each run to a file, and
the same command goes on there. After each run of all programs, the medians so far are shown: `pages` are the URLs that
a program brought home, `contents` the distinct bodies at these, which are requested once more when it has ended. A site
may have copies of its pages below other URLs, which Beamtrawl leaves out if they are many. `--by-step` shows how many
cores each kind of step has kept busy, and in which share of its wall time at most one (below 1.2 in a quarter of a
second). README.md beside this file has the method and the last results.
Linux only.
"""

import argparse
import contextlib
import ctypes
import functools
import hashlib
import importlib.util
import itertools
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple
from urllib.parse import urlsplit
from urllib.request import urlopen

from pyarrow.dataset import dataset

_SET_CHILD_SUBREAPER = 36  # prctl(2)
_POLL = 0.02  # seconds between two looks at the progress of a run
_LOOK, _ONE = 0.25, 1.2  # seconds between two looks at its CPU time, and the cores from which on it is on several
_TICKS = os.sysconf("SC_CLK_TCK")


class Cost(NamedTuple):
    """What something took, in seconds."""

    wall: float
    cpu: float  # user and system, of all processes
    alone: float = 0.0  # of the wall time, while at most one core was busy

    def __sub__(self, other: "Cost") -> "Cost":
        return Cost(self.wall - other.wall, self.cpu - other.cpu, self.alone - other.alone)


class Run(NamedTuple):
    """One crawl: how many pages it brought home, and what that took."""

    pages: int  # distinct URLs
    contents: int  # distinct bodies of these
    total: Cost
    parts: dict[str, Cost]  # by the kind of step, for a program that has steps


def crawl_with_spider(script: str, *flags: str) -> "Crawl":
    """How a script beside this one crawls: it writes a line for each page."""

    def crawl(arguments: argparse.Namespace, folder: Path) -> Run:
        found = folder / "urls.jsonl"
        command = [sys.executable, str(Path(__file__).with_name(script)), *_limits(arguments), *flags]
        total, parts = measure([*command, "-o", str(found), *arguments.urls], folder / "log", finished_steps=list)
        urls = {json.loads(line)["url"] for line in found.read_text().splitlines()}
        return Run(len(urls), distinct(urls), total, parts)

    return crawl


def crawl_with_wget(arguments: argparse.Namespace, folder: Path) -> Run:
    """wget follows `a` and `area` alone, keeps the files, and counts pages by the suffix that it gives to HTML."""
    hosts = sorted({urlsplit(url).hostname or "" for url in arguments.urls})
    command = ["wget", "--recursive", f"--level={arguments.depth}", "--follow-tags=a,area", "--adjust-extension"]
    command += ["--span-hosts", f"--domains={','.join(hosts)}", "--no-verbose", "--tries=1", "--compression=auto"]
    command += [f"--directory-prefix={folder}", *arguments.urls]
    total, parts = measure(command, folder / "log", finished_steps=list, codes=(0, 8))  # 8: an error status, as 404
    pages = [path for path in folder.rglob("*.html") if path.is_file()]
    return Run(len(pages), len({hashlib.sha256(path.read_bytes()).digest() for path in pages}), total, parts)


def crawl_with_beamtrawl(settings: str = "", *flags: str) -> "Crawl":
    """Beamtrawl with these lines of crawl.toml."""

    def crawl(arguments: argparse.Namespace, folder: Path) -> Run:
        place = folder / "crawl"
        place.mkdir()
        (place / "crawl.toml").write_text(settings)
        program = str(Path(sys.executable).with_name("beamtrawl"))
        command = [program, "crawl", str(place), *_limits(arguments), "--delay", "0", *flags]
        command += ["--allow-address", "127.0.0.0/8", *(f"--seed={url}" for url in arguments.urls)]
        total, parts = measure(
            command, folder / "beamtrawl.log", lambda: [path.stem for path in (place / "manifests").glob("*.json")]
        )
        urls = set(dataset(place / "documents", format="parquet").to_table(["url"])["url"].to_pylist())
        return Run(len(urls), distinct(urls), total, parts)

    return crawl


def distinct(urls: Iterable[str]) -> int:
    """How many distinct bodies these URLs have; each is requested once, whatever programs have found it."""
    with ThreadPoolExecutor(4) as pool:
        return len(set(pool.map(_digest, urls)))


@functools.cache
def _digest(url: str) -> bytes:
    with urlopen(url, timeout=60) as response:
        return hashlib.sha256(response.read()).digest()


def _limits(arguments: argparse.Namespace) -> list[str]:
    return ["--depth", str(arguments.depth), "--max-pages", str(arguments.max_pages)]


Crawl = Callable[[argparse.Namespace, Path], Run]

PROGRAMS: dict[str, tuple[Crawl, tuple[str, ...]]] = {
    "scrapy": (crawl_with_spider("scrapy_spider.py"), ("scrapy",)),
    "beamtrawl": (crawl_with_beamtrawl(), ("beamtrawl",)),
    "one": (crawl_with_beamtrawl("", "--workers", "1"), ("beamtrawl",)),
    "pages": (crawl_with_beamtrawl('[documents]\nkinds = ["html", "text"]\n'), ("beamtrawl",)),
    "tuned": (crawl_with_spider("scrapy_spider.py", "--tuned"), ("scrapy",)),
    "outputs": (
        crawl_with_spider("scrapy_same_outputs.py"),
        ("scrapy", "trafilatura", "py3langid", "datasketch", "tantivy"),
    ),
    "crawlee": (crawl_with_spider("crawlee_spider.py"), ("crawlee",)),
    "wget": (crawl_with_wget, ("wget",)),
}
"""How each program crawls, and the packages or commands that have to be installed."""

OWN = ("beamtrawl", "pages", "one")
"""Those that are compared with the others."""

UNITS = ("pages", "contents")
"""What is counted of a run."""


def installed() -> dict[str, str]:
    """The environment in which modules are compiled once, as an installation does."""
    return {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}


def measure(
    command: list[str], log: Path, finished_steps: Callable[[], Iterable[str]], codes: Sequence[int] = (0,)
) -> tuple[Cost, dict[str, Cost]]:
    """Run a command to its end: what it took, and what each kind of step took.

    The CPU time is that of all its processes: orphans come to this process, which collects them too.
    `finished_steps` names the steps that are done, as NUMBER-KIND; a step counts from the end of the last.
    RuntimeError if the command ends with another code.
    """
    parts: dict[str, Cost] = {}
    known: set[str] = set()
    started = time.monotonic()
    last = looked = Cost(0.0, 0.0)
    with log.open("wb") as output:
        process = subprocess.Popen(command, stdout=output, stderr=output, env=installed())
        while os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is None:
            if time.monotonic() - started >= looked.wall + _LOOK:
                looked = _looked(looked, time.monotonic() - started)
            for step in sorted(set(finished_steps()) - known):
                looked = now = _looked(looked, time.monotonic() - started)
                kind = step.split("-")[1]  # the name of a ranking or merge has a random part
                parts[kind] = _sum([parts.get(kind, Cost(0.0, 0.0)), now - last])
                known.add(step)
                last = now
            time.sleep(_POLL)
        wall = time.monotonic() - started
        cpu = _collect(process)
        looked = looked._replace(alone=looked.alone + wall - looked.wall)
    if process.returncode not in codes:
        raise RuntimeError(f"{command[0]} ended with {process.returncode}:\n{log.read_text()[-2000:]}")
    return Cost(wall, cpu, looked.alone), parts


def _looked(before: Cost, wall: float) -> Cost:
    """What was taken up to now; the time since the last look counts as alone if less than 1.2 cores were busy."""
    cpu, seconds = _cpu_so_far(), wall - before.wall
    return Cost(wall, cpu, before.alone + (seconds if cpu - before.cpu < _ONE * seconds else 0.0))


def _cpu_so_far() -> float:
    """CPU seconds of all processes that this one has started, also by others, and of those that they have waited for.

    Read from `/proc`, proc_pid_stat(5). Workers run on between steps: until they end, no parent has their time.
    """
    parents, ticks = dict[int, int](), dict[int, int]()
    for path in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):  # the process has ended
            fields, number = path.read_text().rpartition(")")[2].split(), int(path.parent.name)
            parents[number], ticks[number] = int(fields[1]), sum(map(int, fields[11:15]))
    total, generation = 0, {os.getpid()}
    while generation:
        generation = {number for number, parent in parents.items() if parent in generation}
        total += sum(ticks[number] for number in generation)
    return total / _TICKS


def _collect(process: "subprocess.Popen[bytes]") -> float:
    """Wait for a process and all orphans it leaves; their CPU seconds, with those of what they waited for."""
    cpu = 0.0
    while True:
        try:
            pid, status, usage = os.wait4(-1, 0)
        except ChildProcessError:
            return cpu
        cpu += usage.ru_utime + usage.ru_stime
        if pid == process.pid:
            process.returncode = os.waitstatus_to_exitcode(status)


def _sum(costs: Iterable[Cost]) -> Cost:
    return Cost(*map(sum, zip(*costs, strict=True)))


def median(runs: list[Run]) -> Run:
    """The medians of each figure by itself."""
    totals = Cost(*map(statistics.median, zip(*(run.total for run in runs), strict=True)))
    parts = {
        kind: Cost(*map(statistics.median, zip(*(run.parts[kind] for run in runs), strict=True)))
        for kind in runs[0].parts
    }
    pages, contents = (int(statistics.median(getattr(run, unit) for run in runs)) for unit in UNITS)
    return Run(pages, contents, totals, parts)


def row(name: str, run: Run, cost: Cost) -> str:
    """What a run brought home, what it or a part of it took, and the rates."""
    rates = " ".join(f"{getattr(run, unit) / taken:>10.1f}" for unit in UNITS for taken in (cost.wall, cost.cpu))
    return f"{name:<22} {run.pages:>6} {run.contents:>8} {cost.wall:>8.1f} {cost.cpu:>8.1f} {rates}"


def by_step(run: Run) -> str:
    """The steps of a run: wall and CPU seconds, cores that were busy, and the share of wall time on one core."""
    rows = [("all", run.total), *run.parts.items()]
    lines = [f"{'':<12} {'wall s':>8} {'CPU s':>8} {'cores':>6} {'on one':>7}"]
    for name, cost in rows:
        busy, alone = cost.cpu / max(cost.wall, 1e-9), cost.alone / max(cost.wall, 1e-9)
        lines.append(f"{name:<12} {cost.wall:>8.1f} {cost.cpu:>8.1f} {busy:>6.2f} {alone:>7.0%}")
    return "\n".join(lines)


def report(runs: dict[str, list[Run]]) -> str:
    """Medians, steps and the ratio, as a table."""
    medians = {name: median(of_program) for name, of_program in runs.items()}
    lines = []
    for name, run in medians.items():
        lines.append(row(f"{name}, median", run, run.total))
        lines += [row(f"  {kind}", run, cost) for kind, cost in run.parts.items()]
    own = {name: medians.pop(name) for name in OWN if name in medians}
    for (name, ours), (other, run) in itertools.product(own.items(), medians.items()):
        for unit, (time_unit, figure) in itertools.product(UNITS, (("CPU second", "cpu"), ("second", "wall"))):
            rates = [getattr(one, unit) / getattr(one.total, figure) for one in (ours, run)]
            lines.append(f"{name} : {other}, {unit} per {time_unit}: {rates[0] / rates[1]:.2f}")
    return "\n".join(lines)


def figures(runs: dict[str, list[Run]]) -> dict[str, float]:
    """Pages and contents per second and per CPU second of each program, for benchmarks/run.py."""
    medians = {name: median(of_program) for name, of_program in runs.items()}
    every = itertools.product(medians.items(), UNITS, (("cpu_s", "cpu"), ("s", "wall")))
    return {
        f"{name}_{unit}_per_{seconds}": getattr(run, unit) / getattr(run.total, figure)
        for (name, run), unit, (seconds, figure) in every
    }


def saved(path: Path | None, arguments: argparse.Namespace) -> dict[str, list[Run]]:
    """The runs in a file with the same URLs and limits, by program."""
    runs: dict[str, list[Run]] = {}
    for line in path.read_text().splitlines() if path and path.exists() else ():
        row = json.loads(line)
        if row["crawl"] == [*_limits(arguments), *arguments.urls]:
            parts = {kind: Cost(*cost) for kind, cost in row["parts"].items()}
            run = Run(row["pages"], row["contents"], Cost(*row["total"]), parts)
            runs.setdefault(row["program"], []).append(run)
    return runs


def save(path: Path, arguments: argparse.Namespace, name: str, run: Run) -> None:
    """Append a run to a file."""
    row = {"date": datetime.now(UTC).isoformat(timespec="seconds"), "program": name, **run._asdict()}
    with path.open("a") as file:
        file.write(json.dumps(row | {"crawl": [*_limits(arguments), *arguments.urls]}) + "\n")


def is_installed(name: str) -> bool:
    """Whether a package can be imported or a command be run."""
    return importlib.util.find_spec(name) is not None or shutil.which(name) is not None


def main() -> None:
    parser = argparse.ArgumentParser(description="Compare Beamtrawl with others on the same sites")
    parser.add_argument("urls", nargs="+")
    parser.add_argument("--depth", type=int, default=3, help="links from one of the URLs (3)")
    parser.add_argument("--max-pages", type=int, default=0, help="0: no limit, so that all fetch the same")
    parser.add_argument("--runs", type=int, default=3, help="of each program (3)")
    parser.add_argument("--contestants", nargs="+", choices=PROGRAMS, default=["scrapy", "beamtrawl"], metavar="NAME")
    parser.add_argument("--save", type=Path, metavar="FILE", help="append each run; runs that are there count")
    parser.add_argument("--by-step", action="store_true", help="show the cores that were busy, by kind of step")
    parser.add_argument("--json", action="store_true", help="print the medians as one line of JSON at the end")
    arguments = parser.parse_args()
    ctypes.CDLL(None).prctl(_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    missing = {name: [n for n in PROGRAMS[name][1] if not is_installed(n)] for name in arguments.contestants}
    names = [name for name, lacking in missing.items() if not lacking]
    for name in sorted(set(missing) - set(names)):
        print(f"{name} is left out; install {' '.join(missing[name])}")
    rates = ("pages/s", "/CPU s", "contents/s", "/CPU s")
    print(f"{'':<22} {'pages':>6} {'contents':>8} {'wall s':>8} {'CPU s':>8} {' '.join(f'{of:>10}' for of in rates)}")
    runs = saved(arguments.save, arguments)
    for number in range(1, arguments.runs + 1):
        for name in names:
            if len(runs.setdefault(name, [])) >= number:
                continue
            with tempfile.TemporaryDirectory(prefix="against-scrapy-") as folder:
                run = PROGRAMS[name][0](arguments, Path(folder))
            runs[name].append(run)
            if arguments.save:
                save(arguments.save, arguments, name, run)
            print(row(f"{name}, run {number}", run, run.total), flush=True)
        print(report(runs), flush=True)
    if arguments.by_step:
        for name in (name for name in names if name in OWN):
            print(f"\n{name}\n{by_step(median(runs[name]))}")
    if arguments.json:
        print(json.dumps(figures(runs)))


if __name__ == "__main__":
    main()
