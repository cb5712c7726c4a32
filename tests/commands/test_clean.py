"""`beamtrawl clean` spares what others are committing at that moment."""

import json
import shutil
from argparse import Namespace
from collections import Counter
from datetime import UTC, datetime
from pathlib import Path

import pytest

from beamtrawl.pipeline.compaction.garbage import remove_garbage
from beamtrawl.pipeline.seeds import Seed, add_seeds
from beamtrawl.runners.commands import clean
from beamtrawl.runners.process.lock import Lock
from beamtrawl.runners.terminal.errors import LockedError
from beamtrawl.transforms.directory.beside import live_stems, registered
from beamtrawl.transforms.directory.crawl_dir import CrawlDir, CrawlDirError, Manifest, files_of, visible_files
from beamtrawl.transforms.directory.table_runs import all_runs
from beamtrawl.transforms.files import filesystem
from beamtrawl.transforms.tables.table_files import TableWriter
from tests.support.crawls import InProcess, frontier, rows
from tests.support.disks import CallingDisk
from tests.support.merging import merge_tables

NOW = datetime(2026, 11, 22, tzinfo=UTC)
GARBAGE = (
    "urls/round=000000/part-0123456789abcdef.parquet",
    "attempts/000001-fetch-0123abcd-progress-18f.json",
)


def cleaned(path: Path) -> None:
    clean.run(Namespace(dir=str(path)))


def add(path: Path, url: str) -> None:
    add_seeds(CrawlDir(str(path)), [Seed(url)], "", NOW)


def files(path: Path) -> set[str]:
    return {str(file.relative_to(path)) for file in path.rglob("*") if file.is_file()}


@pytest.fixture
def planned(tmp_path: Path) -> Path:
    """A crawl with one seed, and with what a killed attempt has left."""
    path = tmp_path / "planned"
    add(path, "http://a.test/")
    for name in GARBAGE:
        filesystem.write_bytes(str(path / name), b"")
    return path


@pytest.mark.slow("whole crawls")
def test_seeds_that_are_added_meanwhile_stay(planned: Path, tmp_path: Path) -> None:
    """A cleaning at any operation of `seeds add` spares its files, and removes the others."""
    at, has_called = 0, True
    while has_called:
        at += 1
        copy = tmp_path / f"copy-{at}"
        shutil.copytree(planned, copy)
        disk = CallingDisk(tmp_path / "kept", at, lambda copy=copy: cleaned(copy))  # type: ignore[misc]
        with filesystem.mounted(str(copy), disk):
            add(copy, "http://b.test/")
        has_called = disk.has_called
        crawl = CrawlDir(str(copy))
        manifests = {f"manifests/{name}" for name in crawl.names("manifests")}
        left = set() if has_called else set(GARBAGE)
        assert files(copy) == {*visible_files(crawl.manifests()), *manifests, *left}, at
        assert {row["url"] for row in frontier(copy)} == {"http://a.test/", "http://b.test/"}
    assert at > 30


def test_seeds_that_were_added_since_the_owner_listed_manifests_stay(planned: Path) -> None:
    """As in a `compact` that removes pages, which merges files before."""
    with Lock(CrawlDir(str(planned))) as owner:
        assert len(owner.manifests()) == 1
        add(planned, "http://b.test/")
        assert sorted(remove_garbage(owner, NOW)) == sorted(GARBAGE)
    assert {row["url"] for row in frontier(planned)} == {"http://a.test/", "http://b.test/"}


