"""One writer at a time: who owns a crawl directory, for how long, and what becomes of an owner's lock."""

import contextlib
import itertools
import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from beamtrawl.runners.process.lock import Lock
from beamtrawl.runners.terminal.errors import LockedError
from beamtrawl.transforms.directory.claims import STALE, is_stale, read_owner
from beamtrawl.transforms.directory.crawl_dir import CrawlDir, CrawlDirError, Manifest
from beamtrawl.transforms.files import filesystem
from beamtrawl.transforms.outcomes import DiskError
from tests.support.disks import Fault, SimulatedDisk
from tests.support.tables import each_row

HERE = socket.gethostname()
NO_PROCESS = (1 << 22) + 1  # Linux numbers them below; that of one that has ended may be another's by now
NOW = 1_000_000.0

# the owner's host, seconds since its last heartbeat, whether a process of its number lives here; whether it is gone
OWNERS = {
    "at work here": ({"host": HERE, "beat": NOW}, True, False),
    "ended here": ({"host": HERE, "beat": NOW}, False, True),
    "at work elsewhere": ({"host": "other", "beat": NOW}, False, False),
    "quiet elsewhere, for a while": ({"host": "other", "beat": NOW - STALE + 1}, False, False),
    "quiet elsewhere, for just so long": ({"host": "other", "beat": NOW - STALE}, False, False),
    "quiet elsewhere, for too long": ({"host": "other", "beat": NOW - STALE - 1}, True, True),
    "quiet here: the number is another process's by now": ({"host": HERE, "beat": NOW - STALE - 1}, True, True),
    "by a clock that is a little ahead": ({"host": "other", "beat": NOW + STALE}, False, False),
    "by a clock that was days ahead": ({"host": "other", "beat": NOW + 40 * 86_400}, False, True),
    "without a heartbeat": ({"host": "other"}, True, True),
}


@each_row(OWNERS)
def test_an_owner_is_gone_when_its_process_or_its_heart_has_stopped(
    owner: dict[str, Any], alive: bool, stale: bool
) -> None:
    assert is_stale(owner, HERE, NOW, alive, STALE) is stale


def write(directory: Path, **owner: Any) -> None:
    directory.mkdir(exist_ok=True)
    draft = directory / "draft"
    draft.write_text(json.dumps({"pid": os.getpid(), "host": HERE, "beat": time.time()} | owner))
    draft.replace(directory / "lock.json")  # whole at each instant, as those of a crawl are


def test_a_lock_names_its_owner_and_is_gone_afterwards(tmp_path: Path) -> None:
    before = time.time()
    with Lock(CrawlDir(str(tmp_path / "new"))):
        owner = json.loads((tmp_path / "new" / "lock.json").read_text())
        assert (owner["pid"], owner["host"]) == (os.getpid(), HERE)
        assert before <= owner["beat"] <= time.time()
    assert list((tmp_path / "new").iterdir()) == []


def test_a_lock_is_gone_after_a_failure(tmp_path: Path) -> None:
    with pytest.raises(KeyError), Lock(CrawlDir(str(tmp_path))):
        raise KeyError
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("owner", [{}, {"host": "elsewhere.test", "pid": 1}])
def test_a_directory_in_use_is_refused(tmp_path: Path, owner: dict[str, Any]) -> None:
    write(tmp_path, **owner)
    text = (tmp_path / "lock.json").read_text()
    with pytest.raises(LockedError) as caught, Lock(CrawlDir(str(tmp_path))):
        pytest.fail("two writers")
    found = json.loads(text)
    message = f"{tmp_path} is in use by process {found['pid']} on {found['host']}; wait for it, or stop it"
    assert str(caught.value) == message
    assert (tmp_path / "lock.json").read_text() == text  # the owner's lock is left alone


def test_two_locks_in_one_process_are_two_writers(tmp_path: Path) -> None:
    with Lock(CrawlDir(str(tmp_path))):
        with pytest.raises(LockedError), Lock(CrawlDir(str(tmp_path))):
            pytest.fail("two writers")
        assert (tmp_path / "lock.json").exists()
    with Lock(CrawlDir(str(tmp_path))):
        pass


ABANDONED = {
    "its process has ended": {"pid": NO_PROCESS},
    "its heart has stopped": {"beat": 0},
    "its heart has stopped elsewhere": {"beat": 0, "host": "elsewhere.test"},
    "its heart has stopped elsewhere, by a clock that was ahead": {"beat": 4e9, "host": "elsewhere.test"},
}


