"""Kills crawls, revisits, exports, checks and imports at random instants, and compares with what ran undisturbed.

    python benchmarks/killed.py --kills 3 --seed 1
    python benchmarks/killed.py --store S3 --fail 0.05 --stop 70
    python benchmarks/killed.py --store GCS --commands crawl again

Serves a small web of hosts on loopback, and runs each command twice on two workers: undisturbed, and killed at instants
that are drawn from the time that the first run took, then resumed. `--store` keeps both crawls in an object store on
loopback (S3 by moto's server, Google Cloud Storage by that of the tests), which fails a share of all requests with
`--fail`: dropped, lost, cut, delayed, answered with 500 or SlowDown. With `--stop`, the first kill of each command is a
SIGSTOP for so many seconds, while the next process takes over; the stopped one then goes on, and has to end by itself.
`--data` is the limit of each process's memory (RLIMIT_DATA, MB).

Compared are the rows of all tables, without times and durations, the files of exports, and what checks print. The
servers' log tells what was requested again, and breaches of politeness.
"""

import argparse
import contextlib
import os
import random
import re
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Mapping
from hashlib import blake2b
from pathlib import Path
from typing import Any

import pyarrow as pa

sys.path.insert(0, str(Path(__file__).parent.parent))

from beamtrawl.transforms.directory.crawl_dir import CrawlDir, paths_of
from beamtrawl.transforms.tables.schemas import TABLES
from beamtrawl.transforms.tables.table_files import read_table
from tests.support.access_log import ROBOTS, Manners, violations
from tests.support.object_stores import STORES
from tests.support.web import Page, html, plain
from tests.support.web_process import WebProcess

DELAY = 0.1
COMMANDS = {
    "crawl": "crawl DIR --seeds SEEDS --workers 2 --delay 0.1 --allow-address 127.0.0.0/8 --set sitemaps.guess=false"
    " --robot benchmark/1 --contact robot@benchmark.example --info-url http://benchmark.example/",
    "again": "crawl DIR --again --workers 2",
    "warc": "export warc DIR OUT",
    "markdown": "export markdown DIR OUT",
    "links": "check links DIR --json",
    "import": "import warc DIR-imported ARCHIVE --workers 2 --part 20",
}
"""In this order. `import` reads the archive of the undisturbed crawl; `--again` goes once its step is committed."""

_MEASURED = {"elapsed_ms", "last_elapsed_ms", "latency", "latency_p50_ms", "latency_p95_ms", "held_by", "path"}
_SPANS = {"unchanged_s", "changed_log_s", "changes_per_day", "revisit_weight", "fade_s"}
_HEADERS = {"headers", "expires_at"}


def sites(hosts: int, pages: int) -> dict[str, dict[str, Page]]:
    web: dict[str, dict[str, Page]] = {}
    for host in range(hosts):
        web[f"host{host}.test"] = {ROBOTS: plain("User-agent: *\nDisallow: /private\n")} | {
            f"/{page}": html(
                f"Page {page} of {host}",
                f"What page {page} of host {host} says, at some length. " * 40,
                [f"/{2 * page}", f"/{2 * page + 1}", "/private", "/1"],
            )
            for page in range(1, pages)
        }
    return web


def table_rows(root: str) -> dict[str, Counter[bytes]]:
    """Digests of the rows of all tables, without times, durations and paths."""
    crawl = CrawlDir(root)
    manifests = crawl.manifests()
    return {name: Counter(digests(crawl, manifests, name)) for name in TABLES}


def digests(crawl: CrawlDir, manifests: Any, table: str) -> Iterator[bytes]:
    skipped = _MEASURED | _SPANS | _HEADERS
    names = [f.name for f in TABLES[table] if not pa.types.is_timestamp(f.type) and f.name not in skipped]
    for path in paths_of(manifests, table):
        for row in read_table(crawl.root, [path], TABLES[table], names).to_pylist():
            yield blake2b(repr(row).encode(), digest_size=16).digest()


class Runner:
    """Runs the commands of one crawl, undisturbed or not."""

    def __init__(
        self, environment: Mapping[str, str], places: Mapping[str, str], arguments: argparse.Namespace
    ) -> None:
        self._environment = {**os.environ, **environment}
        self._places, self._arguments = places, arguments
        self._rng = random.Random(arguments.seed)

    def start(self, name: str) -> subprocess.Popen[str]:
        words = [file for word in COMMANDS[name].split() for file in self._words(word)]
        if name == "again" and any(each.step == "revisits" for each in CrawlDir(self._places["DIR"]).manifests()):
            words.remove("--again")
        limit = ["prlimit", f"--data={self._arguments.data << 20}"] if self._arguments.data else []
        command = [*limit, sys.executable, "-P", "-m", "beamtrawl", *words]
        pipe = subprocess.PIPE
        return subprocess.Popen(
            command, env=self._environment, stdout=pipe, stderr=pipe, text=True, start_new_session=True
        )

    def _words(self, word: str) -> list[str]:
        if word == "ARCHIVE":
            return [str(path) for path in sorted(Path(self._places[word]).glob("*.warc.gz"))]
        first, dash, rest = word.partition("-")
        return [self._places[first] + dash + rest if first in self._places else word]

    def run(self, name: str) -> str:
        """Run a command to its end; return what it printed."""
        return self._end(self.start(name), name)

    def _end(self, process: subprocess.Popen[str], name: str) -> str:
        out, errors = process.communicate(timeout=900)
        if process.returncode not in (0, 3):
            raise SystemExit(f"{name}: exit code {process.returncode}: {errors[-2000:]}")
        return out

    def disturbed(self, name: str, seconds: float) -> str:
        """Run a command that is killed, and stopped, and run again."""
        stopped = None
        for number in range(self._arguments.kills):
            process, instant = self.start(name), self._rng.uniform(0.1, 0.9) * seconds
            with contextlib.suppress(subprocess.TimeoutExpired):
                return self._end_both(process.communicate(timeout=instant)[0], process, name, stopped)
            if number == 0 and self._arguments.stop:
                os.killpg(process.pid, signal.SIGSTOP)
                print(f"{name}: stopped after {instant:.1f} s", flush=True)
                stopped = process
                time.sleep(self._arguments.stop)
                continue
            os.killpg(process.pid, signal.SIGKILL)
            process.communicate()
            print(f"{name}: killed after {instant:.1f} s", flush=True)
        return self._end_both(self.run(name), None, name, stopped)

    def _end_both(
        self, out: str, process: subprocess.Popen[str] | None, name: str, stopped: subprocess.Popen[str] | None
    ) -> str:
        if stopped:
            os.killpg(stopped.pid, signal.SIGCONT)
            line = (stopped.communicate(timeout=300)[1].strip().splitlines() or [""])[-1]
            print(f"{name}: the stopped process went on and ended with {stopped.returncode}: {line}")
        if process and process.returncode not in (0, 3):
            raise SystemExit(f"{name}: exit code {process.returncode}")
        return out


