"""Only files that the program can have written are removed, and a folder of somebody else is no crawl."""

from datetime import UTC, datetime
from pathlib import Path

import pytest

import beamtrawl
from beamtrawl.pipeline.compaction.garbage import remove_garbage
from beamtrawl.pipeline.seeds import Seed, add_seeds
from beamtrawl.transforms.directory.crawl_dir import CrawlDir, CrawlDirError
from beamtrawl.transforms.directory.own_files import is_own
from beamtrawl.transforms.files import filesystem
from beamtrawl.transforms.tables.schemas import TABLES
from tests.support.command_line import LOOPBACK, beamtrawl as program, failure, success
from tests.support.web import Web, html

NOW = datetime(2026, 11, 22, tzinfo=UTC)
FOLDERS = (*TABLES, "index", "attempts")
NAMES = (
    *("thesis.odt", "notes.md", "bookmarks.html", "part-0123456789abcdef.parquet", ".git/HEAD"),
    *("2026/report.parquet", "round=000001/data.parquet", "round=000001/part-1.parquet", "round=1/part-0.tmp"),
    *("round=000001/sub/part-0123456789abcdef.parquet", "round=000001/part-0123456789abcdef.parquet.bak"),
    *("notes.txt.tmp", "a b.0a1b2c3d.tmp", "000001-fetch.txt", "import-notes.txt", "beside-me.json"),
)
USERS = [f"{folder}/{name}" for folder in FOLDERS for name in NAMES] + ["notes.0a1b2c3d.tmp", "crawl.toml.bak"]


def own_garbage() -> list[str]:
    """The name of a file in each table, of the index and of attempts."""
    tables = [f"{table}/round=000003/part-0123456789abcdef.parquet" for table in TABLES]
    index = [
        f"index/{folder}/docs.parquet"
        for folder in (
            "round=000001/shard-0000-0123456789abcdef",
            "links-0123abcd/round=000001/merged-0123456789abcdef",
        )
    ]
    return [*tables, *index, "attempts/000001-fetch-0123abcd-piece-0123abcd.json", "crawl.toml.0123abcd.tmp"]


def write(root: str, names: list[str]) -> None:
    for name in names:
        filesystem.write_bytes(filesystem.join(root, name), b"of somebody")


def left(root: str) -> set[str]:
    return set(CrawlDir(root).paths(""))


def test_names_of_users_are_not_own_and_those_of_the_program_are() -> None:
    assert [name for name in USERS if is_own(name)] == []
    assert [name for name in own_garbage() if not is_own(name)] == []


def test_a_cleaning_leaves_files_of_users_in_folders_of_tables(tmp_path: Path) -> None:
    root = str(tmp_path)
    add_seeds(CrawlDir(root), [Seed("http://a.test/")], "", NOW)
    before = left(root)
    write(root, USERS + own_garbage())
    printed = success("clean", root)
    assert left(root) == {*before, *USERS}
    assert "removed: documents/round=000003/ (1 file)\n" in printed
    assert f"{len(own_garbage())} files removed\n" in printed
    in_tables = len(NAMES) * len(FOLDERS)
    assert f"{in_tables} files left alone, whose names are not of Beamtrawl: alerts/.git/HEAD, " in printed


def test_nothing_is_removed_from_a_folder_that_is_no_crawl(tmp_path: Path) -> None:
    """Not even what has a name of the right form, as in a copy of some tables that a user has kept."""
    write(str(tmp_path), own_garbage())
    with pytest.raises(CrawlDirError, match="holds no crawl"):
        remove_garbage(CrawlDir(str(tmp_path)), NOW)
    code, line = failure("clean", tmp_path)
    assert (code, "holds no crawl" in line) == (1, True)
    assert left(str(tmp_path)) == set(own_garbage())