@pytest.mark.parametrize("owner", ABANDONED.values(), ids=ABANDONED)
def test_an_abandoned_lock_is_taken_over(tmp_path: Path, owner: dict[str, Any]) -> None:
    write(tmp_path, **owner)
    with Lock(CrawlDir(str(tmp_path)), stale=0.1):
        assert json.loads((tmp_path / "lock.json").read_text())["pid"] == os.getpid()


def test_an_owner_whose_clock_is_wrong_is_not_taken_over(tmp_path: Path) -> None:
    """Its heartbeats are hours old or hours ahead, and come all the same."""
    ended = threading.Event()

    def work() -> None:
        for number in itertools.count():
            write(tmp_path, host="elsewhere.test", beat=number)
            if ended.wait(0.01):
                return

    write(tmp_path, host="elsewhere.test", beat=0)
    thread = threading.Thread(target=work)
    thread.start()
    with pytest.raises(LockedError, match="in use"), Lock(CrawlDir(str(tmp_path)), stale=100):
        pytest.fail("two writers")
    ended.set()
    thread.join()


@pytest.mark.parametrize("text", ["", "{", "[1]", "17", "null", '"x"'])
def test_a_lock_that_cannot_be_read_is_taken_over(tmp_path: Path, text: str) -> None:
    (tmp_path / "lock.json").write_text(text)
    with Lock(CrawlDir(str(tmp_path))):
        assert json.loads((tmp_path / "lock.json").read_text())["pid"] == os.getpid()


def wait_for(happened: Callable[[], bool]) -> None:
    patience = time.monotonic() + 60
    while not happened():
        assert time.monotonic() < patience


def beat(lock: Path) -> float:
    return float(json.loads(lock.read_text())["beat"])


def test_the_heart_beats_while_the_lock_is_held(tmp_path: Path) -> None:
    lock, threads = tmp_path / "lock.json", {*threading.enumerate()}
    with Lock(CrawlDir(str(tmp_path)), heartbeat=0.01):
        first = beat(lock)
        wait_for(lambda: beat(lock) > first)
        second = beat(lock)
        wait_for(lambda: beat(lock) > second)
    assert list(tmp_path.iterdir()) == []
    assert {*threading.enumerate()} <= threads


def test_a_beat_that_cannot_be_written_is_not_the_last(tmp_path: Path) -> None:
    lock = tmp_path / "crawl" / "lock.json"
    disk = SimulatedDisk(tmp_path / "kept", Fault("error", at=30))
    with filesystem.mounted(str(lock.parent), disk), Lock(CrawlDir(str(lock.parent)), heartbeat=0.01):
        wait_for(lambda: disk.has_failed)
        last = beat(lock)
        wait_for(lambda: beat(lock) > last)


COMMIT = Manifest("rank", 0, "", (), {}, (), "2026-11-22", "2026-11-22")


def test_a_lost_lock_is_left_to_its_new_owner(tmp_path: Path) -> None:
    lost = threading.Event()
    lock = Lock(CrawlDir(str(tmp_path)), on_lost=lost.set, heartbeat=0.01)
    claimed = lock.__enter__()
    claimed.commit(COMMIT, "-1")
    while not lost.is_set():
        write(tmp_path, token="another")  # a beat may come in between
    with pytest.raises(CrawlDirError, match=f"was taken over by process {os.getpid()} on {HERE} while"):
        claimed.commit(COMMIT, "-2")
    with pytest.raises(LockedError, match=f"was taken over by process {os.getpid()} on {HERE} while"):
        lock.__exit__(None, None, None)
    assert claimed.names("manifests") == ["000000-rank-1.json"]
    assert (read_owner(claimed.root, "lock.json") or {})["token"] == "another"


def test_a_lock_that_was_removed_is_lost(tmp_path: Path) -> None:
    """Its new owner may have committed, and left."""
    lock = Lock(CrawlDir(str(tmp_path)))
    claimed = lock.__enter__()
    filesystem.delete([claimed.path("lock.json")])
    with pytest.raises(CrawlDirError, match="was taken over by another process while this one was paused"):
        claimed.commit(COMMIT)
    with pytest.raises(LockedError, match="was taken over"):
        lock.__exit__(None, None, None)
    assert claimed.names("manifests") == []


