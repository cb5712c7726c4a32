"""Workers that are killed in the middle of a step: the next crawl ends with the tables of a crawl without a kill."""

import contextlib
import os
import signal
import subprocess
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import apache_beam as beam
import pytest

from beamtrawl.runners.engines.direct import DirectEngine
from beamtrawl.runners.process import usage
from beamtrawl.runners.terminal.errors import Failure
from tests.engines.test_worker import SITES, hits
from tests.support.access_log import Manners, violations
from tests.support.crawls import crawl, without_times
from tests.support.web import Web

DELAY = 0.1


def children(process: int) -> Iterator[int]:
    """The processes that a process has started, from Linux's tables."""
    with contextlib.suppress(OSError):
        for task in Path(f"/proc/{process}/task").iterdir():
            yield from map(int, (task / "children").read_text().split())


def test_a_killed_process_takes_its_descendants_with_it() -> None:
    """When `kill` returns, they have ended: their memory and files are free."""
    with subprocess.Popen(
        ["sh", "-c", "sh -c 'sleep 60 & echo $!; wait' & wait"], stdout=subprocess.PIPE, text=True
    ) as parent:
        assert parent.stdout is not None
        grandchild = parent.stdout.readline().strip()
        usage.kill(parent.pid)
        states = [path.read_text().split()[2] for path in Path("/proc").glob(f"{grandchild}/stat")]
        assert (states in ([], ["Z"]), parent.wait()) == (True, -signal.SIGKILL)


class KillingEngine(DirectEngine):
    """Two workers, of which it kills one in one step for each of `patterns`, once a file that matches is there."""

    def __init__(self, directory: Path, patterns: list[str]) -> None:
        super().__init__(2)
        self.directory, self.patterns = directory, patterns  # which its copies share

    def workers_for(self, seconds: float) -> int:
        return 2  # also for small steps

    def run(self, build: Callable[[beam.Pipeline], None], seconds: float) -> None:
        ended = threading.Event()
        killer = threading.Thread(target=self._kill, args=(ended,))
        killer.start()
        try:
            super().run(build, seconds)
        finally:
            ended.set()
            killer.join()

    def _kill(self, ended: threading.Event) -> None:
        while self.patterns and not ended.wait(0.002):
            workers = [worker for server in children(os.getpid()) for worker in children(server)]
            if len(workers) == 2 and any(self.directory.glob(self.patterns[0])):
                os.kill(workers[0], signal.SIGKILL)
                self.patterns.pop(0)
                return


@pytest.mark.slow("kills")
def test_killed_workers_leave_no_trace_in_tables_and_break_no_promise(tmp_path: Path) -> None:
    # A promise is written when requests begin; an update step's first files are those of its first bundles.
    engine = KillingEngine(tmp_path / "killed", ["attempts/*-fetch-*-promises-*", "documents/round=000001/*"])
    with Web(SITES) as web:
        seeds = [web.url("host0.test"), web.url("host4.test")]  # of two shards: each has a worker
        crawl(tmp_path / "undisturbed", seeds, rounds=2, politeness__delay=DELAY)
        before = len(web.requests)
        for _ in range(2):
            with pytest.raises(Failure, match="SIGKILL"):
                crawl(tmp_path / "killed", seeds, rounds=2, engine=engine, politeness__delay=DELAY)
        crawl(tmp_path / "killed", rounds=1, engine=engine, politeness__delay=DELAY)  # after the update of round 1
        problems = violations(web.requests[before:], Manners(lambda host: DELAY, required=()))
    assert not engine.patterns  # both were killed
    assert [problem for problem in problems if "robots" not in problem] == []  # robots.txt is fetched again
    assert without_times(tmp_path / "killed") == without_times(tmp_path / "undisturbed")
    assert hits(tmp_path / "killed") == hits(tmp_path / "undisturbed")
