"""Damage stays visible: what reads a whole file to write it anew compares its checksum first, and leaves it alone."""

import json
import re
import shutil
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from beamtrawl.pipeline.compaction.damage import Damage
from beamtrawl.pipeline.compaction.drop_bodies import drop_bodies
from beamtrawl.pipeline.rank import rank
from beamtrawl.transforms.directory.crawl_dir import CrawlDir, CrawlDirError, files_of
from beamtrawl.transforms.directory.table_runs import all_runs
from beamtrawl.transforms.directory.verify import file_faults, promised_files
from beamtrawl.transforms.indexing.merge_policy import ALL
from beamtrawl.transforms.settings import render
from beamtrawl.transforms.tables.table_files import TableFile
from tests.support.changing_site import crawl_changing_site
from tests.support.command_line import beamtrawl, failure
from tests.support.crawls import InProcess, Silent, crawl, fetch, rows, settings, states
from tests.support.merging import compact_frontier, merge, merge_tables
from tests.support.web import Web, html

OF_TABLES = [
    *("seeds", "visits", "documents", "links", "urls", "hosts", "robots", "host_turns", "digests", "near"),
    *("tombstones", "traps", "trap_samples", "ranks", "host_ranks"),
]
UNREAD = {"seeds", "robots", "near", "tombstones", "ranks", "host_ranks"}
"""Tables whose oldest file no merge of this crawl reads."""

OF_INDEX = ["postings", "forms", "docstore", "docs", "links postings", "links forms", "links docs"]
TOGETHER = [OF_TABLES, ["postings", "links postings"], ["forms", "links forms"], ["docs", "links docs"], ["docstore"]]
"""Files that are damaged at once: each is read by a merge of its own, of which the others are no part."""


