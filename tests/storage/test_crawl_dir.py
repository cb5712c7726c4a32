"""The crawl directory: what is committed, what follows from it, and what is said when it cannot be read."""

import dataclasses
import json
from concurrent.futures import ThreadPoolExecutor
from typing import ClassVar

import pytest

from beamtrawl.transforms.directory.claims import Claim
from beamtrawl.transforms.directory.crawl_dir import (
    CrawlDir,
    CrawlDirError,
    Manifest,
    Step,
    files_of,
    frontier_files,
    next_step,
    parse_manifest,
    render_manifest,
    visible_files,
)
from beamtrawl.transforms.directory.manifests import REDO, SCHEMA_VERSION
from beamtrawl.transforms.files import filesystem
from beamtrawl.transforms.files.local_disk import LocalDisk
from beamtrawl.transforms.tables.table_files import TableFile
from tests.support.tables import each_row


def file(table, name):
    return TableFile(table, f"{table}/{name}", 1, 100, {})


def committed(step, round_, files=(), consumed=(), index=()):
    moment = f"2026-01-0{round_ + 1}T00:00:00.000+00:00"
    return Manifest(step, round_, "d" * 32, tuple(files), {"fetched": 3}, tuple(consumed), moment, moment, tuple(index))


SEEDS = committed("seeds", 0, [file("frontier", "a")])
NEXT = {
    "nothing yet": ([], Step("fetch", 1)),
    "seeds only": ([SEEDS], Step("fetch", 1)),
    "fetched": ([SEEDS, committed("fetch", 1)], Step("update", 1)),
    "fetched and updated": ([SEEDS, committed("fetch", 1), committed("update", 1)], Step("fetch", 2)),
    "the second round fetched": (
        [SEEDS, committed("fetch", 1), committed("update", 1), committed("fetch", 2)],
        Step("update", 2),
    ),
    "in any order": ([committed("update", 1), committed("fetch", 1), SEEDS], Step("fetch", 2)),
    "more seeds change nothing": ([SEEDS, committed("fetch", 1), SEEDS], Step("update", 1)),
}


@each_row(NEXT)
def test_the_next_step_follows_from_what_is_committed(manifests, step):
    assert next_step(manifests) == step


def test_the_frontier_is_what_no_update_has_consumed():
    update = committed("update", 1, [file("urls", "c"), file("frontier", "b")], consumed=["frontier/a"])
    late_seeds = committed("seeds", 0, [file("frontier", "late")])
    assert frontier_files([SEEDS]) == [file("frontier", "a")]
    assert frontier_files(iter([SEEDS, late_seeds, update])) == [file("frontier", "late"), file("frontier", "b")]
    assert files_of([SEEDS, update], "urls") == [file("urls", "c")]


def test_files_and_index_folders_of_committed_steps_are_visible():
    update = committed("update", 1, [file("urls", "c")], consumed=["frontier/a"], index=["index/round=000001/s"])
    assert list(visible_files([SEEDS, update])) == ["frontier/a", "urls/c", "index/round=000001/s"]
    dropping = dataclasses.replace(committed("compact", 2), index_dropped=("index/round=000001/s",))
    assert list(visible_files([SEEDS, update, dropping])) == ["frontier/a", "urls/c"]


@pytest.mark.parametrize("suffix", ["", "-1a2b3c4d"])
def test_a_manifest_is_read_as_it_was_written(suffix):
    manifest = committed("update", 1, [file("frontier", "한글 'x'")], ["frontier/a"], ["index/s"])
    assert parse_manifest(f"000001-update{suffix}.json", render_manifest(manifest)) == manifest


def changed(**fields):
    return json.dumps(json.loads(render_manifest(SEEDS)) | fields)


# text, what the message says of it
UNUSABLE = {
    "empty": ("", "Expecting value"),
    "cut short": (render_manifest(SEEDS)[:-100], "line "),
    "no object": ("[1, 2]", "it is not a manifest of Beamtrawl"),
    "of another program": ('{"version": 3, "rounds": 2}', "it is not a manifest of Beamtrawl"),
    "of a newer program": (
        changed(schema_version=5, colours=[]),
        ": it has schema version 5, this program reads up to 4; update Beamtrawl",
    ),
    "no schema version": ('{"format": "beamtrawl-crawl"}', "it lacks 'schema_version'"),
    "a strange schema version": (changed(schema_version="1"), "it has schema version '1'"),
    "an impossible schema version": (changed(schema_version=0), "it has schema version 0"),
    "no files": ('{"format": "beamtrawl-crawl", "schema_version": 1}', "it lacks 'files'"),
    "files without names": (changed(files=[{"rows": 1}]), ""),
    "files that are none": (changed(files=[1]), ""),
    "a field too many": (
        changed(colour="red"),
        "it has the fields colour, which this program does not know; update Beamtrawl",
    ),
    "another step's": (changed(step="fetch"), "it says it is 000000-fetch"),
    "another round's": (changed(round=3), "it says it is 000003-seeds"),
    "a round that is none": (changed(round="3"), ""),
}


