"""What `status` says of a crawl that another process runs, from what is stored in its directory."""

import json
import os
import socket
import time
from pathlib import Path
from typing import Any

import pytest

from beamtrawl.runners.commands.status import render, running_line
from beamtrawl.runners.process.lock import Lock
from beamtrawl.runners.progress.elsewhere import FoundStep, RunningStep, describe, newest_attempt
from beamtrawl.runners.progress.running import NOTHING, Reported, Stage
from beamtrawl.runners.state.crawl_status import summarize
from beamtrawl.transforms.directory.crawl_dir import CrawlDir, Manifest, Step
from beamtrawl.transforms.settings import Settings, override
from tests.support.command_line import beamtrawl, failure
from tests.support.committed_steps import NOW, commit, listed, waiting

BEGAN = NOW.timestamp()
OWNER = {"pid": 7, "host": "here", "since": BEGAN - 60}
BUSY = Reported(2, {"fetched": 18, "gone": 2, "deferred": 5}, 123_456, 3, 2, 1, 50)


def running(step: str, began: float | None, reported: Reported, **owner: Any) -> RunningStep:
    return describe(FoundStep(OWNER | owner, Step(step, 2), began, reported), "here", 40, BEGAN + 10)


SINCE = "running: process 7 since 2026-11-20 11:59:00 UTC"
# a step, its line
LINES = {
    "a fetch step": (
        running("fetch", BEGAN, BUSY),
        f"{SINCE}; round 2 fetch: 25 of 40 URLs, 0.0/s now, 2.0/s mean, 123.5 kB, about 25 s left,"
        " hosts 3 active, 2 waiting, 1 backing off, visits fetched 18, deferred 5, gone 2",
    ),
    "an update step": (
        running("update", BEGAN, Reported(1, stage=Stage(1, 9, "parsing pages", 12))),
        f"{SINCE}; round 2 update: 12 of 40 visits, stage 1 of 9: parsing pages, 10 s",
    ),
    "an import": (
        running("import", BEGAN, Reported(1, stage=Stage(1, 1, "reading captures", 12))),
        f"{SINCE}; round 2 import: 12 of 40 visits, stage 1 of 1: reading captures, 10 s",
    ),
    "no report yet": (running("fetch", None, NOTHING), f"{SINCE}, between two steps, or waiting for URLs to be due"),
    "on another machine": (
        running("fetch", None, NOTHING, host="box2"),
        "running: process 7 on box2 since 2026-11-20 11:59:00 UTC, between two steps, or waiting for URLs to be due",
    ),
    "with the lock of an earlier version": (
        running("fetch", None, NOTHING, since=None),
        "running: process 7, between two steps, or waiting for URLs to be due",
    ),
}


@pytest.mark.parametrize(("step", "line"), LINES.values(), ids=LINES)
def test_a_line_on_a_running_step(step: RunningStep, line: str) -> None:
    assert running_line(step) == line


def test_the_reports_of_the_newest_attempt_count() -> None:
    second = 10**9
    names = [
        f"000001-fetch-aa-progress-{5 * second:x}.json",
        f"000001-fetch-bb-progress-{8 * second:x}.json",
        f"000001-fetch-bb-progress-1-77-{7 * second:x}.json",
        "000001-fetch-cc-progress-none.json",
    ]
    assert newest_attempt(names) == ("000001-fetch-bb-progress", 7.0)
    assert newest_attempt([]) == ("", 0.0)


def begun(root: Path, step: str = "fetch") -> CrawlDir:
    """A crawl whose next step is a fetch or an update."""
    crawl = CrawlDir(str(root))
    commit(crawl, "seeds", 0, [waiting(crawl, 1, ("a.test", "seed", None), ("b.test", "seed", None))])
    if step == "update":
        crawl.commit(Manifest("fetch", 1, "", (listed("visits", "a", 9),), {"visits_rows": 9}, (), "", ""))
    return crawl


