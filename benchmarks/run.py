"""Runs benchmarks, keeps their results, and shows them as a table and a plot.

    python benchmarks/run.py --list
    python benchmarks/run.py small_rounds history [--full]
    python benchmarks/run.py --sites DIRECTORY… --urls URL… --index DIR --crawl DIR NAME=URL…
    python benchmarks/run.py --show [--plot results.svg]

Without names, all are run whose arguments are given: `--sites` are directories of HTML files, `--urls` the front pages
of sites on loopback, `--index` is what large_index.py wrote, `--crawl` what developers_queries.py takes. A benchmark is
a script beside this one that prints its figures with `--json` as its last line. Each result is a line of JSON in
`--results`, with the time, the commit and the machine. The table has the last two results of each figure on this
machine; the plot draws all.
"""

import argparse
import json
import os
import platform
import subprocess
import sys
import time
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple

sys.path.insert(0, str(Path(__file__).parent.parent))

from benchmarks.plot import Chart, write

HERE = Path(__file__).parent
_MOST_LINES = 4  # of a chart


class Benchmark(NamedTuple):
    """A script, and its arguments; {sites}, {urls}, {index} and {crawl} stand for those of this program."""

    about: str
    short: str
    full: str  # as in README.md


_ALL = "--contestants beamtrawl scrapy tuned crawlee wget --json -- {urls}"
BENCHMARKS = {
    "against_scrapy": Benchmark(
        "pages per CPU second beside Scrapy and others", f"--depth 2 --runs 1 {_ALL}", f"--depth 3 --runs 3 {_ALL}"
    ),
    "update_stages": Benchmark("CPU time of a page by stage", "--pages 10 --json -- {sites}", "--json -- {sites}"),
    "small_rounds": Benchmark("CPU time of rounds of 1 and 100 URLs", "--runs 1 --rounds 3 --json", "--runs 5 --json"),
    "large_round": Benchmark(
        "memory and rate of a round of real pages",
        "--pages 1000 --workers 2 --json -- {sites}",
        "--pages 20000 --workers 2 --json -- {sites}",
    ),
    "history": Benchmark(
        "cost of a round by the history of the crawl",
        "--known 0 100000 --json",
        "--known 0 1000000 10000000 --waiting 5000000 --json",
    ),
    "explain": Benchmark(
        "time of an explanation", "--known 50000 --calls 3 --batch 50 --json", "--known 50000 5000000 --json"
    ),
    "politeness_rate": Benchmark(
        "rate beside what politeness allows", "--hosts 10 --pages 5 --json", "--hosts 100 --pages 20 --json"
    ),
    "developers_queries": Benchmark(
        "the page that a developer means, beside tantivy and bm25s", "{crawl} --json", "{crawl} --json"
    ),
    "large_queries": Benchmark("query times beside tantivy", "{index} --queries 30 --json", "{index} --json"),
}


def words(pattern: str, given: Mapping[str, Sequence[str]]) -> list[str] | None:
    """The arguments of a script; None if one that it needs is not given.

    >>> words("--pages 10 -- {sites}", {"sites": ["a", "b"]})
    ['--pages', '10', '--', 'a', 'b']
    """
    found: list[str] = []
    for word in pattern.split():
        if word[0] != "{":
            found.append(word)
        elif values := given[word[1:-1]]:
            found += values
        else:
            return None
    return found


def machine() -> dict[str, Any]:
    """The processor, its cores, the memory in MB, the system and the version of Python."""
    info = Path("/proc/cpuinfo")
    lines = info.read_text().splitlines() if info.exists() else []
    return {
        "cpu": next((line.partition(": ")[2] for line in lines if line.startswith("model name")), platform.processor()),
        "cores": os.cpu_count(),
        "memory_mb": os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") >> 20,
        "system": platform.system(),
        "python": platform.python_version(),
    }


def commit() -> str:
    """The commit of the checkout, with a plus if files differ from it."""
    command = ["git", "-C", str(HERE), "describe", "--always", "--dirty=+", "--exclude=*"]
    return subprocess.run(command, capture_output=True, text=True, check=False).stdout.strip()


