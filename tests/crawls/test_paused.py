"""An owner of the lock that is paused for two minutes while another process takes over: one of them commits each step.

The pause is the time of the last heartbeat in `lock.json`. The tests take a sample of the operations at which the owner
is paused; `--faults 0` takes each of them.
"""

import contextlib
import json
import random
import shutil
import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from beamtrawl.pipeline.compact_tables import merge_tables
from beamtrawl.pipeline.control import StopSignal
from beamtrawl.pipeline.crawl import run_crawl
from beamtrawl.pipeline.fold_history import fold_history
from beamtrawl.runners.engines.direct import DirectEngine
from beamtrawl.runners.errors import LockedError
from beamtrawl.runners.lock import Lock
from beamtrawl.transforms.errors import CrawlDirError
from beamtrawl.transforms.indexing.live_segments import live_index
from beamtrawl.transforms.indexing.verify import index_faults
from beamtrawl.transforms.storage import filesystem
from beamtrawl.transforms.storage.crawl_dir import CrawlDir
from beamtrawl.transforms.storage.table_runs import all_runs
from beamtrawl.transforms.storage.verify import file_faults, promised_files, row_faults
from tests.support.crawls import Silent, crawl, rows, settings
from tests.support.disks import CallingDisk
from tests.support.web import Web, html

SITE = {
    "/": html("Home", "Fish and boats in the harbour.", ["/1", "/2"]),
    "/1": html("One", "Herring is a fish of the first page.", ["/3"]),
    "/2": html("Two", "What the second page says about boats."),
    "/3": html("Three", "The last page, and its fish."),
}


def a_round(claimed: CrawlDir) -> None:
    run_crawl(claimed, settings(), DirectEngine(1, []), Silent(), StopSignal(), 1)


def merging(claimed: CrawlDir) -> None:
    merge_tables(claimed, "", DirectEngine(1, []), all_runs)


def folding(claimed: CrawlDir) -> None:
    fold_history(claimed, datetime.now(UTC) + timedelta(hours=2), most=0)


def owned(path: Path, run: Callable[[CrawlDir], None]) -> None:
    with Lock(CrawlDir(str(path))) as claimed:
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


@pytest.mark.slow("faults")
@pytest.mark.parametrize("run", [a_round, merging, folding])
def test_of_an_owner_that_was_paused_and_its_successor_one_commits(
    crawled: Path, tmp_path: Path, run: Callable[[CrawlDir], None], pytestconfig: pytest.Config
) -> None:
    every = list(range(1, operations(crawled, tmp_path, run) + 1))
    for at in random.Random(run.__name__).sample(
        every, min(len(every), 4 * pytestconfig.getoption("--faults") or 10**6)
    ):
        path = Path(shutil.copytree(crawled, tmp_path / f"crawl-{at}"))
        disk = CallingDisk(tmp_path / f"kept-{at}", at, lambda path=path: take_over(path, run))  # type: ignore[misc]
        with filesystem.mounted(str(path), disk), contextlib.suppress(CrawlDirError, LockedError):
            owned(path, run)
        assert lies(path) == [], at
        visits = [row["url"] for row in rows(path, "visits")]
        assert len(visits) == len(set(visits)), at
        owned(path, run)
        assert lies(path) == [], at
        shutil.rmtree(path)
