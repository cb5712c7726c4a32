"""One writer at a time: who owns a crawl directory, for how long, and what becomes of an owner's lock."""

import contextlib
import json
import os
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from beamtrawl.runners.errors import Failure
from beamtrawl.runners.lock import STALE, Lock, is_stale
from beamtrawl.transforms.storage.crawl_dir import CrawlDir

HERE = socket.gethostname()
NOW = 1_000_000.0

# the owner's host, seconds since its last heartbeat, whether a process of its number lives here; whether it is gone
OWNERS = {
    "at work here": ({"host": HERE, "beat": NOW}, True, False),
    "ended here": ({"host": HERE, "beat": NOW}, False, True),
    "at work elsewhere": ({"host": "other", "beat": NOW}, False, False),
    "quiet elsewhere, for a while": ({"host": "other", "beat": NOW - STALE + 1}, False, False),
    "quiet elsewhere, for too long": ({"host": "other", "beat": NOW - STALE - 1}, True, True),
    "quiet here: the number is another process's by now": ({"host": HERE, "beat": NOW - STALE - 1}, True, True),
    "without a heartbeat": ({"host": "other"}, True, True),
}


@pytest.mark.parametrize(("owner", "alive", "stale"), OWNERS.values(), ids=OWNERS)
def test_an_owner_is_gone_when_its_process_or_its_heart_has_stopped(
    owner: dict[str, Any], alive: bool, stale: bool
) -> None:
    assert is_stale(owner, HERE, NOW, alive) is stale


def write(directory: Path, **owner: Any) -> None:
    directory.mkdir(exist_ok=True)
    (directory / "lock.json").write_text(json.dumps({"pid": os.getpid(), "host": HERE, "beat": time.time()} | owner))


def ended_process() -> int:
    process = subprocess.Popen([sys.executable, "-c", ""])
    process.wait()
    return process.pid


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
    with pytest.raises(Failure) as caught, Lock(CrawlDir(str(tmp_path))):
        pytest.fail("two writers")
    found = json.loads(text)
    message = f"{tmp_path} is in use by process {found['pid']} on {found['host']}; wait for it, or stop it"
    assert str(caught.value) == message
    assert (tmp_path / "lock.json").read_text() == text  # the owner's lock is left alone


def test_two_locks_in_one_process_are_two_writers(tmp_path: Path) -> None:
    with Lock(CrawlDir(str(tmp_path))):
        with pytest.raises(Failure), Lock(CrawlDir(str(tmp_path))):
            pytest.fail("two writers")
        assert (tmp_path / "lock.json").exists()
    with Lock(CrawlDir(str(tmp_path))):
        pass


ABANDONED = {
    "its process has ended": {"pid": ended_process()},
    "its heart has stopped": {"beat": 0},
    "its heart has stopped elsewhere": {"beat": 0, "host": "elsewhere.test"},
}


@pytest.mark.parametrize("owner", ABANDONED.values(), ids=ABANDONED)
def test_an_abandoned_lock_is_taken_over(tmp_path: Path, owner: dict[str, Any]) -> None:
    write(tmp_path, **owner)
    with Lock(CrawlDir(str(tmp_path))):
        assert json.loads((tmp_path / "lock.json").read_text())["pid"] == os.getpid()


@pytest.mark.parametrize("text", ["", "{", "[1]", "17", "null", '"x"'])
def test_a_lock_that_cannot_be_read_is_taken_over(tmp_path: Path, text: str) -> None:
    (tmp_path / "lock.json").write_text(text)
    with Lock(CrawlDir(str(tmp_path))):
        assert json.loads((tmp_path / "lock.json").read_text())["pid"] == os.getpid()


def wait_for(happened: Callable[[], bool]) -> None:
    patience = time.monotonic() + 10
    while not happened():
        assert time.monotonic() < patience


def beat(lock: Path) -> float:
    return float(json.loads(lock.read_text())["beat"])


def test_the_heart_beats_while_the_lock_is_held(tmp_path: Path) -> None:
    lock, threads = tmp_path / "lock.json", threading.active_count()
    with Lock(CrawlDir(str(tmp_path)), heartbeat=0.01):
        first = beat(lock)
        wait_for(lambda: beat(lock) > first)
        second = beat(lock)
        wait_for(lambda: beat(lock) > second)
    assert list(tmp_path.iterdir()) == []
    assert threading.active_count() == threads


def test_a_beat_that_cannot_be_written_is_not_the_last(tmp_path: Path) -> None:
    lock = tmp_path / "lock.json"
    with Lock(CrawlDir(str(tmp_path)), heartbeat=0.01):
        while not lock.is_dir():  # something is in the way
            with contextlib.suppress(FileExistsError):  # a beat came in between
                lock.unlink()
                lock.mkdir()
        wait_for(lambda: any(tmp_path.glob("lock.json.*.tmp")))
        lock.rmdir()
        wait_for(lock.is_file)
