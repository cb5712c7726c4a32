"""Damaged files: `check crawl` finds every one, and each command names it in one line."""

import json
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import beamtrawl as beamtrawl_package
from beamtrawl.transforms.directory.crawl_dir import CrawlDir, files_of
from beamtrawl.transforms.directory.verify import Fault, promised_files
from beamtrawl.transforms.settings import render
from beamtrawl.transforms.tables.table_files import TableFile, mending
from tests.support.command_line import beamtrawl, contents, failure
from tests.support.crawls import crawl, settings, states
from tests.support.row_faults import row_faults
from tests.support.web import Web, html, plain

PAGES = {
    "/": html("Home", "Fish and boats.", ["/a", "/b", "/c"]),
    "/a": html("A", "The first page about herring.", ["/", "/d"]),
    "/b": html("B", "The second page about boats."),
    "/c": html("B", "The second page about boats."),
    "/robots.txt": plain("User-agent: *\nDisallow: /private\n"),
}


@pytest.fixture(scope="module")
def crawled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two rounds; /d waits for the third."""
    path = tmp_path_factory.mktemp("crawled") / "crawl"
    with Web({"a.test": PAGES}) as web:
        crawl(path, [web.url("a.test")], rounds=2)
    (path / "crawl.toml").write_text(render(settings()))
    return path


@pytest.fixture
def copy(crawled: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(crawled, tmp_path / "copy"))


def promised(path: Path) -> list[TableFile]:
    return promised_files(CrawlDir(str(path)).manifests())


def test_a_sound_crawl_has_no_fault(crawled: Path) -> None:
    files = promised(crawled)
    size = sum((crawled / file.path).stat().st_size for file in files)
    assert beamtrawl("check", "crawl", crawled).out == f"5 steps, {len(files)} files, {size / 1e6:.1f} MB: no fault\n"
    on_disk = {str(file.relative_to(crawled)) for file in crawled.rglob("*.parquet")}
    consumed = {path for manifest in CrawlDir(str(crawled)).manifests() for path in manifest.consumed}
    assert consumed and {file.path for file in files} == on_disk - consumed  # clean may remove those
    assert all(file.checksum for file in files)


def flip(file: Path) -> None:
    data = bytearray(file.read_bytes())
    data[len(data) // 2] ^= 1
    file.write_bytes(data)


DAMAGE: dict[str, tuple[Callable[[Path], Any], str]] = {
    "missing": (Path.unlink, "the file is missing"),
    "cut short": (lambda file: file.write_bytes(file.read_bytes()[:-9]), "it has "),
    "empty": (lambda file: file.write_bytes(b""), "it has 0 bytes, "),
    "one bit changed": (flip, "its checksum is crc32-"),
}


@pytest.mark.parametrize(("damage", "told"), DAMAGE.values(), ids=DAMAGE)
def test_each_damaged_file_is_named(copy: Path, damage: Callable[[Path], Any], told: str) -> None:
    for file in promised(copy):
        sound = (copy / file.path).read_bytes()
        damage(copy / file.path)
        code, out, _ = beamtrawl("check", "crawl", copy)
        assert (code, len(out.splitlines())) == (1, 1)
        assert out.startswith(f"{file.path}: {told}")
        assert out.endswith(f"; {mending(str(copy), file.path)}\n")
        (copy / file.path).write_bytes(sound)


def test_the_first_of_several_is_named_and_the_others_are_counted(copy: Path) -> None:
    files = promised(copy)
    for file in files[1:4]:
        (copy / file.path).unlink()
    out = f"{files[1].path}: the file is missing; restore the file from a copy\n2 more faults\n"
    assert beamtrawl("check", "crawl", copy)[:2] == (1, out)


# the table whose first file is missing: the commands that need it
NEEDED = {
    "hosts": [["status"], ["crawl"], ["sql", "SELECT 1 FROM Hosts"]],
    "robots": [["crawl"], ["sql", "SELECT 1 FROM robots_history"]],
    "frontier": [["crawl"], ["sql", "SELECT 1 FROM frontier"]],
    "urls": [["seeds", "http://127.0.0.1:9/new"], ["sql", "SELECT 1 FROM urls"]],
}


@pytest.mark.parametrize("table", NEEDED)
def test_a_missing_file_is_named_in_one_line_with_the_way_out(copy: Path, table: str) -> None:
    file = files_of(CrawlDir(str(copy)).manifests(), table)[-1]
    (copy / file.path).unlink()
    for name, *words in NEEDED[table]:
        code, line = failure(*(["seeds", "add"] if name == "seeds" else [name]), copy, *words)
        assert code == 1
        assert line.startswith(file.path)
        assert f"beamtrawl check crawl {copy}" in line
    assert beamtrawl("sql", copy, "SELECT 1 AS one").out.split() == ["one", "---", "1"]


@pytest.mark.parametrize(
    "words", [["report"], ["sql", "FROM documents"], ["explain", "a.test"]], ids=lambda words: words[0]
)
def test_a_folder_that_cannot_be_entered_is_told_by_its_first_file(copy: Path, words: list[str]) -> None:
    shutil.rmtree(copy / "documents")
    (copy / "documents").write_bytes(b"")
    code, line = failure(words[0], copy, *words[1:])
    assert (code, line.partition("/round=")[0]) == (1, "documents")
    assert " cannot be read: Not a directory; see what else is damaged with: beamtrawl check crawl " in line


def test_a_missing_file_of_the_index_is_named_by_a_search(copy: Path) -> None:
    (path, *_) = sorted(copy.glob("index/*/*/docs.parquet"))
    path.unlink()
    code, line = failure("search", copy, "fish")
    assert code == 1
    assert line.startswith(f"{path.relative_to(copy)} cannot be read: No such file or directory; ")
    assert f"beamtrawl check crawl {copy}" in line


def rewrite(copy: Path, table: str, change: Callable[[pa.Table], pa.Table]) -> str:
    """Changes the rows of the last file of a table, and its manifest with it; returns the path."""
    directory = CrawlDir(str(copy))
    manifest = next(m for m in reversed(directory.manifests()) if files_of([m], table))
    file = files_of([manifest], table)[-1]
    rows = change(pq.read_table(copy / file.path))
    pq.write_table(rows, copy / file.path)
    path = copy / "manifests" / f"{manifest.name}.json"
    data = json.loads(path.read_text())
    (entry,) = [entry for entry in data["files"] if entry["path"] == file.path]
    entry |= {"rows": rows.num_rows, "bytes": (copy / file.path).stat().st_size, "checksum": ""}
    path.write_text(json.dumps(data))
    return file.path


def faults_of_rows(copy: Path) -> Iterator[Fault]:
    directory = CrawlDir(str(copy))
    return row_faults(directory, directory.manifests())


# table, what is changed in its rows: what `row_faults` tells, on which other tests rely
ROWS: dict[str, tuple[str, Callable[[pa.Table], pa.Table], str]] = {
    "a key twice": (
        "urls",
        lambda rows: pa.concat_tables([rows, rows[:2]]),
        "2 rows repeat the url_key of another in the files of this step",
    ),
    "a document without a visit": (
        "documents",
        lambda rows: rows.set_column(0, rows.schema.field("url_key"), pa.array([bytes(16)] * 3, pa.binary(16))),
        "2 rows repeat the url_key and round of another",
    ),
    "an unknown URL in the frontier": (
        "frontier",
        lambda rows: rows.set_column(0, rows.schema.field("url_key"), pa.array([bytes(16)], pa.binary(16))),
        "it has 1 URLs that table urls does not have, the first is http://",
    ),
}


@pytest.mark.parametrize(("table", "change", "told"), ROWS.values(), ids=ROWS)
def test_rows_that_contradict_each_other_are_told(
    copy: Path, table: str, change: Callable[[pa.Table], pa.Table], told: str
) -> None:
    path = rewrite(copy, table, change)
    assert str(next(faults_of_rows(copy))).startswith(f"{path}: {told}")


def test_a_document_whose_visit_is_missing_is_told(copy: Path) -> None:
    rewrite(copy, "visits", lambda rows: rows[:1])
    told = ": it has 2 documents without a visit in round 2, the first is http://"
    assert told in str(next(faults_of_rows(copy)))


def test_a_file_with_fewer_rows_is_told(copy: Path) -> None:
    path = rewrite(copy, "links", lambda rows: rows)
    pq.write_table(pq.read_table(copy / path)[1:], copy / path)
    data = (copy / path).stat().st_size
    (manifest,) = [m for m in copy.glob("manifests/*.json") if path in m.read_text()]
    changed = json.loads(manifest.read_text())
    (entry,) = [entry for entry in changed["files"] if entry["path"] == path]
    entry["bytes"] = data
    manifest.write_text(json.dumps(changed))
    assert beamtrawl("check", "crawl", copy).out.startswith(f"{path}: it has {entry['rows'] - 1} rows, ")


# a lost manifest: what the message says after it
LOST_MANIFESTS = {
    "000000-seeds.json": "is missing, and with it all that this step wrote; restore it from a copy",
    "000001-fetch.json": "is missing, and with it all that this step wrote; restore it from a copy",
    "000001-update.json": "is missing, and with it all that this step wrote; restore it from a copy",
}


@pytest.mark.parametrize(("name", "said"), LOST_MANIFESTS.items(), ids=LOST_MANIFESTS)
def test_a_lost_manifest_is_reported_and_ends_the_crawl(copy: Path, name: str, said: str) -> None:
    (copy / "manifests" / name).unlink()
    before = contents(copy)
    assert failure("crawl", copy) == (2, f"{copy}: manifests/{name} {said}")
    checked = beamtrawl("check", "crawl", copy)
    assert (checked.code, checked.out.splitlines()[0]) == (
        1,
        f"manifests/{name} is missing, and with it all that this step wrote; restore the file from a copy",
    )
    assert contents(copy) == before


def test_a_cut_manifest_of_the_last_step_may_be_deleted(copy: Path) -> None:
    last = copy / "manifests" / "000002-update.json"
    last.write_text(last.read_text()[:100])
    code, line = failure("status", copy)
    assert code == 1
    assert line.endswith("restore it from a copy, or delete it: beamtrawl crawl then does this step again")
    last.unlink()
    assert beamtrawl("crawl", copy, "--rounds", "0").code == 0
    assert json.loads(last.read_text())["counters"]["documents_rows"] == 3
    assert beamtrawl("check", "crawl", copy).code == 0


@pytest.mark.parametrize("command", ["compact", "rank"])
def test_a_cut_manifest_whose_rows_were_merged_or_ranked_is_to_be_restored(copy: Path, command: str) -> None:
    """If its step were done again, the merged rows would be there twice."""
    assert beamtrawl(command, copy).code == 0
    last = copy / "manifests" / "000002-update.json"
    last.write_text(last.read_text()[:100])
    assert failure("status", copy)[1].endswith("restore it from a copy, or start a crawl in another directory")


def test_a_cut_manifest_of_an_earlier_step_is_to_be_restored(copy: Path) -> None:
    earlier = copy / "manifests" / "000001-update.json"
    earlier.write_text(earlier.read_text()[:100])
    code, line = failure("status", copy)
    assert (code, line.endswith("restore it from a copy, or start a crawl in another directory")) == (1, True)


def test_lost_settings_are_not_replaced_by_defaults(copy: Path) -> None:
    (copy / "crawl.toml").unlink()
    before = contents(copy)
    code, line = failure("crawl", copy)
    assert code == 2
    assert f"{copy} holds a crawl, but its crawl.toml is missing; its last round ran with politeness.delay = 0" in line
    assert 'fetch.allow_addresses = ["127.0.0.0/8"]' in line
    assert line.endswith(f"beamtrawl crawl {copy} --restore-settings")
    assert contents(copy) == before
    assert beamtrawl("crawl", copy, "--restore-settings", "--rounds", "0").code == 0
    assert (copy / "crawl.toml").read_text() == render(settings())
    code, line = failure("crawl", copy, "--restore-settings")
    assert (code, line) == (2, f"{copy}/crawl.toml is there; leave out --restore-settings")


def test_commands_that_only_read_do_without_the_settings_file(copy: Path, tmp_path: Path) -> None:
    """They read the crawl by the settings of its last round; what adds to it refuses."""
    (copy / "crawl.toml").unlink()
    url = next(iter(states(copy)))
    reads: list[list[object]] = [
        ["status", copy],
        ["explain", copy, url],
        ["check", "crawl", copy],
        ["export", "corpus", copy, tmp_path / "corpus"],
        ["export", "warc", copy, tmp_path / "a"],
        ["report", copy, "--output", tmp_path / "report.html"],
        ["estimate", "--like", copy],
        ["search", copy, "words"],
    ]
    assert {" ".join(map(str, words)): beamtrawl(*words).code for words in reads} == {
        " ".join(map(str, words)): 0 for words in reads
    }
    assert beamtrawl_package.open(copy).settings.fetch.allow_addresses == ["127.0.0.0/8"]
    code, line = failure("seeds", "add", copy, url)
    assert (code, "its crawl.toml is missing; its last round ran with" in line) == (2, True)


def test_lost_settings_that_no_manifest_has_are_refused(copy: Path) -> None:
    (copy / "crawl.toml").unlink()
    for manifest in (copy / "manifests").glob("*-fetch.json"):
        fields = json.loads(manifest.read_text())
        del fields["settings"]  # as in crawls of earlier versions
        manifest.write_text(json.dumps(fields))
    for words in ([], ["--restore-settings"]):
        code, line = failure("crawl", copy, *words)
        assert code == 2
        assert line.endswith("its manifests do not know the settings; restore the file from a copy")
    assert not (copy / "crawl.toml").exists()


def test_the_demo_leaves_other_crawls_alone(copy: Path) -> None:
    before = contents(copy)
    expected = f"{copy} holds a crawl that is not a demo; name a new directory: beamtrawl demo ./demo"
    assert failure("demo", copy) == (2, expected)
    assert contents(copy) == before