@pytest.fixture(scope="module")
def crawled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Four rounds of a site that changes after two of them, and its links ranked."""
    path = tmp_path_factory.mktemp("laundering") / "crawl"
    crawl_changing_site(path)
    rank(CrawlDir(str(path)), InProcess(), datetime.now(UTC))
    (path / "crawl.toml").write_text(render(settings()))
    return path


@pytest.fixture
def copy(crawled: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(crawled, tmp_path / "copy"))


def file_of(path: Path, name: str) -> TableFile:
    """The oldest file of a table, or the newest of a kind of the files of an index folder."""
    *of_links, kind = name.split()
    files = promised_files(CrawlDir(str(path)).manifests())
    for file in files if name in OF_TABLES else files[::-1]:
        is_of_links = file.path.startswith("index/links-")
        in_index = file.path.endswith(f"/{kind}.parquet") and is_of_links == bool(of_links)
        if file.table == kind or (file.table == "index_file" and in_index):
            return file
    raise AssertionError(f"the crawl has no file of {name}")


def within(file: Path, column: str) -> float:
    """Where in a file the values of a column end, as a share of its bytes: no checksum covers the head of a page."""
    footer = pq.read_metadata(file)
    chunks = [footer.row_group(0).column(number) for number in range(footer.num_columns)]
    (chunk,) = (each for each in chunks if each.path_in_schema == column)
    start = chunk.dictionary_page_offset or chunk.data_page_offset
    return float((start + chunk.total_compressed_size - 8) / file.stat().st_size)


def flip(file: Path, share: float = 0.5) -> None:
    data = bytearray(file.read_bytes())
    data[int(len(data) * share)] ^= 1
    file.write_bytes(data)


def merge_all(path: Path) -> list[str]:
    """Merge all that can be merged, and return what was told about damage."""
    directory, engine, told = CrawlDir(str(path)), InProcess(), list[str]()
    damage = Damage(directory, told.append)
    for step in (
        lambda: compact_frontier(directory, engine, 1, damage),
        lambda: drop_bodies(directory, engine, 0, 0.0, damage),
        lambda: merge(directory, engine, ALL, damage),
        lambda: merge_tables(directory, engine, all_runs, damage),
    ):
        try:
            step()
        except CrawlDirError as error:  # the frontier cannot be read
            told.append(str(error))
    return told


def faults_of(path: Path) -> list[str]:
    """What `check crawl` finds, of which it prints the first."""
    directory = CrawlDir(str(path))
    return [str(fault) for fault in file_faults(directory, promised_files(directory.manifests()))]


@pytest.mark.slow("whole crawls")
@pytest.mark.parametrize("names", TOGETHER, ids=lambda names: names[0])
def test_no_merge_writes_a_damaged_file_anew(copy: Path, names: list[str]) -> None:
    paths = {name: file_of(copy, name).path for name in names}
    for path in paths.values():
        flip(copy / path)
    told = sorted(line.partition(": ")[0] for line in merge_all(copy))
    assert told == sorted(path for name, path in paths.items() if name not in UNREAD)
    faults = faults_of(copy)
    assert sorted(line.partition(": ")[0] for line in faults) == sorted(paths.values())
    assert all(": its checksum is crc32-" in line for line in faults)
    code, out, _ = beamtrawl("check", "crawl", copy)
    assert (code, out.partition(": ")[0]) == (1, faults[0].partition(": ")[0])


def test_all_other_files_are_merged(copy: Path) -> None:
    flip(copy / file_of(copy, "documents").path)
    runs = {table: len(files_of(CrawlDir(str(copy)).manifests(), table)) for table in ("documents", "links", "urls")}
    (line,) = merge_all(copy)
    assert f"beamtrawl check crawl {copy}, and restore the file from a copy" in line
    manifests = CrawlDir(str(copy)).manifests()
    assert {table: len(files_of(manifests, table)) for table in runs} == {"documents": 2, "links": 1, "urls": 1}
    assert min(runs.values()) > 1
    assert merge_all(copy) == [line]  # it is compared again by each command
    assert CrawlDir(str(copy)).manifests() == manifests


def newer(path: Path, file: TableFile) -> None:
    """Put a valid file with other rows in the place of a file."""
    pq.write_table(pq.read_table(path / file.path)[1:], path / file.path)


def swap(path: Path, file: TableFile) -> None:
    """Put a file of the same size in the place of a file."""
    data = (path / file.path).read_bytes()
    (path / file.path).write_bytes(data[::-1])


def disown(path: Path, file: TableFile) -> None:
    """Change the checksum in the manifest."""
    (manifest,) = (each for each in path.glob("manifests/*.json") if file.path in each.read_text())
    manifest.write_text(manifest.read_text().replace(file.checksum, "crc32-00000000"))


DAMAGE: dict[str, tuple[Callable[[Path, TableFile], object], str]] = {
    "truncated": (lambda path, file: (path / file.path).write_bytes((path / file.path).read_bytes()[:-9]), "it has "),
    "missing": (lambda path, file: (path / file.path).unlink(), "the file is missing"),
    "another file of its size": (swap, "its checksum is "),
    "other rows": (newer, "it has "),
    "another checksum in the manifest": (disown, "its checksum is "),
    "a bit of the first magic": (lambda path, file: flip(path / file.path, 0), "its checksum is "),
    "a bit of the footer": (lambda path, file: flip(path / file.path, 0.99), "its checksum is "),
}


def test_damage_of_all_kinds_is_told_and_not_merged(copy: Path) -> None:
    """A kind a table, and none of these tables is read for another."""
    tables = [name for name in OF_TABLES if name not in UNREAD]
    damaged = {file_of(copy, name).path: kind for name, kind in zip(tables, DAMAGE, strict=False)}
    assert {*damaged.values()} == DAMAGE.keys()
    for name, (damage, _) in zip(tables, DAMAGE.values(), strict=False):
        damage(copy, file_of(copy, name))
    assert_told(merge_all(copy), damaged)
    assert_told(faults_of(copy), damaged)


def assert_told(lines: list[str], damaged: dict[str, str]) -> None:
    """Each damaged file has a line, which says what is wrong with it, and no other has."""
    assert len(lines) == len(damaged)
    said = {line.partition(": ")[0]: line for line in lines}
    for path, kind in damaged.items():
        assert said[path].startswith(f"{path}: {DAMAGE[kind][1]}"), kind


@pytest.mark.parametrize("kinds", [[*DAMAGE][start : start + 2] for start in range(0, len(DAMAGE), 2)], ids=", ".join)
def test_damage_of_all_kinds_to_an_index_is_told_and_not_merged(copy: Path, kinds: list[str]) -> None:
    told, damaged = list[str](), dict[str, str]()
    for name, kind in zip(("docs", "links docs"), kinds, strict=False):
        file = file_of(copy, name)
        damaged[file.path] = kind
        DAMAGE[kind][0](copy, file)
    directory = CrawlDir(str(copy))
    merge(directory, InProcess(), ALL, Damage(directory, told.append))
    assert_told(told, damaged)
    assert_told(faults_of(copy), damaged)


@pytest.mark.slow("whole crawls")
def test_many_rounds_merge_tables_but_for_a_damaged_file(tmp_path: Path) -> None:
    path, observer = tmp_path / "crawl", Silent()
    site = {f"/{n}": html(f"Page {n}", f"The text of page {n}.", [f"/{n + 1}"]) for n in range(20)}
    with Web({"a.test": site}) as web:
        crawl(path, [web.url("a.test", "/0")], rounds=3)
        file = file_of(path, "documents")
        flip(path / file.path)
        crawl(path, rounds=9, observer=observer)
    (line,) = observer.warnings
    assert line.startswith(f"{file.path}: its checksum is crc32-")
    manifests = CrawlDir(str(path)).manifests()
    assert [len(files_of(manifests, table)) for table in ("urls", "visits", "links")] == [4, 3, 3]
    assert [len(rows(path, table)) for table in ("visits", "links")] == [12, 12]
    assert {url.rpartition("/")[2]: row["state"] for url, row in states(path).items()} == {
        **{str(n): "fetched" for n in range(12)},
        "12": "due",
    }
    assert file.path in [each.path for each in files_of(manifests, "documents")]
    assert beamtrawl("check", "crawl", path).out.startswith(f"{file.path}: its checksum is ")


COMMANDS = [
    ["compact", "DIR"],
    ["rank", "DIR"],
    ["sql", "DIR", "SELECT * FROM TABLE"],
    ["search", "DIR", "page"],
    ["export", "documents", "DIR", "OUT.jsonl"],
    ["export", "warc", "DIR", "OUT"],
    ["status", "DIR"],
    ["compact", "DIR", "--rebuild-index", "--drop-history"],
]
WRITING = ("compact", "rank")
FAILING = {
    "visits": {"sql", "warc"},
    "documents": {"rank", "sql", "documents"},
    "links": {"rank", "sql"},
    "urls": {"sql"},
}
"""Of these commands, those that read a file of a table and say that it is damaged."""


@pytest.mark.slow("whole crawls")
@pytest.mark.parametrize("name", ["visits", "documents", "links", "urls", "docstore", "postings"])
def test_no_command_hides_damage(copy: Path, tmp_path: Path, name: str) -> None:
    file, failing = file_of(copy, name), set[str]()
    flip(copy / file.path, within(copy / file.path, "body") if name == "visits" else 0.2)  # not in a Bloom filter
    values = {"DIR": copy, "OUT": tmp_path / "out", "TABLE": name if name in OF_TABLES else "seeds"}
    for command in COMMANDS:
        words = [re.sub("DIR|OUT|TABLE", lambda found: str(values[found[0]]), word) for word in command]
        code, _, err = beamtrawl(*words)
        assert code in (0, 1), err
        if code:
            assert file.path in err
            assert len(err.splitlines()) == 1
            failing |= {*command}
        if command[0] in WRITING or command is COMMANDS[-2]:
            is_mended = name in OF_INDEX and "--rebuild-index" in words
            assert beamtrawl("check", "crawl", copy).out.startswith(f"{file.path}: ") != is_mended
    assert failing >= FAILING.get(name, set())


def test_damaged_visits_stop_the_update_and_can_be_fetched_again(tmp_path: Path) -> None:
    path = tmp_path / "crawl"
    with Web({"a.test": {"/": html("Home", "Words of a page."), "/1": html("One", "More.")}}) as web:
        crawl(path, [web.url("a.test", "/1")], rounds=1)
        (path / "crawl.toml").write_text(render(settings()))
        beamtrawl("seeds", "add", path, web.url("a.test"))
        fetch(path)
        file = files_of(CrawlDir(str(path)).manifests(), "visits")[-1]
        flip(path / file.path, 0.3)
        code, _, err = beamtrawl("crawl", path, "--workers", "1")
        assert code == 1
        line = err.splitlines()[-1]
        assert file.path in line and "remove manifests/000002-fetch.json" in line
        (path / "manifests" / "000002-fetch.json").unlink()
        assert beamtrawl("crawl", path, "--workers", "1").code == 0
    assert beamtrawl("check", "crawl", path).code == 0


def test_a_query_names_a_damaged_file_of_its_tables_only(copy: Path) -> None:
    file = file_of(copy, "near")
    flip(copy / file.path)
    code, line = failure("sql", copy, "SELECT count(*) FROM near")
    assert (code, line.partition(":")[0]) == (1, file.path)
    assert json.loads(beamtrawl("sql", copy, "--json", "SELECT count(*) > 0 AS ok FROM urls").out) == [{"ok": True}]
