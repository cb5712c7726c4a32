"""A disk that is full or read-only ends a command in one line; after room was made, the crawl goes on."""

import doctest
import errno
import json
import os
import random
import shutil
import socket
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from beamtrawl.runners.crawling.session import naming_garbage
from beamtrawl.runners.terminal.errors import Failure
from beamtrawl.transforms import outcomes as errors
from beamtrawl.transforms.directory.crawl_dir import CrawlDir
from beamtrawl.transforms.files import filesystem
from beamtrawl.transforms.outcomes import CrawlDirError, DiskError
from beamtrawl.transforms.tables.table_files import new_path
from tests.support.command_line import LOOPBACK, PROGRAM, beamtrawl, failure
from tests.support.crawls import crawl, fetch, rows
from tests.support.disks import Fault, SimulatedDisk
from tests.support.web import Web, html

ERRORS = {
    errno.ENOSPC: "No space left on device; make room there and run the command again; what is committed is safe",
    errno.EDQUOT: "Disk quota exceeded; make room there and run the command again; what is committed is safe",
    errno.EFBIG: "File too large; raise the limit of file sizes (ulimit -f) and run the command again; what is"
    " committed is safe",
    errno.EROFS: "Read-only file system; name a directory that you may write",
    errno.EACCES: "Permission denied; name a directory that you may write",
    errno.EIO: "Input/output error; check the disk and run the command again; what is committed is safe",
}


@pytest.mark.parametrize(("number", "line"), ERRORS.items(), ids=[errno.errorcode[number] for number in ERRORS])
def test_the_message_has_the_path_the_reason_and_the_way_out(number: int, line: str) -> None:
    cause = OSError(number, os.strerror(number), "elsewhere")
    error = DiskError.of("DIR/x", cause)
    assert str(error) == f"cannot write DIR/x: {line}"
    error.__cause__ = cause
    assert str(DiskError.of("DIR/y", error)) == f"cannot write DIR/y: {line}"  # the outer name counts


PAGES = {"/": html("Home", "Start.", ["/1", "/2"])} | {
    f"/{n}": html(f"Page {n}", random.Random(n).randbytes(80_000).hex(" ", 8)) for n in (1, 2)
}


@pytest.mark.slow("whole crawls")
def test_a_crawl_goes_on_after_room_was_made(tmp_path: Path) -> None:
    """Files may not grow beyond 60 kB at first, which is too little for the pages of round 2."""
    with Web({"a.test": PAGES}) as web:
        words = [*PROGRAM, "crawl", str(tmp_path / "crawl"), "--seed", web.url("a.test"), "--delay", "0"]
        words += ["--allow-address", "127.0.0.0/8", "--workers", "1"]
        limited = ["bash", "-c", 'ulimit -f 60; exec "$@"', "bash", *words]
        ran = subprocess.run(limited, capture_output=True, text=True, check=False)
        last = ran.stderr.splitlines()[-1]
        assert ran.returncode == 1
        assert last.startswith(f"beamtrawl: cannot write {tmp_path}/crawl/visits/round=000002/"), last
        remedy = "raise the limit of file sizes (ulimit -f) and run the command again; what is committed is safe"
        assert last.endswith(f": File too large; {remedy}"), last
        assert "Traceback" not in ran.stderr
        assert beamtrawl("check", "crawl", tmp_path / "crawl").code == 0
        assert beamtrawl(*words[len(PROGRAM) :]).code == 0
    assert sorted(row["body"] for row in rows(tmp_path / "crawl", "visits")) == sorted(
        page.body for page in PAGES.values()
    )
    assert {row["title"] for row in rows(tmp_path / "crawl", "documents")} == {"Home", "Page 1", "Page 2"}


def test_a_read_only_disk_is_named(tmp_path: Path) -> None:
    with Web({"a.test": PAGES}) as web:
        crawl(tmp_path / "crawl", [web.url("a.test")], rounds=0)
        disk = SimulatedDisk(tmp_path / "kept", Fault("full", 1, errno.EROFS))
        with (
            filesystem.mounted(str(tmp_path / "crawl"), disk),
            pytest.raises(
                (Failure, CrawlDirError), match=r"^cannot write \S+: Read-only file system; name a directory"
            ),
        ):
            crawl(tmp_path / "crawl", rounds=1)
        disk.make_room()
        with filesystem.mounted(str(tmp_path / "crawl"), disk):
            assert crawl(tmp_path / "crawl").rounds == 2
    assert len(rows(tmp_path / "crawl", "documents")) == 3