def run(name: str, arguments: Sequence[str]) -> dict[str, float]:
    """Run a script, show what it prints, and return its figures. RuntimeError if it fails."""
    paths = os.pathsep.join([str(HERE.parent), os.environ.get("PYTHONPATH", "")])
    command = [sys.executable, str(HERE / f"{name}.py"), *arguments]
    last = ""
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, text=True, env=os.environ | {"PYTHONPATH": paths}
    ) as process:
        for line in process.stdout or ():
            print(line, end="", flush=True)
            last = line
    if process.returncode:
        raise RuntimeError(f"{name} ended with {process.returncode}")
    figures: dict[str, float] = json.loads(last)
    return figures


def series(rows: Iterable[Mapping[str, Any]]) -> dict[tuple[str, str], dict[str, list[float]]]:
    """The values of each figure, oldest first, by (benchmark, arguments); of rows of one machine."""
    found: dict[tuple[str, str], dict[str, list[float]]] = {}
    for row in rows:
        for name, value in row["figures"].items():
            found.setdefault((row["benchmark"], row["size"]), {}).setdefault(name, []).append(value)
    return found


def table(rows: Sequence[Mapping[str, Any]]) -> str:
    """The last value of each figure, and the one before, in Markdown."""
    lines = ["| benchmark | figure | last | before | change |", "|---|---|---|---|---|"]
    for (benchmark, size), figures in series(rows).items():
        for name, values in figures.items():
            before = short(values[-2]) if len(values) > 1 else ""
            change = f"{100 * (values[-1] / values[-2] - 1):+.0f} %" if len(values) > 1 and values[-2] else ""
            lines.append(f"| {benchmark}, {size} | {name} | {short(values[-1])} | {before} | {change} |")
    return "\n".join(lines)


def short(value: float) -> str:
    """A number with at least three digits."""
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.3g}"


def charts(rows: Sequence[Mapping[str, Any]]) -> list[Chart]:
    """The first figures of each benchmark by the number of the result."""
    return [
        Chart(f"{name}, {size}", "results, oldest first", "", {k: list(enumerate(v, 1)) for k, v in some})
        for (name, size), figures in series(rows).items()
        if (some := list(figures.items())[:_MOST_LINES])
    ]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", metavar="NAME", help=", ".join(BENCHMARKS))
    parser.add_argument("--list", action="store_true", help="show the benchmarks and their arguments")
    parser.add_argument("--full", action="store_true", help="with the sizes of README.md: minutes to hours each")
    parser.add_argument("--sites", nargs="+", default=[], metavar="DIR")
    parser.add_argument("--urls", nargs="+", default=[], metavar="URL")
    parser.add_argument("--index", nargs=1, default=[], metavar="DIR")
    parser.add_argument("--crawl", nargs="+", default=[], metavar=("DIR", "NAME=URL"))
    parser.add_argument("--results", type=Path, default=HERE / "results.jsonl", metavar="FILE")
    parser.add_argument("--show", action="store_true", help="run nothing")
    parser.add_argument("--plot", metavar="FILE", help="draw the results as SVG")
    given = parser.parse_args()
    if unknown := set(given.names) - set(BENCHMARKS):
        parser.error(f"no benchmark {', '.join(sorted(unknown))}; there are {', '.join(BENCHMARKS)}")
    size, failed = "full" if given.full else "short", False
    for name in [] if given.show else given.names or BENCHMARKS:
        benchmark = BENCHMARKS[name]
        pattern = benchmark.full if given.full else benchmark.short
        if given.list:
            print(f"{name}: {benchmark.about}\n    {pattern}")
        elif (arguments := words(pattern, vars(given))) is None:
            print(f"{name} is left out: it needs {pattern.partition('{')[2].partition('}')[0]}")
        else:
            print(f"\n{name} {' '.join(arguments)}", flush=True)
            started = time.monotonic()
            try:
                figures = run(name, arguments)
            except (RuntimeError, ValueError) as error:
                failed = True
                print(f"{name} failed: {error}", file=sys.stderr)
                continue
            row = {"date": datetime.now(UTC).isoformat(timespec="seconds"), "commit": commit(), "machine": machine()}
            row |= {"benchmark": name, "size": size, "seconds": round(time.monotonic() - started), "figures": figures}
            with given.results.open("a", encoding="utf-8") as file:
                file.write(json.dumps(row, ensure_ascii=False) + "\n")
    if not given.list and given.results.exists():
        rows = [json.loads(line) for line in given.results.read_text(encoding="utf-8").splitlines()]
        rows = [row for row in rows if row["machine"] == machine()]
        print(f"\n{table(rows)}")
        if given.plot:
            write(given.plot, charts(rows))
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
