"""Progress on a terminal, on other streams and in a log, and work that Ctrl-C interrupts."""

import contextlib
import io
import json
import os
import re
import signal
import termios
import threading
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from beamtrawl.pipeline.control import End, StopSignal
from beamtrawl.runners.crawling.console import Console, open_outputs, run_interruptibly, telling, text_output
from beamtrawl.runners.process.background import INTERRUPTS
from beamtrawl.runners.progress.outputs import TextOutput
from beamtrawl.transforms.directory.crawl_dir import Manifest, Step

REPORT = {"outcomes": {"fetched": 2}, "bytes": 500, "active": 1, "waiting": 0, "backing_off": 0, "queued": 7}
FETCHED = Manifest(
    "fetch", 1, "", (), {"visits_rows": 9, "fetched": 9}, (), "2026-03-01T11:59:00+00:00", "2026-03-01T11:59:04+00:00"
)
FETCHED_LINE = "round 1 fetch: 9 requests in 4.0 s, 2.2/s (fetched 9)"


class Every(TextOutput):
    """Lines of text, at each tick."""

    interval_s = 0.0


def crawl(console: Console, folder: Path) -> None:
    """Call the console as a crawl of one round does."""
    (folder / "progress-1.json").write_text(json.dumps(REPORT))
    (folder / "progress-2.json").write_text('{"half of a repo')
    console.warn("a seed is no URL")
    console.busy("looking for due URLs")
    console.step_started(Step("fetch", 1), str(folder / "progress"), 9)
    console.tick()
    console.step_committed(FETCHED)
    console.tick()
    console.waiting(datetime(2026, 3, 1, 12, 30, 5, tzinfo=UTC), 7)
    console.ended(End("rounds", 1), 7, "")
    console.close()


TOLD = [
    "a seed is no URL",
    FETCHED_LINE,
    "waiting until 12:30:05 UTC, when the next URLs are due; 7 in the frontier",
    "1 round done, 7 URLs in the frontier",
]


def test_a_short_step_is_one_line_on_a_stream_that_is_no_terminal(tmp_path: Path) -> None:
    crawl(Console([TextOutput(stream := io.StringIO())]), tmp_path)
    assert stream.getvalue().splitlines() == TOLD
    assert stream.getvalue().endswith("\n")


def test_a_long_step_is_reported_while_it_runs(tmp_path: Path) -> None:
    crawl(Console([Every(stream := io.StringIO())]), tmp_path)
    first, shown, *others = stream.getvalue().splitlines()
    assert [first, *others] == TOLD
    assert shown.startswith("round 1 fetch: 2 of 9 URLs, ")


def test_work_between_steps_is_reported_while_it_runs() -> None:
    console = Console([Every(stream := io.StringIO())])
    console.busy("merging files")
    console.tick()
    assert stream.getvalue() == "merging files, 0 s\n"


def test_json_goes_to_one_stream_and_the_log_to_another(tmp_path: Path) -> None:
    people, out, log = io.StringIO(), io.StringIO(), io.StringIO()
    crawl(Console(open_outputs(people, out, log)), tmp_path)
    names = ["warning", "busy", "step_started", "step_committed", "waiting", "ended"]
    assert people.getvalue() == ""
    for stream in (out, log):
        assert [json.loads(line)["event"] for line in stream.getvalue().splitlines()] == names


@pytest.mark.parametrize("columns", [40, 80, 120])
def test_a_terminal_shows_a_step_in_its_width(columns: int, tmp_path: Path) -> None:
    (tmp_path / "progress-1.json").write_text(json.dumps(REPORT))
    keyboard, screen = os.openpty()
    termios.tcsetwinsize(screen, (24, columns))
    seen = threading.Event()
    shown = b""

    def watch() -> None:
        nonlocal shown
        while b"a seed is no URL" not in shown:
            shown += os.read(keyboard, 10_000)
            if b"visits: fetched 2" in shown:
                seen.set()

    watcher = threading.Thread(target=watch)
    watcher.start()
    with os.fdopen(screen, "w", encoding="utf-8") as terminal:
        console = Console([text_output(terminal)], rounds=3)
        console.step_started(Step("fetch", 1), str(tmp_path / "progress"), 9)
        assert run(lambda: seen.wait(60), console=console)
        console.step_committed(FETCHED)
        console.warn("a seed is no URL")
        watcher.join()
        console.close()
    os.close(keyboard)
    drawn = re.split(r"\r|\n|\x1b\[2K", shown.decode())
    lines = [re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", line) for line in drawn]
    assert not [line for line in lines if len(line) > columns and line != FETCHED_LINE]
    assert any(line.startswith("round 1 fetch (1 of 3), ") for line in lines)
    assert any(line.startswith("hosts: 1 active, 0 waiting, ") for line in lines)
    assert [line for line in lines if line][-2:] == [FETCHED_LINE, "a seed is no URL"]


def run(work: Any, stop: StopSignal | None = None, console: Console | None = None) -> Any:
    return run_interruptibly(work, stop or StopSignal(), console or Console([]))


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
        stop.wait(60)
        return "all is committed" if stop.is_set() else "nobody said stop"

    assert run(work, stop, Console([TextOutput(stream)])) == "all is committed"
    assert stream.getvalue() == "stopping after the requests under way; press Ctrl-C again to stop at once\n"
    assert signal.getsignal(number) is before


def test_interrupts_do_not_reach_the_work_and_what_it_starts() -> None:
    assert {*INTERRUPTS} <= run(lambda: signal.pthread_sigmask(signal.SIG_BLOCK, []))
    assert not {*INTERRUPTS} & signal.pthread_sigmask(signal.SIG_BLOCK, [])


class Told(TextOutput):
    """What the console prints at each tick of work without a step."""

    interval_s = 0.0

    def __init__(self) -> None:
        super().__init__(io.StringIO())
        self.lines = list[str]()
        self.is_told, self.is_closed = threading.Event(), False

    def busy(self, what: str, seconds: float) -> None:
        self.lines.append(what)
        if ": " in what:
            self.is_told.set()

    def close(self) -> None:
        self.is_closed = True


def test_long_work_of_a_command_is_told_until_it_ends_also_by_an_error() -> None:
    told = Told()
    with contextlib.suppress(ValueError), telling("writing pages", told) as tell:
        tell("300")
        assert told.is_told.wait(60)
        raise ValueError
    assert (told.lines[-1], told.is_closed) == ("writing pages: 300", True)