class Successor:
    """Takes the lock over from an owner that is paused, writes a file of a table, and commits it later."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._lock: Lock | None = None

    def write(self) -> None:
        lock = self._path / "lock.json"
        if lock.exists():
            lock.write_text(json.dumps(json.loads(lock.read_text()) | {"beat": 0}))
        crawl = CrawlDir(str(self._path))
        self._lock = Lock(crawl, stale=0.1)
        self._claimed = self._lock.__enter__()
        writer = TableWriter(crawl.root, "urls", 0)
        writer.write_rows([{"url": "http://b.test/", "url_key": bytes(16), "round": 0}])
        self._file = writer.close()

    def commit(self) -> None:
        assert self._lock
        assert self._file
        self._claimed.commit(Manifest("seeds", 0, "", (self._file,), {}, (), "", ""), "-b")
        self._lock.__exit__(None, None, None)


@pytest.mark.slow("whole crawls")
def test_a_cleaning_that_was_paused_removes_nothing_of_its_successor(planned: Path, tmp_path: Path) -> None:
    """It is paused at any operation, also between the check of its lock and the removal."""
    at, has_called, ends = 0, True, Counter[str]()
    while has_called:
        at += 1
        copy = tmp_path / f"copy-{at}"
        shutil.copytree(planned, copy)
        successor = Successor(copy)
        disk = CallingDisk(tmp_path / "kept", at, successor.write)
        with filesystem.mounted(str(copy), disk):
            try:
                cleaned(copy)
                ends["done"] += 1
            except (CrawlDirError, LockedError) as error:
                assert "taken over by" in str(error) or "in use by" in str(error)  # noqa: PT017
                ends["refused"] += 1
        has_called = disk.has_called
        if has_called:
            successor.commit()
        assert {row["url"] for row in rows(copy, "urls")} == {"http://a.test/", *(["http://b.test/"] * has_called)}, at
    assert ends["refused"] > 30


def test_files_that_were_replaced_lately_stay_for_their_readers(planned: Path) -> None:
    crawl = CrawlDir(str(planned))
    add(planned, "http://b.test/")
    before = {str(file.path) for file in files_of(crawl.manifests(), "urls")}
    merged = merge_tables(crawl, InProcess(), all_runs)
    assert merged
    assert before <= set(merged.replaced)
    cleaned(planned)
    assert before <= files(planned)
    assert {row["url"] for row in rows(planned, "urls")} == {"http://a.test/", "http://b.test/"}

    (manifest,) = planned.glob("manifests/*-compact-*.json")
    manifest.write_text(json.dumps(json.loads(manifest.read_text()) | {"ended_at": "2026-01-01T00:00:00.000+00:00"}))
    cleaned(planned)
    assert before & files(planned) == set()
    assert {row["url"] for row in rows(planned, "urls")} == {"http://a.test/", "http://b.test/"}


def test_what_a_writer_that_has_ended_left_is_removed(planned: Path) -> None:
    before = files(planned) - set(GARBAGE)
    (planned / "attempts" / "beside-0123456789abcdef.json").write_text(
        '{"pid": 1, "host": "elsewhere", "beat": 0, "token": "0123456789abcdef"}'
    )
    filesystem.write_bytes(str(planned / "urls/round=000000/beside-0123456789abcdef-0123456789abcdef.parquet"), b"")
    cleaned(planned)
    assert files(planned) == before


DRAFTS = ("lock.json", "crawl.toml", "manifests/000001-fetch.json", "attempts/beside-0123456789abcdef.json")


def test_drafts_that_a_kill_left_are_removed(planned: Path) -> None:
    before = files(planned) - set(GARBAGE)
    for name in DRAFTS:
        filesystem.write_bytes(str(planned / f"{name}.0a1b2c3d.tmp"), b"")
    (planned / "notes.tmp").write_text("of somebody")
    assert len(remove_garbage(CrawlDir(str(planned)), NOW)) == len(DRAFTS) + len(GARBAGE)
    assert files(planned) == {*before, "notes.tmp"}


def test_a_writer_that_counts_as_ended_commits_nothing(planned: Path) -> None:
    crawl = CrawlDir(str(planned))
    manifest = Manifest("seeds", 0, "", (), {}, (), "", "")
    with registered(crawl) as (claimed, stem):
        assert live_stems(crawl) == [stem]
        (path,) = crawl.paths("attempts", "beside-*.json")
        (planned / path).write_text(json.dumps(json.loads((planned / path).read_text()) | {"beat": 0}))
        assert live_stems(crawl) == []
        with pytest.raises(CrawlDirError, match="what this one had not committed is left out; run the command again"):
            claimed.commit(manifest, "-late")
    assert crawl.names("manifests") == ["000000-seeds.json"]


def test_the_owner_of_the_lock_registers_nowhere(planned: Path) -> None:
    with Lock(CrawlDir(str(planned))) as claimed, registered(claimed) as (directory, stem):
        assert (directory, stem) == (claimed, "part")
        assert live_stems(claimed) == []