@each_row(UNUSABLE)
def test_an_unusable_manifest_is_named_in_one_line(text, reason):
    with pytest.raises(CrawlDirError) as caught:
        parse_manifest("000000-seeds.json", text)
    message = str(caught.value)
    assert message.startswith("manifests/000000-seeds.json cannot be used: ")
    assert reason in message
    assert "\n" not in message


def test_a_manifest_of_a_newer_program_has_one_way_out_and_none_deletes_it():
    for text in (changed(schema_version=5), changed(colour="red")):
        with pytest.raises(CrawlDirError) as caught:
            parse_manifest("000001-update.json", text, REDO)
        message = str(caught.value)
        assert message.endswith("; update Beamtrawl")
        assert "delete" not in message


# The fields that each schema version has added to manifests, and to the files that they name. A new field comes with a
# new version: older programs then say that Beamtrawl is to be updated, and not that a field is strange.
ADDED = {
    1: (
        "step round settings_digest files counters consumed started_at ended_at index program schema_version",
        "table path rows bytes counts",
    ),
    2: ("index_links index_replaced index_dropped index_files replaced", "checksum"),
    3: ("settings memory", ""),
    4: ("cpu", ""),
}


def test_each_field_of_a_manifest_has_raised_the_version():
    assert max(ADDED) == SCHEMA_VERSION
    of_manifests, of_files = (" ".join(each).split() for each in zip(*ADDED.values(), strict=True))
    assert {field.name for field in dataclasses.fields(Manifest)} == set(of_manifests)
    assert set(TableFile._fields) == set(of_files)


@pytest.mark.parametrize("fields", [{"counters": None}, {"consumed": "frontier/a"}, {"index": "x"}])
def test_a_manifest_with_a_field_of_another_kind_is_unusable(fields):
    with pytest.raises(CrawlDirError):
        parse_manifest("000000-seeds.json", changed(**fields))


def test_steps_are_listed_in_the_order_of_the_crawl(tmp_path):
    crawl = CrawlDir(str(tmp_path))
    for step, round_ in (("fetch", 10), ("update", 9), ("fetch", 9)):
        crawl.commit(committed(step, round_))
    crawl.commit(SEEDS)
    crawl.commit(SEEDS, "-1a2b3c4d")
    listed = [(m.step, m.round) for m in crawl.manifests()]
    assert listed == [("seeds", 0), ("seeds", 0), ("fetch", 9), ("update", 9), ("fetch", 10)]
    assert all(m.program.startswith("beamtrawl ") for m in crawl.manifests())


def test_a_manifest_counts_once_it_has_its_final_name(tmp_path):
    crawl = CrawlDir(str(tmp_path))
    crawl.commit(SEEDS)
    (tmp_path / "manifests" / "000001-fetch.json.0a1b2c3d.tmp").write_text('{"format": "beamtr')
    assert [m.step for m in crawl.manifests()] == ["seeds"]
    assert next_step(crawl.manifests()) == Step("fetch", 1)


def test_writing_leaves_the_new_text_and_nothing_else(tmp_path):
    crawl = CrawlDir(str(tmp_path))
    crawl.write_text("a/b.txt", "old")
    crawl.write_text("a/b.txt", "새 것")
    assert crawl.read_text("a/b.txt") == "새 것"
    assert crawl.names("a") == ["b.txt"]
    assert crawl.names("nowhere") == []


