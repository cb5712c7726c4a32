"""Crawl the same sites with Scrapy and with Beamtrawl in turns; compare pages per second and per CPU second.

    python benchmarks/against_scrapy.py --depth 3 --runs 3 http://127.0.1.1:8480/index.html …

README.md beside this file has the method and the last results. Linux only.
"""

import argparse
import ctypes
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import NamedTuple

_SET_CHILD_SUBREAPER = 36  # prctl(2)
_POLL = 0.02  # seconds between two looks at the progress of a run
_TICKS = os.sysconf("SC_CLK_TCK")


class Cost(NamedTuple):
    """What something took, in seconds."""

    wall: float
    cpu: float  # user and system, of all processes

    def __sub__(self, other: "Cost") -> "Cost":
        return Cost(self.wall - other.wall, self.cpu - other.cpu)


class Run(NamedTuple):
    """One crawl: how many pages it brought home, and what that took."""

    pages: int
    total: Cost
    parts: dict[str, Cost]  # by the kind of step, for a program that has steps


def crawl_with_scrapy(arguments: argparse.Namespace, folder: Path) -> Run:
    spider, found = Path(__file__).with_name("scrapy_spider.py"), folder / "urls.jsonl"
    command = [sys.executable, str(spider), *_limits(arguments), "-o", str(found), *arguments.urls]
    total, parts = measure(command, folder / "scrapy.log", finished_steps=list)
    return Run(len(set(found.read_text().splitlines())), total, parts)


def crawl_with_beamtrawl(arguments: argparse.Namespace, folder: Path) -> Run:
    manifests = folder / "crawl" / "manifests"
    program = str(Path(sys.executable).with_name("beamtrawl"))
    command = [program, "crawl", str(folder / "crawl"), *_limits(arguments), "--delay", "0"]
    command += ["--allow-address", "127.0.0.0/8", *(f"--seed={url}" for url in arguments.urls)]
    total, parts = measure(command, folder / "beamtrawl.log", lambda: [path.stem for path in manifests.glob("*.json")])
    counters = [json.loads(path.read_text())["counters"] for path in manifests.glob("*-update.json")]
    return Run(sum(counter["documents_rows"] for counter in counters), total, parts)


def _limits(arguments: argparse.Namespace) -> list[str]:
    return ["--depth", str(arguments.depth), "--max-pages", str(arguments.max_pages)]


PROGRAMS = {"scrapy": crawl_with_scrapy, "beamtrawl": crawl_with_beamtrawl}


def measure(command: list[str], log: Path, finished_steps: Callable[[], Iterable[str]]) -> tuple[Cost, dict[str, Cost]]:
    """Run a command to its end: what it took, and what each kind of step took.

    The CPU time is that of all its processes: orphans come to this process, which collects them too.
    `finished_steps` names the steps that are done, as NUMBER-KIND; a step counts from the end of the last.
    RuntimeError if the command fails.
    """
    parts: dict[str, Cost] = {}
    known: set[str] = set()
    started = time.monotonic()
    last = Cost(0.0, 0.0)
    with log.open("wb") as output:
        process = subprocess.Popen(command, stdout=output, stderr=output)
        while os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is None:
            for step in sorted(set(finished_steps()) - known):
                now = Cost(time.monotonic() - started, _cpu_so_far(process.pid))
                kind = step.split("-")[1]  # the name of a ranking or merge has a random part
                parts[kind] = _sum([parts.get(kind, Cost(0.0, 0.0)), now - last])
                known.add(step)
                last = now
            time.sleep(_POLL)
        wall = time.monotonic() - started
        cpu = _collect(process)
    if process.returncode:
        raise RuntimeError(f"{command[0]} ended with {process.returncode}:\n{log.read_text()[-2000:]}")
    return Cost(wall, cpu), parts


def _cpu_so_far(pid: int) -> float:
    """CPU seconds of a process and of those of its children that it has waited for (proc_pid_stat(5))."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return sum(map(int, fields[11:15])) / _TICKS


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
    return Run(int(statistics.median(run.pages for run in runs)), totals, parts)


def row(name: str, pages: int, cost: Cost) -> str:
    rates = f"{pages / cost.wall:>9.1f} {pages / cost.cpu:>11.1f}"
    return f"{name:<22} {pages:>6} {cost.wall:>8.1f} {cost.cpu:>8.1f} {rates}"


def report(runs: dict[str, list[Run]]) -> str:
    """Medians, steps and the ratio, as a table."""
    medians = {name: median(of_program) for name, of_program in runs.items()}
    lines = []
    for name, run in medians.items():
        lines.append(row(f"{name}, median", run.pages, run.total))
        lines += [row(f"  {kind}", run.pages, cost) for kind, cost in run.parts.items()]
    scrapy, beamtrawl = (medians[name] for name in PROGRAMS)
    for unit, figure in (("CPU second", "cpu"), ("second", "wall")):
        ratio = (beamtrawl.pages / getattr(beamtrawl.total, figure)) / (scrapy.pages / getattr(scrapy.total, figure))
        lines.append(f"beamtrawl : scrapy, pages per {unit}: {ratio:.2f}")
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description="Compare Beamtrawl with Scrapy on the same sites")
    parser.add_argument("urls", nargs="+")
    parser.add_argument("--depth", type=int, default=3, help="links from one of the URLs (3)")
    parser.add_argument("--max-pages", type=int, default=0, help="0: no limit, so that both fetch the same")
    parser.add_argument("--runs", type=int, default=3, help="of each program (3)")
    arguments = parser.parse_args()
    ctypes.CDLL(None).prctl(_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    print(f"{'':<22} {'pages':>6} {'wall s':>8} {'CPU s':>8} {'pages/s':>9} {'pages/CPU s':>11}")
    runs: dict[str, list[Run]] = {name: [] for name in PROGRAMS}
    for number in range(1, arguments.runs + 1):
        for name, crawl in PROGRAMS.items():
            with tempfile.TemporaryDirectory(prefix="against-scrapy-") as folder:
                run = crawl(arguments, Path(folder))
            runs[name].append(run)
            print(row(f"{name}, run {number}", run.pages, run.total), flush=True)
    print(report(runs))


if __name__ == "__main__":
    main()