def test_a_draft_that_cannot_be_written_is_removed(tmp_path: Path) -> None:
    folder = tmp_path / "crawl"
    folder.mkdir()
    disk = SimulatedDisk(tmp_path / "kept", Fault("full", 1))
    with (
        filesystem.mounted(str(folder), disk),
        pytest.raises(DiskError, match=r"^cannot write .*/crawl/a\.txt: No space"),
    ):
        CrawlDir(str(folder)).write_text("a.txt", "text")
    assert list(folder.iterdir()) == []


class FullDisk(SimulatedDisk):
    """A full disk that has room again once a file of some bytes is removed."""

    def __init__(self, kept: Path) -> None:
        super().__init__(kept, Fault("full", 1))

    def remove(self, path: str) -> None:
        has_bytes = Path(path).is_file() and Path(path).stat().st_size > 0
        super().remove(path)
        if has_bytes:
            self.make_room()


@pytest.fixture(scope="module")
def crawled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("full") / "crawl"
    with Web({"a.test": {"/": html("Home", "Start.")}}) as web:
        assert beamtrawl("crawl", path, "--seed", web.url("a.test"), *LOOPBACK).code == 0
    return path


@pytest.fixture
def full(crawled: Path, tmp_path: Path) -> Iterator[Path]:
    """A crawl on a disk that has just become full."""
    shutil.copytree(crawled, tmp_path / "crawl")
    with filesystem.mounted(str(tmp_path / "crawl"), FullDisk(tmp_path / "kept")):
        yield tmp_path / "crawl"


def test_clean_works_on_a_full_disk(full: Path) -> None:
    (full / "reserve").unlink()
    garbage = "urls/round=000000/part-0123456789abcdef.parquet"
    (full / garbage).write_bytes(b"as after an attempt that failed")
    assert beamtrawl("clean", full) == (0, f"removed: {garbage}\n1 file removed\n", "")
    assert not (full / "lock.json").exists()
    assert beamtrawl("check", "crawl", full).code == 0


def test_clean_on_a_full_disk_respects_the_lock(full: Path) -> None:
    owner = {"pid": os.getpid(), "host": socket.gethostname(), "beat": time.time(), "token": "another"}
    (full / "lock.json").write_text(json.dumps(owner))
    assert "is in use by process" in failure("clean", full)[1]


def test_block_works_on_a_full_disk(full: Path) -> None:
    assert beamtrawl("block", full, "b.test").code == 0
    assert beamtrawl("blocks", full).out.startswith("b.test  since ")
    assert not (full / "reserve").exists()


def test_block_without_a_reserve_names_the_full_disk(full: Path) -> None:
    (full / "reserve").unlink()
    assert "No space left on device; make room there" in failure("block", full, "b.test")[1]
    assert beamtrawl("blocks", full).out == "no blocks\n"


def test_examples_in_docstrings() -> None:
    assert doctest.testmod(errors).failed == 0


def test_a_step_first_removes_what_its_failed_attempts_have_left(tmp_path: Path) -> None:
    """Each of sixteen attempts left all of its files before; a crawl with the files of one is the most that is kept."""
    path = tmp_path / "crawl"
    with Web({"a.test": PAGES}) as web:
        crawl(path, [web.url("a.test")], rounds=0)
        fetch(path)
        sizes = []
        for number in range(5):
            disk = SimulatedDisk(tmp_path / f"kept{number}", Fault("full", 20))
            with filesystem.mounted(str(path), disk), pytest.raises((Failure, CrawlDirError)):
                crawl(path, rounds=1)
            sizes.append(sum(file.stat().st_size for file in path.rglob("*.parquet")))
    assert max(sizes) == sizes[0] > 0


def test_the_line_of_a_full_disk_says_what_clean_would_free(tmp_path: Path) -> None:
    path = tmp_path / "crawl"
    with Web({"a.test": {"/": html("Home", "Start.")}}) as web:
        crawl(path, [web.url("a.test")])
    directory, full = CrawlDir(str(path)), DiskError.of("DIR/x", OSError(errno.ENOSPC, "full"))
    with pytest.raises(DiskError, match="; make room there and run") as unchanged, naming_garbage(directory):
        raise full
    assert unchanged.value is full
    (path / new_path("documents", 1)).write_bytes(b"x" * 150_000)
    clean = rf"make room there \(beamtrawl clean {path} frees 150\.0 kB of failed attempts\) and run the command again"
    with pytest.raises(Failure, match=clean), naming_garbage(directory):
        raise full
