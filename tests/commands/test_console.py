"""What a person is told: the words for counts, sizes and times, and lines on a stream that is no terminal."""

import io
import json
import os
import signal
import termios
import threading
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from beamtrawl.pipeline.crawl import StopSignal
from beamtrawl.runners.background import INTERRUPTS
from beamtrawl.runners.console import Console, add_up, describe, describe_manifest, duration, run_interruptibly, size
from beamtrawl.runners.submission import Submission, waits_for
from beamtrawl.transforms.storage.crawl_dir import Manifest, Step

NOTHING: dict[str, Any] = {"outcomes": {}, "bytes": 0, "active": 0, "waiting": 0}

SIZES = {
    0: "0 B",
    999: "999 B",
    1000: "1.0 kB",
    52_345: "52.3 kB",
    1_000_000: "1.0 MB",
    3_210_000_000: "3.2 GB",
    5e14: "500.0 TB",
}


@pytest.mark.parametrize(("count", "text"), SIZES.items(), ids=SIZES.values())
def test_a_size(count: float, text: str) -> None:
    assert size(count) == text


DURATIONS = {
    0: "0 s",
    59.9: "59 s",
    60: "1 min 0 s",
    125: "2 min 5 s",
    3599: "59 min 59 s",
    3600: "1 h 0 min",
    100_000: "27 h 46 min",
}


@pytest.mark.parametrize(("seconds", "text"), DURATIONS.items(), ids=DURATIONS.values())
def test_a_duration(seconds: float, text: str) -> None:
    assert duration(seconds) == text


def report(active: int, waiting: int, count: int, **outcomes: int) -> dict[str, Any]:
    return {"outcomes": outcomes, "bytes": count, "active": active, "waiting": waiting}


# workers' reports, their sum
SUMS = {
    "no worker has reported": ([], NOTHING),
    "one": ([report(1, 2, 30, fetched=4)], report(1, 2, 30, fetched=4)),
    "two": ([report(1, 2, 30, fetched=4, gone=1), report(5, 6, 70, fetched=8)], report(6, 8, 100, fetched=12, gone=1)),
}


@pytest.mark.parametrize(("reports", "total"), SUMS.values(), ids=SUMS)
def test_reports_add_up(reports: list[dict[str, Any]], total: dict[str, Any]) -> None:
    assert add_up(reports) == total


# rows of the frontier, reports, seconds since the start: the line
FETCHING = {
    "nothing yet": (9, NOTHING, 0.0, "round 3 fetch: 0 of 9 URLs, 0.0/s, 0 B, hosts 0 active 0 waiting"),
    "under way": (
        100,
        report(4, 2, 123_456, gone=5, fetched=20),
        10.0,
        "round 3 fetch: 25 of 100 URLs, 2.5/s, 123.5 kB, hosts 4 active 2 waiting, about 30 s left"
        " (fetched 20, gone 5)",
    ),
    "at its end": (
        25,
        report(0, 0, 999, fetched=25),
        10.0,
        "round 3 fetch: 25 of 25 URLs, 2.5/s, 999 B, hosts 0 active 0 waiting (fetched 25)",
    ),
}


@pytest.mark.parametrize(("rows", "total", "seconds", "line"), FETCHING.values(), ids=FETCHING)
def test_a_fetch_step_under_way(rows: int, total: dict[str, Any], seconds: float, line: str) -> None:
    assert describe(Step("fetch", 3), rows, total, seconds) == line


def test_a_fetch_step_whose_workers_have_not_started() -> None:
    waits = waits_for(Submission.ACCEPTED, 0)
    line = "round 3 fetch: handed to the cluster, waiting for workers, 4800 URLs, 1 min 5 s"
    assert describe(Step("fetch", 3), 4800, NOTHING, 65.0, waits) == line


def manifest(step: str, seconds: int, **counters: int) -> Manifest:
    return Manifest(
        step, 3, "", (), counters, (), "2026-03-01T11:59:00.000+00:00", f"2026-03-01T11:59:{seconds:02}.000+00:00"
    )