def report(crawl: CrawlDir, step: str, attempt: str, at: float, **fields: Any) -> None:
    crawl.write_text(f"attempts/000001-{step}-{attempt}-progress-{int(at * 1e9):x}.json", json.dumps(fields))


def test_status_beside_a_fetch_step(tmp_path: Path) -> None:
    crawl = begun(tmp_path)
    report(crawl, "fetch", "killed", time.time() - 3600, outcomes={"fetched": 2})
    with Lock(crawl):
        found = summarize(crawl, NOW).running
        assert found and (found.pid, found.machine, found.is_here) == (os.getpid(), socket.gethostname(), True)
        assert found.step is None  # the report is of a process that has ended
        report(crawl, "fetch", "running", time.time() - 1, outcomes={"fetched": 1, "deferred": 1}, active=1)
        found = summarize(crawl, NOW).running
        assert found and (found.step, found.done, found.total, found.requests) == ("fetch", 2, 2, 1)
        assert 0 < found.rate <= 1
        lines = beamtrawl("status", tmp_path).out.splitlines()
        assert lines[0] == f"{tmp_path}: 0 rounds; now: fetch of round 1"
        assert lines[3].startswith(f"running: process {os.getpid()} since ")
        assert lines[2] == f"to go on: wait, or stop process {os.getpid()}; another crawl is refused until it ends"
        assert json.loads(beamtrawl("status", tmp_path, "--json").out)["running"]["requests"] == 1
        crawl.write_text("crawl.toml", "")
        assert f"is in use by process {os.getpid()}" in failure("crawl", tmp_path)[1]
    assert summarize(crawl, NOW).running is None
    assert render(summarize(crawl, NOW)).splitlines()[2] == f"to go on: beamtrawl crawl {tmp_path}"


@pytest.mark.parametrize(
    ("name", "stage"),
    [("import-ab-scan-progress-1-77", "scanning archives"), ("000001-import-ab-cd-progress-1-77", "reading captures")],
)
def test_status_beside_an_import(name: str, stage: str, tmp_path: Path) -> None:
    crawl = begun(tmp_path)
    report(crawl, "fetch", "stopped", time.time() - 3600, outcomes={"fetched": 2})
    with Lock(crawl):
        path = f"attempts/{name}-{int((time.time() - 1) * 1e9):x}.json"
        crawl.write_text(path, json.dumps({"stage": 1, "stages": 1, "name": stage, "rows": 3}))
        lines = beamtrawl("status", tmp_path).out.splitlines()
    assert lines[0] == f"{tmp_path}: 0 rounds; now: import of round 1"
    assert f"round 1 import: 3 done, stage 1 of 1: {stage}, " in lines[3]


def test_status_beside_an_update_step_of_another_machine(tmp_path: Path) -> None:
    crawl = begun(tmp_path, "update")
    owner = {"pid": 7, "host": "box2.test", "beat": time.time(), "since": time.time() - 100}
    crawl.write_text("lock.json", json.dumps(owner))
    report(crawl, "update", "a", time.time() - 10, stage=1, stages=9, name="parsing pages", rows=4)
    found = summarize(crawl, NOW).running
    assert found and (found.is_here, found.step, found.done, found.total) == (False, "update", 4, 9)
    assert render(summarize(crawl, NOW)).splitlines()[2].startswith("to go on: wait, or stop process 7 on box2.test;")
    crawl.write_text("lock.json", json.dumps(owner | {"beat": time.time() - 3600}))
    assert summarize(crawl, NOW).running is None


@pytest.mark.parametrize("changes", [{}, {"max_pages_per_round": 1}])
def test_a_limit_of_pages_bounds_the_step(tmp_path: Path, changes: dict[str, int]) -> None:
    crawl = begun(tmp_path)
    with Lock(crawl):
        limits = override(Settings(), {f"limits.{name}": value for name, value in changes.items()})
        found = summarize(crawl, NOW, limits).running
        assert found and found.total == changes.get("max_pages_per_round", 2)