def test_a_directory_that_cannot_be_written_is_named_in_one_line(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(CrawlDirError, match=r"^cannot write .*/file/manifests/000000-seeds.json: [^\n]+$"):
        CrawlDir(str(tmp_path / "file")).commit(SEEDS)


def test_a_directory_without_a_crawl_says_how_to_start_one(tmp_path):
    with pytest.raises(CrawlDirError, match=r"holds no crawl; start one with: beamtrawl crawl \S+ --seed URL$"):
        CrawlDir(str(tmp_path)).require_manifests()


def test_a_manifest_of_strange_bytes_is_named_in_one_line(tmp_path):
    (tmp_path / "manifests").mkdir()
    (tmp_path / "manifests" / "000000-seeds.json").write_bytes(b"\xff\xfe{}")
    with pytest.raises(CrawlDirError, match=r"^manifests/000000-seeds.json cannot be used: [^\n]+$"):
        CrawlDir(str(tmp_path)).manifests()


ROOTS = ["plain", "with space", "it's", "한글", "a[b]", "a?"]


@pytest.mark.parametrize("name", ROOTS)
def test_a_crawl_may_lie_in_a_directory_of_any_name(tmp_path, name):
    CrawlDir(str(tmp_path / "ab")).commit(committed("fetch", 1))
    crawl = CrawlDir(str(tmp_path / name))
    crawl.commit(SEEDS)
    assert [m.step for m in crawl.manifests()] == ["seeds"]


@pytest.mark.parametrize(
    ("given", "root"),
    [("s3://bucket/crawl/", "s3://bucket/crawl"), ("/", "/"), ("", None)],
)
def test_the_root_of_a_crawl(given, root):
    if root is None:
        with pytest.raises(CrawlDirError):
            CrawlDir(given)
    else:
        assert CrawlDir(given).root == root


def test_a_manifest_of_version_1_is_read():
    """As version 0.1.0 wrote it, and as development versions before it did: without the fields of merged segments."""
    old = json.loads(changed(schema_version=1))
    del old["index_files"], old["files"][0]["checksum"]
    assert parse_manifest("000000-seeds.json", json.dumps(old)) == SEEDS
    for field in ("index_links", "index_replaced", "index_dropped"):
        del old[field]
    assert parse_manifest("000000-seeds.json", json.dumps(old)) == SEEDS


def test_a_step_is_committed_once(tmp_path):
    crawl = CrawlDir(str(tmp_path))
    crawl.commit(committed("fetch", 1))
    with pytest.raises(CrawlDirError, match=r"^manifests/000001-fetch.json exists already: [^\n]+$"):
        crawl.commit(committed("fetch", 1))
    assert [path.name for path in (tmp_path / "manifests").iterdir()] == ["000001-fetch.json"]


def test_files_and_folders_are_durable_before_the_manifest_names_them(tmp_path):
    class Noting(LocalDisk):
        done: ClassVar[list[str]] = []

        def sync_file(self, path):
            self.done.append(path.removeprefix(f"{tmp_path}/"))
            super().sync_file(path)

        def sync_folder(self, path):
            self.done.append(path.removeprefix(f"{tmp_path}/"))
            super().sync_folder(path)

        def link(self, source, target):
            self.done.append("manifest")
            super().link(source, target)

    for name in ("frontier", "index/s"):
        (tmp_path / name).mkdir(parents=True)
    step = committed("update", 1, [file("frontier", "a")])
    step = dataclasses.replace(step, index_files=(TableFile("index_file", "index/s/docs", 1, 100, {}),))
    with filesystem.mounted(str(tmp_path), Noting()):
        CrawlDir(str(tmp_path)).commit(step)
    (path,) = (file.path for file in step.files)
    assert {*Noting.done[:4]} == {path, "index/s/docs", "frontier", "index/s"}
    assert Noting.done[-2:] == ["manifest", "manifests"]


def test_only_the_owner_of_the_claim_commits(tmp_path):
    mine, others = (CrawlDir(str(tmp_path), Claim("lock.json", token)) for token in ("mine", "others"))
    mine.write_text("lock.json", json.dumps({"token": "mine", "pid": 7, "host": "here"}))
    mine.commit(committed("fetch", 1))
    with pytest.raises(CrawlDirError, match="was taken over by process 7 on here"):
        others.commit(committed("update", 1))
    (tmp_path / "lock.json").unlink()
    with pytest.raises(CrawlDirError, match="was taken over by another process"):
        mine.commit(committed("update", 1))
    assert mine.names("manifests") == ["000001-fetch.json"]


def test_a_step_without_settings_has_those_of_the_last_step_before_it(tmp_path):
    crawl = CrawlDir(str(tmp_path))
    digests = [
        ("seeds", 0, ""),
        ("fetch", 1, "f" * 32),
        ("update", 1, "a" * 32),
        ("rank", 1, ""),
        ("fetch", 2, "b" * 32),
    ]
    for step, round_, digest in digests:
        moment = f"2026-01-0{len(crawl.manifests()) + 1}T00:00:00.000+00:00"
        crawl.commit(Manifest(step, round_, digest, (), {}, (), moment, moment))
    recorded = {m.step + str(m.round): m.settings_digest for m in CrawlDir(str(tmp_path)).manifests()}
    assert recorded == {"seeds0": "", "fetch1": "f" * 32, "update1": "a" * 32, "rank1": "a" * 32, "fetch2": "b" * 32}


def test_no_concurrent_change_of_a_text_is_lost(tmp_path):
    class Raced(LocalDisk):
        writes = 0

        def replace(self, path, data, tag):
            self.writes += 1
            if self.writes == 1:  # another process is first
                super().replace(path, b"theirs\n", tag)
                return None
            return super().replace(path, data, tag)

    with filesystem.mounted(str(tmp_path), Raced()):
        crawl = CrawlDir(str(tmp_path))
        crawl.change_text("notes", lambda text: text + "mine\n")
        assert crawl.read_text("notes") == "theirs\nmine\n"


def test_of_many_writers_of_a_new_file_one_succeeds(tmp_path):
    crawl = CrawlDir(str(tmp_path))
    with ThreadPoolExecutor(8) as pool:
        won = [n for n, first in enumerate(pool.map(lambda n: crawl.write_new("one", str(n)), range(32))) if first]
    assert [str(n) for n in won] == [crawl.read_text("one")]
    assert [path.name for path in tmp_path.iterdir()] == ["one"]