COMMITTED = {
    "a fetch step": (
        manifest("fetch", 4, visits_rows=10, timeout=1, fetched=9, robots_rows=2),
        "round 3 fetch: 10 visits in 4.0 s, 2.5/s (fetched 9, timeout 1)",
    ),
    "in no time": (manifest("fetch", 0, visits_rows=1, gone=1), "round 3 fetch: 1 visits in 0.0 s (gone 1)"),
    "an update step": (
        manifest("update", 2, documents_rows=8, duplicates=3, links_rows=99, frontier_waiting=40),
        "round 3 update: 8 documents (3 duplicates), 99 links, 40 URLs in the next frontier, in 2.0 s",
    ),
    "an update of nothing": (
        manifest("update", 1),
        "round 3 update: 0 documents (0 duplicates), 0 links, 0 URLs in the next frontier, in 1.0 s",
    ),
}


@pytest.mark.parametrize(("committed", "line"), COMMITTED.values(), ids=COMMITTED)
def test_a_committed_step(committed: Manifest, line: str) -> None:
    assert describe_manifest(committed) == line


def test_a_stream_that_is_no_terminal_gets_plain_lines(tmp_path: Path) -> None:
    stream = io.StringIO()
    console = Console(stream)
    console.say("2 seeds added")
    console.step_started(Step("fetch", 1), str(tmp_path / "progress"), 9)
    console.tick()  # too soon to say anything
    console.step_committed(manifest("fetch", 4, visits_rows=10, fetched=10))
    console.tick()
    console.waiting(datetime(2026, 3, 1, 12, 30, 5, tzinfo=UTC), 7)
    assert stream.getvalue().splitlines() == [
        "2 seeds added",
        "round 3 fetch: 10 visits in 4.0 s, 2.5/s (fetched 10)",
        "waiting until 12:30:05 UTC, when 7 URLs are due again",
    ]
    assert stream.getvalue().endswith("\n")


def test_on_a_terminal_one_line_is_written_over_and_over(tmp_path: Path) -> None:
    (tmp_path / "progress-1.json").write_text(json.dumps(report(1, 0, 500, fetched=2)))
    (tmp_path / "progress-2.json").write_text('{"half of a repo')
    keyboard, screen = os.openpty()
    termios.tcsetwinsize(screen, (24, 40))
    seen = threading.Event()
    shown: list[bytes] = []

    def watch() -> None:
        while b"2 of 9" not in b"".join(shown):
            shown.append(os.read(keyboard, 1000))
        seen.set()

    watcher = threading.Thread(target=watch)
    with os.fdopen(screen, "w", encoding="utf-8") as terminal:
        console = Console(terminal)
        console.step_started(Step("fetch", 1), str(tmp_path / "progress"), 9)
        watcher.start()
        assert run(lambda: seen.wait(10), console=console)
        watcher.join()
        console.say("done")
        while not shown[-1].endswith(b"\n"):  # a terminal gives what it has, not what was written
            shown.append(os.read(keyboard, 1000))
    os.close(keyboard)
    nothing, *lines, last = b"".join(shown).decode().split("\r\x1b[K")
    assert (nothing, last) == ("", "done\r\n")
    assert lines
    assert all(line.startswith("round 1 fetch: 2 of 9 URLs, ") and len(line) < 40 for line in lines)


def run(work: Any, stop: StopSignal | None = None, console: Console | None = None) -> Any:
    return run_interruptibly(work, stop or StopSignal(), console or Console(io.StringIO()))


def test_work_gives_back_its_result() -> None:
    assert run(lambda: 42) == 42


@pytest.mark.parametrize("error", [ValueError("no"), SystemExit(3), KeyboardInterrupt()], ids=repr)
def test_work_passes_on_what_it_raises(error: BaseException) -> None:
    def work() -> None:
        raise error

    with pytest.raises(type(error)) as caught:
        run(work)
    assert caught.value is error


@pytest.mark.parametrize("number", INTERRUPTS)
def test_an_interrupt_asks_the_work_to_stop_and_waits_for_it(number: signal.Signals) -> None:
    stop, stream, before = StopSignal(), io.StringIO(), signal.getsignal(number)

    def work() -> str:
        os.kill(os.getpid(), number)
        stop.wait(10)
        return "all is committed" if stop.is_set() else "nobody said stop"

    assert run(work, stop, Console(stream)) == "all is committed"
    assert stream.getvalue() == "stopping after the requests under way; press Ctrl-C again to stop at once\n"
    assert signal.getsignal(number) is before


def test_interrupts_do_not_reach_the_work_and_what_it_starts() -> None:
    assert {*INTERRUPTS} <= run(lambda: signal.pthread_sigmask(signal.SIG_BLOCK, []))
    assert not {*INTERRUPTS} & signal.pthread_sigmask(signal.SIG_BLOCK, [])
