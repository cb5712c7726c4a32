"""What small rounds cost: the CPU seconds of a round of one URL and of 100 URLs, by phase.

    python benchmarks/small_rounds.py [--runs 5] [--rounds 6] [--workers N]

Each round fetches one page (or 100 pages of 5 kB) that link to those of the next round. The first three columns are of
a crawl of some rounds in a new process, through the same functions as the command line: its start and its end, the
first round, the mean of the later ones. `command` is all of `beamtrawl crawl DIR --rounds 1` on a new crawl, until the
process has ended. CPU time is user and system time of all threads and child processes. Each figure is the least of the
runs, which other load of the machine disturbs least.
"""

import argparse
import json
import random
import resource
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

sys.path.insert(0, str(Path(__file__).parent.parent))

SIZES = (1, 100)
_FLAGS = ("--allow-address", "127.0.0.0/8", "--delay", "0")
_PARTS = ("prepare", "build", "run", "commit")
_STEPS = [f"{step} {part}" for step in ("fetch", "update") for part in _PARTS]
_PHASES = ("imports", "start", *_STEPS, "between", "merge", "rank", "exit")


def cpu() -> float:
    """CPU seconds of this process and of its ended children."""
    usage = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(one.ru_utime + one.ru_stime for one in usage)


def pages(size: int, rounds: int) -> dict[str, Any]:
    """Levels of pages: each page links to one of the next level; the page `/` to all of the first."""
    from tests.support.web import html

    words = random.Random(7)
    levels = {
        f"/{level}/{n}": html(
            f"Page {n} of level {level}",
            " ".join(f"{words.choice('bcdfgh')}{words.randrange(20_000)}" for _ in range(800)),
            [f"/{level + 1}/{n}"],
        )
        for level in range(rounds)
        for n in range(size)
    }
    return levels | {"/": html("Start", "All pages", [f"/0/{n}" for n in range(size)])}


class Clock:
    """CPU seconds by round and phase. Round 0 is the start of the process."""

    def __init__(self) -> None:
        self.round = 0
        self.spent: Counter[tuple[int, str]] = Counter()
        self._last = 0.0

    def lap(self, phase: str) -> None:
        """Count the time since the last call."""
        now = cpu()
        self.spent[self.round, phase] += now - self._last
        self._last = now


class Clocked:
    """An engine and an observer that clock the phases of a crawl."""

    def __init__(self, clock: Clock, engine: Any) -> None:
        self.clock, self.engine, self.workers = clock, engine, engine.workers
        self._step, self._phase = "", "start"

    def run(self, build: Callable[[Any], None], seconds: float) -> None:
        if not self._step:  # a pipeline that merges or ranks
            self.engine.run(build, seconds)
            return

        def clocked(pipeline: Any) -> None:
            self.clock.lap(f"{self._step} prepare")
            build(pipeline)
            self.clock.lap(f"{self._step} build")

        self.engine.run(clocked, seconds)
        self.clock.lap(f"{self._step} run")

    def step_started(self, step: Any, progress: str, rows: int, at_most: int | None = None) -> None:
        self.clock.lap(self._phase)
        self.clock.round, self._step, self._phase = step.round, step.kind, "between"

    def step_committed(self, manifest: Any) -> None:
        self.clock.lap(f"{self._step} commit" if self._step else self._phase)
        self._step = ""

    def busy(self, what: str) -> None:
        self.clock.lap(self._phase)
        self._phase = "rank" if "ranking" in what else "merge" if "merging" in what else "between"

    def waiting(self, until: Any, urls: int) -> None:
        pass

    def seeds_added(self, added: Any) -> None:
        pass

    def warn(self, line: str) -> None:
        raise SystemExit(line)


def crawl(root: str, seeds: Sequence[str], rounds: int, workers: int | None) -> None:
    """Crawl in this process; print the seconds of each phase."""
    clock = Clock()
    from beamtrawl.runners.process.absent import BEAM_OPTIONAL, absent, keep_pandas_out
    from beamtrawl.runners.process.garbage import collect_rarely, importing
    from beamtrawl.runners.program.cli import quiet

    quiet(debug=False)
    collect_rarely()
    keep_pandas_out()
    with importing(), absent(BEAM_OPTIONAL):
        from beamtrawl.pipeline.control import StopSignal
        from beamtrawl.pipeline.seeds import Seed
        from beamtrawl.runners.commands import crawl  # noqa: F401
        from beamtrawl.runners.crawling import session
        from beamtrawl.runners.engines.choose import engine
        from beamtrawl.transforms.directory.crawl_dir import CrawlDir
        from beamtrawl.transforms.settings import Settings, override

    clock.lap("imports")
    changes = {"fetch.allow_addresses": ["127.0.0.0/8"], "politeness.delay": 0.0}
    clocked = Clocked(clock, engine("direct", workers, []))
    found = [Seed(seed) for seed in seeds]
    session.run(CrawlDir(root), override(Settings(), changes), found, clocked, clocked, StopSignal(), rounds)
    clock.lap(clocked._phase)
    print(json.dumps({"total": cpu(), "spent": [[*key, spent] for key, spent in clock.spent.items()]}))