def test_block_forget_and_a_kill_in_between_remove_nothing_of_users(tmp_path: Path) -> None:
    root = str(tmp_path / "crawl")
    pages = {"/": html("Home", "Of lighthouses.", ["/two"]), "/two": html("Two", "Of more lighthouses.")}
    with Web({"a.test": pages}) as web:
        success("crawl", root, *LOOPBACK, "--seed", web.url("a.test"))
        host = web.authority("a.test")
    (index,) = {path.rpartition("/")[0] for path in left(root) if path.startswith("index/round=000001/")}
    links = min(path.rpartition("/")[0] for path in left(root) if path.startswith("index/links-"))
    users = [*USERS, f"{index}/notes.md", f"{links}/old/docs.parquet"]
    write(root, users)
    success("block", root, host, "--forget")
    printed = success("compact", root)
    assert "removed: visits/" in printed
    assert set(users) <= left(root)
    success("compact", root, "--drop-history")
    success("clean", root)
    assert set(users) <= left(root)


@pytest.mark.parametrize("link", ["index", "visits", "attempts", "documents/round=000003", "index/round=000001"])
def test_nothing_is_removed_behind_a_link(tmp_path: Path, link: str) -> None:
    """A cleaning, a compaction that forgets, and a crawl's own attempts leave what a linked folder holds."""
    root, outside = tmp_path / "crawl", tmp_path / "outside"
    below = [name.removeprefix(f"{link}/") for name in own_garbage() if name.startswith(f"{link}/")]
    write(str(outside), [*below, "notes.md"])
    (root / link).parent.mkdir(parents=True)
    (root / link).symlink_to(outside, target_is_directory=True)
    code, line = failure("crawl", root, "--seed", "http://127.0.0.1:9/")
    assert (code, f"is not empty and holds no crawl (it has {link})" in line) == (2, True)
    with Web({"a.test": {"/": html("Home", "Of lighthouses.")}}) as web:
        words = (root, *LOOPBACK, "--into-nonempty", "--rounds", "1")
        success("crawl", *words, "--seed", web.url("a.test"))
        before = {path.relative_to(outside).as_posix() for path in outside.rglob("*")}
        assert {*below, "notes.md"} <= before
        success("block", root, web.authority("a.test"), "--forget")
        success("compact", root)
        printed = success("clean", root)
    assert f"whose names are not of Beamtrawl: {link} (a link)" in printed
    assert before <= {path.relative_to(outside).as_posix() for path in outside.rglob("*")}


@pytest.mark.parametrize("name", ["documents/thesis.odt", ".git/HEAD", "notes.txt", "index/round=000001/a.parquet"])
def test_a_folder_with_other_files_is_refused_before_anything_is_written(tmp_path: Path, name: str) -> None:
    folder = tmp_path / "mine"
    (folder / name).parent.mkdir(parents=True)
    (folder / name).write_text("of somebody")
    archive = tmp_path / "a.warc"
    archive.write_text("")
    seed = ["--seed", "http://127.0.0.1:9/"]
    for words in (["crawl", folder, *seed], ["import", "warc", folder, archive], ["demo", folder]):
        code, line = failure(*words)
        assert (code, f"is not empty and holds no crawl (it has {name})" in line) == (2, True)
    with pytest.raises(beamtrawl.StartError, match="or add into_nonempty=True"):
        beamtrawl.crawl(folder, "http://127.0.0.1:9/")
    assert left(str(folder)) == {name}
    ran = program("crawl", folder, *seed, *LOOPBACK, "--into-nonempty", "--rounds", "1")
    assert (folder / "crawl.toml").exists(), ran.err
    success("clean", folder)
    assert (folder / name).read_text() == "of somebody"


def test_what_a_first_crawl_that_was_killed_has_left_is_no_file_of_others(tmp_path: Path) -> None:
    write(str(tmp_path), ["lock.json", "reserve", "frontier/round=000001/part-0123456789abcdef.parquet", ".DS_Store"])
    ran = program("crawl", tmp_path, "--seed", "http://127.0.0.1:9/", *LOOPBACK, "--rounds", "1")
    assert "is not empty" not in ran.err


def test_a_folder_that_was_prepared_with_settings_is_meant(tmp_path: Path) -> None:
    (tmp_path / "crawl.toml").write_text("[watch]\nphrases = ['x']\n")
    (tmp_path / "watched.html").write_text("<p>a text")
    ran = program("crawl", tmp_path, "--seed", "http://127.0.0.1:9/", *LOOPBACK, "--rounds", "1")
    assert "is not empty" not in ran.err
