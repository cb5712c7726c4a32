"""`block --forget` and `compact`: what is stored of the blocked pages is gone, and nothing else."""

import contextlib
import shutil
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from beamtrawl.pipeline.compaction.forget import forget
from beamtrawl.search.answers.searcher import Index
from beamtrawl.transforms.blocks.files import read_blocks
from beamtrawl.transforms.directory.crawl_dir import CrawlDir
from beamtrawl.transforms.files import filesystem
from beamtrawl.transforms.outcomes import BeamtrawlError
from beamtrawl.transforms.settings import Settings
from tests.support import crawls
from tests.support.command_line import LOOPBACK, beamtrawl
from tests.support.crawls import InProcess, rows
from tests.support.disks import Fault, SimulatedDisk, spread
from tests.support.web import Web, html, plain

SECRET = "xylograph"
SITES = {
    "a.test": {"/": html("Home", "lighthouse of the harbour", ["/one", "//b.test/"]), "/one": html("One", "a pier")},
    "b.test": {
        "/robots.txt": plain(f"# {SECRET}"),
        "/": html(f"{SECRET} one", f"A {SECRET} of the lighthouse", ["/two", "//a.test/"]),
        "/two": html(f"{SECRET} two", f"Another {SECRET} lighthouse"),
    },
}
TABLES = ("visits", "documents", "links", "robots", "digests", "near", "urls", "hosts")


def files_with(directory: Path, word: str) -> list[str]:
    """The files below a directory that hold a word, in their bytes, or in those of a Parquet file's values."""
    found = []
    for path in directory.rglob("*"):
        if path.is_file():
            data = path.read_bytes()
            if path.suffix == ".parquet":
                data += repr(pq.ParquetFile(path).read().to_pydict()).encode()
            if word.encode() in data:
                found.append(str(path.relative_to(directory)))
    return found


def of_host(directory: Path, host: str) -> dict[str, list[str]]:
    return {t: sorted(map(repr, (row for row in rows(directory, t) if host in str(row)))) for t in TABLES}


@pytest.fixture
def crawl(tmp_path: Path):
    path = tmp_path / "crawl"
    with Web(SITES) as web:
        command = ["crawl", path, "--seed", web.url("a.test"), "--scope", "any", *LOOPBACK]
        assert beamtrawl(*command).code == 0
        yield path, web


def hits(path: Path) -> set[str]:
    return {hit.title for hit in Index.open(CrawlDir(str(path))).search("lighthouse").hits}


def test_no_byte_of_the_pages_is_left_and_other_rows_are_as_before(crawl: tuple[Path, Web]) -> None:
    path, web = crawl
    a, b = web.authority("a.test"), web.authority("b.test")
    assert beamtrawl("compact", path).code == 0  # files of earlier rounds are replaced, and kept for a while
    before = of_host(path, a)
    assert {name.partition("/")[0] for name in files_with(path, SECRET)} >= {"visits", "documents", "index", "robots"}
    assert beamtrawl("block", path, b, "--forget").code == 0
    ran = beamtrawl("compact", path)
    assert (ran.code, "blocks with --forget: 2 rows of visits, 2 rows of documents" in ran.out) == (0, True)
    assert files_with(path, SECRET) == []
    after = of_host(path, a)
    assert {t: [row for row in after[t] if b not in row] for t in TABLES} == {
        t: [row for row in before[t] if b not in row] for t in TABLES
    }
    assert [row["target_url"] for row in rows(path, "links") if b in row["target_url"]] == [web.url("b.test")]
    assert hits(path) == {"Home"}
    assert beamtrawl("check", "crawl", path).code == beamtrawl("status", path).code == 0
    assert "nothing left" in beamtrawl("compact", path).out

    assert beamtrawl("unblock", path, b).code == 0
    crawls.crawl(path, rounds=1, recrawl__after=1e-6, scope__mode="any")
    assert hits(path) == {"Home", f"{SECRET} one", f"{SECRET} two"}


@pytest.mark.slow("whole crawls")
def test_a_part_of_a_host(crawl: tuple[Path, Web]) -> None:
    path, web = crawl
    assert beamtrawl("block", path, f"{web.authority('b.test')}/two", "--forget").code == 0
    assert beamtrawl("compact", path).code == 0
    assert files_with(path, f"Another {SECRET}") == []
    assert hits(path) == {"Home", f"{SECRET} one"}
    assert files_with(path, f"A {SECRET}")


@pytest.mark.slow("whole crawls")
def test_the_next_call_removes_what_a_killed_one_and_failed_attempts_have_left(
    crawl: tuple[Path, Web], tmp_path: Path
) -> None:
    """It is killed before the removal of a file, each of which is before or after a commit."""
    path, web = crawl
    assert beamtrawl("block", path, web.authority("b.test"), "--forget").code == 0
    visits = next(path / name for name in files_with(path, SECRET) if name.startswith("visits/"))
    shutil.copy(visits, visits.with_name("part-0123456789abcdef.parquet"))

    def forgotten(directory: Path, fault: Fault) -> list[str]:
        disk = SimulatedDisk(tmp_path / "kept", fault)
        with filesystem.mounted(str(directory), disk), contextlib.suppress(BeamtrawlError, OSError):
            of_crawl = CrawlDir(str(directory))
            forget(of_crawl, read_blocks(of_crawl), Settings(), InProcess())
        return disk.operations

    whole = Path(shutil.copytree(path, tmp_path / "whole"))
    operations = forgotten(whole, Fault("none"))
    assert files_with(whole, SECRET) == []
    removals = [number for number, name in enumerate(operations, 1) if name == "remove"]
    for at in spread(removals, 4, "forget"):
        killed = Path(shutil.copytree(path, tmp_path / f"killed-{at}"))
        forgotten(killed, Fault("kill", at))
        forgotten(killed, Fault("none"))
        assert (files_with(killed, SECRET), hits(killed)) == ([], {"Home"}), at