def tree(folder: Path) -> Counter[str]:
    """The names of files of an export, or the file itself; without digits that are drawn."""
    return Counter(str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file())


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--commands", nargs="+", choices=COMMANDS, default=list(COMMANDS))
    parser.add_argument("--hosts", type=int, default=4)
    parser.add_argument("--pages", type=int, default=16, help="of each host")
    parser.add_argument("--kills", type=int, default=3, help="of each command")
    parser.add_argument("--store", choices=STORES)
    parser.add_argument("--fail", type=float, default=0.0, help="the share of requests to the store that fail")
    parser.add_argument("--stop", type=float, default=0.0, help="seconds of SIGSTOP, in place of the first kill")
    parser.add_argument("--data", type=int, default=0, help="MB")
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    with contextlib.ExitStack() as stack:
        web = stack.enter_context(WebProcess(sites(arguments.hosts, arguments.pages)))
        work = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        root, environment = str(work), dict[str, str]()
        if arguments.store:
            store = stack.enter_context(STORES[arguments.store]())
            root, environment = store.root, store.environment
            os.environ |= environment  # for the comparison
        seeds = work / "seeds.txt"
        seeds.write_text("\n".join(web.url(host, "/1") for host in sites(arguments.hosts, 1)))
        places = {"SEEDS": str(seeds), "ARCHIVE": str(work / "whole-warc")}
        runners = {
            name: Runner(environment, {**places, "DIR": f"{root}/{name}"}, arguments) for name in ("whole", "killed")
        }
        problems = 0
        for name in arguments.commands:
            for runner, crawl in zip(runners.values(), runners, strict=True):
                runner._places = {**runner._places, "OUT": str(work / f"{crawl}-{name}")}
            began, before = time.monotonic(), len(web.requests)
            printed = runners["whole"].run(name)
            seconds, between = time.monotonic() - began, len(web.requests)
            if arguments.store:
                store.faults.share = arguments.fail
            again = runners["killed"].disturbed(name, seconds)
            if arguments.store:
                store.faults.share = 0.0
            found = list(differences(name, root, work, printed, again))
            asked = [
                Counter((r.host, r.path) for r in part)
                for part in (web.requests[before:between], web.requests[between:])
            ]
            found += [f"not requested: {each}" for each in asked[0] - asked[1]]
            breaches = violations(web.requests, Manners(lambda host: DELAY, required=()))
            breaches = [each for each in breaches if f"{ROBOTS} again" not in each]  # after a kill, as any other page
            repeated = asked[1] - asked[0]
            print(
                f"{name}: {seconds:.1f} s undisturbed; {asked[0].total()} requests, {repeated.total()} more after"
                f" kills; {'; '.join([*found[:5], *breaches[:3]]) or 'all equal, no breach'}",
                flush=True,
            )
            problems += len(found) + len(breaches)
        if arguments.store:
            print(f"faults of the store: {dict(store.faults.seen)}")
    return 1 if problems else 0


def differences(name: str, root: str, work: Path, printed: str, again: str) -> Iterator[str]:
    """What of two crawls, exports or checks is different."""
    suffix = "-imported" if name == "import" else ""
    if name in ("crawl", "again", "import"):
        one, other = (table_rows(f"{root}/{crawl}{suffix}") for crawl in ("whole", "killed"))
        for table in TABLES:
            if one[table] != other[table]:
                yield f"DIFFERENT {table}: {(one[table] - other[table]).total()}, {(other[table] - one[table]).total()}"
    elif name == "links":
        timeless = re.compile(r'"since": "[^"]*"')
        texts = (printed.replace("whole", "killed"), again)
        lines = (Counter(timeless.sub("", text).splitlines()) for text in texts)
        if (first := next(lines)) != (second := next(lines)):
            yield f"DIFFERENT output: {list(first - second)[:3]} {list(second - first)[:3]}"
    elif tree(work / f"whole-{name}") != tree(work / f"killed-{name}"):
        yield "DIFFERENT files"
    drafts = [path.name for path in work.iterdir() if path.name.startswith(".draft-")]
    drafts += [path.name for path in work.glob("killed-*/draft-*")]
    if drafts:
        yield f"left: {drafts}"


if __name__ == "__main__":
    sys.exit(main())