def child(words: Sequence[str]) -> tuple[float, str]:
    """Run a command; return its CPU seconds, children included, and what it printed."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    printed = subprocess.run(words, check=True, stdout=subprocess.PIPE, text=True).stdout
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, printed


def one_run(seeds: Sequence[str], rounds: int, workers: Sequence[str]) -> Iterator[tuple[str, str, float]]:
    """Yield (column, phase, CPU seconds) of a crawl of some rounds, and of a command that crawls one."""
    with TemporaryDirectory() as folder:
        lines = Path(folder) / "seeds"
        lines.write_text("\n".join(seeds))
        me = [sys.executable, __file__, "--crawl", f"{folder}/rounds", "--seeds", str(lines), "--rounds", str(rounds)]
        total, printed = child([*me, *workers])
        told = json.loads(printed.splitlines()[-1])
        spent = {(number, phase): seconds for number, phase, seconds in told["spent"]}
        yield "start and end", "exit", total - told["total"]
        for (number, phase), seconds in spent.items():
            if number == 0 or phase == "rank":
                yield "start and end", phase, seconds
            elif number == 1:
                yield "first round", phase, seconds
            else:
                yield "later round", phase, seconds / (rounds - 1)
        program = str(Path(sys.executable).parent / "beamtrawl")
        new = [program, "crawl", f"{folder}/command", "--seeds", str(lines), "--rounds", "1", *_FLAGS, *workers]
        yield "command", "sum", child(new)[0]


def table(measured: Sequence[dict[tuple[str, str], float]]) -> dict[str, float]:
    """Print the least seconds of the runs by column and phase; sums are of single runs, and returned."""
    columns = ("start and end", "first round", "later round", "command")
    for run in measured:
        for (column, _), seconds in list(run.items()):
            if column != "command":
                run[column, "sum"] = run.get((column, "sum"), 0.0) + seconds
    print(f"| | {' | '.join(columns)} |\n|{'---|' * (len(columns) + 1)}")
    for phase in (*_PHASES, "sum"):
        found = [[run[column, phase] for run in measured if (column, phase) in run] for column in columns]
        print(f"| {phase} | {' | '.join(f'{min(some):.3f}' if some else '' for some in found)} |", flush=True)
    return {column: min(run[column, "sum"] for run in measured) for column in columns}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=5, metavar="N")
    parser.add_argument("--rounds", type=int, default=6, metavar="N")
    parser.add_argument("--workers", type=int, metavar="N")
    parser.add_argument("--json", action="store_true", help="print the figures as one line of JSON at the end")
    parser.add_argument("--crawl", metavar="DIR", help=argparse.SUPPRESS)  # in a process of its own
    parser.add_argument("--seeds", type=Path, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.crawl:
        crawl(arguments.crawl, arguments.seeds.read_text().split(), arguments.rounds, arguments.workers)
        return
    from tests.support.web_process import WebProcess

    workers = [] if arguments.workers is None else ["--workers", str(arguments.workers)]
    figures: dict[str, float] = {}
    for size in SIZES:
        print(f"\n{size} URLs in each round, {arguments.rounds} rounds\n")
        with WebProcess({"a.test": pages(size, arguments.rounds + 1)}) as web:
            seeds = [web.url("a.test", f"/0/{n}") for n in range(size)]
            runs = []
            for _ in range(arguments.runs):
                run: Counter[tuple[str, str]] = Counter()
                for column, phase, seconds in one_run(seeds, arguments.rounds, workers):
                    run[column, phase] += seconds
                runs.append(dict(run))
        figures |= {f"{size} URLs, {column}, CPU s": seconds for column, seconds in table(runs).items()}
    if arguments.json:
        print(json.dumps(figures))


if __name__ == "__main__":
    main()