def test_whatever_fails_after_the_lock_was_lost_is_reported_as_its_loss(tmp_path: Path) -> None:
    """Its new owner may have removed what this one was writing."""
    failure = DiskError("cannot write it: No such file or directory")

    def fail(is_lost: bool) -> None:
        with Lock(CrawlDir(str(tmp_path))):
            if is_lost:
                (tmp_path / "lock.json").unlink()
            raise failure

    with pytest.raises(DiskError, match="cannot write it"):
        fail(is_lost=False)
    with pytest.raises(LockedError, match="was taken over by another process") as raised:
        fail(is_lost=True)
    assert raised.value.__cause__ is failure


WRITER = """
import sys
from beamtrawl.runners.terminal.errors import LockedError
from beamtrawl.runners.process.lock import Lock
from beamtrawl.transforms.outcomes import BeamtrawlError
from beamtrawl.transforms.directory.crawl_dir import CrawlDir, Manifest

directory, name, stale, heartbeat = CrawlDir(sys.argv[1]), sys.argv[2], *map(float, sys.argv[3:])
def say(word):
    print(word, flush=True)
    sys.stdin.readline()

say("ready")
try:
    with Lock(directory, heartbeat=heartbeat, stale=stale) as claimed:
        say("owner")
        claimed.commit(Manifest("rank", 0, "", (), {}, (), "", ""), f"-{name}")
    print("committed")
except BeamtrawlError as error:
    print(error)
"""


class Writer:
    """A process that takes the lock, and commits, when it is told to go on."""

    def __init__(self, directory: Path, name: str, stale: float, heartbeat: float) -> None:
        words = [sys.executable, "-c", WRITER, str(directory), name, str(stale), str(heartbeat)]
        self.process = subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        assert self.said() == "ready"

    def said(self) -> str:
        assert self.process.stdout
        return self.process.stdout.readline().strip()

    def go_on(self) -> None:
        assert self.process.stdin
        with contextlib.suppress(BrokenPipeError):
            self.process.stdin.write("\n")
            self.process.stdin.flush()

    def end(self) -> None:
        self.process.kill()
        self.process.communicate()


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Callable[[str, float, float], Writer]]:
    with contextlib.ExitStack() as stack:

        def started(name: str, stale: float, heartbeat: float) -> Writer:
            writer = Writer(tmp_path, name, stale, heartbeat)
            stack.callback(writer.end)
            return writer

        yield started


def committed(directory: Path) -> list[str]:
    return sorted(path.name.removeprefix("000000-rank-")[:-5] for path in (directory / "manifests").glob("*"))


@pytest.mark.slow("processes")
@pytest.mark.parametrize("owner", [None, {"beat": 0}, {"pid": NO_PROCESS}], ids=["free", "stale", "ended"])
def test_of_two_that_take_a_lock_at_once_one_is_the_owner(
    tmp_path: Path, start: Callable[[str, float, float], Writer], owner: dict[str, Any] | None
) -> None:
    if owner:
        write(tmp_path, **owner)
    writers = {name: start(name, 6.0, 0.6) for name in "ab"}
    for writer in writers.values():
        writer.go_on()
    said = {name: writer.said() for name, writer in writers.items()}
    (first,) = [name for name, words in said.items() if words == "owner"]
    (other,) = {"a", "b"} - {first}
    assert said[other].startswith(f"{tmp_path} is in use by process {writers[first].process.pid} on ")
    writers[first].go_on()
    assert writers[first].said() == "committed"
    assert committed(tmp_path) == [first]


def test_an_owner_that_was_paused_for_too_long_commits_nothing(
    tmp_path: Path, start: Callable[[str, float, float], Writer]
) -> None:
    first = start("first", 0.5, 600.0)  # a process that is paused in the middle of a heartbeat excludes all others
    second = start("second", 0.5, 0.05)
    first.go_on()
    assert first.said() == "owner"
    first.process.send_signal(signal.SIGSTOP)
    seen = beat(tmp_path / "lock.json")
    wait_for(lambda: time.time() > seen + 0.5)
    second.go_on()
    assert second.said() == "owner"
    first.go_on()
    first.process.send_signal(signal.SIGCONT)
    assert first.said().startswith(
        f"{tmp_path} was taken over by process {second.process.pid} on {HERE} while this one"
    )
    second.go_on()
    assert second.said() == "committed"
    assert committed(tmp_path) == ["second"]
