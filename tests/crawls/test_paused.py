"""An owner of the lock that is paused for two minutes while another process takes over: one of them commits each step.

The one that was paused ends with one line that names its loss, and changes none of its successor's files.

The pause is the time of the last heartbeat in `lock.json`. The tests take a sample of the operations at which the owner
is paused; `--faults 0` takes each of them.
"""

import contextlib
import json
import shutil
import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from beamtrawl.pipeline.attempt import Attempt
from beamtrawl.pipeline.compaction.garbage import fold_history
from beamtrawl.pipeline.control import StopSignal
from beamtrawl.pipeline.crawl import run_crawl
from beamtrawl.runners.process.lock import Lock
from beamtrawl.runners.terminal.errors import LockedError
from beamtrawl.transforms.directory.crawl_dir import CrawlDir, Step, visible_files
from beamtrawl.transforms.directory.table_runs import all_runs
from beamtrawl.transforms.directory.verify import file_faults, promised_files
from beamtrawl.transforms.files import filesystem
from beamtrawl.transforms.indexing.live_segments import live_index
from tests.support.crawls import InProcess, Silent, crawl, rows, settings
from tests.support.disks import CallingDisk, spread
from tests.support.index_faults import index_faults
from tests.support.merging import merge_tables
from tests.support.row_faults import row_faults
from tests.support.web import Web, html

SITE = {
    "/": html("Home", "Fish and boats in the harbour.", ["/1", "/2"]),
    "/1": html("One", "Herring is a fish of the first page.", ["/3"]),
    "/2": html("Two", "What the second page says about boats."),
    "/3": html("Three", "The last page, and its fish."),
}


WITH_LOCK = 3
"""The first operation of an owner; before it, the one that is paused takes the lock after its successor."""


def a_round(claimed: CrawlDir) -> None:
    run_crawl(claimed, settings(), InProcess(), Silent(), StopSignal(), 1)


def merging(claimed: CrawlDir) -> None:
    merge_tables(claimed, InProcess(), all_runs)


def folding(claimed: CrawlDir) -> None:
    fold_history(claimed, datetime.now(UTC) + timedelta(hours=2), most=0)


def owned(path: Path, run: Callable[[CrawlDir], None]) -> None:
    with Lock(CrawlDir(str(path)), stale=1.0) as claimed:
        run(claimed)


def take_over(path: Path, run: Callable[[CrawlDir], None]) -> None:
    """Do the same two minutes after the last heartbeat, if there is an owner."""
    lock = path / "lock.json"
    with contextlib.suppress(FileNotFoundError):
        lock.write_text(json.dumps(json.loads(lock.read_text()) | {"beat": time.time() - 120}))
    owned(path, run)


@pytest.fixture(scope="module")
def crawled(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    path = tmp_path_factory.mktemp("paused") / "crawl"
    with Web({"a.test": SITE}) as web:
        crawl(path, [web.url("a.test")], rounds=2)
        yield path


def lies(path: Path) -> list[str]:
    directory = CrawlDir(str(path))
    manifests = directory.manifests()
    files = [*map(str, file_faults(directory, promised_files(manifests))), *map(str, row_faults(directory, manifests))]
    return files or list(index_faults(str(path), live_index(manifests)))


def operations(crawled: Path, folder: Path, run: Callable[[CrawlDir], None]) -> int:
    """The number of operations of an undisturbed run."""
    path = Path(shutil.copytree(crawled, folder / "counted"))
    disk = CallingDisk(folder / "kept", 1_000_000, lambda: None)
    with filesystem.mounted(str(path), disk):
        owned(path, run)
    return len(disk.operations)


class Successor:
    """Takes over a crawl from an owner that is paused, and knows what it has committed there."""

    def __init__(self, path: Path, run: Callable[[CrawlDir], None]) -> None:
        self._path, self._run = path, run
        self.left: dict[str, bytes] = {}

    def __call__(self) -> None:
        take_over(self._path, self._run)
        self.left = committed(self._path)


def committed(path: Path) -> dict[str, bytes]:
    """The contents of the manifests and of the files that they name."""
    crawl = CrawlDir(str(path))
    index = [file.path for manifest in crawl.manifests() for file in manifest.index_files]
    files = [name for name in (*visible_files(crawl.manifests()), *index) if (path / name).is_file()]
    return {name: (path / name).read_bytes() for name in (*crawl.paths("manifests"), *files)}


def test_an_attempt_that_ends_removes_its_traces_and_earlier_ones_but_not_those_of_a_successor(tmp_path: Path) -> None:
    crawl, step = CrawlDir(str(tmp_path)), Step("compact", 2)
    crawl.write_text("attempts/000002-compact-00000000.json", "of one that was killed")
    first, second = Attempt.after_earlier(crawl, step), Attempt.after_earlier(crawl, step)
    crawl.write_text(f"attempts/{first.name}.json", "[]")
    crawl.write_text(f"attempts/{second.name}.json", "[]")
    first.clear()
    assert crawl.paths("attempts") == [f"attempts/{second.name}.json"]


@pytest.mark.slow("faults")
@pytest.mark.parametrize("run", [a_round, merging, folding])
def test_of_an_owner_that_was_paused_and_its_successor_one_commits(
    crawled: Path, tmp_path: Path, run: Callable[[CrawlDir], None], pytestconfig: pytest.Config
) -> None:
    every = range(1, operations(crawled, tmp_path, run) + 1)
    for at in spread(every, 2 * pytestconfig.getoption("--faults"), run.__name__):
        path = Path(shutil.copytree(crawled, tmp_path / f"crawl-{at}"))
        successor = Successor(path, run)
        disk = CallingDisk(tmp_path / f"kept-{at}", at, successor)
        try:
            with filesystem.mounted(str(path), disk):
                owned(path, run)
        except LockedError as error:
            assert f"{path} was taken over by another process while this one was paused;" in str(error), at  # noqa: PT017
        else:
            assert at < WITH_LOCK or not disk.has_called, (at, disk.operations[at - 2 : at + 1])
        assert successor.left.items() <= committed(path).items(), at
        assert lies(path) == [], at
        visits = [row["url"] for row in rows(path, "visits")]
        assert len(visits) == len(set(visits)), at
        owned(path, run)
        assert lies(path) == [], at
        shutil.rmtree(path)
